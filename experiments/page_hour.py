"""The page of a service, open for an hour on a stream that drifts: what grows, and what it costs.

A service learns from 200 rows a second, whose labels come a few seconds later and some of them much later.
Its page is open in Chromium. Every 30 seconds this samples the page's JavaScript heap after a collection of
garbage, its DOM nodes and listeners, the memory of its process and of the service, the rows a second and the
latency of predictions. After that 16 clients predict and label as fast as the service answers, with the page
and without in turn.

    python experiments/page_hour.py --minutes 60 --out experiments/results/page_hour.json

The service has one core of its own (Linux, two cores or more); the clients and the browser share the others.
So beside the rate there is the CPU time of the service for each pair of requests, which they do not change.
``--plain`` leaves out the hour and the browser: a client that only reads listens instead of the page, also
while rows come at the steady rate.
Ctrl-C ends it early, with what there is. Exits with 1 if the heap, the nodes or the service grew by more than
a tenth from the third quarter to the last (before, lists of events fill up to their limits), or if the page
cost more than 5 % of the throughput.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import heapq
import json
import os
import shutil
import statistics
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.support.browser import NAMES, OPTIONS
from tests.support.load import Connection, Load, request_bytes, run_load
from tests.support.serving import ServiceProcess, as_row, cpu_seconds, scratch_folder, write_model

FEATURES = 20
DRIFT_ROWS = 3_000  # between two changes of what the labels depend on
LATE_SHARE, SOON_SECONDS, LATE_SECONDS = 0.1, 2.0, 60.0  # labels wait so long on average
CONNECTIONS, CLIENTS = 8, 16
LABEL_PAUSE = 0.02  # seconds between two requests with labels that are due
MAX_GROWTH, MAX_COST = 0.1, 0.05
WATCHED = (
    "heap_mib",
    "nodes",
    "listeners",
    "renderer_mib",
    "service_mib",
    "rows_per_second",
    "p50_ms",
    "p99_ms",
)


class DriftingRows:
    """Rows without end, and labels whose dependence on them changes at once from time to time."""

    def __init__(self, seed: int = 0) -> None:
        self._rng = np.random.default_rng(seed)
        self._weights = np.zeros(FEATURES)
        self._weights[:3] = (1.0, 0.7, -0.5)  # as the model was fitted
        self._n = 0

    def next(self) -> tuple[dict[str, float], int]:
        """A row and its label."""
        self._n += 1
        if self._n % DRIFT_ROWS == 0:
            self._weights = np.where(self._rng.random(FEATURES) < 0.2, self._rng.normal(size=FEATURES), 0.0)
        x = self._rng.normal(size=FEATURES).round(4)
        return as_row(x), int(x @ self._weights + 0.5 * self._rng.normal() > 0)


@dataclass
class Stream:
    """Rows at a steady rate and their labels; what was seen since the last sample."""

    service: ServiceProcess
    rate: float
    latencies: list[float] = field(default_factory=list)
    failed: int = 0
    rows: int = 0
    labels: int = 0
    _late: list[tuple[float, str, int]] = field(default_factory=list)

    async def run(self) -> None:
        """Send until it is cancelled; a row counts from when it was due, also if it had to wait."""
        source, rng, start = DriftingRows(), np.random.default_rng(1), time.perf_counter()
        number = 0

        async def client() -> None:
            nonlocal number
            async with Connection(self.service.host, self.service.port) as connection:
                while True:
                    due, number = start + number / self.rate, number + 1
                    row, label = source.next()
                    await asyncio.sleep(max(0.0, due - time.perf_counter()))
                    reply = await connection.request("POST", "/predict", {"rows": [row]})
                    now = time.perf_counter()
                    self.latencies.append(now - due)
                    self.rows += 1
                    if reply.status != 200:
                        self.failed += 1
                        continue
                    mean = LATE_SECONDS if rng.random() < LATE_SHARE else SOON_SECONDS
                    entry = (now + rng.exponential(mean), reply.json()["predictions"][0]["id"], label)
                    heapq.heappush(self._late, entry)

        await asyncio.gather(self._send_labels(), *(client() for _ in range(CONNECTIONS)))

    async def _send_labels(self) -> None:
        async with Connection(self.service.host, self.service.port) as connection:
            while True:
                await asyncio.sleep(LABEL_PAUSE)
                due = []
                while self._late and self._late[0][0] <= time.perf_counter():
                    _, id_, label = heapq.heappop(self._late)
                    due.append({"id": id_, "label": label})
                if due:
                    reply = await connection.request("POST", "/label", {"labels": due})
                    accepted = reply.json()["accepted"] if reply.status == 200 else 0
                    self.labels += accepted
                    self.failed += accepted != len(due)

    def taken(self, seconds: float) -> dict[str, float]:
        """Rate and latency since the last time."""
        ordered, self.latencies = sorted(self.latencies), []
        n = len(ordered)
        return {
            "rows_per_second": n / seconds,
            "p50_ms": 1000 * ordered[n // 2] if n else float("nan"),
            "p99_ms": 1000 * ordered[n * 99 // 100] if n else float("nan"),
        }


class OpenPage:
    """The page in Chromium, and what it takes."""

    def __init__(self, browser: Any, page: Any, session: Any, machine: Any) -> None:
        self._browser, self.page, self._session, self._machine = browser, page, session, machine
        self.complaints: list[str] = []
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", lambda said: self.complaints.append(said.text) if said.type == "error" else None)

    async def open(self, service: ServiceProcess) -> None:
        """Show the page of a service."""
        await self.page.goto(f"http://{service.host}:{service.port}/")
        await self.page.wait_for_selector("#status .tile")

    async def leave(self) -> None:
        """Show nothing."""
        await self.page.goto("about:blank")

    async def sample(self) -> dict[str, Any]:
        """Its memory, after garbage has been collected, and what it shows."""
        for _ in range(2):
            await self._session.send("HeapProfiler.collectGarbage")
        found = (await self._session.send("Performance.getMetrics"))["metrics"]
        values = {each["name"]: each["value"] for each in found}
        processes = (await self._machine.send("SystemInfo.getProcessInfo"))["processInfo"]
        renderers = [each["id"] for each in processes if each["type"] == "renderer"]
        return {
            "heap_mib": values["JSHeapUsedSize"] / 2**20,
            "nodes": int(values["Nodes"]),
            "listeners": int(values["JSEventListeners"]),
            "renderer_mib": sum(map(resident, renderers)) / 2**20,
            "shown": await self._shown(),
        }

    async def _shown(self) -> int:
        tile = self.page.locator("#status .tile", has=self.page.get_by_text("Labels learnt", exact=True))
        return int((await tile.locator(".value").inner_text()).replace(",", ""))


def resident(pid: int) -> int:
    """The memory of a process, in bytes; 0 if it has ended."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


