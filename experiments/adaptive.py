"""How AdaptiveClassifier does on the 18 named streams: against its own members, with late labels, in steps.

    python experiments/adaptive.py [--data DIR] [--streams a,b|first|second|all] [--rows N] [--seeds 0,1]
                                   [--delays 0,20] [--step N] [--without NAME,NAME] [--extra NAME]
                                   [--transform units|tails] [--set MODULE.CONSTANT=VALUE;…]
                                   [--jobs N] [--out FILE]

Rows are read as ``ocboost compare`` reads them, and the first 2,000 (a fifth of a short stream) are the
start. For every stream: accuracy, log-loss, the expected calibration error of the predicted class in ten
bins, CPU time, the best member over the whole stream and how far behind it the mix is, over the whole stream
and in the worst 5,000 consecutive rows. "first" and "second" are two halves of the streams: constants are
chosen on the first and reported on the second.
"""

import argparse
import ast
import json
import os
import time
from collections import deque
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

import ocboost
from ocboost.datasets.drift import STREAMS, stream_named
from ocboost.estimators.adaptive.bank import Bank
from ocboost.estimators.adaptive.issued import key_of_id
from ocboost.estimators.adaptive.settings import chosen_members
from ocboost.evaluation.first_rows import rows_of_seed
from ocboost.streams.rows import Rows

FIRST = ("elec2", "insects", "insects6", "phishing", "segments", "sea", "sea-still", "rbf", "rbf-still")
SECOND = tuple(name for name in STREAMS if name not in FIRST)
LONG = 5_000  # rows: what the gap to the best member is about


def mnist_stream(data: Path | None, rows: int | None, seed: int) -> tuple[Any, Any, int]:
    """Ten digits, every second pixel of every second line, in the order of the training set."""
    from ocboost.datasets.mnist import load_mnist

    images = load_mnist(data, online=False)
    X = np.asarray(images.train_X, np.float64).reshape(len(images.train_X), 28, -1)[:, ::2, ::2]
    n = min(rows or 10_000, len(X))
    return X.reshape(len(X), -1)[:n].copy(), np.asarray(images.train_y[:n], np.int64), 10


def letters_stream(data: Path | None, rows: int | None, seed: int) -> tuple[Any, Any, int]:
    """Twenty Gaussian classes in ten dimensions that turn round slowly."""
    rng = np.random.default_rng([seed, 5])
    n, K = rows or 10_000, 20
    centres = rng.normal(size=(K, 10))
    codes = rng.integers(K, size=n)
    angle = np.linspace(0.0, np.pi, n)[:, None]
    other = centres[np.roll(np.arange(K), 1)]
    X = np.cos(angle) * centres[codes] + np.sin(angle) * other[codes] + 0.35 * rng.normal(size=(n, 10))
    return X, codes, K


OTHERS = {"mnist10": mnist_stream, "turning20": letters_stream}


def loaded(name: str, data: Path | None, rows: int | None, seed: int) -> tuple[Any, Any, int]:
    """The rows, codes and number of classes of a stream."""
    if name in OTHERS:
        return OTHERS[name](data, rows, seed)
    stream = stream_named(name).load(data, rows=rows, seed=seed).rows
    classes = stream.classes
    coded = stream.coded(classes)
    return coded.X, coded.codes, len(classes)


def changed(X: Any, how: str) -> Any:
    """The features in other units, or with heavy tails; the order of values within a column is kept."""
    if how == "" or not isinstance(X, np.ndarray):
        return X
    rng = np.random.default_rng(0)
    if how == "units":  # powers of ten, and far from zero
        return X * 10.0 ** rng.integers(-6, 7, X.shape[1]) + 10.0 ** rng.integers(0, 4, X.shape[1])
    centre, spread = np.nanmedian(X, axis=0), np.nanstd(X, axis=0) + 1e-12
    z = np.clip((X - centre) / spread, -8.0, 8.0)
    return np.sign(z) * np.expm1(3.0 * np.abs(z))  # "tails": log-normal and worse


def set_constants(assignments: str) -> None:
    """Set constants of modules: ``mixing.LAG_SCALE=20,regression.RATES=(0.1,)``."""
    for each in filter(None, assignments.split(";")):
        place, _, value = each.partition("=")
        module, _, constant = place.rpartition(".")
        found = import_module(f"ocboost.estimators.adaptive.{module}")
        if not hasattr(found, constant):
            raise SystemExit(f"there is no {place}")
        setattr(found, constant, ast.literal_eval(value))


def one(name: str, given: argparse.Namespace, seed: int, delay: int) -> dict[str, Any]:
    """One run: predict and learn row by row, or in steps, labels ``delay`` rows late."""
    ocboost.set_num_threads(1)
    set_constants(given.set)
    X, codes, K = loaded(name, given.data, given.rows, seed)
    X = changed(X, given.transform)
    n = len(codes)
    start = min(2_000, n // 5)
    first = rows_of_seed(codes[:start], 0 if name in OTHERS or stream_named(name).drawn else seed)
    boosters, without = chosen_members(given.extra, given.without)
    bank = Bank(
        X.shape[1],
        K,
        sparse=not isinstance(X, np.ndarray),
        n_hypotheses=given.hypotheses,
        seed=seed,
        boosters=boosters,
        without=without,
    )
    bank.begin(Rows(X[:start][first], codes=codes[:start][first]))
    E, m = len(bank.names), n - start
    right, loss = np.zeros((E, m), bool), np.zeros((E, m))
    final, sure, hit = np.zeros(m), np.zeros(m), np.zeros(m, bool)
    waiting: deque[int] = deque()
    shares = []
    began = time.process_time()
    for i in range(start, n, given.step):
        for j in range(i, min(i + given.step, n)):
            row = bank.row(X[j : j + 1])
            record = bank.record(row)
            waiting.append(j)
            bank.issued.add(key_of_id(j), record, row.last, row.since, bank.n_learnt, replace=True)
            t, y = j - start, codes[j]
            p = record[-1]
            final[t], sure[t], hit[t] = p[y], p.max(), p.argmax() == y
            plain = record[2 * E + bank.mixing.n_mixers + E :][:E]
            right[:, t], loss[:, t] = plain.argmax(axis=1) == y, plain[:, y]
        while waiting and (not delay or len(waiting) > delay):
            j = waiting.popleft()
            bank.label(X[j : j + 1], int(codes[j]), 1.0, key_of_id(j))
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
    parser.add_argument("--hypotheses", type=int, default=100)
    parser.add_argument("--without", default="")
    parser.add_argument("--extra", default="")
    parser.add_argument("--transform", choices=("", "units", "tails"), default="")
    parser.add_argument("--set", default="", help="constants: mixing.LAG_SCALE=20;regression.RATES=(0.1,)")
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
