"""The first steps of the documentation, copied from the page and done: all but the service."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.support.cli_runs import ran

PAGE = Path(__file__).parents[2] / "docs" / "start.md"
BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

pytestmark = pytest.mark.skipif(not PAGE.is_file(), reason="the documents are not beside the tests")


def test_every_step_does_what_the_page_says(tmp_path, monkeypatch, capsys):
    pytest.importorskip("pandas")
    text = PAGE.read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    explained = []
    for kind, block in BLOCK.findall(text):
        if kind == "python" and "localhost" not in block:
            exec(compile(block, "start.md", "exec"), {"__name__": "__main__"})
            printed = capsys.readouterr().out
            if "after it" in block:
                before, after = (float(share) for share in re.findall(r"([\d.]+)% right", printed))
                assert before > 85.0 > 50.0 > after
            continue
        for line in block.splitlines():
            if not line.startswith("ocboost ") or line.startswith("ocboost serve"):
                continue
            words = shlex.split(line)
            code, printed, err = ran(capsys, *words[1:])
            assert (code, err) == (0, ""), line
            if words[1] == "adapt":
                assert float(re.search(r"rows ([\d.]+)% were right", printed)[1]) > 88.0
            if "--row" in words:
                explained.append(printed.split(",")[0])
    assert explained == ["Row 2004: class yes", "Row 2004: class no"]
    assert (tmp_path / "page.html").is_file()
