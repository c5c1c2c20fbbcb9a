"""Messages a second that `ocboost adapt` takes from a log, half of them requests and half labels.

    python benchmarks/brokers.py --messages 20000
    python benchmarks/brokers.py --messages 16000 --broker kafka

A Redis server of its own is started, with every write on the disk before it is answered; or librdkafka's mock
cluster, which keeps all in memory, 5 MB of each topic. Seconds of the processor are those of the consumer.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from ocboost.deployment.model import Model
from ocboost.live.brokers.consumer import Consumer, FollowSettings
from ocboost.live.brokers.url import open_log
from tests.support.kafka_cluster import KafkaCluster
from tests.support.redis_server import RedisServer
from tests.support.serving import as_row, rows_and_labels, scratch_folder, write_model

LATE = 20  # requests between one and its label


def messages(first: int, last: int) -> Iterator[bytes]:
    """Requests, and labels that come a little later."""
    X, y = rows_and_labels(1000, seed=5)
    for i in range(first, last):
        yield json.dumps({"id": f"q{i}", "row": as_row(X[i % 1000])}).encode()
        if i >= LATE:
            yield json.dumps({"id": f"q{i - LATE}", "label": int(y[(i - LATE) % 1000])}).encode()


@contextmanager
def redis_log(folder: Path) -> Iterator[tuple[str, Callable[[Iterable[bytes]], None]]]:
    """The address of a log, and a function that fills it."""
    with RedisServer(folder) as server, server.client() as client:

        def fill(data: Iterable[bytes]) -> None:
            with client.pipeline(transaction=False) as steps:
                for each in data:
                    steps.xadd("s", {"json": each})
                steps.execute()

        yield f"{server.url}?stream=s", fill


@contextmanager
def kafka_log(folder: Path) -> Iterator[tuple[str, Callable[[Iterable[bytes]], None]]]:
    """The same on the mock cluster."""
    with KafkaCluster() as cluster:
        yield cluster.log("s"), lambda data: cluster.send("s", *data)


BROKERS = {"redis": redis_log, "kafka": kafka_log}


def main() -> None:
    """Measure both kinds of models, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--messages", type=int, default=20_000)
    parser.add_argument("--broker", choices=list(BROKERS), default="redis")
    given = parser.parse_args()
    for kind in ("ocb", "adaptive"):
        with scratch_folder() as folder, BROKERS[given.broker](Path(folder) / "broker") as (address, fill):
            model = Model.load(write_model(Path(folder) / "model.ocb", kind))
            log = open_log(address)
            consumer = Consumer(log, model, None, FollowSettings(idle=0.01))
            consumer.begin()
            fill(messages(0, 200))
            consumer.follow()  # compiles
            n = given.messages // 2
            fill(messages(200, 200 + n))
            wall, processor = time.perf_counter(), time.process_time()
            consumer.follow()
            wall, processor = time.perf_counter() - wall, time.process_time() - processor
            print(
                f"{kind:>9}: {2 * n / wall:7,.0f} messages a second, {2 * n / processor:7,.0f} a second of "
                f"the processor; {consumer.state.live.failed} failed; 100 hypotheses, 20 features"
            )
            log.close()


if __name__ == "__main__":
    main()
