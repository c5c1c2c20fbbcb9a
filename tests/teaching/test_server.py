"""The page's server: who may ask, what a request may hold, which thread does what."""

from __future__ import annotations

import asyncio
import io
import json
import os
import zipfile
from urllib.parse import unquote

import cv2
import numpy as np
import pytest

from ocboost._teaching.endpoints import TEACHING_PATHS
from ocboost._teaching.server import teaching_app
from ocboost._teaching.service import MAX_FRAME_PIXELS, PageFacts, TeachingService
from ocboost._teaching.session import TeachingSession
from ocboost._teaching.source import FrameSource
from ocboost._teaching.tabs import SILENT_SECONDS
from tests.support.asgi_client import Client, Reply
from tests.support.taught import IdleSession

TOKEN = "t" * 43
FRAME = bytes(range(256)) * 3  # 32 × 24
OPEN = {"/", "/page/{name}", "/opening"}


class Page(Client):
    """A client that sends what a tab of the page sends."""

    tab = "tab-number-one"

    async def call(self, method, path, pieces, headers) -> Reply:
        return await super().call(method, path, pieces, {"ocboost-tab": self.tab, **headers})

    def see(self, query="width=32&height=24", frame=FRAME, **headers) -> Reply:
        sent = {"content-type": "application/octet-stream", **headers}
        return self.request("POST", f"/see?{query}", frame, sent)


@pytest.fixture
def session():
    return IdleSession()


@pytest.fixture
def service(session):
    service = TeachingService(session, PageFacts("d.xml", (24, 24), False), None, TOKEN.encode())
    yield service
    session.may_judge.set()
    service.close()


@pytest.fixture
def page(service):
    return Page(teaching_app(service), TOKEN)


@pytest.fixture
def click(page, service):
    """A function that sends a click in the first frame."""
    page.see()

    def sent(kind="reject", **content):
        given = {"run": service.run, "frame": 1, "box": [1, 2, 30, 30], **content}
        return page.post(f"/{kind}", given)

    return sent


def paths():
    return [
        (verb, path.replace("{id}", "1").replace("{name}", "teach.js"), path)
        for path, verb, _ in TEACHING_PATHS
    ]


@pytest.mark.parametrize(("verb", "path", "route"), paths())
def test_nothing_but_the_page_itself_is_given_without_the_token(service, verb, path, route):
    stranger = Page(teaching_app(service))
    reply = stranger.request(verb, path, b"{}", {"content-type": "application/json"})
    assert (reply.status, route in OPEN) in [(401, False), (200, True), (422, True)]
    wrong = stranger.request(verb, path, b"{}", {"authorization": "Bearer " + "u" * 43})
    assert wrong.status == 401 or route in OPEN


@pytest.mark.parametrize("path", ["/", "/status", "/page/teach.js", "/opening"])
def test_other_hosts_and_origins_are_refused(page, path):
    verb = "POST" if path == "/opening" else "GET"
    for host in ("evil.example", "evil.example:8080", "10.0.0.1:8080", "127.0.0.1.evil.example", ""):
        assert page.request(verb, path, headers={"host": host}).code == "wrong_host"
    for origin in ("http://evil.example", "null", "http://localhost:9999", "http://127.0.0.1:8080"):
        assert page.request(verb, path, headers={"origin": origin}).code == "wrong_origin"
    if path != "/opening":
        for own in ("localhost:8080", "127.0.0.1:8080", "[::1]:8080"):
            headers = {"host": own, "origin": f"http://{own}"}
            assert page.request(verb, path, headers=headers).status == 200


def test_the_page_may_load_nothing_from_elsewhere_and_run_nothing_inline(page):
    reply = page.get("/")
    policy = reply.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert reply.headers["referrer-policy"] == "no-referrer"
    assert b"<script>" not in reply.body
    assert b"style=" not in reply.body
    for name in ("link", "sources", "view", "panels", "teach", "dom"):
        script = page.get(f"/page/{name}.js")
        assert script.headers["content-type"].startswith("text/javascript")
        for word in (b"innerHTML", b"insertAdjacentHTML", b"document.write", b"eval("):
            assert word not in script.body
    assert page.get("/page/secret.js").status == 404
    assert page.request("GET", "/", headers={"if-none-match": reply.headers["etag"]}).status == 304


def test_the_word_that_opened_the_browser_is_good_once(service):
    stranger = Page(teaching_app(service))
    assert stranger.post("/opening", {"word": "x"}).status == 401  # none was given out
    service.once = b"word"
    assert stranger.post("/opening", {"word": "sword"}).status == 401
    assert stranger.post("/opening", {"word": "word"}).json == {"token": TOKEN}
    assert stranger.post("/opening", {"word": "word"}).status == 401
    assert stranger.post("/opening", {"other": 1}).status == 422


