"""Pictures of the page of `ocboost cascade live`: light, dark and as a phone shows it.

    python experiments/teach_screenshots.py
    python experiments/teach_screenshots.py --out pictures

Starts the command with OpenCV's detector of faces, and a browser whose camera is a film of one frame: a face
that is found, the same face turned by 30°, which is missed, and a cell, which is taken for a face. The cell's
box is clicked, the missed face is drawn; the pictures are taken when both are learnt. It drives the
browser of the system (chromium, chromium-browser or google-chrome) with Playwright, and needs Pillow, OpenCV
and the pictures of scikit-image.
"""

from __future__ import annotations

import argparse
import io
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from experiments.page_screenshots import BROWSERS, KINDS
from tests.support.teaching_scene import FALSE, MISSED, WIDTH, scene, write_y4m
from tests.support.teaching_server import TeachingProcess

LONG = 120_000
HEIGHT = 1700


def begin(context: Any, url: str) -> Any:
    """The page with its camera on."""
    page = context.new_page()
    page.set_default_timeout(LONG)
    page.goto(url)
    page.locator("#connection[data-state=open]").wait_for()
    page.uncheck("#coarser")
    page.click("#camera")
    while not json.loads(page.locator("#view").get_attribute("data-boxes") or "[]"):
        page.wait_for_timeout(100)  # a camera's first frame may be black
    return page


def place(page: Any, x: float, y: float) -> tuple[float, float]:
    """Where a pixel of the frame is on the screen."""
    shown = page.locator("#view").bounding_box()
    share = shown["width"] / WIDTH
    return shown["x"] + x * share, shown["y"] + y * share


def learnt(page: Any, click: int) -> None:
    """Wait until a click is learnt, and nothing else is being learnt."""
    page.locator("#said").filter(has_text=f"Click {click} is learnt").wait_for()
    page.locator("#status").filter(has_text="idle").wait_for()


def teach(page: Any) -> None:
    """Two clicks, in one frame."""
    page.click("#freeze")
    page.mouse.click(*place(page, FALSE[0] + FALSE[2] / 2, FALSE[1] + FALSE[3] / 2))
    learnt(page, 1)
    page.mouse.move(*place(page, MISSED[0], MISSED[1]))
    page.mouse.down()
    page.mouse.move(*place(page, MISSED[0] + MISSED[2], MISSED[1] + MISSED[3]), steps=5)
    page.mouse.up()
    learnt(page, 2)
    page.click("#freeze")
    page.click("#judge")
    page.locator("#judge:enabled").wait_for()


def small(png: bytes) -> bytes:
    """The same picture with 256 colours, near those of its photo."""
    few = Image.open(io.BytesIO(png)).convert("RGB").quantize(256, dither=Image.Dither.NONE, kmeans=1)
    out = io.BytesIO()
    few.save(out, "PNG", optimize=True)
    return out.getvalue()


def main() -> None:
    """Take the pictures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path("docs/pictures"), help="the folder to write to")
    words = parser.parse_args()
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        raise SystemExit(f"No browser: none of {', '.join(BROWSERS)} is installed.")
    words.out.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        TeachingProcess() as server,
        sync_playwright() as playwright,
    ):
        film = write_y4m(Path(folder) / "camera.y4m", scene())
        switches = ["--use-fake-device-for-media-stream", f"--use-file-for-fake-video-capture={film}"]
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", *switches])
        for number, (name, settings) in enumerate(KINDS.items()):
            context = browser.new_context(locale="en-GB", permissions=["camera"], **settings)
            page = begin(context, server.url)
            if number == 0:
                teach(page)
            else:
                page.click("#judge")
                page.locator("#judge:enabled").wait_for()
            page.wait_for_timeout(3_000)  # rates are counted over two seconds
            page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
            tall = page.evaluate("document.documentElement.scrollHeight")
            clip = {"x": 0, "y": 0, "width": settings["viewport"]["width"], "height": min(tall, HEIGHT)}
            target = words.out / f"teach-{name}.png"
            target.write_bytes(small(page.screenshot(full_page=True, clip=clip, animations="disabled")))
            print(f"{target}: {target.stat().st_size / 1000:.0f} kB")
            context.close()
        browser.close()


if __name__ == "__main__":
    main()
