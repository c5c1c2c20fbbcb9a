"""The script of releases: what it reads of the texts, and what it refuses."""

from __future__ import annotations

import importlib.util
import re
import subprocess
from pathlib import Path

import pytest

import ocboost

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "release" / "release.py"

pytestmark = pytest.mark.skipif(not SCRIPT.is_file(), reason="the script is not beside the tests")


@pytest.fixture
def release():
    spec = importlib.util.spec_from_file_location("release", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write(root, *, cited="1.2.3", heading="1.2.3 (2026-01-31)"):
    (root / "src" / "ocboost").mkdir(parents=True, exist_ok=True)
    (root / "src" / "ocboost" / "__init__.py").write_text('__version__ = "1.2.3"\n')
    (root / "CITATION.cff").write_text(f"type: software\nversion: {cited}\n")
    (root / "CHANGELOG.md").write_text(f"# Changes\n\n## {heading}\n\n## 1.2.2 (2026-01-30)\n")


def test_the_versions_of_this_clone_agree(release):
    assert release.check_texts() == ocboost.__version__


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"cited": "1.2.4"}, "CITATION.cff must have the version 1.2.3"),
        ({"cited": "1.2.33"}, "CITATION.cff must have the version 1.2.3"),
        ({"heading": "1.2.3 (not yet released)"}, "CHANGELOG.md must begin with"),
        ({"heading": "1.2.2 (2026-01-30)"}, "CHANGELOG.md must begin with"),
    ],
)
def test_versions_that_differ(release, monkeypatch, tmp_path, wrong, text):
    monkeypatch.setattr(release, "ROOT", tmp_path)
    write(tmp_path)
    assert release.check_texts() == "1.2.3"
    write(tmp_path, **wrong)
    with pytest.raises(release.ReleaseError, match=re.escape(text)):
        release.check_texts()


def test_files_that_are_missing_or_too_many(release, capsys):
    release.compare_files("the wheel", {"a", "b"}, {"b", "a"})
    assert "2 files, as they should be" in capsys.readouterr().out
    with pytest.raises(release.ReleaseError, match=r"the wheel lacks 1 files: static/page\.js"):
        release.compare_files("the wheel", {"a"}, {"a", "static/page.js"})
    with pytest.raises(release.ReleaseError, match="the sdist should not hold 1 files: secret"):
        release.compare_files("the sdist", {"a", "secret"}, {"a"})


def test_the_commands_of_the_readme_that_are_run(release):
    commands = release.readme_commands()
    taken = [
        line for line in commands if not any(word in line.replace(" > ", " ") for word in release.NOT_RUN)
    ]
    for command in ("sample", "fit", "adapt", "explain"):
        assert any(line.startswith(f"ocboost {command} ") for line in taken), command
    assert not any("#" in line for line in commands)


def test_a_tag_needs_a_clean_tree(release, monkeypatch, tmp_path):
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / "new").write_text("")
    ask = release.run
    monkeypatch.setattr(release, "run", lambda *words, **more: ask(*words, cwd=tmp_path))
    with pytest.raises(release.ReleaseError, match="changes that are not committed"):
        release.tag("1.2.3")


def test_a_program_that_fails_is_told_with_what_it_said(release):
    with pytest.raises(release.ReleaseError, match=r"ended with 2:\n.*cannot open"):
        release.run("sh", "-c", "echo cannot open; exit 2")
