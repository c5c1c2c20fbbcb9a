"""The site builds without a warning, and its links are checked."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

pytestmark = pytest.mark.skipif(
    not (DOCS / "conf.py").is_file(), reason="the documents are not beside the tests"
)


@pytest.fixture
def copied(tmp_path):
    """The documents without what a build leaves, beside the files that they show."""
    made = shutil.ignore_patterns("_build", "auto_gallery", "generated", "commands", "sg_*", "__pycache__")
    shutil.copytree(DOCS, tmp_path / "docs", ignore=made)
    for path in ROOT.iterdir():
        if path.name != "docs" and not path.name.startswith("."):
            (tmp_path / path.name).symlink_to(path)
    gallery = tmp_path / "docs" / "auto_gallery"
    gallery.mkdir()
    (gallery / "index.rst").write_text(
        "Gallery\n=======\n\n.. toctree::\n   :glob:\n\n   plot_*\n", encoding="utf-8"
    )
    for example in sorted((DOCS / "gallery").glob("plot_*.py")):
        page = f".. _sphx_glr_auto_gallery_{example.name}:\n\n{example.stem}\n{'=' * len(example.stem)}\n"
        (gallery / f"{example.stem}.rst").write_text(page, encoding="utf-8")
    return tmp_path / "docs"


def built(docs: Path) -> subprocess.CompletedProcess[str]:
    """Everything but examples and files: names and links are looked up, docstrings judged."""
    words = [sys.executable, "-m", "sphinx", "-b", "dummy", "-q", "-W", "--keep-going", docs, docs / "_build"]
    return subprocess.run(
        words, env={**os.environ, "OCBOOST_SITE": "pages"}, capture_output=True, text=True, timeout=600
    )


def test_the_site_builds_without_a_warning(copied):
    for module in ("sphinx", "cyclopts", "dask", "lmdb", "river"):
        pytest.importorskip(module)
    if int(version("cyclopts").partition(".")[0]) < 4:
        pytest.skip("the lowest versions, whose help and docstrings differ")
    run = built(copied)
    assert run.returncode == 0, run.stderr


def test_broken_links_are_found(tmp_path):
    pages = {
        "index.html": '<a href="more.html#there">1</a><a href="more.html#gone">2</a><img src="no.png">',
        "more.html": '<p id="there"></p><a href="index.html">3</a><a href="https://example.org/x">4</a>',
    }
    for name, text in pages.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    words = [sys.executable, DOCS / "check_links.py", tmp_path]
    run = subprocess.run(words, capture_output=True, text=True)
    assert run.returncode == 1
    assert run.stderr.splitlines() == [
        "index.html: more.html#gone: no such place on that page",
        "index.html: no.png: no such file",
    ]
    (tmp_path / "no.png").write_bytes(b"")
    (tmp_path / "more.html").write_text('<p id="there"></p><p id="gone"></p>', encoding="utf-8")
    assert subprocess.run(words, capture_output=True).returncode == 0
