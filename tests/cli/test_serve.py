"""``ocboost serve`` as a process, and what it refuses before it begins."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from ocboost._extras import install_line
from ocboost.serve import run
from tests.support.cli_runs import fitted, refused
from tests.support.modules import forget_modules
from tests.support.processes import Ocboost

ROW = {"a": 0.5, "b": -0.25, "c": 1.0, "d": None}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return fitted(tmp_path_factory.mktemp("served"))


class Running:
    """A service in a process of its own."""

    def __init__(self, *words, fresh=False, **environment):
        env = {**os.environ, **environment}
        words = ["serve", *words, "--port", "0"]
        self.process = Ocboost(words, fresh=fresh, stderr=subprocess.PIPE, text=True, env=env)
        self.said = []
        self.url = None
        for line in self.process.stderr:
            self.said.append(line)
            if found := re.fullmatch(r"ocboost: serving on (http://127\.0\.0\.1:\d+)\n", line):
                self.url = found[1]
                break
        assert self.url is not None, self.said

    def ask(self, path, content=None, **headers):
        """The status and the answer."""
        data = None if content is None else json.dumps(content).encode()
        named = {"Content-Type": "application/json", **headers}
        try:
            with urllib.request.urlopen(
                urllib.request.Request(self.url + path, data, named), timeout=60
            ) as reply:
                return reply.status, reply.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read()

    def end(self, number):
        """Send a signal; the exit code, and what it said since it was ready."""
        self.process.send_signal(number)
        _, rest = self.process.communicate(timeout=60)
        return self.process.returncode, rest

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.process.kill()
        self.process.communicate()


def test_it_continues_after_each_end(model, tmp_path, capsys):
    state = tmp_path / "state"
    with Running(model, "--state", state, fresh=True) as service:
        status, body = service.ask("/predict", {"rows": [ROW, ROW, ROW]})
        assert status == 200
        ids = [each["id"] for each in json.loads(body)["predictions"]]
        assert service.ask("/label", {"labels": [{"id": ids[0], "label": 1}]})[0] == 200
        said = refused(capsys, "serve", model, "--state", state, "--port", "0")
        assert str(service.process.pid) in said  # one service at a time
        assert service.ask("/health", Host="evil.example")[0] == 403
        file = service.ask("/model/file")[1]
        assert service.end(signal.SIGTERM) == (0, "")
    with Running(model, "--state", state) as service:
        assert service.ask("/model/file")[1] == file
        assert (
            json.loads(service.ask("/label", {"labels": [{"id": ids[0], "label": 1}]})[1])["duplicates"] == 1
        )
        assert json.loads(service.ask("/label", {"labels": [{"id": ids[1], "label": 0}]})[1])["accepted"] == 1
        file = service.ask("/model/file")[1]
        assert service.end(signal.SIGKILL)[0] == -signal.SIGKILL
    with Running(model, "--state", state, OCBOOST_TOKEN="a-token-from-the-environment") as service:
        assert service.ask("/model/file")[0] == 401
        token = {"Authorization": "Bearer a-token-from-the-environment"}
        assert service.ask("/model/file", **token) == (200, file)
        assert json.loads(service.ask("/model", **token)[1])["pending"] == 1
        assert service.ask("/health", Host="anything.example")[0] == 200
        assert service.end(signal.SIGINT) == (0, "")


def test_the_state_lies_beside_the_model(model, monkeypatch):
    seen = {}

    def note(adapter, settings, bound, ready, *, trusted_proxy, alarms):
        seen.update(adapter=adapter, settings=settings, proxy=trusted_proxy)

    from ocboost.__main__ import main

    monkeypatch.setattr(run, "run_service", note)
    monkeypatch.delenv("OCBOOST_TOKEN", raising=False)
    words = [
        "--port",
        "0",
        "--max-body",
        "2MB",
        "--max-rows",
        "7",
        "--rate",
        "5",
        "--allow-host",
        "A.example:80",
    ]
    assert main(["serve", str(model), *words, "--trusted-proxy", "10.0.0.1"]) == 0
    assert model.with_name("model.ocb.state").is_dir()
    settings = seen["settings"]
    assert (settings.name, settings.max_body, settings.max_rows, settings.rate) == (
        "model",
        2_000_000,
        7,
        5.0,
    )
    assert settings.hosts == {b"localhost", b"127.0.0.1", b"[::1]", b"a.example"}
    assert seen["proxy"] == "10.0.0.1"
    monkeypatch.setenv("OCBOOST_TOKEN", "t" * 20)
    assert main(["serve", str(model), "--port", "0", "--host", "0.0.0.0", "--no-guard", "--name", "n"]) == 0
    assert (seen["settings"].token, seen["settings"].hosts, seen["settings"].name) == (b"t" * 20, None, "n")


def test_what_is_refused_before_it_begins(model, tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("OCBOOST_TOKEN", raising=False)
    monkeypatch.setattr(run, "run_service", lambda *args, **more: pytest.fail("it began"))
    state = ["--state", tmp_path / "state", "--port", "0"]
    for host in ("0.0.0.0", "::"):
        assert "a token is needed" in refused(capsys, "serve", model, *state, "--host", host)
    empty = tmp_path / "empty.txt"
    empty.touch(0o600)
    assert "is empty" in refused(capsys, "serve", model, *state, "--token-file", empty)
    assert "nowhere.txt" in refused(capsys, "serve", model, *state, "--token-file", tmp_path / "nowhere.txt")
    assert "nothing.ocb" in refused(capsys, "serve", tmp_path / "nothing.ocb", *state)
    assert "cannot be found" in refused(capsys, "serve", model, *state, "--host", "no such host")
    assert not (tmp_path / "state").exists()
    with run.bind("127.0.0.1", 0) as taken:
        taken.listen()
        port = taken.getsockname()[1]
        assert "is in use" in refused(capsys, "serve", model, "--state", tmp_path / "s", "--port", port)
    occupied = tmp_path / "occupied"
    occupied.write_text("a file")
    assert "occupied" in refused(capsys, "serve", model, "--state", occupied, "--port", "0")
    text = tmp_path / "text.ocb"
    text.write_text("no model")
    assert "text.ocb" in refused(capsys, "serve", text, *state)
    assert "--max-body" in refused(capsys, "serve", model, *state, "--max-body", "much", code=2)
    for words in (["--port", "70000"], ["--max-rows", "0"], ["--rate", "0"], ["--max-days", "-1"]):
        refused(capsys, "serve", model, "--state", tmp_path / "s", *words, code=2)


def test_a_missing_package_is_named(model, capsys, monkeypatch):
    forget_modules(monkeypatch, "ocboost.serve")
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert install_line("serve") in refused(capsys, "serve", model)
