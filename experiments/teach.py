"""What teaching a face detector by clicks gains, on films composed of face windows: a scripted teacher.

    python experiments/teach.py --data DIR [--only roll,blur,dark] [--seeds 0,1]
    python experiments/teach.py --data DIR --speed

OpenCV's frontal face cascade is taught by `ocboost._teaching.session.TeachingSession`, which is behind
`ocboost cascade live`. A film has shots of twelve frames: faces and other windows of the adapting half of
the data move over its photos and textures, behind a simulated camera. The teacher looks at every third
frame, and where the boxes that are shown are wrong makes one click: a false box, a missed face, or, where
several boxes are wrong in a frame without a face, that the frame is free of faces. After 0, 5, 20 and 50
clicks the detector that is shown is judged on 120 frames of films of the other half, other people and
other photos, at its own threshold: faces missed at an overlap of 0.5, and false alarms a frame; and faces
missed at the threshold and number of neighbours that miss fewest with no more false alarms than the
shipped detector makes. Frames are 400 × 300 pixels. After a click that the guard refused the teacher gives
up on the shot. Nothing is built in the background, but with ``--build``; then the teacher waits until it is
done.

With ``--speed`` it is timed on frames of 640 × 480: seconds from a click to the detector that has learnt it,
detections a second meanwhile, and how old the boxes are.

With ``--choose`` both halves come from the adapting half of the data: on these the settings were chosen.
"""

import argparse
import json
import os
import time
from pathlib import Path

import numpy as np
from pictures import choosing

from ocboost._report.output import versions
from ocboost._teaching.session import TeachingSession
from ocboost.cascade import Picture, read_cascade
from ocboost.cascade.picture_measure import bootstrap_difference, measure_on_pictures
from ocboost.cascade.pictures import as_boxes, overlaps
from ocboost.datasets import load_faces
from ocboost.datasets.cameras import CAMERAS
from ocboost.datasets.scenes import SCENE_HEIGHT, SCENE_WIDTH, SceneMaker, _paste, _slope, turned

CLICKS = (0, 5, 20, 50)
FRAMES_A_SHOT = 12
EVERY = 3  # of these the teacher sees every third
JUDGED = 120
MOST = 600  # windows of a frame that curves are drawn from
WITHOUT_FACES = 0.25  # of the shots
FASTEST = 5.0  # pixels a frame
IOU = 0.5


class Film:
    """Shots in which faces and other windows move over a background; every face's box is known."""

    def __init__(self, images, part, camera, seed):
        self._maker = SceneMaker(images, part, None, seed)
        self._camera = CAMERAS.get(camera)
        self._rng = np.random.default_rng([seed, 77])
        self._faces, self._others = self._maker._faces, self._maker._others
        self._order = self._rng.permutation(len(self._faces))
        self._used = 0

    def frames(self, n_shots, every=1):
        """Frame after frame with its boxes; of each shot every so many."""
        for _ in range(n_shots):
            shot = self._shot()
            for moment in range(0, FRAMES_A_SHOT, every):
                yield self._frame(*shot, moment)

    def _shot(self):
        """A background, its light, and what moves: window, side, start, speed, a seed for its paste."""
        rng = self._rng
        n_faces = 0 if rng.random() < WITHOUT_FACES else int(rng.integers(1, 4))
        actors, taken = [], []
        for k in range(n_faces + int(rng.integers(2, 7))):
            side = round(float(np.exp(rng.uniform(np.log(30), np.log(90)))))
            for _ in range(200):
                start = rng.uniform([0, 0], [SCENE_WIDTH - side, SCENE_HEIGHT - side])
                speed = rng.uniform(-FASTEST, FASTEST, 2) * (rng.random() < 0.7)
                end = start + (FRAMES_A_SHOT - 1) * speed
                around = np.append(np.minimum(start, end), np.maximum(start, end) + side)
                inside = all(self._inside(at, side) for at in (start, end))
                if inside and all(_apart(around, other) for other in taken):
                    break
            else:
                continue
            taken.append(around)
            if k < n_faces:
                window = self._faces[self._order[self._used % len(self._order)]]
                self._used += 1
            else:
                window = self._others[rng.integers(len(self._others))]
            actors.append((k < n_faces, window, side, start, speed, int(rng.integers(1 << 30))))
        light = _slope((SCENE_HEIGHT, SCENE_WIDTH), rng) * np.float32(rng.uniform(0.75, 1.1))
        return self._maker._background(), light, actors

    def _inside(self, at, side):
        angle = 0.0 if self._camera is None else self._camera.angle
        box = np.array([[*np.rint(at).astype(int), side, side]])
        places = np.concatenate([box, turned(box, angle)])[:, :2]
        return bool(((places >= 0) & (places <= [SCENE_WIDTH - side, SCENE_HEIGHT - side])).all())

    def _frame(self, background, light, actors, moment):
        canvas, boxes = background.copy(), []
        for is_face, window, side, start, speed, pasted in actors:
            x, y = np.rint(start + moment * speed).astype(int)
            _paste(canvas, window, x, y, side, np.random.default_rng(pasted))
            if is_face:
                boxes.append((x, y, side, side))
        canvas = canvas * light + self._rng.normal(0.0, 1.5, canvas.shape)
        grey = np.rint(canvas).clip(0, 255).astype(np.uint8)
        found = np.array(boxes, np.int64).reshape(-1, 4)
        if self._camera is not None:
            grey = self._camera(grey[None], self._rng)[0]
            found = turned(found, self._camera.angle)
        return grey, found


