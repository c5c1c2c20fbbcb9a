"""Fits that go beyond one process: Dask's workers, and a folder larger than memory.

    python benchmarks/scale.py dask --rows 10_000_000          # one worker and two, in turn, in one run
    python benchmarks/scale.py dask --rows 1_000_000 --actors  # sums through a Dask actor
    python benchmarks/scale.py rows                            # 10⁵, 10⁶ and 10⁷ rows, two workers
    python benchmarks/scale.py exact                           # 1 to 4 workers against one machine
    python benchmarks/scale.py edges                           # test error with edges of its own
    python benchmarks/make_folder.py --rows 10_000_000 --features 50 --files 10 --out DIR
    python benchmarks/scale.py folder DIR                      # out of core: time, memory, disk

Rows are drawn on the workers, from a seed for each partition, so that reading costs next to nothing. Half of
the features have many values, a quarter 100 and a quarter two; one in twenty is missing. Each worker has one
thread.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

ROWS_PER_PARTITION = 250_000
CLUSTER: dict[str, Any] = {
    "threads_per_worker": 1,
    "processes": True,
    "dashboard_address": "127.0.0.1:0",
    "memory_limit": None,
}
RESULTS = Path(__file__).parent / "results" / "scale.json"


# Rows --------------------------------------------------------------------------------------------------


def drawn(partition: int, n: int, n_features: int, seed: int) -> np.ndarray:
    """Rows of a partition: features, then the label."""
    rng = np.random.default_rng([seed, partition])
    X = rng.standard_normal((n, n_features + 1), np.float32)
    quarter = n_features // 4
    X[:, :quarter] = np.round(X[:, :quarter] * 12)
    X[:, quarter : 2 * quarter] = X[:, quarter : 2 * quarter] > 0.3
    score = 0.08 * X[:, 0] + X[:, quarter] - 1.5 * np.abs(X[:, -2]) + np.sin(2 * X[:, -3]) + 0.4 * X[:, -4]
    label = score + rng.logistic(size=n) * 0.7 > -0.6
    X[:, :-1][rng.random((n, n_features), np.float32) < 0.05] = np.nan
    X[:, -1] = label
    return X


def dask_rows(n_rows: int, n_features: int, seed: int) -> tuple[Any, Any]:
    """X and y as arrays of Dask."""
    import dask.array as da
    from dask import delayed

    sizes = [ROWS_PER_PARTITION] * (n_rows // ROWS_PER_PARTITION)
    if n_rows % ROWS_PER_PARTITION:
        sizes.append(n_rows % ROWS_PER_PARTITION)
    parts = [delayed(drawn)(k, size, n_features, seed) for k, size in enumerate(sizes)]
    both = da.concatenate(
        [
            da.from_delayed(part, (size, n_features + 1), np.float32)
            for part, size in zip(parts, sizes, strict=True)
        ]
    )
    return both[:, :-1], both[:, -1].astype(np.int64)


# Dask ---------------------------------------------------------------------------------------------------


def memory_now() -> dict[str, int]:
    """The most memory that this process has had, in bytes."""
    return {"peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}


def one_fit(
    n_workers: int, n_rows: int, n_features: int, n_hypotheses: int, seed: int, actors: bool
) -> dict[str, Any]:
    """A fit on a fresh cluster, whose workers have compiled everything on a small fit before."""
    from distributed import Client, LocalCluster

    import ocboost.dask.classifier as module
    from ocboost.dask import DaskOCBClassifier, together

    if actors:
        together._all_have_xgboost = lambda *_: False
    clock: dict[str, float] = {}
    fit_together = module.fit_together

    def timed(client: Any, bin_rows: Any, sizes: Any, plan: Any, **how: Any) -> Any:
        clock["looked"] = time.perf_counter()
        binned = bin_rows()
        together.wait_for_all(client, binned.partitions, 300.0)
        clock["binned"] = time.perf_counter()
        return fit_together(client, lambda: binned, sizes, plan, **how)

    module.fit_together = timed
    try:
        with LocalCluster(n_workers=n_workers, **CLUSTER) as cluster, Client(cluster) as client:
            small = dask_rows(n_workers * 2000, n_features, seed + 1)
            DaskOCBClassifier(8, client).fit(*small)
            X, y = dask_rows(n_rows, n_features, seed)
            began = time.perf_counter()
            clf = DaskOCBClassifier(n_hypotheses, client).fit(X, y)
            ended = time.perf_counter()
            memory = [each["peak"] for each in client.run(memory_now).values()]
    finally:
        module.fit_together = fit_together
    return {
        "workers": n_workers,
        "rows": n_rows,
        "looking": clock["looked"] - began,
        "binning": clock["binned"] - clock["looked"],
        "fitting": ended - clock["binned"],
        "total": ended - began,
        "peak_bytes": memory,
        "alpha": clf.alpha_[0].tolist(),
    }


def shown(result: dict[str, Any]) -> str:
    memory = ", ".join(f"{each / 1e6:,.0f}" for each in result["peak_bytes"])
    parts = ", ".join(f"{name} {result[name]:.1f} s" for name in ("looking", "binning", "fitting", "total"))
    return f"{result['rows']:>12,} rows, {result['workers']} workers: {parts}; peak {memory} MB a worker"


def compare_workers(args: argparse.Namespace) -> dict[str, Any]:
    """One worker and two in turn."""
    results: list[dict[str, Any]] = []
    for _ in range(args.rounds):
        for n_workers in (1, 2):
            how = (n_workers, args.rows, args.features, args.hypotheses, args.seed, args.actors)
            results.append(one_fit(*how))
            print(shown(results[-1]), flush=True)
    ratios = {}
    for part in ("looking", "binning", "fitting", "total"):
        best = [min(r[part] for r in results if r["workers"] == n) for n in (1, 2)]
        ratios[part] = best[0] / best[1]
        print(
            f"two workers are {ratios[part]:.2f} times as fast as one at {part} (the best of {args.rounds})"
        )
    for each in results:
        each.pop("alpha")
    return {"fits": results, "ratios": ratios}


def grow_rows(args: argparse.Namespace) -> dict[str, Any]:
    """Cost over rows."""
    results = []
    for n_rows in (100_000, 1_000_000, 10_000_000):
        results.append(one_fit(2, n_rows, args.features, args.hypotheses, args.seed, args.actors))
        results[-1].pop("alpha")
        print(shown(results[-1]), f"{results[-1]['total'] / n_rows * 1e6:.2f} µs a row", flush=True)
    return {"fits": results}


def against_one_machine(args: argparse.Namespace) -> dict[str, Any]:
    """Stumps and weights on 1 to 4 workers, with partitions of any size, against `OCBClassifier`."""
    import dask.array as da
    from distributed import Client, LocalCluster

    import ocboost
    from ocboost.dask import DaskOCBClassifier
    from ocboost.learners import StumpLearner

    n = min(args.rows, 400_000)
    both = drawn(0, n, args.features, args.seed).astype(np.float64)
    rng = np.random.default_rng(args.seed)
    X, y, weights = both[:, :-1], both[:, -1].astype(int), rng.integers(0, 4, n) * 0.7
    table = []
    edges = None
    for n_workers in (1, 2, 3, 4):
        cuts = np.sort(rng.integers(0, n, 3 * n_workers))
        chunks = tuple(np.diff([0, *cuts, n]).tolist())
        with LocalCluster(n_workers=n_workers, **CLUSTER) as cluster, Client(cluster) as client:
            learner = StumpLearner(edges=edges)
            rows = da.from_array(X, chunks=(chunks, -1))
            columns = [da.from_array(each, chunks=(chunks,)) for each in (y, weights)]
            clf = DaskOCBClassifier(args.hypotheses, client, estimator=learner).fit(rows, *columns)
        if edges is None:
            edges = clf.edges_
            one = ocboost.OCBClassifier(StumpLearner(edges=edges), args.hypotheses).fit(X, y, weights)
        names = ("feature", "threshold", "left", "missing")
        same = np.ones(len(one.hypotheses_), bool)
        for name in names:
            same &= getattr(clf.hypotheses_, name) == getattr(one.hypotheses_, name)
        worst = float(np.abs(clf.alpha_[0] - one.alpha_[0]).max())
        sketch = float(np.abs(clf.to_local().boosters_[0].alpha - one.alpha_[0]).max())
        table.append({"workers": n_workers, "partitions": chunks, "same": int(same.sum()), "alpha": worst})
        print(
            f"{n_workers} workers, {len(chunks)} partitions of {min(chunks):,} to {max(chunks):,} rows: "
            f"{same.sum()} of {len(same)} stumps the same, max |Δα| {worst:.1e}, of the sketch {sketch:.1e}",
            flush=True,
        )
    return {"rows": n, "fits": table}


def own_edges(args: argparse.Namespace) -> dict[str, Any]:
    """Test error with edges from KLL, on the cluster, and with exact quantiles, on one machine."""
    from distributed import Client, LocalCluster

    import ocboost
    from ocboost.dask import DaskOCBClassifier

    n, errors = min(args.rows, 200_000), {"dask": [], "one machine": []}
    with LocalCluster(n_workers=2, **CLUSTER) as cluster, Client(cluster) as client:
        for seed in range(5):
            X, y = dask_rows(n, args.features, seed)
            test = drawn(10_000, 200_000, args.features, seed)
            local = ocboost.OCBClassifier(n_hypotheses=args.hypotheses).fit(X.compute(), y.compute())
            found = DaskOCBClassifier(args.hypotheses, client).fit(X, y).to_local()
            for name, clf in (("dask", found), ("one machine", local)):
                errors[name].append(float(np.mean(clf.predict(test[:, :-1]) != test[:, -1])))
            print(
                f"seed {seed}: " + ", ".join(f"{name} {each[-1]:.4%}" for name, each in errors.items()),
                flush=True,
            )
    difference = np.array(errors["dask"]) - np.array(errors["one machine"])
    noise = float(np.sqrt(2 * 0.25 / 200_000))
    print(
        f"mean difference {difference.mean():+.4%}, s.e. {difference.std(ddof=1) / 5**0.5:.4%} (a test "
        f"of 200,000 rows has a standard error of about {noise / 2**0.5:.3%})"
    )
    return {"rows": n, "errors": errors}


# A folder -----------------------------------------------------------------------------------------------

FOLDER = """
import json, resource, sys, time
from pathlib import Path
from ocboost.out_of_core import fit_folder
folder, label, J, work = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
steps, disk = {}, [0]
def progress(what, done, total):
    name = what.split(",")[0]
    now = time.perf_counter(), time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    if name not in steps:
        steps[name] = now
    if name == "summing pairs":
        disk[0] = max(disk[0], sum(p.stat().st_size for p in Path(work).iterdir()))
