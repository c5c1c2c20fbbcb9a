"""How fast a cascade judges windows, beside OpenCV, in one run: python benchmarks/cascade.py --data DIR.

Both judge the same windows of 24 × 24 pixels with haarcascade_frontalface_default, 25 stages of 2,913 stumps.
OpenCV has no call for many windows of one size: it is called window by window, in a loop, and with the
windows below each other in strips, where it also looks at the eleven places between two windows, and leaves
out each strip's last one. The faster way counts as the peer. "all stumps" has no stage reject: OpenCV then
gets the cascade with thresholds that everything passes; it still leaves out windows of low contrast. Answers
are what a booster learns from; OpenCV does not give them. One thread each unless it says otherwise; all
is compiled beforehand. The data is the folder that holds faces/faces24_test.png; without it, the few windows
of `load_faces` are taken again and again.
"""

import argparse
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
from harness import in_turn, machine, new_console, table_of, write_results
from rich.console import Console

import ocboost
from ocboost.cascade import passed, read_cascade, stage_sums
from ocboost.datasets import load_faces

AIM = 1.5
STRIP = 500  # windows in an image
SIDE = 24
COLUMNS = {
    "task": ("task", ""),
    "method": ("method", ""),
    "windows": ("windows", ",d"),
    "CPU µs/window": ("cpu_us", ".3g"),
    "wall µs/window": ("wall_us", ".3g"),
    "CPU ratio": ("cpu_ratio", ".1f"),
    "wall ratio": ("wall_ratio", ".1f"),
    "accepted": ("accepted", ",d"),
}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--windows", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5, help="how often each is timed; the median counts")
    parser.add_argument("--seed", type=int, default=2008)
    parser.add_argument("--quick", action="store_true", help="2,000 windows, once: a check that all runs")
    parser.add_argument("--data", type=Path, default=os.environ.get("OCBOOST_DATA"))
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "cascade.json")
    given = parser.parse_args()
    if given.quick:
        given.windows, given.rounds = 2_000, 1
    return given


def load(given: argparse.Namespace) -> tuple[np.ndarray, str]:
    """Test windows in random order, as many as wanted, some repeated if there are too few."""
    data = load_faces(given.data)
    X = data.test_X.reshape(-1, SIDE, SIDE)
    order = np.random.default_rng(given.seed).permutation(len(X))
    source = data.source if given.data is None else data.source.replace(str(given.data), "DIR")
    return np.ascontiguousarray(X[np.resize(order, given.windows)]), source


Judge = Callable[[np.ndarray], int]


def opencv_loop(classifier: cv2.CascadeClassifier, windows: np.ndarray) -> int:
    size = (SIDE, SIDE)
    return sum(len(classifier.detectMultiScale(window, 1.1, 0, 0, size, size)) > 0 for window in windows)


def opencv_strips(classifier: cv2.CascadeClassifier, windows: np.ndarray) -> int:
    size, count = (SIDE, SIDE), 0
    for first in range(0, len(windows), STRIP):
        strip = windows[first : first + STRIP].reshape(-1, SIDE)
        found = np.asarray(classifier.detectMultiScale(strip, 1.1, 0, 0, size, size)).reshape(-1, 4)
        count += int((found[:, 1] % SIDE == 0).sum())
    return count


def methods(folder: Path) -> dict[str, dict[str, Judge]]:
    """What is timed: task by task, ours first."""
    path = Path(cv2.data.haarcascades) / "haarcascade_frontalface_default.xml"
    file = read_cascade(path)
    cascade, stumps = file.cascade, file.cascade.stumps()
    file.write(folder / "all.xml", cascade.with_thresholds(np.full(cascade.n_stages, -1e5)))
    judge, everything = cv2.CascadeClassifier(str(path)), cv2.CascadeClassifier(str(folder / "all.xml"))

    def ours(windows: np.ndarray, threads: int = 1) -> int:
        ocboost.set_num_threads(threads)
        return int((passed(cascade, windows) == cascade.n_stages).sum())

    def sums(windows: np.ndarray) -> int:
        ocboost.set_num_threads(1)
        return len(stage_sums(cascade, windows))

    def answers(windows: np.ndarray) -> int:
        ocboost.set_num_threads(1)
        return len(stumps.answers(windows.reshape(len(windows), -1)))

    return {
        "accept or reject": {
            "ocboost passed": ours,
            "ocboost passed, two threads": lambda windows: ours(windows, 2),
            "OpenCV, window by window": lambda windows: opencv_loop(judge, windows),
            "OpenCV, strips of windows": lambda windows: opencv_strips(judge, windows),
        },
        "all stumps": {
            "ocboost stage_sums": sums,
            "ocboost CascadeStumps.answers": answers,
            "OpenCV, window by window": lambda windows: opencv_loop(everything, windows),
        },
    }


def measure(
    task: str, each: dict[str, Judge], windows: np.ndarray, given: argparse.Namespace, console: Console
) -> list[dict[str, object]]:
    """Time all methods of a task in turn, in a new order each round."""
    for work in each.values():
        work(windows[: 2 * STRIP])  # compiles: never counted
    times = in_turn(
        {name: lambda work=work: work(windows) for name, work in each.items()},
        given.rounds,
        given.seed,
        lambda line: console.print(f"{task}, {line}", style="dim"),
    )
    medians = {name: timings.median for name, timings in times.items()}
    peer = [min(medians[name][k] for name in each if name.startswith("OpenCV")) for k in range(2)]
    return [
        {
            "task": task,
            "method": name,
            "windows": len(windows),
            "cpu_us": 1e6 * cpu / len(windows),
            "wall_us": 1e6 * wall / len(windows),
            "cpu_ratio": peer[0] / cpu,
            "wall_ratio": peer[1] / wall,
            "accepted": times[name].result,
            "cpu_rounds": times[name].cpu,
            "wall_rounds": times[name].wall,
        }
        for name, (cpu, wall) in medians.items()
    ]


def main() -> None:
    given = arguments()
    console = new_console()
    cv2.setNumThreads(1)
    windows, source = load(given)
    with tempfile.TemporaryDirectory() as folder:
        rows = [
            row
            for task, each in methods(Path(folder)).items()
            for row in measure(
                task, each, windows if task == "accept or reject" else windows[::10], given, console
            )
        ]
    title = f"windows of {SIDE} × {SIDE}, seed {given.seed}; OpenCV {cv2.__version__}"
    console.print(table_of(rows, COLUMNS, title, source))
    console.print(f"aimed at: {AIM:g} times less CPU time than OpenCV; got {rows[0]['cpu_ratio']:.1f}")
    settings = {k: v for k, v in vars(given).items() if k not in ("out", "data")}
    result = {
        "machine": machine() | {"opencv": cv2.__version__},
        "settings": settings,
        "data": source,
        "aim": AIM,
        "rows": rows,
    }
    write_results(given.out, result)
    console.print(str(given.out))


if __name__ == "__main__":
    main()
