"""The page in a real browser with a fake camera: what is clicked away stays away, what is drawn is found."""

from __future__ import annotations

import io
import json
import signal
import time
import zipfile

import cv2
import numpy as np
import pytest

from tests.support.browser import chromium, visit
from tests.support.teaching_scene import FALSE, FOUND, MISSED, WIDTH, overlap, scene, write_y4m
from tests.support.teaching_server import TeachingProcess

LONG = 60_000.0  # milliseconds; on a machine that is busy, learning takes its time
NEAR = 0.4  # overlap from which on a box is the one that is meant


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    film = write_y4m(tmp_path_factory.mktemp("camera") / "camera.y4m", scene())
    with chromium(
        "--use-fake-device-for-media-stream", f"--use-file-for-fake-video-capture={film}"
    ) as running:
        yield running


@pytest.fixture(scope="module")
def server():
    with TeachingProcess() as running:
        yield running


@pytest.fixture
def server_of_its_own(tmp_path):
    with TeachingProcess("--state", tmp_path / "state") as running:
        yield running


@pytest.fixture
def tab(browser):
    with visit(browser, permissions=["camera"], accept_downloads=True) as opened:
        opened.page.set_default_timeout(LONG)
        yield opened
        assert not [text for text in opened.complaints if "Content Security Policy" in text]


def start_camera(page, url):
    page.goto(url)
    page.locator("#connection[data-state=open]").wait_for()
    page.uncheck("#coarser")
    page.click("#camera")
    page.locator("#view[data-boxes]").wait_for()


def shown_boxes(page):
    return json.loads(page.locator("#view").get_attribute("data-boxes") or "[]")


def until(page, condition):
    """Wait until a condition holds; the page's policy lets nothing be evaluated in it, so we ask again."""
    end = time.monotonic() + LONG / 1000
    while not condition():
        assert time.monotonic() < end, page.inner_text("body")
        page.wait_for_timeout(50)


def wait_for_box(page, box, there=True):
    """Wait until the live picture has a box at a place, or has none there."""

    def as_wanted():
        return page.locator("#held").is_hidden() and there == any(
            overlap(each, box) > NEAR for each in shown_boxes(page)
        )

    until(page, as_wanted)


def place(page, x, y):
    """Where a pixel of the frame is on the screen."""
    page.locator("#view").scroll_into_view_if_needed()
    shown = page.locator("#view").bounding_box()
    share = shown["width"] / WIDTH
    return shown["x"] + x * share, shown["y"] + y * share


def middle(box):
    return box[0] + box[2] / 2, box[1] + box[3] / 2


def draw(page, box):
    page.mouse.move(*place(page, box[0], box[1]))
    page.mouse.down()
    page.mouse.move(*place(page, *middle(box)))
    page.mouse.move(*place(page, box[0] + box[2], box[1] + box[3]))
    page.mouse.up()


def wait_for(page, selector, text):
    page.locator(selector).filter(has_text=text).first.wait_for()


def wait_until_idle(page, clicks):
    until(page, lambda: page.locator("#clicks li").count() == clicks)
    wait_for(page, "#status", "idle")


def test_a_false_box_is_clicked_away_and_a_missed_face_is_found(tab, server, tmp_path):
    page = tab.page
    start_camera(page, server.url)
    wait_for_box(page, FOUND)
    wait_for_box(page, FALSE)
    wait_for_box(page, MISSED, there=False)
    page.mouse.click(*place(page, *middle(FALSE)))
    wait_for(page, "#said", "that is not a face")
    wait_for_box(page, FALSE, there=False)
    wait_for_box(page, FOUND)
    draw(page, MISSED)
    wait_for(page, "#said", "that is a face")
    wait_for_box(page, MISSED)
    wait_until_idle(page, 2)
    page.wait_for_timeout(1_000)  # and it stays like that
    wait_for_box(page, FOUND)
    boxes = shown_boxes(page)
    assert not any(overlap(box, FALSE) > NEAR for box in boxes)
    assert any(overlap(box, MISSED) > NEAR for box in boxes)
    wait_for(page, "#status", "adapted")
    page.locator("#compare").scroll_into_view_if_needed()  # it is only filled where it is seen
    wait_for(page, "#shipped-count", "2 boxes")
    with page.expect_download() as download:
        page.click("#save-detector")
    assert download.value.suggested_filename == "adapted.xml"
    download.value.save_as(tmp_path / "adapted.xml")
    with page.expect_download() as download:
        page.click("#save-boxes")
    download.value.save_as(tmp_path / "annotations.zip")
    with zipfile.ZipFile(io.BytesIO((tmp_path / "annotations.zip").read_bytes())) as archive:
        annotations = json.loads(archive.read("annotations.json"))
        names = {each["file_name"] for each in annotations["images"]}
        assert names <= set(archive.namelist())
        assert names
        frames = [np.frombuffer(archive.read(name), np.uint8) for name in sorted(names)]
    detector = cv2.CascadeClassifier(str(tmp_path / "adapted.xml"))
    for frame in frames:  # as the camera gave it
        found = detector.detectMultiScale(cv2.imdecode(frame, cv2.IMREAD_GRAYSCALE))
        assert any(overlap(box, FOUND) > NEAR for box in found)
        assert any(overlap(box, MISSED) > NEAR for box in found)
        assert not any(overlap(box, FALSE) > NEAR for box in found)
    assert any(overlap(each["bbox"], MISSED) > 0.8 for each in annotations["annotations"])
    assert tab.hosts() == {f"127.0.0.1:{server.port}"}
    assert not any(server.token in url for url in tab.requests)  # it stays behind the #
    assert tab.complaints == []


