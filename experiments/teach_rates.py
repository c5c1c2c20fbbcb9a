"""How smoothly the page of `ocboost cascade live` shows a camera on one core, and how old its boxes are.

    python experiments/teach_rates.py
    python experiments/teach_rates.py --build                  # stages are built in the background meanwhile
    python experiments/teach_rates.py --cores 0,1 --clicks 30

The command and the browser share the cores: a fake camera of 640 × 480 at 30 frames a second, with a photo
that moves behind two faces and a cell, drawn without a graphics card. The page's own counts are read twice
a second: at first while nothing is taught, then while clicks come, each in a frame just seen, refusing a box
and marking a face by turns, a second after the one before was learnt: so it learns most of the time. They
come without the mouse, after which the page would hold the frame still. With --build, the process that builds
short stages works all the time, from 60 frames. How busy the cores were is measured as well, and how much of
that was ours. Needs Playwright and a browser; results go to experiments/results/teach_rates.json.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from experiments.page_screenshots import BROWSERS
from experiments.teach_screenshots import begin
from ocboost._report.output import versions
from ocboost._teaching.building import Build
from ocboost._teaching.clicks import Lesson
from ocboost._teaching.frames import Frame
from ocboost.cascade import read_cascade
from tests.support.teaching_scene import DETECTOR, FALSE, FOUND, MISSED, WIDTH, moving_scene, write_y4m
from tests.support.teaching_server import TeachingProcess

OUT = Path(__file__).parent / "results" / "teach_rates.json"
N_FRAMES = 120
OLD = 0.5  # seconds
LONGEST = 30.0  # seconds until the last click is learnt
COUNTS = re.compile(r"(\d+) frames a second shown, ([\d.]+) looked at; boxes at most ([\d.]+) s old")
CLICK = """async ([kind, box, wide]) => {
  const run = (await Link.get("status")).value.run;
  const frames = (await Link.get("frames")).value;
  const frame = frames[frames.length - 1];
  const placed = box.map((side) => Math.round(side * frame.width / wide));
  const answer = await Link.ask(kind, {json: {run, frame: frame.id, box: placed}});
  if (!answer.ok) throw new Error(answer.message);
  return answer.value.number;
}"""


class Watched:
    """Asks ten times a second which click was decided on last, and keeps when."""

    def __init__(self, server: TeachingProcess) -> None:
        self.clicked: dict[int, float] = {}
        self.decided: dict[int, float] = {}
        self.shown: set[int] = set()
        self._server, self._ended = server, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._ended.wait(0.1):
            found = self._server.ask("GET", "/status")[1]["decision"]
            if found is not None:
                self.decided.setdefault(found["click"], time.perf_counter())
                self.shown |= {found["click"]} if found["shown"] else set()

    def seconds(self) -> list[float]:
        """From each click until something was decided about it, or about a later one."""
        wait_until = time.perf_counter() + LONGEST
        while max(self.decided, default=0) < max(self.clicked) and time.perf_counter() < wait_until:
            time.sleep(0.1)
        self._ended.set()
        self._thread.join()
        ends = [(number, at) for number, at in self.decided.items()]
        return [
            min((end for number, end in ends if number >= click), default=np.inf) - at
            for click, at in self.clicked.items()
        ]


@contextmanager
def builds(frames: list[np.ndarray]) -> Iterator[list[float]]:
    """Builds stages one time after the other; gives the list of seconds that they took."""
    shipped = read_cascade(DETECTOR).cascade
    faces, none = np.array([FOUND, MISSED]), np.empty((0, 4), np.int64)
    said = [
        Lesson(Frame(number, cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY)), faces, none, False)
        for number, frame in enumerate(frames[::2])
    ]
    took: list[float] = []
    ended = False
    running: list[Build] = []

    def again(*done: Any) -> None:
        if done:
            if done[1] is None:
                raise SystemExit(f"Nothing was built: {done[2]}")
            took.append(round(time.perf_counter() - begun[-1], 1))
        if not ended:
            begun.append(time.perf_counter())
            running[:] = [Build(shipped, shipped, said, 0, again)]

    begun: list[float] = []
    again()
    try:
        yield took
    finally:
        ended = True
        running[0].cancel()


def busy() -> dict[str, tuple[int, int]]:
    """Of each core: ticks in all, and those that it was idle."""
    found = {}
    for line in Path("/proc/stat").read_text().splitlines():
        name, *ticks = line.split()
        if re.fullmatch(r"cpu\d+", name):
            counts = [int(tick) for tick in ticks[:8]]
            found[name] = sum(counts), counts[3] + counts[4]
    return found


def own_ticks() -> dict[int, int]:
    """Of this process and all that it started, one by one."""
    children: dict[int, list[int]] = {}
    ticks = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            pid, _, rest = path.read_text().partition(" (")
        except OSError:
            continue
        fields = rest.rpartition(")")[2].split()
        children.setdefault(int(fields[1]), []).append(int(pid))
        ticks[int(pid)] = sum(map(int, fields[11:13]))
    todo, found = {os.getpid()}, {}
    while todo:
        pid = todo.pop()
        found[pid] = ticks.get(pid, 0)
        todo |= {*children.get(pid, [])}
    return found


def counted(page: Any, seconds: float) -> list[tuple[float, ...]]:
    """What the page says twice a second."""
    found = []
    for _ in range(round(2 * seconds)):
        page.wait_for_timeout(500)
        counts = COUNTS.search(page.inner_text("#rates"))
        if counts:
            found.append(tuple(map(float, counts.groups())))
    return found


def report(title: str, found: list[tuple[float, ...]]) -> dict[str, float]:
    """Medians, and the worst."""
    shown, looked, age = np.array(found).T
    print(
        f"{title}: shown {np.median(shown):.0f} a second (least {shown.min():.0f}), looked at "
        f"{np.median(looked):.1f} (least {looked.min():.1f}), boxes at most {np.median(age):.2f} s old (most "
        f"{age.max():.2f}, above {OLD} s in {100 * np.mean(age > OLD):.0f} % of {len(age)} readings)"
    )
    return {
        "readings": len(age),
        "shown": float(np.median(shown)),
        "shown_least": float(shown.min()),
        "looked": float(np.median(looked)),
        "looked_least": float(looked.min()),
        "age": float(np.median(age)),
        "age_most": float(age.max()),
        "share_old": float(np.mean(age > OLD)),
    }


def measure(browser_path: str, clicks: int, build: bool) -> dict[str, Any]:
    """One run."""
    frames = moving_scene(N_FRAMES)
    with (
        tempfile.TemporaryDirectory() as folder,
        TeachingProcess() as server,
        sync_playwright() as playwright,
        builds(frames) if build else nullcontext([]) as took,
    ):
        film = write_y4m(Path(folder) / "camera.y4m", *frames)
        switches = ["--use-fake-device-for-media-stream", f"--use-file-for-fake-video-capture={film}"]
        browser = playwright.chromium.launch(
            executable_path=browser_path, args=["--no-sandbox", "--disable-gpu", *switches]
        )
        context = browser.new_context(permissions=["camera"], viewport={"width": 1280, "height": 900})
        page = begin(context, server.url)
        page.check("#coarser")
        page.wait_for_timeout(4_000)
        before, began, own = busy(), time.perf_counter(), own_ticks()
        record: dict[str, Any] = {"nothing_taught": report("nothing is taught", counted(page, 5))}
        watched, found = Watched(server), []
        for number in range(clicks):
            kind, box = ("mark", MISSED) if number % 2 else ("reject", FALSE)
            at = time.perf_counter()
            click = page.evaluate(CLICK, [kind, box, WIDTH])
            watched.clicked[click] = at
            while click > max(watched.decided, default=0) and time.perf_counter() - at < LONGEST:
                found += counted(page, 0.5)
            found += counted(page, 1)
        record["clicks"] = report(f"{clicks} clicks", found)
        seconds = watched.seconds()
        after, elapsed = busy(), time.perf_counter() - began
        own_after = own_ticks()
        own_total = sum(ticks - own.get(pid, 0) for pid, ticks in own_after.items())
        browser.close()
    median, most = float(np.median(seconds)), max(seconds)
    print(
        f"from a click until it was learnt: {median:.1f} s (most {most:.1f}); {len(watched.shown)} were shown"
    )
    cores = {
        name: 1 - (after[name][1] - before[name][1]) / max(after[name][0] - before[name][0], 1)
        for name in after
    }
    shares = ", ".join(f"{name} {100 * share:.0f} %" for name, share in cores.items())
    own_share = own_total / os.sysconf("SC_CLK_TCK") / elapsed
    print(f"load {os.getloadavg()[0]:.1f}, busy: {shares}; of that ours {100 * own_share:.0f} % of a core")
    if build:
        print(f"built {len(took)} times" + (f", each in {np.median(took):.0f} s" if took else ""))
    return record | {
        "click_seconds": [round(each, 2) for each in seconds],
        "shown_clicks": len(watched.shown),
        "builds": took,
        "load": os.getloadavg()[0],
        "busy": {name: round(share, 3) for name, share in cores.items()},
        "own": round(own_share, 3),
    }


def main() -> None:
    """Measure, print, and write down."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cores", default="0", help="the cores that may be used, such as 0,1")
    parser.add_argument("--clicks", type=int, default=14)
    parser.add_argument("--build", action="store_true", help="build stages in the background meanwhile")
    parser.add_argument("--out", type=Path, default=OUT, help="the file; runs that it has stay in it")
    words = parser.parse_args()
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        raise SystemExit(f"No browser: none of {', '.join(BROWSERS)} is installed.")
    cores = sorted({int(core) for core in words.cores.split(",")})
    os.sched_setaffinity(0, cores)  # those started below share it
    record = {"cores": len(cores), "n_clicks": words.clicks, "build": words.build}
    record |= measure(path, words.clicks, words.build)
    written = json.loads(words.out.read_text()) if words.out.exists() else {"runs": []}
    runs = [*written["runs"], record]
    found = {"runs": runs, "versions": versions("opencv-python-headless", "playwright")}
    words.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
