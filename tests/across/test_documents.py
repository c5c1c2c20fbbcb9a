"""What the documents say is there: links, public names, the path of one row, the citation."""

from __future__ import annotations

import importlib
import re
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import ocboost

ROOT = Path(__file__).parents[2]
PACKAGE = Path(ocboost.__file__).parent
PAGES = sorted(
    path
    for path in (
        *ROOT.glob("*.md"),
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / folder / "README.md" for folder in ("experiments", "benchmarks", "examples")),
    )
    if path.is_file()
)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")

pytestmark = pytest.mark.skipif(not PAGES, reason="the documents are not beside the tests")


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings, as code hosts make them."""
    found = set()
    fenced = False
    for line in text.splitlines():
        fenced ^= line.startswith("```")
        heading = None if fenced else re.match(r"#+ (.*)", line)
        if heading:
            words = re.sub(r"[^\w\- ]", "", heading[1].replace("`", "").lower())
            found.add(words.strip().replace(" ", "-"))
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        if target.startswith(("http://", "https://", "mailto:")):
            continue
        place, _, anchor = target.partition("#")
        path = (page.parent / place).resolve() if place else page
        assert path.exists(), target
        if anchor and path.suffix == ".md":
            assert anchor in anchors(path.read_text(encoding="utf-8")), target


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < 150


def test_the_public_page_has_exactly_the_public_names():
    text = (ROOT / "docs" / "public.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(ocboost[.\w]*)` \| (.*) \|$", text, re.MULTILINE))
    assert rows.pop("ocboost.river").startswith("`AdaptiveClassifier`, `OCBClassifier` (")
    assert sorted(rows) == [
        "ocboost",
        *(
            f"ocboost.{name}"
            for name in (
                "boosters",
                "cascade",
                "dask",
                "datasets",
                "evaluation",
                "fleet",
                "hypotheses",
                "learners",
                "lineage",
                "live",
                "offsets",
                "out_of_core",
                "streams",
            )
        ),
    ]
    for module, names in rows.items():
        listed, public = set(re.findall(r"`(\w+)`", names)), set(importlib.import_module(module).__all__)
        if "__all__" in listed:  # the row speaks of every booster or kind: classes need not be named
            listed |= {name for name in public if name[0].isupper()} - {"Ballot"}
        assert listed - {"__all__"} == public, module


def hops() -> list[tuple[str, str]]:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    path = text.split("<!-- path of one row: begin -->")[1].split("<!-- path of one row: end -->")[0]
    return re.findall(r"^\d+\. `([\w/]+\.py)` `([\w.]+)`", path, re.MULTILINE)


def test_one_row_takes_the_path_that_contributing_describes(tmp_path, monkeypatch):
    """Every function of the list is called, the first time of each after that of the one before."""
    pytest.importorskip("cyclopts")
    pytest.importorskip("pyarrow")
    from ocboost.__main__ import main

    expected = hops()
    assert 10 <= len(expected) <= 15
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for name, rows in (("first.csv", 200), ("stream.csv", 40)):
        X = rng.normal(size=(rows, 3))
        lines = [f"{a:.4f},{b:.4f},{c:.4f},{int(a + b > 0)}" for a, b, c in X]
        Path(name).write_text("\n".join(["a,b,c,y", *lines]) + "\n", encoding="utf-8")
    fit = ["fit", "first.csv", "--label", "y", "--out", "model.ocb", "--hypotheses", "10", "--head", "16"]
    assert main(fit) == 0

    seen: dict[tuple[str, str], int] = {}
    own = threading.get_ident()

    def note(frame, event, argument):
        place = Path(frame.f_code.co_filename)
        if event == "call" and threading.get_ident() == own and place.is_relative_to(PACKAGE):
            hop = place.relative_to(PACKAGE).as_posix(), frame.f_code.co_qualname
            seen.setdefault(hop, len(seen))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        assert main(["adapt", "model.ocb", "stream.csv", "--out", "model.ocb"]) == 0
    finally:
        sys.setprofile(before)
    assert [hop for hop in expected if hop not in seen] == []
    order = [seen[hop] for hop in expected]
    assert order == sorted(order)


def test_the_citation_is_valid_and_has_the_version():
    yaml = pytest.importorskip("yaml")
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= set(cited)
    assert cited["version"] == ocboost.__version__
    assert cited["license"] == "BSD-3-Clause"
    (paper,) = cited["references"]
    assert {"type", "title", "authors"} <= set(paper)
    assert [author["family-names"] for author in paper["authors"]] == ["Pelossof", "Jones", "Vovsha", "Rudin"]
