"""What class weights and thresholds do where classes are not equally frequent, and where they should act.

    python experiments/costs.py [--data DIR] [--jobs N] [--rows N] [--out FILE] [--figure FILE] [--draw]

1. NYC flights, of which about a quarter land late: recall and precision of the late ones, balanced accuracy,
   F1 and accuracy of AdaptiveClassifier and of OCBClassifier(forgetting=0.995), by the likeliest class, by
   thresholds, and with class_weight="balanced"; over the stream and through it.
2. Whether "balanced" should weigh what is predicted or what is learnt, and over how many labels the share of
   a class is averaged. Streams as ``ocboost compare`` reads them, at most 5,000 rows, and tilted ones,
   made of 12,000 rows, from which rows were left out so that the balance of the classes swings
   twice between about 2 and 98 percent. Scores are the balanced accuracy of the whole stream and the mean of
   that of each 1,000 rows. The memory is chosen on the first half of the streams and reported on the second.
3. Weights by class: the mean cost of an error where those of the second class cost three times as much.

Every row is predicted, then learnt, after a start of 2,000 (a fifth of a short stream). --draw only draws the
figure again, from the stored results.
"""

import argparse
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

import ocboost
from ocboost._core.metrics import Tally, Window, confusion_of
from ocboost._report.figures import BLUES, GREEN, GREY, ORANGE, as_svg, house_style
from ocboost.datasets.drift import stream_named
from ocboost.estimators.committee import probabilities
from ocboost.estimators.decisions import BALANCE_MEMORY, decision_of
from ocboost.streams.rows import Rows

HERE = Path(__file__).parent
FIRST = ("elec2", "insects", "insects6", "phishing", "segments", "sea", "rbf")
FIRST += ("elec2+tilted", "insects+tilted", "sea+tilted", "rbf+tilted")
SECOND = ("flights", "spam", "usenet", "bananas", "shuttle", "agrawal", "hyperplane")
SECOND += ("flights+tilted", "agrawal+tilted", "hyperplane+tilted")
MEMORIES = (50, 100, 200, 500, 1_000, 2_000, 5_000)
RATIOS = (3.0,)
BLOCK = 1_000
WINDOW, EVERY = 1_500, 150
RULES: dict[str, dict[str, Any]] = {
    "likeliest class": {},
    "threshold 0.4": {"threshold": 0.4},
    "threshold 0.3": {"threshold": 0.3},
    "threshold 0.2": {"threshold": 0.2},
    "balanced": {"class_weight": "balanced"},
}