def test_a_frame_is_looked_at_as_it_was_sent(page, session, service):
    reply = page.see("width=32&height=24&name=C%3A%5Cx%2Fa%0A%3Cb%3E.png&time=1.5")
    assert reply.json == {
        "run": service.run,
        "frame": 1,
        "boxes": [[1, 2, 30, 30]],
        "version": 0,
        "milliseconds": 1.5,
        "width": 32,
        "height": 24,
    }
    assert session.seen == [("a_<b>.png", 1.5, 0)]
    assert reply.headers["cache-control"] == "no-store"
    page.see("width=32&height=24&time=nan")
    page.see("width=32&height=24&time=soon")
    assert session.seen[1:] == [("", None, 0)] * 2
    assert len(session.threads) == 1  # one after the other


@pytest.mark.parametrize(
    ("query", "frame", "status"),
    [
        ("width=32&height=24", FRAME[:-1], 422),
        ("width=32&height=24", FRAME + b"x", 422),
        ("width=24", FRAME, 422),
        ("width=-32&height=-24", FRAME, 422),
        ("width=32.0&height=24", FRAME, 422),
        ("width=٣٢&height=24", FRAME, 422),
        ("width=8&height=96", FRAME, 422),
        ("width=99999&height=99999", FRAME, 413),
        ("width=1920&height=1080", bytes(MAX_FRAME_PIXELS + 1), 413),
    ],
)
def test_bad_frames_are_refused(page, session, query, frame, status):
    from urllib.parse import quote

    reply = page.see(quote(query, safe="=&"), frame)
    assert reply.status == status
    assert reply.json["error"]["message"]
    assert session.seen == []


def test_a_frame_of_another_kind_is_refused(page):
    assert page.see(**{"content-type": "image/png"}).status == 415


def test_clicks_reach_the_frame_that_was_seen(page, session, service, click):
    assert click().json == {
        "number": 1,
        "kind": "reject",
        "frame": 1,
        "box": [1, 2, 30, 30],
        "undone": False,
    }
    assert click("mark").json["kind"] == "mark"
    assert click("free", box=None).json["box"] is None
    assert [each.kind for each in session.told] == ["reject", "mark", "free"]
    assert page.post("/undo").json["number"] == 3
    assert [each["undone"] for each in page.get("/clicks").json] == [False, False, True]
    page.post("/undo")
    page.post("/undo")
    assert page.post("/undo").json is None


@pytest.mark.parametrize(
    ("content", "status", "words"),
    [
        ({"run": "another"}, 409, "started again"),
        ({"frame": 7}, 422, "no longer kept"),
        ({"frame": "1"}, 422, "frame"),
        ({"box": [1, 2, 3]}, 422, "box"),
        ({"box": [1.5, 2, 3, 4]}, 422, "box"),
        ({"box": None}, 422, "A box is needed"),
        ({"more": 1}, 422, "more"),
    ],
)
def test_bad_clicks_are_refused(click, session, content, status, words):
    reply = click(**content)
    assert reply.status == status
    assert words in reply.json["error"]["message"]
    assert session.told == []


def test_a_second_tab_waits_until_it_takes_over(service, page, click):
    other = Page(page.app, TOKEN)
    other.tab = "tab-number-two"
    assert page.get("/status").json["teaches"] is True
    assert other.get("/status").json["teaches"] is False
    for reply in (other.see(), other.post("/undo"), other.post("/reject", {"run": service.run, "frame": 1})):
        assert reply.code == "other_tab"
    assert other.get("/frames").status == 200  # it may look
    other.post("/take-over")
    assert other.see().status == 200
    assert click().code == "other_tab"
    page.post("/leave")  # of a tab that does not teach
    assert page.get("/status").json["teaches"] is False
    other.post("/leave")
    assert page.get("/status").json["teaches"] is True
    service.tabs._heard -= SILENT_SECONDS
    assert other.get("/status").json["teaches"] is True
    other.tab = "x y"
    assert other.get("/status").status == 422


def test_before_and_after(page, click):
    click()
    page.see()
    assert [frame["clicks"] for frame in page.get("/frames").json] == [1, 0]
    assert page.get("/frames/1/picture").body == b"\x89PNG of 1"
    assert page.get("/frames/1/boxes?which=shipped").json == [[1, 2, 30, 30]]
    assert page.get("/frames/1/boxes?which=shown").json == []
    assert page.get("/frames/1/boxes?which=other").status == 422
    assert page.get("/frames/x/picture").status == 422
    assert page.get("/frames/../picture").status == 422


def test_figures_are_computed_once_for_all_who_ask_and_keep_nobody_waiting(page, session):
    async def both():
        asked = [asyncio.create_task(page.call("POST", "/judge", [b""], {})) for _ in range(2)]
        for _ in range(200):
            status = json.loads((await page.call("GET", "/status", [b""], {})).body)
            if status["judged"] == [1, 2]:
                break
            await asyncio.sleep(0.01)
        else:
            raise AssertionError(status)
        session.may_judge.set()
        return [reply.json for reply in await asyncio.gather(*asked)]

    first, second = asyncio.run(both())
    assert first == second == {"version": 0, "held_out": None, "all": {"recall": None}}
    assert session.judged == 1
    assert page.get("/status").json["judged"] is None


