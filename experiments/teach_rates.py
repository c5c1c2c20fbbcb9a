"""How smoothly the page of `ocboost cascade live` shows a camera on one core, and how old its boxes are.

    python experiments/teach_rates.py
    python experiments/teach_rates.py --cores 0,1 --clicks 30

The command and the browser share the cores: a fake camera of 640 × 480 at 30 frames a second, drawn without a
graphics card. The page's own counts are read twice a second: at first while nothing is taught, then while a
click comes every second, each in a frame just seen, refusing a box and marking a face by turns. These clicks
come without the mouse, after which the page would hold the frame still. Needs Playwright and a browser.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from experiments.page_screenshots import BROWSERS
from experiments.teach_screenshots import begin
from tests.support.teaching_scene import FALSE, MISSED, scene, write_y4m
from tests.support.teaching_server import TeachingProcess

COUNTS = re.compile(r"(\d+) frames a second shown, ([\d.]+) looked at; boxes at most ([\d.]+) s old")
SECONDS = re.compile(r"\(([\d.]+) s after the click\)")
CLICK = """async ([kind, box]) => {
  const run = (await Link.get("status")).value.run;
  const frames = (await Link.get("frames")).value;
  const frame = frames[frames.length - 1];
  const placed = box.map((side) => Math.round(side * frame.width / 640));  // it may be smaller
  const answer = await Link.ask(kind, {json: {run, frame: frame.id, box: placed}});
  if (!answer.ok) throw new Error(answer.message);
}"""


def counted(page: Any, seconds: int) -> list[tuple[float, ...]]:
    """What the page says twice a second."""
    found = []
    for _ in range(2 * seconds):
        page.wait_for_timeout(500)
        counts = COUNTS.search(page.inner_text("#rates"))
        if counts:
            found.append(tuple(map(float, counts.groups())))
    return found


def report(title: str, found: list[tuple[float, ...]]) -> None:
    """Medians, and the worst."""
    shown, looked, age = np.array(found).T
    print(
        f"{title}: shown {np.median(shown):.0f} a second (least {shown.min():.0f}), looked at "
        f"{np.median(looked):.1f} (least {looked.min():.1f}), boxes at most {np.median(age):.2f} s old (most "
        f"{age.max():.2f})"
    )


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cores", default="0", help="the cores that may be used, such as 0,1")
    parser.add_argument("--clicks", type=int, default=14)
    words = parser.parse_args()
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        raise SystemExit(f"No browser: none of {', '.join(BROWSERS)} is installed.")
    os.sched_setaffinity(0, {int(core) for core in words.cores.split(",")})  # those started below share it
    with (
        tempfile.TemporaryDirectory() as folder,
        TeachingProcess() as server,
        sync_playwright() as playwright,
    ):
        film = write_y4m(Path(folder) / "camera.y4m", scene())
        switches = ["--use-fake-device-for-media-stream", f"--use-file-for-fake-video-capture={film}"]
        browser = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-gpu", *switches]
        )
        context = browser.new_context(permissions=["camera"], viewport={"width": 1280, "height": 900})
        page = begin(context, server.url)
        page.check("#coarser")
        page.wait_for_timeout(4_000)
        report("nothing is taught", counted(page, 5))
        found, took = [], []
        for number in range(words.clicks):
            page.evaluate(CLICK, ["mark", MISSED] if number % 2 else ["reject", FALSE])
            found += counted(page, 1)
            learnt = SECONDS.search(page.inner_text("#status"))
            took += [float(learnt[1])] if learnt else []
        report(f"{words.clicks} clicks, one a second", found)
        print(f"from a click until it was learnt: {np.median(took):.1f} s (most {max(took):.1f})")
        browser.close()


if __name__ == "__main__":
    main()