def loaded(name: str, data: Path | None, rows: int | None) -> tuple[Any, Any, int]:
    """The rows, codes and number of classes of a stream."""
    base, _, tilted = name.partition("+")
    usual = 12_000 if tilted else 5_000
    stream = stream_named(base).load(data, rows=rows or usual, seed=0).rows
    coded = stream.coded(stream.classes)
    X, codes, K = coded.X, coded.codes, len(stream.classes)
    if tilted:
        swing = 0.45 * np.sin(np.linspace(0.0, 4.0 * np.pi, len(codes)))
        share = 0.55 + np.where(codes < (K + 1) // 2, swing, -swing)
        kept = np.random.default_rng(9).random(len(codes)) < share**2
        X, codes = X[kept], codes[kept]
    return X, codes, K


def followed(clf: Any, X: Any, codes: Any, start: int, K: int, first: Any, weights: Any) -> tuple[Any, Any]:
    """The probabilities and predictions of all rows after the start, each learnt after it was predicted."""
    clf.partial_fit(X[:start], codes[:start], classes=np.arange(K), sample_weight=first)
    n = len(codes)
    found, predicted = np.empty((n - start, K)), np.empty(n - start, np.int64)
    for i in range(start, n):
        row = Rows(X[i : i + 1], codes=codes[i : i + 1], weights=weights[i : i + 1], first=i)
        adaptive = isinstance(clf, ocboost.AdaptiveClassifier)
        found[i - start] = clf.probabilities_of(row) if adaptive else probabilities(clf.votes_of(row))
        predicted[i - start] = clf.decided(found[i - start : i - start + 1])[0]
        clf.learn_rows(row)
    return found, predicted


def made(kind: str, **rule: Any) -> Any:
    """A classifier of a kind."""
    if kind == "adaptive":
        return ocboost.AdaptiveClassifier(random_state=0, **rule)
    return ocboost.OCBClassifier(random_state=0, forgetting=0.995 if kind == "ocb, 0.995" else 1.0, **rule)


def shares(codes: Any, K: int, memory: float) -> Any:
    """The share of each class among recent labels, before each label."""
    sums, found = np.zeros(K), np.empty((len(codes), K))
    for i, code in enumerate(codes):
        found[i] = (sums + 1.0) / (sums.sum() + K)
        sums *= 1.0 - 1.0 / memory
        sums[code] += 1.0
    return found


def balanced(codes: Any, predicted: Any, K: int) -> float:
    """Balanced accuracy."""
    confusion = confusion_of(codes, predicted, K)
    rows = confusion.sum(axis=1)
    return float((confusion.diagonal()[rows > 0] / rows[rows > 0]).mean())


def scores(codes: Any, predicted: Any, K: int) -> tuple[float, float]:
    """Balanced accuracy of the stream, and the mean of that of its blocks that hold two classes or more."""
    blocks = [slice(at, at + BLOCK) for at in range(0, max(1, len(codes) - BLOCK // 2), BLOCK)]
    each = [balanced(codes[b], predicted[b], K) for b in blocks if len(np.unique(codes[b])) > 1]
    return balanced(codes, predicted, K), float(np.mean(each))


# Where it acts ---------------------------------------------------------------------------------------------


def one_stream(name: str, data: Path | None, rows: int | None) -> dict[str, Any]:
    """Parts 2 and 3 on a stream."""
    ocboost.set_num_threads(1)
    X, codes, K = loaded(name, data, rows)
    start = min(2_000, len(codes) // 5)
    later, plain = codes[start:], np.ones(len(codes))
    own = 1.0 / (K * shares(codes, K, BALANCE_MEMORY)[np.arange(len(codes)), codes])
    counts = np.bincount(codes[:start], minlength=K)
    first = (start / (K * np.maximum(counts, 1)))[codes[:start]]
    result: dict[str, Any] = {"rows": len(later), "share of the last class": float((later == K - 1).mean())}
    for kind in ("adaptive", "ocb", "ocb, 0.995"):
        found, likeliest = followed(made(kind), X, codes, start, K, None, plain)
        entry: dict[str, Any] = {"likeliest": scores(later, likeliest, K)}
        for memory in MEMORIES:
            lately = shares(codes, K, memory)[start:]
            entry[f"decision, {memory}"] = scores(later, (found / lately).argmax(axis=1), K)
        learnt = (
            followed(made(kind), X, codes, start, K, first, own)
            if kind == "adaptive"
            else followed(made(kind, class_weight="balanced"), X, codes, start, K, None, plain)
        )
        entry["learning"] = scores(later, learnt[1], K)
        if K == 2:
            for ratio in RATIOS:
                w = np.array([1.0, ratio])
                weighted, _ = followed(made(kind), X, codes, start, K, w[codes[:start]], w[codes])
                cost = [
                    float((w[later] * (chosen != later)).mean())
                    for chosen in (likeliest, (found * w).argmax(axis=1), weighted.argmax(axis=1))
                ]
                entry[f"cost {ratio:.2g}"] = dict(
                    zip(("likeliest", "decision", "learning"), cost, strict=True)
                )
        result[kind] = entry
    print(f"{name} is done", flush=True)
    return result


def mean_scores(streams: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """Means over streams of both scores, by kind and what was done."""
    table: dict[str, Any] = {}
    for kind in ("adaptive", "ocb", "ocb, 0.995"):
        keys = [key for key in streams[names[0]][kind] if not key.startswith("cost")]
        table[kind] = {
            key: np.mean([streams[name][kind][key] for name in names], axis=0).round(4).tolist()
            for key in keys
        }
    return table


# Flights ---------------------------------------------------------------------------------------------------


def flights(data: Path | None, rows: int | None) -> dict[str, Any]:
    """Part 1."""
    ocboost.set_num_threads(1)
    X, codes, K = loaded("flights", data, rows or 16_000)
    start = min(2_000, len(codes) // 5)
    later = codes[start:]
    result: dict[str, Any] = {"rows": len(later), "late": float(later.mean()), "kinds": {}}
    for kind in ("adaptive", "ocb, 0.995"):
        found, _ = followed(made(kind), X, codes, start, K, None, np.ones(len(codes)))
        entry: dict[str, Any] = {}
        for name, rule in RULES.items():
            table, chosen = found, found.argmax(axis=1)
            if name == "balanced":  # changes what OCB learns
                table, chosen = followed(made(kind, **rule), X, codes, start, K, None, np.ones(len(codes)))
            elif rule:
                decision = decision_of(np.arange(K), **rule)
                assert decision is not None
                chosen = decision.codes(found)
            entry[name] = described(table, chosen, later)
        tally = Tally(2)
        tally.add(found, later)
        result["kinds"][kind] = {"rules": entry, "thresholds": tally.bins[0].curve()}
    ends = list(range(WINDOW, len(later) + 1, EVERY))
    result["windows"] = {"rows": ends, "late": [float(later[e - WINDOW : e].mean()) for e in ends]}
    return result


def described(table: Any, chosen: Any, codes: Any) -> dict[str, Any]:
    """The metrics of predictions, and recall and precision of the second class through the stream."""
    tally, window = Tally(2), Window(2, WINDOW)
    tally.add(table, codes, chosen)
    curves: dict[str, list[float | None]] = {"recall": [], "balanced_accuracy": []}
    for end in range(EVERY, len(codes) + 1, EVERY):
        part = slice(end - EVERY, end)
        window.add(table[part], codes[part], chosen[part])
        if end >= WINDOW:
            curves["balanced_accuracy"].append(window.values()["balanced_accuracy"])
            inside = slice(end - WINDOW, end)
            late = codes[inside] == 1
            curves["recall"].append(float((chosen[inside][late] == 1).mean()))
    right, given = tally.confusion[1, 1], tally.confusion[:, 1].sum()
    recalls = (tally.confusion.diagonal() / tally.confusion.sum(axis=1)).tolist()
    return {
        "recall": recalls[1],
        "recall of the others": recalls[0],
        "precision": float(right / given) if given else None,
        **{name: value for name, value in tally.values().items() if value is not None},
        "curves": curves,
    }


def figure_of(result: dict[str, Any]) -> bytes:
    """The flights: what each threshold gives, and recall through the stream."""
    from matplotlib.figure import Figure

    found = result["flights"]
    ours, windows = found["kinds"]["adaptive"], found["windows"]
    with house_style():
        figure = Figure(figsize=(12.5, 5.2))
        left, right = (figure.add_axes((x, 0.14, 0.41, 0.62)) for x in (0.06, 0.56))
        curve = ours["thresholds"]
        lines = {
            "recall": ("recall of late flights", ORANGE, "-"),
            "precision": ("precision of late", GREEN, (0, (5, 1.5))),
            "recall_of_others": ("recall of flights in time", BLUES[2], "-"),
            "accuracy": ("accuracy", GREY, (0, (2, 1.2))),
        }
        for name, (label, colour, dash) in lines.items():
            left.plot(curve["threshold"], curve[name], color=colour, ls=dash, lw=2.0, label=label)
        left.set_xlim(0.0, 1.0)
        left.set_xlabel("late is predicted from this probability on")
        left.set_title("Adaptive, by the threshold", loc="left", fontsize=13, y=1.22)
        shown = {"balanced": (ORANGE, "-"), "threshold 0.3": (GREEN, (0, (5, 1.5)))}
        shown["likeliest class"] = (BLUES[2], "-")
        for name, (colour, dash) in shown.items():
            recall = ours["rules"][name]["curves"]["recall"]
            right.plot(windows["rows"], recall, color=colour, ls=dash, lw=2.0, label=f"recall, {name}")
        right.plot(
            windows["rows"], windows["late"], color=GREY, ls=(0, (2, 1.2)), label="share of late flights"
        )
        right.set_xlabel(f"row of the stream; each point is about the last {WINDOW:,}")
        right.set_title("Adaptive, through the year", loc="left", fontsize=13, y=1.22)
        for axes in (left, right):
            axes.set_ylim(0.0, 1.005)
            axes.legend(loc="lower left", bbox_to_anchor=(-0.02, 1.0), ncols=2, fontsize=10.5, frameon=False)
        return as_svg(figure)


def main() -> None:
    """Run, print, store, draw."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=os.environ.get("OCBOOST_DATA"))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--rows", type=int, help="at most so many of each stream")
    parser.add_argument("--out", type=Path, default=HERE / "results" / "costs.json")
    parser.add_argument("--figure", type=Path, default=HERE.parent / "docs" / "figures" / "costs.svg")
    parser.add_argument("--draw", action="store_true")
    given = parser.parse_args()
    if given.draw:
        given.figure.write_bytes(figure_of(json.loads(given.out.read_text())))
        return
    data = None if given.data is None else Path(given.data)
    names = FIRST + SECOND
    tasks = [delayed(one_stream)(name, data, given.rows) for name in names]
    about_flights, *found = Parallel(given.jobs)([delayed(flights)(data, given.rows), *tasks])
    streams = dict(zip(names, found, strict=True))
    result = {
        "command": "python experiments/costs.py --data DIR",
        "memory": BALANCE_MEMORY,
        "flights": about_flights,
        "first": mean_scores(streams, FIRST),
        "second": mean_scores(streams, SECOND),
        "streams": streams,
    }
    for half in ("first", "second"):
        print(f"{half} half: balanced accuracy of the whole stream, and the mean of each {BLOCK:,} rows")
        for kind, rows in result[half].items():
            print(
                f"  {kind}: "
                + "; ".join(f"{name} {100 * a:.1f} {100 * b:.1f}" for name, (a, b) in rows.items())
            )
    for ratio in RATIOS:
        for kind in ("adaptive", "ocb", "ocb, 0.995"):
            costs = [s[kind][f"cost {ratio:.2g}"] for s in streams.values() if f"cost {ratio:.2g}" in s[kind]]
            means = {how: float(np.mean([c[how] for c in costs])) for how in costs[0]}
            better = sum(c["decision"] < c["learning"] for c in costs)
            print(f"cost {ratio:.2g}, {kind}: {means}; decision better on {better} of {len(costs)}")
    for kind, entry in about_flights["kinds"].items():
        for name, row in entry["rules"].items():
            kept = ("recall", "recall of the others", "precision", "balanced_accuracy", "f1", "accuracy")
            print(f"flights, {kind}, {name}: " + ", ".join(f"{key} {row[key]:.3f}" for key in kept))
    given.out.write_text(json.dumps(_rounded(result)) + "\n")
    given.figure.write_bytes(figure_of(result))


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(each) for each in value]
    return round(value, 4) if isinstance(value, float) else value


if __name__ == "__main__":
    main()
