"""How the page in a real browser keeps up: smaller frames, fewer frames, and no old boxes."""

from __future__ import annotations

import json
import re
import time

import pytest

from tests.support.browser import chromium, visit
from tests.support.teaching_scene import scene, write_y4m
from tests.support.teaching_server import TeachingProcess

LONG = 60_000.0  # milliseconds
SLOW = """
  const ask = fetch;
  window.delay = %d;
  window.fetch = async (path, more) => {
    if (String(path).startsWith("see?")) await new Promise((done) => setTimeout(done, window.delay));
    return ask(path, more);
  };
"""
HIDE = """hidden => {
  Object.defineProperty(document, "hidden", {value: hidden, configurable: true});
  document.dispatchEvent(new Event("visibilitychange"));
}"""
COUNTS = re.compile(r"(\d+) frames a second shown, ([\d.]+) looked at")


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
def tab(browser):
    with visit(browser, permissions=["camera"]) as opened:
        opened.page.set_default_timeout(LONG)
        yield opened
        assert opened.complaints == []


def start_camera(page, server, delay=0):
    page.add_init_script(SLOW % delay)
    page.goto(server.url)
    page.locator("#connection[data-state=open]").wait_for()
    page.click("#camera")
    page.locator("#view[data-boxes]").wait_for()


def shown_boxes(page):
    return json.loads(page.locator("#view").get_attribute("data-boxes") or "[]")


def until(page, condition):
    end = time.monotonic() + LONG / 1000
    while not condition():
        assert time.monotonic() < end, page.inner_text("body")
        page.wait_for_timeout(50)


def test_each_late_answer_makes_frames_smaller_and_old_boxes_are_told(tab, server):
    page = tab.page
    start_camera(page, server, delay=1_200)

    def widths():
        return [int(size) for url in tab.requests for size in re.findall(r"/see\?width=(\d+)", url)]

    until(page, lambda: len(widths()) >= 4)
    assert widths()[:4] == [640, 480, 384, 384]
    page.locator("#rates.late").filter(has_text="too slow or too busy: the boxes lag behind").wait_for()
    page.locator("#rates").filter(has_text="looked at 60 % of the size").wait_for()


def test_all_of_it_is_looked_at_where_that_is_wanted(tab, server):
    page = tab.page
    page.add_init_script(SLOW % 600)
    page.goto(server.url)
    page.locator("#connection[data-state=open]").wait_for()
    page.uncheck("#coarser")
    page.click("#camera")
    page.locator("#rates.late").wait_for()
    assert all("width=640" in url for url in tab.requests if "/see?" in url)


def test_less_is_shown_and_looked_at_while_the_server_learns(tab, server):
    page = tab.page

    def learning(route):
        answer = route.fetch()
        route.fulfill(response=answer, json={**answer.json(), "learning": True})

    page.route("**/status", learning)
    start_camera(page, server)
    page.wait_for_timeout(3_000)  # they are counted over two seconds
    found = []
    for _ in range(4):
        page.wait_for_timeout(500)
        found += COUNTS.findall(page.inner_text("#rates"))
    assert found
    assert max(int(shown) for shown, _ in found) <= 21  # of 30
    assert max(float(looked) for _, looked in found) <= 7
    page.unroute("**/status")


def test_boxes_from_before_the_tab_was_hidden_are_not_shown(tab, server):
    page = tab.page
    asked, answered = [], []
    page.on("request", lambda request: asked.append(request.url) if "/see?" in request.url else None)
    page.on(
        "requestfinished", lambda request: answered.append(request.url) if "/see?" in request.url else None
    )
    start_camera(page, server)
    until(page, lambda: shown_boxes(page))
    page.evaluate(HIDE, True)
    page.evaluate("delay = 1e9")
    until(page, lambda: sum("/see?" in url for url in asked) == sum("/see?" in url for url in answered))
    page.wait_for_timeout(200)
    assert shown_boxes(page)
    page.evaluate(HIDE, False)
    until(page, lambda: not shown_boxes(page))
    page.evaluate("delay = 0")