def test_keys_do_what_the_mouse_does_and_undo_takes_it_back(tab, server_of_its_own):
    page = tab.page
    start_camera(page, server_of_its_own.url)
    wait_for_box(page, FALSE)
    page.focus("#view")
    page.keyboard.press(" ")
    page.locator("#freeze[aria-pressed=true]").wait_for()
    boxes = shown_boxes(page)
    page.keyboard.press("ArrowRight")
    wait_for(page, "#announce", "Box 1 of 2")
    for _ in range(next(n for n, box in enumerate(boxes) if overlap(box, FALSE) > NEAR)):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Delete")
    wait_for(page, "#said", "Click 1: that is not a face.")
    page.keyboard.press("m")
    for key in ["-", "-", "ArrowUp", "ArrowLeft"]:
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    wait_for(page, "#said", "Click 2: that is a face.")
    page.keyboard.press("u")
    wait_for(page, "#said", "Click 2 is taken back")
    until(page, lambda: page.locator("#clicks li").count() == 1)
    assert page.locator("#clicks li").inner_text().startswith("not a face")
    page.keyboard.press("n")
    wait_for(page, "#said", "no face in this frame")
    until(page, lambda: page.locator("#clicks li").count() == 2)
    page.click("#undo")
    until(page, lambda: page.locator("#clicks li").count() == 1)
    page.click("#freeze")
    page.locator("#freeze[aria-pressed=false]").wait_for()
    wait_for_box(page, FALSE, there=False)
    page.click("#undo")  # and what was learnt is gone
    wait_for_box(page, FALSE)
    assert tab.complaints == []


def test_a_finger_draws_and_taps(browser, server_of_its_own):
    phone = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
    with visit(browser, permissions=["camera"], **phone) as opened:
        page = opened.page
        start_camera(page, server_of_its_own.url)
        wait_for_box(page, FALSE)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.touchscreen.tap(*place(page, *middle(FALSE)))
        wait_for(page, "#said", "that is not a face")
        assert opened.complaints == []


def test_one_tab_teaches_and_another_can_take_over(browser, server):
    with visit(browser, permissions=["camera"]) as first, visit(browser, permissions=["camera"]) as second:
        start_camera(first.page, server.url)
        second.page.goto(server.url)
        wait_for(second.page, "#other", "Another tab is teaching")
        second.page.click("#take-over")
        second.page.locator("#other").wait_for(state="hidden")
        wait_for(first.page, "#other", "Another tab is teaching")
        assert first.page.locator("#camera[aria-pressed=false]").count() == 1  # its camera is off
        second.page.click("#camera")
        second.page.locator("#view[data-boxes]").wait_for()
        second.page.close()
        first.page.locator("#other").wait_for(state="hidden")
        first.page.locator("#camera[aria-pressed=true]").wait_for()  # and goes on by itself


def test_a_tab_that_is_closed_while_it_learns_loses_nothing(browser, server_of_its_own):
    with visit(browser, permissions=["camera"]) as opened:
        start_camera(opened.page, server_of_its_own.url)
        wait_for_box(opened.page, FALSE)
        opened.page.mouse.click(*place(opened.page, *middle(FALSE)))
        wait_for(opened.page, "#said", "Click 1")
    with visit(browser, permissions=["camera"]) as opened:
        start_camera(opened.page, server_of_its_own.url)
        until(opened.page, lambda: opened.page.locator("#clicks li").count() == 1)
        wait_for_box(opened.page, FALSE, there=False)


def test_a_server_that_was_killed_is_found_again(tab, server_of_its_own):
    page = tab.page
    start_camera(page, server_of_its_own.url)
    wait_for_box(page, FALSE)
    page.mouse.click(*place(page, *middle(FALSE)))
    wait_for_box(page, FALSE, there=False)
    url = server_of_its_own.url
    server_of_its_own.end(signal.SIGKILL)
    wait_for(page, "#connection", "no connection")
    server_of_its_own.start()
    assert server_of_its_own.url == url
    wait_for(page, "#connection", "connected")
    wait_for(page, "#said", "started again")
    assert page.locator("#clicks li").count() == 1
    wait_for_box(page, FOUND)
    wait_for_box(page, FALSE, there=False)
    draw(page, MISSED)
    wait_for(page, "#said", "Click 2: that is a face.")
    assert server_of_its_own.end() == 0
    wait_for(page, "#connection", "no connection")


def test_permission_denied(browser, server):
    with visit(browser) as opened:
        opened.page.goto(server.url)
        opened.page.locator("#connection[data-state=open]").wait_for()
        opened.page.click("#camera")
        wait_for(opened.page, "#problem", "does not let this page use the camera")
        opened.page.click("#problem-close")
        opened.page.locator("#problem").wait_for(state="hidden")