def _apart(a, b):
    return a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]


def click_on(session, seen, boxes, rng):
    """What the teacher clicks on a frame: at most one of the mistakes in it."""
    found = as_boxes(seen.boxes)
    shared = overlaps(found, boxes) >= IOU
    wrong = np.flatnonzero(~shared.any(axis=1)) if len(boxes) else np.arange(len(found))
    missed = np.flatnonzero(~shared.any(axis=0))
    if not len(boxes) and len(wrong) > 1:
        return session.free(seen.frame_id)
    k = int(rng.integers(max(len(wrong) + len(missed), 1)))
    if k < len(wrong):
        return session.reject(seen.frame_id, tuple(found[wrong[k]].tolist()))
    if len(missed):
        return session.mark(seen.frame_id, tuple(boxes[missed[k - len(wrong)]].tolist()))
    return None


def judged_frames(images, camera, seed):
    """Frames of films of the judging half, three of each shot."""
    film = Film(images, "judging", camera, seed + 1000).frames(JUDGED // 3, FRAMES_A_SHOT // 3)
    return [Picture(f"frame {k}", *frame) for k, frame in enumerate(film)]


def figures(cascade, shipped, pictures):
    """Misses and false alarms at the detector's own threshold, and what it does more than the shipped one."""
    own = measure_on_pictures("taught", cascade, pictures, most=MOST)
    free = own.faces == 0
    return own, {
        "missed": 1.0 - own.recall,
        "missed_at_shipped_alarms": own.curve.misses_at((shipped or own).alarms_per_picture),
        "false_alarms": own.alarms_per_picture,
        "false_alarms_without_faces": float(own.false_alarms[free].mean()),
        "against_shipped": None if shipped is None else bootstrap_difference(shipped, own).as_dict(),
    }


def run(file, images, camera, seed, clicks=CLICKS, build=False):
    """One camera, one seed."""
    judged = judged_frames(images, camera, seed)
    shipped, before = figures(file.cascade, None, judged)
    found = {"faces": int(shipped.faces.sum()), "shipped": before, "taught": {}, "refused": [], "kinds": {}}
    session = TeachingSession(file, seed=seed, build=build)
    session.warm_up()
    rng = np.random.default_rng([seed, 3])
    n = n_frames = 0
    seconds, builds, given_up = [], [], False
    for grey, boxes in Film(images, "adapting", camera, seed).frames(10_000, EVERY):
        if n in clicks and str(n) not in found["taught"]:
            _, own = figures(session._shown[1], shipped, judged)
            found["taught"][str(n)] = {"frames": n_frames, **own}
            print(camera, seed, n, "clicks,", n_frames, "frames:", short(own), flush=True)
            if n == max(clicks):
                break
        seen = session.see(grey)
        n_frames += 1
        given_up = given_up and n_frames % (FRAMES_A_SHOT // EVERY) != 1
        click = None if given_up else click_on(session, seen, boxes, rng)
        if click is None:
            continue
        n += 1
        session.wait()
        decision = session.status()["decision"]
        seconds.append(decision["seconds"])
        found["kinds"][click.kind] = found["kinds"].get(click.kind, 0) + 1
        if build and session.status()["built"] not in (None, *builds):
            builds.append(session.status()["built"])
            print(camera, seed, n, "clicks:", builds[-1], flush=True)
        if not decision["shown"]:
            found["refused"].append([n, click.kind, decision["why"]])
            given_up = True
    session.close()
    return {
        **found,
        "seconds": {"median": float(np.median(seconds)), "largest": max(seconds)},
        "builds": builds,
    }


def short(found):
    """Figures in a few words."""
    return f"missed {found['missed']:.3f}, {found['false_alarms']:.3f} false alarms a frame"


def speed(file, images, n_clicks=10):
    """Seconds from a click until it is learnt, and detections meanwhile, on frames of 640 × 480."""
    from scipy.ndimage import zoom

    frames = [
        (zoom(grey, 1.6, order=1), np.rint(boxes * 1.6).astype(np.int64))
        for grey, boxes in Film(images, "adapting", "roll", 0).frames(12, 3)
    ]
    session = TeachingSession(file, build=False)
    begin = time.process_time()
    session.warm_up()
    warm = time.process_time() - begin
    rng = np.random.default_rng(0)
    seconds, processor, ages, detections, refused, at = [], [], [], 0, 0, 0
    while len(seconds) < n_clicks:
        grey, boxes = frames[at % len(frames)]
        at += 1
        seen = session.see(grey)
        begin, begin_cpu = time.perf_counter(), time.process_time()
        if click_on(session, seen, boxes, rng) is None:
            continue
        before = time.perf_counter()
        while session.status()["queue"]:
            session.see(grey, keep=False)
            now = time.perf_counter()
            ages.append(now - before)
            before = now
            detections += 1
        seconds.append(time.perf_counter() - begin)
        processor.append(time.process_time() - begin_cpu)
        refused += not session.status()["decision"]["shown"]
    session.close()
    return {
        "cores": len(os.sched_getaffinity(0)),
        "clicks": n_clicks,
        "refused": refused,
        "warm_up_processor_seconds": warm,
        "seconds": {"median": float(np.median(seconds)), "largest": max(seconds)},
        "processor_seconds_with_detection": {
            "median": float(np.median(processor)),
            "largest": max(processor),
        },
        "detections_a_second": detections / sum(seconds),
        "seconds_a_detection": {"median": float(np.median(ages)), "largest": max(ages)},
    }


def table(record):
    """The results as a table."""
    print("missed in %, false alarms a frame; bold where the bounds of the difference to shipped exclude 0;")
    print("in brackets: missed in % with no more false alarms than the shipped detector makes")
    print("| camera | seed | shipped | " + " | ".join(f"{n} clicks" for n in CLICKS[1:]) + " | not shown |")
    print("| --- " * (3 + len(CLICKS)) + "|")
    for each in sorted(record["runs"], key=lambda run: (run["built"], run["camera"], run["seed"])):
        judged = [each["shipped"], *(each["taught"][str(n)] for n in CLICKS[1:] if str(n) in each["taught"])]
        name = each["camera"] + (", built" if each["built"] else "")
        print(f"| {name} | {each['seed']} | {' | '.join(map(cell, judged))} | {len(each['refused'])} |")


def cell(own):
    """Misses and false alarms; what differs from the shipped detector's beyond bounds is bold."""
    against = own["against_shipped"] or {}
    words = []
    for text, bounds in (
        (f"{100 * own['missed']:.1f}", against.get("misses_bounds")),
        (f"{own['false_alarms']:.2f}", against.get("false_alarms_per_picture_bounds")),
    ):
        beyond = bounds is not None and (bounds[0] > 0.0 or bounds[1] < 0.0)
        words.append(f"**{text}**" if beyond else text)
    return f"{', '.join(words)} ({100 * own['missed_at_shipped_alarms']:.1f})"


def main():
    """Run what is asked for, and add it to the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("OCBOOST_DATA"))
    parser.add_argument("--only", default="roll,blur,dark")
    parser.add_argument("--seeds", default="6,7")
    parser.add_argument("--choose", action="store_true")
    parser.add_argument("--build", action="store_true", help="short stages are built in the background")
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--table", action="store_true", help="print what the results say, and run nothing")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "teach.json")
    given = parser.parse_args()
    record = json.loads(given.out.read_text()) if given.out.exists() else {"runs": [], "speed": []}
    if given.table:
        table(record)
        return
    if given.data is None:
        parser.error("give --data DIR, or set OCBOOST_DATA: the films are made of its face windows")
    images = load_faces(Path(given.data))
    if given.choose:
        images = choosing(images)
    file = read_cascade(Path(given.data) / "faces" / "haarcascade_frontalface_default.xml.gz")

    def write():
        record["versions"] = versions("opencv-python-headless")
        beside = given.out.with_suffix(".part")
        beside.write_text(json.dumps(record, indent=1) + "\n")
        beside.replace(given.out)

    if given.speed:
        record["speed"].append(speed(file, images))
        print(record["speed"][-1])
        write()
        return
    done = {(each["camera"], each["seed"], each["built"]) for each in record["runs"]}
    for seed in map(int, given.seeds.split(",")):
        for camera in given.only.split(","):
            if (camera, seed, given.build) not in done:
                found = run(file, images, camera, seed, build=given.build)
                record["runs"].append({"camera": camera, "seed": seed, "built": given.build, **found})
                write()


if __name__ == "__main__":
    main()
