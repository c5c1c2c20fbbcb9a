"""What adapting a shipped face detector to one camera gains, beside the alternatives.

    python experiments/cameras.py --data DIR [--only blur,dark] [--out experiments/results/cameras.json]

OpenCV's frontal face cascade (25 stages, 2,913 stumps) is used with simulated cameras. The training windows
of a camera are a stream of faces and others, each seen once; the test windows come from the same camera. A
miss is a face that is rejected; misses are counted where one of a hundred, a thousand and ten thousand others
is accepted. Windows of so little contrast that OpenCV never evaluates them are rejected by all methods.

Methods: the shipped cascade, all stages lowered by the same slack; its thresholds refitted, each stage to the
same rank among the training faces; the plain sum of all its leaves. Then those that learn on top of that sum
(the offset, scaled on the first windows, about 900): OCB (`ocboost.cascade.WholeAdapter`), the cascade it
writes, Oza and Russell, and logistic regression by stochastic gradient (the best of three rates, by the loss
on windows it had not seen). Last, AdaBoost on all windows over the same stumps, which ignores the shipped
leaves, and each stage adapted separately (`ocboost.cascade.StageAdapter`).
"""

import argparse
import json
import os
import time
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from scipy.special import expit

from ocboost import OzaRussell, adaboost_weights
from ocboost._report.figures import BLUES, GREEN, GREY, INK, ORANGE, PURPLE, house_style, render
from ocboost.cascade import StageAdapter, WholeAdapter, has_contrast, read_cascade, stage_sums
from ocboost.datasets import load_faces
from ocboost.datasets.cameras import CAMERAS

RATES = (1e-2, 1e-3, 1e-4)
SEEN = (1000, 5000, 20_000, None)  # None: all
WINDOWS_PER_BATCH = 2000
SEED = 0


def environments(data: Path):
    """Name, training windows and labels, test windows and labels."""
    images = load_faces(data).shuffled(SEED)
    for name in ("blur", "dark", "backlight", "fog", "roll", "grain"):
        camera = CAMERAS[name]
        train = camera(images.train_X, np.random.default_rng([SEED, 0]))
        test = camera(images.test_X, np.random.default_rng([SEED, 1]))
        yield name, train, images.train_y, test, images.test_y
    yield "backgrounds", *backgrounds(data)


def backgrounds(data: Path):
    """A camera that always sees the same 400 scenes, with many windows that passed five stages.

    The others come from 400 training pictures only, half of the windows of each for training, half for
    testing, hard ones among them. The first stages of this very cascade chose them, which counts against it.
    """
    from PIL import Image

    def tiles(name):
        mosaic = np.array(Image.open(data / "faces" / f"{name}.png"))
        rows, columns = mosaic.shape[0] // 24, mosaic.shape[1] // 24
        return mosaic.reshape(rows, 24, columns, 24).transpose(0, 2, 1, 3).reshape(-1, 24, 24)

    rng = np.random.default_rng([SEED, 2])
    with np.load(data / "faces" / "nonfaces_meta.npz", allow_pickle=False) as meta:
        scenes = [meta["nonfaces_train"][:, 0], meta["hardneg_train"][:, 0]]
    chosen = rng.choice(np.unique(scenes[0]), 400, replace=False)
    found = [
        tiles(name)[np.isin(scene, chosen)]
        for name, scene in zip(("nonfaces24_train", "hardneg24_train"), scenes, strict=True)
    ]
    others = np.concatenate(found)
    others = others[rng.permutation(len(others))]
    half = len(others) // 2
    for faces, negatives in ((tiles("faces24_train"), others[:half]), (tiles("faces24_test"), others[half:])):
        order = rng.permutation(len(faces) + len(negatives))
        yield np.concatenate([faces, negatives])[order]
        yield np.repeat(np.array([1, -1], np.int8), [len(faces), len(negatives)])[order]


def misses(scores, labels):
    """Share of the faces missed, in percent, where so many of the others are accepted."""
    others, faces = np.sort(scores[labels < 0])[::-1], scores[labels > 0]
    bars = [others[int(rate * others.size)] for rate in RATES]
    return [round(100.0 * float(np.mean(faces <= bar)), 3) for bar in bars]


def by_rank(sums, of_faces):
    """Each window's worst rank among the faces, over all stages: what refitted thresholds can do."""
    worst = np.full(len(sums), np.inf)
    for column, faces in zip(sums.T, np.sort(of_faces.T, axis=1), strict=True):
        below, up_to = np.searchsorted(faces, column, "left"), np.searchsorted(faces, column, "right")
        # Between two faces the sum itself decides.
        between = 0.4 * np.tanh(column - faces[below.clip(max=len(faces) - 1)])
        worst = np.minimum(worst, (below + up_to) / 2.0 + between)
    return worst