@contextlib.asynccontextmanager
async def chromium() -> AsyncIterator[OpenPage]:
    """A browser with one empty tab."""
    from playwright.async_api import Error, async_playwright

    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        raise SystemExit(f"no browser: none of {', '.join(NAMES)} is installed")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=OPTIONS, handle_sigint=False)
        try:
            page = await browser.new_page()
            session = await page.context.new_cdp_session(page)
            await session.send("Performance.enable")
            yield OpenPage(browser, page, session, await browser.new_browser_cdp_session())
        finally:
            with contextlib.suppress(Error):  # Ctrl-C may have ended it
                await browser.close()


async def watch_it(
    service: ServiceProcess, shown: OpenPage, rate: float, minutes: float, every: float, samples: list[dict]
) -> Stream:
    """The stream with the page open; a sample every so many seconds."""
    stream = Stream(service, rate)
    running = asyncio.create_task(stream.run())
    start = last = time.perf_counter()
    try:
        while last - start < 60 * minutes:
            await asyncio.wait({running}, timeout=every)
            if running.done():
                await running
            now = time.perf_counter()
            rates = stream.taken(now - last)
            sample = {"seconds": now - start, **rates, **await shown.sample()}
            sample |= {"service_mib": service.memory() / 2**20, "behind": stream.labels - sample["shown"]}
            sample["service_cpu"] = cpu_seconds(service.pid)
            last = time.perf_counter()
            stream.latencies.clear()  # those of the sample itself, when garbage was collected
            samples.append(sample)
            print(in_words(sample), flush=True)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    return stream


