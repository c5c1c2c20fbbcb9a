"""``ocboost serve --webhook``: as a process that is killed, and what is refused before it begins."""

from __future__ import annotations

import json
import signal

import pytest

from ocboost.__main__ import main
from ocboost.serve import run
from tests.cli.test_serve import Running
from tests.support.cli_runs import fitted, refused
from tests.support.receiver import receiving

SECRET = "hidden-secret-of-the-tests"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return fitted(tmp_path_factory.mktemp("watched"))


@pytest.fixture(autouse=True)
def clean(monkeypatch):
    for name in ("OCBOOST_TOKEN", "OCBOOST_WEBHOOK_SECRET"):
        monkeypatch.delenv(name, raising=False)


def test_a_kill_between_sending_and_remembering(model, tmp_path):
    with receiving() as receiver:
        url = f"http://me:hidden@127.0.0.1:{receiver.port}/hidden?hidden"
        words = [model, "--state", tmp_path / "state", "--webhook", url]
        receiver.held.clear()  # it gets the message, and the sender does not know
        with Running(*words, OCBOOST_WEBHOOK_SECRET=SECRET) as service:
            assert service.ask("/freeze", {"frozen": True})[0] == 200
            first = receiver.next()
            assert b"hidden" not in service.ask("/model")[1] + service.ask("/metrics")[1]
            assert service.end(signal.SIGKILL)[0] == -signal.SIGKILL
        receiver.held.set()
        receiver.answers = [500]
        with Running(*words, OCBOOST_WEBHOOK_SECRET=SECRET) as service:
            again = receiver.next()
            line = json.loads(service.process.stderr.readline())
            code, said = service.end(signal.SIGTERM)
        assert code == 0
        assert line["message"].startswith(f"webhook 1 (http://127.0.0.1:{receiver.port}): it answered 500; ")
        assert "hidden" not in "".join(service.said) + str(line) + said
    assert json.loads(first.body)["type"] == "frozen"
    assert first.body == again.body
    assert first.headers["Ocboost-Delivery"] == again.headers["Ocboost-Delivery"]
    assert first.headers["Ocboost-Signature"].startswith("t=")


def test_options(model, tmp_path, capsys, monkeypatch):
    seen = {}
    monkeypatch.setattr(run, "run_service", lambda *args, **more: seen.update(more))
    secret = tmp_path / "secret.txt"
    secret.write_text(SECRET + "\n")
    secret.chmod(0o644)
    words = ["serve", str(model), "--state", str(tmp_path / "state"), "--port", "0"]
    urls = ["--webhook", "http://a.example/hidden", "--webhook", "https://b.example:8443/hidden?hidden"]
    assert main([*words, *urls, "--webhook-secret-file", str(secret), "--labels-within", "900"]) == 0
    assert [str(each) for each in seen["alarms"].webhooks] == [
        "webhook 1 (http://a.example)",
        "webhook 2 (https://b.example:8443)",
    ]
    assert seen["alarms"].webhooks[0]._secret == SECRET.encode()
    assert seen["alarms"]._silence.limit == 900
    said = capsys.readouterr().err
    assert "http://a.example is sent messages without encryption" in said
    assert "other users can read the secret" in said
    assert "b.example" not in said
    assert "hidden" not in said


def test_what_is_refused_before_it_begins(model, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(run, "run_service", lambda *args, **more: pytest.fail("it began"))
    words = ["serve", model, "--state", tmp_path / "state", "--port", "0"]
    url = ["--webhook", "https://a.example/hidden"]
    for wrong in (
        "ftp://a.example/hidden",
        "a.example/hidden",
        "https://a.example:hidden/",
        "https://ä/hidden",
    ):
        said = refused(capsys, *words, "--webhook", wrong)
        assert "--webhook must be" in said
        assert "hidden" not in said
    assert "same URL twice" in refused(capsys, *words, *url, *url)
    secret = tmp_path / "secret.txt"
    secret.touch(0o600)
    assert "must hold a secret; it is empty" in refused(capsys, *words, *url, "--webhook-secret-file", secret)
    secret.write_text("hidden words")
    said = refused(capsys, *words, *url, "--webhook-secret-file", secret)
    assert "one secret of at most" in said
    assert "hidden" not in said
    secret.write_text(SECRET)
    assert "--webhook, which is missing" in refused(capsys, *words, "--webhook-secret-file", secret)
    assert "nowhere" in refused(capsys, *words, *url, "--webhook-secret-file", tmp_path / "nowhere")
    monkeypatch.setenv("OCBOOST_WEBHOOK_SECRET", "another-secret-of-the-tests")
    said = refused(capsys, *words, *url, "--webhook-secret-file", secret)
    assert "hold different secrets" in said
    assert "of-the-tests" not in said
    monkeypatch.setenv("OCBOOST_WEBHOOK_SECRET", " ")
    assert "OCBOOST_WEBHOOK_SECRET must hold a secret" in refused(capsys, *words, *url)
    for within in ("0", "-1", "nan", "soon"):
        refused(capsys, *words, "--labels-within", within, code=2)
    assert not (tmp_path / "state").exists()


def test_files_beside_the_journal_that_make_no_sense(model, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(run, "run_service", lambda *args, **more: pytest.fail("it began"))
    words = ["serve", model, "--state", tmp_path / "state", "--port", "0", "--webhook", "https://a.example"]
    (tmp_path / "state").mkdir()
    for name in ("silence.json", "webhooks.json"):
        (tmp_path / "state" / name).write_text('{"format": "\x1b[31m"}')
        said = refused(capsys, *words)
        assert name in said
        assert "\x1b" not in said
        (tmp_path / "state" / name).unlink()


def test_the_help_has_examples(capsys):
    assert main(["serve", "--help"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "ocboost serve model.ocb --webhook https://alarms.example/in" in said
    for option in ("--webhook-secret-file", "--labels-within", "OCBOOST_WEBHOOK_SECRET"):
        assert option in said
