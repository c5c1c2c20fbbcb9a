"""What adapting a face detector to the whole pictures of one camera gains, on synthetic scenes.

    python experiments/pictures.py --data DIR [--only blur,dark] [--seeds 0,1,2] [--faces 500]
    python experiments/pictures.py --data DIR --guard [--faces 20,100,500]

OpenCV's frontal face cascade is adapted by `ocboost.cascade.PictureAdapter` to scenes that
`ocboost.datasets.scenes` composes, behind each simulated camera and behind none: face windows of the one half
of the data in photos and textures of the one half. It is judged on 110 scenes of the other halves, 30 of them
without a face. Beside it: the shipped cascade, and its thresholds set anew to pass 0.95, 0.98 or 0.995 of the
same faces at each stage, the best of the three chosen on the judging scenes, in its favour. Misses are those
at the best threshold and number of neighbours with so many false alarms a picture.

The control has no pasting in it: 3,000 faces and 30,000 other windows of the test half behind the same
camera, misses where one of a thousand others is accepted, with a paired bootstrap of the difference.

With ``--guard`` it is done as ``ocboost cascade adapt --boxes`` does it: a quarter of the labelled pictures
is held out, and where the adapted cascade is worse on them the shipped one stays. Both are judged on the same
scenes as before, with their own thresholds.

With ``--choose`` both halves come from the adapting half of the data, faces and photos: on these the settings
of `build_stages` were chosen.

``--table`` prints the results as tables instead, and draws their curves beside them.

Every run is added to the results at once, and runs that are there already are left out.
"""

import argparse
import dataclasses
import json
import os
import tempfile
from pathlib import Path

import numpy as np

from ocboost._report.output import versions
from ocboost.cascade import Picture, PictureAdapter, detect, new_thresholds, read_cascade
from ocboost.cascade.measure import scores_of
from ocboost.cascade.mining import PyramidOf
from ocboost.cascade.picture_cost import cpu_per_picture
from ocboost.cascade.picture_guard import judge, split, worse
from ocboost.cascade.picture_measure import bootstrap_difference, measure_on_pictures
from ocboost.datasets import load_faces, scenes
from ocboost.datasets.cameras import CAMERAS
from ocboost.datasets.scenes import SceneMaker

NAMES = ("roll", "blur", "dark", "backlight", "fog", "grain", "none")
FACES_A_SCENE = 4
FREE_OF_FACES = 0.64  # scenes without a face, for each with faces
WANTED = 0.3  # false alarms a picture
ALARMS = (0.1, 0.3, 1.0)
PASS_RATES = (0.95, 0.98, 0.995)
MOST = 600  # windows of a picture that curves are drawn from
COMPARED = 20  # pictures on which boxes are compared with OpenCV's
RESAMPLES = 1000


def pictures(images, part, camera, seed, n, n_free):
    """Scenes with faces, then scenes without."""
    maker = SceneMaker(images, part, CAMERAS.get(camera), seed)
    made = [*maker.scenes(n, FACES_A_SCENE), *maker.scenes(n_free, 0)]
    return [Picture(f"{part} {k}", *scene) for k, scene in enumerate(made)]


def mixed(made, seed):
    """In an order drawn from the seed."""
    return [made[k] for k in np.random.default_rng(seed).permutation(len(made))]


def figures(measured, ms):
    """What is kept of a measurement."""
    free = measured.faces == 0
    return {
        "recall": measured.recall,
        "false_alarms_per_picture": measured.alarms_per_picture,
        "false_alarms_per_picture_without_faces": float(measured.false_alarms[free].mean()),
        "misses_at": {f"{alarms:g}": measured.curve.misses_at(alarms) for alarms in ALARMS},
        "curve": [np.round(values, 4).tolist() for values in measured.curve.best()],
        "ms": ms,
    }


def same_as_opencv(file, cascade, judged):
    """Whether OpenCV finds the same boxes with the file that is written."""
    import cv2

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "adapted.xml")
        file.write(path, cascade)
        theirs = cv2.CascadeClassifier(path)
        return all(
            sorted(detect(cascade, scene.grey)) == sorted(tuple(map(int, box)) for box in found)
            for scene in judged
            for found in [theirs.detectMultiScale(scene.grey)]
        )