def in_words(sample: dict[str, Any]) -> str:
    """One line of the table."""
    return (
        f"{sample['seconds'] / 60:6.1f} min  heap {sample['heap_mib']:6.2f} MiB  nodes {sample['nodes']:6,}  "
        f"listeners {sample['listeners']:4}  renderer {sample['renderer_mib']:6.1f} MiB  "
        f"service {sample['service_mib']:6.1f} MiB  {sample['rows_per_second']:6.1f} rows/s  "
        f"p50 {sample['p50_ms']:5.2f} ms  p99 {sample['p99_ms']:6.2f} ms  "
        f"shown {sample['shown']:,} ({sample['behind']:+,} since)"
    )


class PlainListener:
    """A client that listens in a process of its own, and does nothing with what it reads."""

    READ = (
        "import socket, sys\n"
        "with socket.create_connection((sys.argv[1], int(sys.argv[2]))) as opened:\n"
        "    opened.sendall(b'GET /events HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n')\n"
        "    while opened.recv(1 << 20):\n"
        "        pass\n"
    )

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None

    async def open(self, service: ServiceProcess) -> None:
        """Begin to listen, if it does not yet."""
        await self.leave()
        words = (sys.executable, "-c", self.READ, service.host, str(service.port))
        self._process = await asyncio.create_subprocess_exec(*words)

    async def leave(self) -> None:
        """Stop."""
        if self._process is not None:
            self._process.kill()
            await self._process.wait()
            self._process = None


Loader = Callable[[float], Awaitable[dict[str, float]]]


def loads(service: ServiceProcess, rate: float) -> dict[str, Loader]:
    """Rows and labels as fast as they are answered, and at a steady rate, for so many seconds."""
    source = DriftingRows(seed=2)
    rows = [source.next() for _ in range(4096)]
    raws = [request_bytes("POST", "/predict", json.dumps({"rows": [row]}).encode()) for row, _ in rows]

    async def pair(connection: Connection, number: int) -> list[int]:
        i = number % len(raws)
        reply = await connection.ask(raws[i])
        labels = [{"id": reply.json()["predictions"][0]["id"], "label": rows[i][1]}]
        return [reply.status, (await connection.request("POST", "/label", {"labels": labels})).status]

    async def flat_out(seconds: float) -> dict[str, float]:
        before = cpu_seconds(service.pid)
        load: Load = await run_load(service.host, service.port, CLIENTS, seconds, pair)
        if set(load.statuses) != {200}:
            raise SystemExit(f"answers other than 200: {dict(load.statuses)}")
        cpu = 1e6 * (cpu_seconds(service.pid) - before) / len(load.latencies)
        return {"rows_per_second": load.rate, "cpu_us": cpu, "p99_ms": 1000 * load.percentile(99)}

    async def steady(seconds: float) -> dict[str, float]:
        stream, before, begin = Stream(service, rate), cpu_seconds(service.pid), time.perf_counter()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stream.run(), seconds)
        cpu = 1e6 * (cpu_seconds(service.pid) - before) / stream.rows
        return {**stream.taken(time.perf_counter() - begin), "cpu_us": cpu}

    return {"flat out": flat_out, "steady": steady}


async def compare(
    service: ServiceProcess, shown: OpenPage | PlainListener, load: Loader, rounds: int, seconds: float
) -> AsyncIterator[dict[str, Any]]:
    """The same load with the page and without, in turn."""
    for number in range(-1, rounds):  # the first one warms up
        one: dict[str, Any] = {}
        for with_page in (True, False) if number % 2 else (False, True):
            await (shown.open(service) if with_page else shown.leave())
            one["with" if with_page else "without"] = await load(seconds)
        if number >= 0:
            words = [f"{k} {v['rows_per_second']:,.0f}/s {v['cpu_us']:,.0f} µs" for k, v in one.items()]
            print(f"round {number + 1}: " + ", ".join(sorted(words)), flush=True)
            yield one
    await shown.leave()


def quarters(samples: list[dict]) -> dict[str, dict[str, float]]:
    """Means of each figure in each quarter of the time, and how the last compares with the others."""
    found = {}
    for name in WATCHED:
        parts = np.array_split(np.array([sample[name] for sample in samples]), 4)
        first, second, third, last = (float(part.mean()) if len(part) else float("nan") for part in parts)
        found[name] = {
            "first": first, "second": second, "third": third, "last": last, "growth": last / third - 1
        }  # fmt: skip
    return found


