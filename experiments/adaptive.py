"""How AdaptiveClassifier does on the 18 named streams: against its own members, with late labels, in steps.

    python experiments/adaptive.py [--data DIR] [--streams a,b|first|second|all] [--rows N] [--seeds 0,1]
                                   [--delays 0,20] [--step N] [--without GROUP,GROUP] [--jobs N] [--out FILE]

Rows are read as ``ocboost compare`` reads them, and the first 2,000 (a fifth of a short stream) are the
start. For every stream: accuracy, log-loss, the expected calibration error of the predicted class in ten
bins, CPU time, the best member over the whole stream and how far behind it the mix is, over the whole stream
and in the worst 5,000 consecutive rows. "first" and "second" are two halves of the streams: constants are
chosen on the first and reported on the second.
"""

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

import ocboost
from ocboost.datasets.drift import STREAMS, stream_named
from ocboost.estimators.adaptive.bank import Bank
from ocboost.estimators.adaptive.issued import Issued
from ocboost.estimators.adaptive.settings import chosen_members
from ocboost.evaluation.first_rows import rows_of_seed
from ocboost.streams.rows import Rows

FIRST = ("elec2", "insects", "insects6", "phishing", "segments", "sea", "sea-still", "rbf", "rbf-still")
SECOND = tuple(name for name in STREAMS if name not in FIRST)
LONG = 5_000  # rows: what the gap to the best member is about


def loaded(name: str, data: Path | None, rows: int | None, seed: int) -> tuple[Any, Any, int]:
    """The rows, codes and number of classes of a stream."""
    stream = stream_named(name).load(data, rows=rows, seed=seed).rows
    classes = stream.classes
    coded = stream.coded(classes)
    return coded.X, coded.codes, len(classes)


def one(name: str, given: argparse.Namespace, seed: int, delay: int) -> dict[str, Any]:
    """One run: predict and learn row by row, or in steps, labels ``delay`` rows late."""
    ocboost.set_num_threads(1)
    X, codes, K = loaded(name, given.data, given.rows, seed)
    n = len(codes)
    start = min(2_000, n // 5)
    first = rows_of_seed(codes[:start], 0 if stream_named(name).drawn else seed)
    boosters, without = chosen_members(given.extra, given.without)
    bank = Bank(
        X.shape[1],
        K,
        sparse=not isinstance(X, np.ndarray),
        n_hypotheses=100,
        seed=seed,
        boosters=boosters,
        without=without,
    )
    bank.begin(Rows(X[:start][first], codes=codes[:start][first]))
    E, m = len(bank.names), n - start
    right, loss = np.zeros((E, m), bool), np.zeros((E, m))
    final, sure, hit = np.zeros(m), np.zeros(m), np.zeros(m, bool)
    waiting: list[tuple[int, Issued]] = []
    shares = []
    began = time.process_time()
    for i in range(start, n, given.step):
        for j in range(i, min(i + given.step, n)):
            row = bank.row(X[j : j + 1])
            record = bank.record(row)
            waiting.append((j, Issued(record, bank.issued.n_issued, bank.last)))
            bank.issued.n_issued += 1
            t, y = j - start, codes[j]
            p = record[-1]
            final[t], sure[t], hit[t] = p[y], p.max(), p.argmax() == y
            plain = record[2 * E + bank.mixing.n_mixers + E :][:E]
            right[:, t], loss[:, t] = plain.argmax(axis=1) == y, plain[:, y]
        while waiting and (not delay or len(waiting) > delay):
            j, issued = waiting.pop(0)
            known = row if delay == 0 and given.step == 1 else None
            bank.learn(X[j : j + 1], int(codes[j]), 1.0, issued, known)
        if (i - start) % 200 == 0:
            shares.append(bank.mixing.influence())
    seconds = time.process_time() - began
    best = int(right.mean(axis=1).argmax())
    return {
        "stream": name,
        "seed": seed,
        "delay": delay,
        "rows": m,
        "accuracy": 100 * hit.mean(),
        "log_loss": float(-np.log(np.maximum(final, 1e-15)).mean()),
        "ece": 100 * ece(sure, hit),
        "us": 1e6 * seconds / m,
        "best": bank.names[best],
        "ahead": 100 * (hit.mean() - right[best].mean()),
        "worst_5000": worst_gap(hit, right[best]),
        "members": {
            name: [100 * right[e].mean(), float(-np.log(np.maximum(loss[e], 1e-6)).mean())]
            for e, name in enumerate(bank.names)
        },
        "shares": dict(zip(bank.names, np.mean(shares, axis=0).round(4).tolist(), strict=True)),
        "bytes": bank.nbytes,
        "grown": 0 if bank.pool is None else bank.pool.driver.n_grown_,
    }


def ece(sure: Any, hit: Any) -> float:
    """The expected calibration error of the predicted class, ten bins."""
    bins = np.minimum((sure * 10).astype(int), 9)
    return float(
        sum(abs(hit[bins == b].mean() - sure[bins == b].mean()) * (bins == b).mean() for b in np.unique(bins))
    )


def worst_gap(hit: Any, best: Any) -> float | None:
    """The points that the mix is ahead of a member in the worst 5,000 consecutive rows."""
    if len(hit) < LONG:
        return None
    gap = np.cumsum(np.append(0, hit.astype(int) - best.astype(int)))
    return 100 * float((gap[LONG:] - gap[:-LONG]).min()) / LONG


def main() -> None:
    """Run, print a table, write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("OCBOOST_DATA"))
    parser.add_argument("--streams", default="all")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--delays", default="0")
    parser.add_argument("--step", type=int, default=1)
    parser.add_argument("--without", default="")
    parser.add_argument("--extra", default="")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    given.data = None if given.data is None else Path(given.data)
    given.without = tuple(filter(None, given.without.split(",")))
    given.extra = tuple(filter(None, given.extra.split(",")))
    groups = {"all": tuple(STREAMS), "first": FIRST, "second": SECOND}
    names = groups.get(given.streams, tuple(given.streams.split(",")))
    delays = [int(delay) for delay in given.delays.split(",")]
    work = [(name, seed, d) for name in names for seed in map(int, given.seeds.split(",")) for d in delays]
    found = Parallel(given.jobs, verbose=0)(delayed(one)(n, given, seed, d) for n, seed, d in work)
    head = f"{'stream':18s} seed delay    rows    acc  logloss  ece   us   ahead  worst5k best"
    print(head)
    for r in found:
        worst = "     –" if r["worst_5000"] is None else f"{r['worst_5000']:+6.2f}"
        print(
            f"{r['stream']:18s} {r['seed']:4d} {r['delay']:5d} {r['rows']:7d} {r['accuracy']:6.2f} "
            f"{r['log_loss']:8.4f} {r['ece']:4.1f} {r['us']:4.0f} {r['ahead']:+6.2f}  {worst}  {r['best']}"
        )
    for delay in delays:
        for label, half in (("first", FIRST), ("second", SECOND)):
            own = [r for r in found if r["delay"] == delay and r["stream"] in half]
            if own:
                mean = {
                    key: np.mean([r[key] for r in own])
                    for key in ("accuracy", "log_loss", "ece", "ahead", "us")
                }
                print(
                    f"{label} half, delay {delay}: {mean['accuracy']:.2f} / {mean['log_loss']:.4f}, "
                    f"ece {mean['ece']:.2f}, ahead {mean['ahead']:+.2f}, {mean['us']:.0f} us"
                )
    if given.out is not None:
        given.out.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
