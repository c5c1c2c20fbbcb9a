"""`ocboost cascade live`: what it refuses, what it says, where its page is, and its end."""

from __future__ import annotations

import importlib
import json
import os
import signal
import socket
import stat
import sys

import pytest

from ocboost._teaching.address import ADDRESS_FILE, Address, keep_address, kept_address, new_address
from ocboost.cli import cascade_live
from tests.support import cli_runs
from tests.support.teaching_scene import DETECTOR, grey_scene
from tests.support.teaching_server import TeachingProcess


def refused(capsys, *words):
    """What it says when it refuses to start."""
    return cli_runs.refused(capsys, "cascade", "live", *words, "--no-browser")


def test_an_empty_folder_is_refused(capsys, tmp_path):
    (tmp_path / "pictures").mkdir()
    said = refused(capsys, DETECTOR, tmp_path / "pictures")
    assert "SOURCE must be a folder of images" in said
    assert "it is empty" in said


def test_a_broken_video_is_refused(capsys, tmp_path):
    (tmp_path / "film.avi").write_bytes(bytes(range(256)) * 10)
    assert "must be a video that OpenCV can read" in refused(capsys, DETECTOR, tmp_path / "film.avi")


def test_what_is_no_detector_or_is_missing_is_refused(capsys, tmp_path):
    assert "does not exist" in refused(capsys, tmp_path / "no.xml")
    assert "does not exist" in refused(capsys, DETECTOR, tmp_path / "no")
    (tmp_path / "d.xml").write_text("<a/>")
    assert "ocboost: " in refused(capsys, tmp_path / "d.xml")


def test_a_port_in_use_is_refused(capsys):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        said = refused(capsys, DETECTOR, "--port", taken.getsockname()[1])
    assert "is in use" in said


def test_what_is_not_installed_is_named_with_the_line_to_type(capsys, monkeypatch):
    for name in [each for each in sys.modules if each.startswith("ocboost._teaching")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "starlette.applications", None)
    monkeypatch.setitem(sys.modules, "starlette", None)
    assert "[serve]" in refused(capsys, DETECTOR)


def test_the_address_is_kept_for_its_owner_only(tmp_path):
    state = tmp_path / "state"
    assert kept_address(state).port == 0
    given = new_address()._replace(port=8123)
    keep_address(state, given)
    assert kept_address(state) == given
    assert stat.S_IMODE((state / ADDRESS_FILE).stat().st_mode) == 0o600
    keep_address(state, given._replace(port=8124))
    assert stat.S_IMODE((state / ADDRESS_FILE).stat().st_mode) == 0o600
    assert os.listdir(state) == [ADDRESS_FILE]
    for content in ("", "{}", "[]", '{"token": "short", "port": 1}', '{"token": 3, "port": 1}'):
        (state / ADDRESS_FILE).write_text(content)
        assert kept_address(state).port == 0
    (state / ADDRESS_FILE).write_text(json.dumps({"token": "x" * 40 + "<", "port": 1}))
    assert kept_address(state).token != "x" * 40 + "<"


def test_a_browser_gets_an_address_that_is_good_once(monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", lambda url: bool(opened.append(url)) or True)
    monkeypatch.setattr(sys, "platform", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    url = Address("secret", 1).url("http://127.0.0.1:1", once="word")
    cascade_live._open_browser(url)
    assert opened == []  # a text browser in the terminal would be no help
    monkeypatch.setenv("DISPLAY", ":0")
    cascade_live._open_browser(url)
    assert opened == ["http://127.0.0.1:1/#once=word"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_in_order_and_another_goes_on_at_the_same_address(tmp_path, number):
    state = tmp_path / "state"
    with TeachingProcess("--state", state) as server:
        frame = grey_scene()
        status, seen, _ = server.ask("POST", "/see?width=640&height=480&name=a", frame.tobytes())
        assert status == 200
        assert len(seen["boxes"]) == 2
        click = {"run": seen["run"], "frame": seen["frame"], "box": seen["boxes"][1]}
        assert server.ask("POST", "/reject", click)[0] == 200
        assert server.end(number) == 0  # while it learns
        assert server.said[-1].startswith("ocboost: ended; what was taught is in")
        url = server.url
        server.start()
        assert server.url == url
        _, clicks, _ = server.ask("GET", "/clicks")
        assert [each["kind"] for each in clicks] == ["reject"]
        assert server.ask("POST", "/reject", click)[1]["error"]["code"] == "old_frame"
        assert not any("Traceback" in line for line in server.said)


def test_nothing_is_written_that_was_not_asked_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with TeachingProcess() as server:
        status, seen, _ = server.ask("POST", "/see?width=640&height=480", grey_scene().tobytes())
        assert status == 200
        server.ask("POST", "/free", {"run": seen["run"], "frame": seen["frame"]})
        assert server.ask("GET", "/annotations.zip")[0] == 200
        assert server.end() == 0
    assert os.listdir(tmp_path) == []


def test_what_could_not_be_saved_is_said_at_the_end(capsys, tmp_path, monkeypatch):
    def teach(session, *_):
        (tmp_path / "state").rename(tmp_path / "elsewhere")
        (tmp_path / "state").write_text("no folder")
        session.free(session.see(grey_scene()).frame_id)

    monkeypatch.setattr(importlib.import_module("ocboost._teaching.server"), "run_teaching", teach)
    words = ("cascade", "live", DETECTOR, "--state", tmp_path / "state", "--no-browser")
    code, _, said = cli_runs.ran(capsys, *words)
    assert code == 1
    assert "ended, but what was taught could not be saved: " in said


def test_one_server_at_a_time_uses_a_state_folder(capsys, tmp_path):
    with TeachingProcess("--state", tmp_path / "state"):
        kept = (tmp_path / "state" / ADDRESS_FILE).read_bytes()
        assert "is in use by another" in refused(capsys, DETECTOR, "--state", tmp_path / "state")
        assert (tmp_path / "state" / ADDRESS_FILE).read_bytes() == kept


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("haarcascade_frontalface_alt2.xml", "must consist of stumps to be taught by clicks"),
        ("lbpcascade_frontalface.xml", "LBP"),
    ],
)
def test_detectors_that_cannot_be_taught_are_refused(capsys, name, says, tmp_path):
    place = DETECTOR.with_name(name)
    if name.startswith("lbp"):
        place = tmp_path / name
        place.write_text(
            "<opencv_storage><cascade><stageType>BOOST</stageType><featureType>LBP</featureType>"
            "<height>24</height><width>24</width></cascade></opencv_storage>"
        )
    assert says in refused(capsys, place)
