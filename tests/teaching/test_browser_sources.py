"""What the page takes frames from, in a real browser, and what it says where that does not work."""

from __future__ import annotations

import json

import cv2
import numpy as np
import pytest

from tests.support.browser import chromium, visit
from tests.support.teaching_scene import FALSE, FOUND, overlap, scene
from tests.support.teaching_server import TeachingProcess

NEAR = 0.4


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two pictures, one that is none, and one after it."""
    folder = tmp_path_factory.mktemp("pictures")
    bgr = np.ascontiguousarray(scene()[:, :, ::-1])
    cv2.imwrite(str(folder / "a <b>.png"), bgr)
    (folder / "b.png").write_bytes(b"\x89PNG\r\n\x1a\nbroken")
    cv2.imwrite(str(folder / "c.jpg"), bgr[:, ::-1])
    return folder


def write_film(path, code):
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*code), 10.0, (640, 480))
    for _ in range(30):
        writer.write(np.ascontiguousarray(scene()[:, :, ::-1]))
    writer.release()
    return path


@pytest.fixture(scope="module")
def film(tmp_path_factory):
    """A video of 30 frames."""
    return write_film(tmp_path_factory.mktemp("film") / "film.avi", "MJPG")


@pytest.fixture(scope="module")
def browser():
    """A browser whose machine has no camera."""
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def server(folder):
    with TeachingProcess(folder) as running:
        yield running


@pytest.fixture
def tab(browser):
    with visit(browser, permissions=["camera"]) as opened:
        yield opened
        assert not [text for text in opened.complaints if "Content Security Policy" in text]


def said(page, text, where="#problem"):
    page.locator(where).filter(has_text=text).first.wait_for()


def wait_for_boxes(page, *wanted):
    """Wait until the picture's boxes are these, in any order."""
    for _ in range(300):
        found = json.loads(page.locator("#view").get_attribute("data-boxes") or "[]")
        if len(found) == len(wanted) and all(any(overlap(a, b) > NEAR for b in wanted) for a in found):
            return
        page.wait_for_timeout(50)
    raise AssertionError(found)


def test_no_camera(tab, server):
    tab.page.goto(server.url)
    tab.page.locator("#view[data-boxes]").wait_for()  # the server's pictures
    tab.page.click("#camera")
    said(tab.page, "No camera was found.")
    assert tab.page.locator("#camera[aria-pressed=false]").count() == 1
    tab.page.click("#given")
    tab.page.locator("#problem").wait_for(state="hidden")


def test_pictures_of_the_server(tab, server):
    page = tab.page
    page.goto(server.url)
    wait_for_boxes(page, FOUND, FALSE)
    assert page.locator("#which option").first.inner_text().startswith("1: a <b>.png")
    page.click("#next")
    said(page, "b.png")
    said(page, "cannot be read")
    page.click("#next")
    turned = [(640 - x - w, y, w, h) for x, y, w, h in (FOUND, FALSE)]
    wait_for_boxes(page, *turned)
    page.click("#next")
    said(page, "That was the last picture.", "#said")
    page.click("#previous")
    page.click("#previous")
    wait_for_boxes(page, FOUND, FALSE)
    page.click("#right")
    said(page, "that is a face", "#said")
    page.locator("#clicks li").nth(1).wait_for()  # both boxes, as was said
    page.click("#undo")
    page.click("#undo")
    page.locator("#no-clicks").wait_for()


def test_pictures_and_videos_chosen_in_the_page(tab, server, folder, tmp_path):
    page = tab.page
    page.goto(server.url)
    page.locator("#connection[data-state=open]").wait_for()
    page.locator("#view[data-boxes]").wait_for()
    page.set_input_files("#files", [folder / "c.jpg", folder / "b.png"])
    wait_for_boxes(page, *[(640 - x - w, y, w, h) for x, y, w, h in (FOUND, FALSE)])
    page.click("#next")
    said(page, "The browser cannot read the picture “b.png”.")
    broken = tmp_path / "broken.mp4"
    broken.write_bytes(bytes(range(256)) * 40)
    page.set_input_files("#files", broken)
    said(page, "cannot play “broken.mp4”")
    page.set_input_files("#files", [broken, folder / "c.jpg"])
    said(page, "one video, or any number of pictures")


def test_a_video_of_the_server_plays_and_is_taught(tab, film):
    with TeachingProcess(film) as server:
        page = tab.page
        page.goto(server.url)
        wait_for_boxes(page, FOUND, FALSE)
        said(page, "frames a second shown", "#rates")
        page.click("#freeze")
        page.locator("#held").wait_for()
        page.click("#free")
        said(page, "no face in this frame", "#said")
        page.click("#freeze")
        page.locator("#held").wait_for(state="hidden")
        assert server.end() == 0
        assert server.said[-1] == "ocboost: ended; what was not downloaded is gone."
        assert tab.complaints == [] or all("ERR_CONNECTION" in text for text in tab.complaints)


def test_a_page_without_the_token_says_where_to_get_it(tab, server):
    tab.page.goto(server.url.partition("#")[0])
    said(tab.page, "Open the one that the terminal shows.")
    tab.page.goto("about:blank")
    tab.page.goto(server.url[:-3] + "abc")
    said(tab.page, "does not know this page’s token")


def test_a_video_that_the_browser_plays(tab, server, tmp_path):
    write_film(tmp_path / "film.webm", "VP80")
    page = tab.page
    page.goto(server.url)
    page.locator("#view[data-boxes]").wait_for()
    page.uncheck("#coarser")  # boxes are those of the full size, however busy the machine is
    page.set_input_files("#files", tmp_path / "film.webm")
    said(page, "frames a second shown", "#rates")
    page.locator("#which option").filter(has_text="film.webm-0").first.wait_for(state="attached")
    wait_for_boxes(page, FOUND, FALSE)