def cost(rounds: list[dict]) -> dict[str, float]:
    """What the page costs: medians over rounds of the ratios."""
    rate = [one["with"]["rows_per_second"] / one["without"]["rows_per_second"] for one in rounds]
    cpu = [one["with"]["cpu_us"] / one["without"]["cpu_us"] for one in rounds]
    medians = {
        f"{key}_{name}": statistics.median(one[name][key] for one in rounds)
        for key in ("rows_per_second", "cpu_us")
        for name in ("with", "without")
    }
    return {"rate_ratio": statistics.median(rate), "cpu_ratio": statistics.median(cpu), **medians}


async def measure(given: argparse.Namespace, service: ServiceProcess, result: dict[str, Any]) -> None:
    """All of it; ``result`` is filled on the way."""
    works = loads(service, given.rate)
    if given.plain:
        listener = PlainListener()
        try:
            for name, load in works.items():
                found = result.setdefault(name, [])
                async for one in compare(service, listener, load, given.rounds, given.seconds):
                    found.append(one)
        finally:
            await listener.leave()
        return
    async with chromium() as shown:
        await shown.open(service)
        result["complaints"] = shown.complaints
        stream = await watch_it(
            service, shown, given.rate, given.minutes, given.every, result.setdefault("samples", [])
        )
        result |= {"rows": stream.rows, "labels": stream.labels, "failed": stream.failed}
        found = result.setdefault("flat out", [])
        async for one in compare(service, shown, works["flat out"], given.rounds, given.seconds):
            found.append(one)


def main() -> int:
    """Run it, print the summary and write the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--rate", type=float, default=200.0, help="rows a second")
    parser.add_argument("--every", type=float, default=30.0, help="seconds between two samples")
    parser.add_argument("--rounds", type=int, default=6, help="flat out, with the page and without")
    parser.add_argument("--seconds", type=float, default=10.0, help="of each round")
    parser.add_argument("--model", choices=["ocb", "adaptive"], default="ocb")
    parser.add_argument("--plain", action="store_true", help="a client that only reads, and no hour")
    parser.add_argument("--out", type=Path, help="a file for everything measured, as JSON")
    given = parser.parse_args()
    server_core, *others = sorted(os.sched_getaffinity(0))
    if not others:
        raise SystemExit("two cores are needed: one for the service, one for the clients and the browser")
    os.sched_setaffinity(0, others)
    result: dict[str, Any] = {"minutes": given.minutes, "rate": given.rate, "model": given.model}
    environment = {"NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    with scratch_folder() as folder:
        model = write_model(Path(folder) / "model.ocb", given.model, features=FEATURES)
        with ServiceProcess(model, Path(folder) / "state", cores=[server_core], **environment) as service:
            try:
                asyncio.run(measure(given, service, result))
            except KeyboardInterrupt:
                result["ended_early"] = True
                print("ended early")
            result["exit_status"] = service.stop()
    return report(result, given.out)


def report(result: dict[str, Any], out: Path | None) -> int:
    """Print what was found and write it; whether something is wrong."""
    wrong = list(result.get("complaints", []))
    if len(result.get("samples", [])) >= 4:
        result["quarters"] = found = quarters(result["samples"])
        for name, each in found.items():
            print(f"{name:>16}: " + "  ".join(f"{key} {value:,.3f}" for key, value in each.items()))
        grown = ("heap_mib", "nodes", "listeners", "service_mib")
        wrong += [f"{name} grew" for name in grown if found[name]["growth"] > MAX_GROWTH]
    for name in ("flat out", "steady"):
        if not result.get(name):
            continue
        result[f"cost, {name}"] = found_cost = cost(result[name])
        print(f"{name}: " + "  ".join(f"{key} {value:,.3f}" for key, value in found_cost.items()))
        if name == "flat out" and found_cost["rate_ratio"] < 1 - MAX_COST:
            wrong.append("the page costs too much")
    if result.get("failed"):
        wrong.append(f"{result['failed']} requests failed")
    result["wrong"] = wrong
    if out is not None:
        out.write_text(json.dumps(result, indent=1) + "\n")
    print("wrong: " + ("; ".join(wrong) or "nothing"))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