def test_downloads(page):
    reply = page.get("/adapted.xml")
    assert reply.headers["content-disposition"] == 'attachment; filename="adapted.xml"'
    assert reply.body == b"<opencv_storage/>"
    assert page.get("/annotations.zip").headers["content-type"] == "application/zip"


def test_frames_that_the_server_reads(session, tmp_path):
    rng = np.random.default_rng(0)
    for name in ("a.png", "é.png"):
        cv2.imwrite(str(tmp_path / name), rng.integers(0, 255, (48, 64), np.uint8))
    (tmp_path / "z.png").write_bytes(b"no picture")
    (tmp_path / "notes.txt").write_text("x")
    service = TeachingService(
        session, PageFacts("d.xml", (24, 24), True), FrameSource(tmp_path, max_side=32), TOKEN.encode()
    )
    try:
        page = Page(teaching_app(service), TOKEN)
        facts = page.get("/facts").json
        assert facts["source"]["expected"] == 3
        assert facts["source"]["video"] is False
        assert facts["kept"] is True
        shown = page.get("/source/frame?n=2")
        assert shown.headers["ocboost-name"] == "%C3%A9.png"
        picture = cv2.imdecode(np.frombuffer(shown.body, np.uint8), cv2.IMREAD_COLOR)
        assert picture.shape == (24, 32, 3)
        assert page.post("/source/see?n=2").json["width"] == 32
        assert session.seen[0][0] == "é.png"
        broken = page.get("/source/frame?n=1")
        assert broken.status == 422
        assert "z.png" in broken.json["error"]["message"]
        assert page.get("/source/frame?n=3").code == "end"
        assert page.get("/source/frame?n=-1").status == 422
        assert page.get("/source/frame").status == 422
        assert "1 of 4 things" in page.get("/status").json["notes"][0]
    finally:
        service.close()


@pytest.fixture(params=["pictures", "film"])
def oddly_named(request, tmp_path):
    """A folder of pictures, or a video, whose names are not UTF-8."""
    folder = os.fsencode(tmp_path) + b"/f\xff\x1b[31m"
    os.mkdir(folder)
    cv2.imwrite(str(tmp_path / "a.png"), np.zeros((48, 64), np.uint8))
    if request.param == "pictures":
        os.rename(tmp_path / "a.png", folder + b"/a\xe9.png")
        for name in (b"/z\xfe.png", b"/n.txt"):
            with open(folder + name, "wb") as file:
                file.write(b"no picture")
        return os.fsdecode(folder)
    writer = cv2.VideoWriter(str(tmp_path / "a.avi"), cv2.VideoWriter_fourcc(*"MJPG"), 10.0, (64, 48))
    writer.write(np.zeros((48, 64, 3), np.uint8))
    writer.release()
    os.rename(tmp_path / "a.avi", folder + b"/a\xe9.avi")
    return os.fsdecode(folder + b"/a\xe9.avi")


def test_names_that_are_not_utf_8_are_spelled_out(file, tmp_path, oddly_named):
    session = TeachingSession(file, state=tmp_path / "state", build=False)
    source = FrameSource(oddly_named)
    service = TeachingService(session, PageFacts("d.xml", (24, 24), True), source, TOKEN.encode())
    try:
        page = Page(teaching_app(service), TOKEN)
        name = page.get("/facts").json["source"]["name"]
        assert name == ("a\\udce9.avi" if source.is_video else "f\\udcff\\x1b[31m")
        shown = unquote(page.get("/source/frame?n=0").headers["ocboost-name"])
        assert shown == ("frame-000000" if source.is_video else "a\\udce9.png")
        seen = page.post("/source/see?n=0").json
        assert page.get("/frames").json[0]["name"] == shown
        assert page.post("/free", {"run": service.run, "frame": seen["frame"]}).status == 200
        with zipfile.ZipFile(io.BytesIO(page.get("/annotations.zip").body)) as archive:
            assert len(json.loads(archive.read("annotations.json"))["images"]) == 1
        notes = page.get("/status").json["notes"]
        if not source.is_video:
            assert "f\\udcff\\x1b[31m" in notes[0]
            broken = page.get("/source/frame?n=1")
            assert broken.status == 422
            assert "z\\udcfe.png" in broken.json["error"]["message"]
        session.close()
        again = TeachingSession(file, state=tmp_path / "state", build=False)
        assert [frame["name"] for frame in again.frames()] == [shown]
        again.close()
    finally:
        session.close()
        service.close()


def test_without_a_source_there_is_none(page):
    assert page.get("/facts").json == {
        "detector": "d.xml",
        "window": [24, 24],
        "kept": False,
        "source": None,
    }
    assert page.get("/source/frame?n=0").code == "no_source"


def test_what_goes_wrong_inside_is_a_reference_and_no_trace(page, session, capsys):
    session.status = lambda: 1 / 0
    reply = page.get("/status")
    assert reply.status == 500
    assert "ZeroDivision" not in reply.body.decode()
    logged = json.loads(capsys.readouterr().err.splitlines()[0])
    assert logged["error"] == "ZeroDivisionError"
    assert TOKEN not in json.dumps(logged)