def sgd(answers, labels, start, rate):
    """Logistic regression from an offset, window after window: its weights and its progressive loss."""
    w, bias, loss = np.zeros(answers.shape[1]), 0.0, 0.0
    for h, y, f in zip(answers, labels, start, strict=True):
        h = h.astype(np.float64)
        margin = y * (f + h @ w + bias)
        loss += np.logaddexp(0.0, -2.0 * margin)
        step = rate * y * 2.0 * expit(-2.0 * margin)
        w += step * h
        bias += step
    return w, bias, loss / len(labels)


def stumps_per_window(cascade, windows):
    """Stumps evaluated for a window before it is rejected, on average."""
    from ocboost.cascade import passed

    upto = cascade.stage_tree[np.minimum(passed(cascade, windows) + 1, cascade.n_stages)]
    return float(np.where(has_contrast(windows), upto, 0).mean())


def one(name, file, train, y, test, test_y, report):
    """All methods in one environment."""
    cascade = file.cascade
    seen = has_contrast(test)

    def judged(scores):
        return misses(np.where(seen, scores, -np.inf), test_y)

    row, seconds = {}, {}
    sums = stage_sums(cascade, test)
    of_faces = stage_sums(cascade, train[(y > 0) & has_contrast(train)])
    row["shipped, one slack for all stages"] = judged((sums - cascade.stage_threshold).min(axis=1))
    row["thresholds refitted"] = judged(by_rank(sums, of_faces))
    row["sum of all leaves"] = judged(sums.sum(axis=1))
    report("shipped")

    adapter, at, growth = WholeAdapter(cascade), 0, {}
    began = time.perf_counter()
    for n in (n or len(y) for n in SEEN):
        for start in range(at, n, WINDOWS_PER_BATCH):
            end = min(start + WINDOWS_PER_BATCH, n)
            adapter.update(train[start:end], y[start:end])
        at = n
        growth[n] = judged(adapter.score(test))
        report(f"OCB, {n} windows")
    seconds["OCB a window"] = (time.perf_counter() - began) / len(y)
    row["OCB"] = growth[len(y)]
    files = {
        "OCB, written as a cascade": adapter.adapted(false_positives=1e-3),
        "ten relaxed stages, then all stumps": adapter.adapted(
            keep=10, between=(), pass_rate=0.9995, false_positives=1e-3
        ),
    }
    for label, written in files.items():
        last = stage_sums(written, test)
        reached = (last[:, :-1] >= written.stage_threshold[:-1] - 1e-5).all(axis=1)
        row[label] = judged(np.where(reached, last[:, -1], -np.inf))

    careful = StageAdapter(cascade)
    for start in range(0, len(y), WINDOWS_PER_BATCH):
        careful.update(train[start : start + WINDOWS_PER_BATCH], y[start : start + WINDOWS_PER_BATCH])
    stages = careful.adapted()
    row["OCB, stage by stage"] = judged((stage_sums(stages, test) - stages.stage_threshold).min(axis=1))
    report("stage by stage")

    clear = has_contrast(train)
    x, labels = train[clear], y[clear]
    stumps = cascade.stumps()
    answers, tested = (stumps.answers(windows.reshape(len(windows), -1)) for windows in (x, test))
    pairs = cascade.leaf_pairs.astype(np.float64)
    reach, middle = (pairs[:, 1] - pairs[:, 0]) / 2.0, pairs.mean(axis=1).sum()
    start = adapter.scale * (answers @ reach + middle) + adapter.shift
    base = adapter.scale * (sums.sum(axis=1)) + adapter.shift
    tries = [sgd(answers, labels, start, rate) for rate in (3e-5, 1e-4, 3e-4)]
    w, _, _ = min(tries, key=lambda tried: tried[2])
    row["logistic SGD from the offset"] = judged(base + tested @ w)
    report("SGD")
    answers *= labels[:, None]
    enter = np.exp(-labels * start)
    oza = OzaRussell(len(stumps), smoothing=20_000.0 * enter[:500].mean())
    oza.update_many(answers, sample_weight=enter)
    row["Oza and Russell from the offset"] = judged(base + tested @ oza.alpha)
    row["AdaBoost from scratch"] = judged(tested @ adaboost_weights(answers))
    report("AdaBoost")
    others = test[test_y < 0]
    return {
        "misses": row,
        "growth": {str(n): rates for n, rates in growth.items()},
        "stumps per window": {
            "shipped": stumps_per_window(cascade, others),
            **{label: stumps_per_window(written, others) for label, written in files.items()},
        },
        "stages adapted": careful.n_adapted,
        "training windows": len(y),
        "test windows": len(test_y),
        "without contrast": {"train": int((~clear).sum()), "test faces": int((~seen & (test_y > 0)).sum())},
        "seconds": seconds,
        "scale": adapter.scale,
    }