def behind(camera, windows, rng):
    """Windows as a camera sees them, each as a picture of its own."""
    return CAMERAS[camera](windows, rng) if camera in CAMERAS else windows


def behind_in_pictures(camera, windows, rng):
    """The same for windows that lie side by side in pictures of 12 × 16 windows."""
    whole = windows[: len(windows) // 192 * 192].reshape(-1, 12, 16, 24, 24)
    pictures = whole.transpose(0, 1, 3, 2, 4).reshape(-1, 12 * 24, 16 * 24)
    seen = CAMERAS[camera](np.ascontiguousarray(pictures), rng)
    return seen.reshape(-1, 12, 24, 16, 24).transpose(0, 1, 3, 2, 4).reshape(-1, 24, 24)


def on_windows(images, camera, cascades, seed, seen_as=behind):
    """Misses at one false positive in a thousand windows, and what the last does more than the first."""
    rng = np.random.default_rng([seed, 5])
    windows = [images.test_X[images.test_y == label][:n] for label, n in ((1, 3000), (-1, 30_000))]
    windows = [seen_as(camera, some, rng) for some in windows]
    allowed = len(windows[1]) // 1000
    scores = [[scores_of(cascade, some, kind) for some in windows] for cascade, kind in cascades.values()]

    def missed(faces, others):
        return float(np.mean(faces <= np.partition(others, -allowed - 1)[-allowed - 1]))

    changes = []
    for _ in range(RESAMPLES):
        rows, columns = (rng.integers(0, len(some), len(some)) for some in windows)
        first, *_, last = (missed(faces[rows], others[columns]) for faces, others in scores)
        changes.append(last - first)
    return {
        "misses": {name: missed(*own) for name, own in zip(cascades, scores, strict=True)},
        "difference_bounds": [float(q) for q in np.quantile(changes, [0.025, 0.975])],
    }


def labelled(images, camera, seed, n_faces):
    """Labelled scenes with so many faces, mixed with scenes without."""
    n = -(-n_faces // FACES_A_SCENE)
    return mixed(pictures(images, "adapting", camera, seed, n, max(5, round(FREE_OF_FACES * n))), seed)


def run_guarded(file, images, camera, seed, n_faces, time):
    """As `ocboost cascade adapt --boxes` does it: judged on scenes that the guard has not seen."""
    shipped = file.cascade
    seen = labelled(images, camera, seed, n_faces)
    judged = pictures(images, "judging", camera, seed, 80, 30)
    adapter = PictureAdapter(shipped, seed=seed, time=time)
    learnt, held = split([len(picture.boxes) > 0 for picture in seen])
    for k in learnt:
        adapter.add(seen[k])
    adapter.build()
    adapted = adapter.adapted()
    guards = [seen[k] for k in held]
    why = worse(judge(shipped, guards), judge(adapted, guards))
    before, after = (
        measure_on_pictures(name, each, judged, most=MOST)
        for name, each in (("shipped", shipped), ("adapted", adapted))
    )
    costs = cpu_per_picture({"shipped": file.to_bytes(), "adapted": file.to_bytes(adapted)}, judged[::4])
    return {
        "refused": why,
        "shipped": figures(before, costs.ms["shipped"]),
        "adapted": figures(after, costs.ms["adapted"]),
        "time_ratio": costs.ratios["adapted"],
        "against_shipped": bootstrap_difference(before, after).as_dict(),
    }


def run(file, images, camera, seed, n_faces, time):
    """One camera, one seed, so many labelled faces."""
    shipped = file.cascade
    seen = labelled(images, camera, seed, n_faces)
    judged = pictures(images, "judging", camera, seed, 80, 30)
    adapter = PictureAdapter(shipped, seed=seed, time=time)
    for picture in seen:
        adapter.add(picture)
    adapter.build()
    adapted = adapter.adapted(false_alarms=WANTED)
    names = {"shipped": shipped, "adapted": adapted}
    costs = cpu_per_picture({name: file.to_bytes(each) for name, each in names.items()}, judged[::4])
    measured = {name: measure_on_pictures(name, each, judged, most=MOST) for name, each in names.items()}
    found = {
        "faces": adapter.n_faces,
        "stages": np.diff(adapted.stage_tree).tolist(),
        **{name: figures(measured[name], costs.ms[name]) for name in names},
        "time_ratio": costs.ratios["adapted"],
        "wanted": WANTED,
        "made": measured["adapted"].alarms_per_picture,
        "boxes_as_opencv": same_as_opencv(file, adapted, judged[:COMPARED]),
    }
    rng = np.random.default_rng(0)
    faces = np.concatenate([PyramidOf(shipped, picture).faces(5, rng, mirrored=False)[0] for picture in seen])
    curves = [
        measure_on_pictures("set anew", new_thresholds(shipped, faces, rate), judged, most=MOST).curve
        for rate in PASS_RATES
    ]
    found["thresholds_set_anew"] = {
        f"{alarms:g}": min(curve.misses_at(alarms) for curve in curves) for alarms in ALARMS
    }
    cascades = {"shipped": (shipped, "slack"), "adapted": (adapted, "last stage")}
    found["windows"] = on_windows(images, camera, cascades, seed)
    if camera == "backlight":  # its light differs from place to place in a picture
        found["windows_in_pictures"] = on_windows(images, camera, cascades, seed, behind_in_pictures)
    return found


def choosing(images):
    """The adapting half alone, cut in two: its faces, and its photos."""
    scenes.PHOTOS.update({part: scenes.PHOTOS["adapting"][k::2] for k, part in enumerate(scenes.PHOTOS)})
    scenes.SAMPLE_PHOTOS["judging"] = "none"
    X, y = images.train_X, images.train_y
    return dataclasses.replace(images, train_X=X[::2], train_y=y[::2], test_X=X[1::2], test_y=y[1::2])


def line(found):
    """A run in a line."""
    own, before = found["adapted"], found["shipped"]
    words = [
        f"{found['camera']}, seed {found['seed']}, {found['asked']} faces: misses at 0.3 "
        f"{own['misses_at']['0.3']:.3f} (shipped {before['misses_at']['0.3']:.3f}), "
        f"time {found['time_ratio']:.2f}"
    ]
    if found["guarded"]:
        words.append(f"{found['refused'] or 'taken'}; own threshold: {found['against_shipped']}")
    else:
        words.append(
            f"set anew {found['thresholds_set_anew']['0.3']:.3f}, made {found['made']:.2f}, boxes "
            f"{found['boxes_as_opencv']}, windows {found['windows']} {found.get('windows_in_pictures', '')}"
        )
    return ", ".join(words)


def mean_of(runs, value):
    """The mean of a value over seeds, in per cent."""
    return f"{100 * np.mean([value(run) for run in runs]):.1f}"


def tables(runs):
    """The results as tables: means over the seeds, times from the lowest to the highest."""
    full = [run for run in runs if not run["guarded"]]
    for time in sorted({run["time"] for run in full}, key=lambda time: time or 0.0):
        print(
            f"\n500 faces, time {time or 'as it is'}: misses in % at 0.1 / 0.3 / 1 false alarms a picture\n"
        )
        print("| camera | seeds | shipped | set anew | adapted | made | time | windows | adapted | more |")
        print("| --- " * 10 + "|")
        for camera in NAMES:
            own = [run for run in full if run["camera"] == camera and run["time"] == time]
            if not own:
                continue
            curves = [
                " / ".join(mean_of(own, lambda run, a=a, get=get: get(run)[a]) for a in ("0.1", "0.3", "1"))
                for get in (
                    lambda run: run["shipped"]["misses_at"],
                    lambda run: run["thresholds_set_anew"],
                    lambda run: run["adapted"]["misses_at"],
                )
            ]
            span = [
                f"{min(values):.2f}–{max(values):.2f}"
                for values in ([run[key] for run in own] for key in ("made", "time_ratio"))
            ]
            windows = [
                mean_of(own, lambda run, who=who: run["windows"]["misses"][who])
                for who in ("shipped", "adapted")
            ]
            more = "; ".join(
                "{:+.1f} to {:+.1f}".format(*(100 * bound for bound in run["windows"]["difference_bounds"]))
                for run in own
            )
            print(f"| {camera} | {len(own)} | {' | '.join([*curves, *span, *windows, more])} |")
    print("\nAs `cascade adapt --boxes` does it, own thresholds: recall and false alarms a picture\n")
    print("| faces | camera | seed | shipped | adapted | time | guard |\n" + "| --- " * 7 + "|")
    for run in (run for run in runs if run["guarded"]):
        both = [
            f"{run[who]['recall']:.3f}, {run[who]['false_alarms_per_picture']:.2f}"
            for who in ("shipped", "adapted")
        ]
        told = [run["asked"], run["camera"], run["seed"], *both, f"{run['time_ratio']:.2f}"]
        print(f"| {' | '.join(map(str, told))} | {run['refused'] or 'written'} |")


def draw(runs, path):
    """Misses against false alarms of the first seed, a panel for each camera."""
    from ocboost._report.figures import house_style

    with house_style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(15, 8))
        panels = figure.subplots(2, 4, sharey=True)
        for axes, camera in zip(panels.flat, NAMES, strict=False):
            chosen = [r for r in runs if r["camera"] == camera and not r["guarded"] and r["time"] is None]
            for name, colour in (("shipped", "#777777"), ("adapted", "#0072b2")):
                for run in chosen[:1]:
                    alarms, misses = run[name]["curve"]
                    x = np.append(np.maximum(alarms, 0.005), 3.0)
                    y = 100 * np.append(misses, misses[-1])
                    label = f"{name}, {run[name]['ms']:.0f} ms"
                    axes.plot(x, y, drawstyle="steps-post", color=colour, lw=2, label=label)
            axes.set(title=camera, xscale="log", xlim=(0.008, 3.0), ylim=(0, 80))
            axes.legend(frameon=False, fontsize=9)
        panels[1, 3].axis("off")
        figure.supxlabel("false alarms a picture (synthetic scenes)")
        figure.supylabel("faces missed, %")
        figure.tight_layout()
        figure.savefig(path, dpi=110)


def main():
    """Run what is asked for, and add it to the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("OCBOOST_DATA"))
    parser.add_argument("--only", default=",".join(NAMES))
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--faces", default="500")
    parser.add_argument("--time", type=float, help="that a picture may take, beside the shipped cascade's")
    parser.add_argument("--guard", action="store_true")
    parser.add_argument("--choose", action="store_true")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "pictures.json")
    parser.add_argument("--table", action="store_true", help="print what the results say, and run nothing")
    given = parser.parse_args()
    if given.table:
        runs = json.loads(given.out.read_text())["runs"]
        tables(runs)
        draw(runs, given.out.with_suffix(".svg"))
        return
    if given.data is None:
        parser.error("give --data DIR, or set OCBOOST_DATA: the scenes are made of its face windows")
    images = load_faces(Path(given.data))
    if given.choose:
        images = choosing(images)
    file = read_cascade(Path(given.data) / "faces" / "haarcascade_frontalface_default.xml.gz")
    runs = json.loads(given.out.read_text())["runs"] if given.out.exists() else []
    done = {(each["camera"], each["seed"], each["asked"], each["guarded"], each["time"]) for each in runs}
    for seed in map(int, given.seeds.split(",")):
        for n_faces in map(int, given.faces.split(",")):
            for camera in given.only.split(","):
                if (camera, seed, n_faces, given.guard, given.time) in done:
                    continue
                asked = {
                    "camera": camera,
                    "seed": seed,
                    "asked": n_faces,
                    "guarded": given.guard,
                    "time": given.time,
                }
                one = run_guarded if given.guard else run
                runs.append({**asked, **one(file, images, camera, seed, n_faces, given.time)})
                record = {"runs": runs, "versions": versions("opencv-python-headless")}
                beside = given.out.with_suffix(".part")
                beside.write_text(json.dumps(record, indent=1) + "\n")
                beside.replace(given.out)
                print(line(runs[-1]), flush=True)


if __name__ == "__main__":
    main()