began = time.perf_counter()
found = fit_folder(folder, label, n_hypotheses=J, work=work, progress=progress)
progress("end", 0, 0)
names = list(steps)
parts = {
    a: {"seconds": steps[b][0] - steps[a][0], "cpu": steps[b][1] - steps[a][1], "peak_mb": steps[b][2]}
    for a, b in zip(names, names[1:])
}
stumps = len(found.classifier.hypotheses_)
print(json.dumps({"rows": found.n_learnt, "stumps": stumps, "accuracy": found.accuracy, "steps": parts,
                  "seconds": time.perf_counter() - began, "disk_bytes": disk[0]}))
"""


def fit_a_folder(args: argparse.Namespace) -> dict[str, Any]:
    """An out-of-core fit in a process of its own."""
    work = str(args.folder).rstrip("/") + ".work"
    command = [sys.executable, "-c", FOLDER, str(args.folder), args.label, str(args.hypotheses), work]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ)
    if done.returncode:
        raise SystemExit(done.stderr)
    result: dict[str, Any] = json.loads(done.stdout)
    for name, each in result["steps"].items():
        print(
            f"{name:22} {each['seconds']:7.1f} s, {each['cpu']:7.1f} s of CPU, "
            f"peak {each['peak_mb']:6.0f} MB so far"
        )
    print(
        f"{result['rows']:,} rows, {result['stumps']} stumps, right on {result['accuracy']:.2%}: "
        f"{result['seconds']:.1f} s, {result['disk_bytes'] / 1e6:,.0f} MB of disk"
    )
    return result


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["dask", "rows", "exact", "edges", "folder"])
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--label", default="y")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--features", type=int, default=48)
    parser.add_argument("--hypotheses", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--actors", action="store_true", help="sums through a Dask actor, not XGBoost")
    parser.add_argument("--out", type=Path, default=RESULTS)
    args = parser.parse_args()
    os.environ.setdefault("OCBOOST_NUM_THREADS", "1" if args.what != "folder" else "2")
    run = {
        "dask": compare_workers,
        "rows": grow_rows,
        "exact": against_one_machine,
        "edges": own_edges,
        "folder": fit_a_folder,
    }[args.what]
    result = run(args)
    stored = json.loads(args.out.read_text()) if args.out.exists() else {}
    settings = {name: str(value) for name, value in vars(args).items() if name not in ("out", "folder")}
    stored[f"{args.what}{' with actors' if args.actors else ''}"] = {"settings": settings, **result}
    args.out.write_text(json.dumps(stored, indent=1) + "\n")
    print(f"Wrote {args.out}")


if __name__ == "__main__":
    main()