def main() -> None:
    """Run every environment, print the tables and write the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("OCBOOST_DATA"))
    parser.add_argument("--only", default="")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "cameras.json")
    given = parser.parse_args()
    if given.data is None:
        parser.error("--data must name the folder that holds faces/.")
    file = read_cascade(Path(given.data) / "faces" / "haarcascade_frontalface_default.xml.gz")
    wanted = set(filter(None, given.only.split(",")))
    found = {}
    for name, *windows in environments(Path(given.data)):
        if wanted and name not in wanted:
            continue
        began = time.perf_counter()

        def report(what, name=name, began=began):
            print(f"{name}: {what} ({time.perf_counter() - began:.0f} s)", flush=True)

        found[name] = one(name, file, *windows, report)
        given.out.parent.mkdir(parents=True, exist_ok=True)
        given.out.write_text(json.dumps(found, indent=1) + "\n")
    show(found)
    for name, content in render(draw(found), given.out.stem).items():
        given.out.with_name(name).write_bytes(content)


def draw(found):
    """Misses at a false positive in a thousand, a row for each camera."""
    looks = {
        "thresholds refitted": (GREY, "o"),
        "sum of all leaves": (BLUES[0], "o"),
        "AdaBoost from scratch": (INK, "D"),
        "Oza and Russell from the offset": (ORANGE, "s"),
        "logistic SGD from the offset": (PURPLE, "^"),
        "OCB": (GREEN, "o"),
    }
    with house_style():
        figure = Figure(figsize=(11, 1.9 + 0.55 * len(found)))
        top = 1.0 - 1.35 / figure.get_figheight()
        axes = figure.add_axes(
            (0.125, 0.75 / figure.get_figheight(), 0.6, top - 0.75 / figure.get_figheight())
        )
        axes.set_xscale("log")
        for label, (colour, marker) in looks.items():
            values = [row["misses"][label][1] for row in found.values()]
            size = 11 if label == "OCB" else 8
            axes.plot(
                values,
                range(len(found)),
                marker,
                color=colour,
                ms=size,
                label=label.removesuffix(" from the offset"),
                zorder=3,
            )
        axes.set_yticks(range(len(found)), list(found))
        axes.set_ylim(len(found) - 0.5, -0.5)
        axes.grid(True, axis="both")
        axes.set_xlabel("faces missed, %")
        axes.xaxis.set_major_locator(FixedLocator([1, 2, 5, 10, 20, 50]))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=12)
        title = "A face detector that learns its camera"
        figure.text(0.125, 1.0 - 0.42 / figure.get_figheight(), title, fontsize=17, fontweight="bold")
        note = "Faces missed where one of a thousand other windows is accepted. Lower is better."
        figure.text(0.125, 1.0 - 0.85 / figure.get_figheight(), note, color=GREY, fontsize=12)
        return figure


def show(found) -> None:
    """The tables, in Markdown."""
    names = list(found)
    for k, rate in enumerate(RATES):
        print(f"\nMisses in %, where {rate:g} of the others are accepted\n")
        print("| | " + " | ".join(names) + " |\n|" + " --- |" * (len(names) + 1))
        for method in found[names[0]]["misses"]:
            cells = [f"{found[name]['misses'][method][k]:.2f}" for name in names]
            print(f"| {method} | " + " | ".join(cells) + " |")
    print("\nOCB as it sees more windows: misses in % at 0.001\n")
    print("| windows | " + " | ".join(names) + " |\n|" + " --- |" * (len(names) + 1))
    for k, n in enumerate(SEEN):
        cells = [f"{list(found[name]['growth'].values())[k][1]:.2f}" for name in names]
        print(f"| {n or 'all'} | " + " | ".join(cells) + " |")
    print("\n| stumps per window | " + " | ".join(names) + " |\n|" + " --- |" * (len(names) + 1))
    for which in found[names[0]]["stumps per window"]:
        cells = [f"{found[name]['stumps per window'][which]:.0f}" for name in names]
        print(f"| {which} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
