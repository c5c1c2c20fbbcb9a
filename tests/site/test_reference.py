"""Every public name has its place in the reference, and a docstring that lacks nothing."""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

pytestmark = pytest.mark.skipif(
    not (DOCS / "conf.py").is_file(), reason="the documents are not beside the tests"
)


@pytest.fixture(scope="module")
def names():
    """``docs/_extensions/names.py``, which says what is public and where."""
    for module in ("sphinx", "dask", "lmdb", "river"):
        pytest.importorskip(module)
    sys.path.insert(0, str(DOCS))
    try:
        from _extensions import names

        yield names
    finally:
        sys.path.remove(str(DOCS))
        for name in [name for name in sys.modules if name.partition(".")[0] == "_extensions"]:
            del sys.modules[name]


def listed(page: Path) -> list[str]:
    """The names in a page's tables, in full."""
    module, found = "", []
    inside = False
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith(".. currentmodule:: "):
            module = line.split()[-1]
        inside = line.startswith(".. autosummary::") or (inside and (not line or line.startswith("   ")))
        entry = line.strip().lstrip("~")
        if inside and entry and not entry.startswith((":", "..")):
            found.append(entry if entry.startswith("ocboost.") else f"{module}.{entry}")
    return found


def test_the_reference_has_exactly_the_public_names(names):
    for module in names.MODULES:
        page = DOCS / "reference" / f"{module.removeprefix('ocboost.')}.rst"
        wanted = {names.PLACES[f"{module}.{name}"] for name in names.public_names(module)}
        there = listed(page)
        assert len(there) == len(set(there)), f"{page.name} has a name twice"
        assert set(there) == wanted, f"add to {page.name}, or take out of it"
    index = (DOCS / "reference" / "index.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\{py:mod\}`([\w.]+)`", index)) == set(names.MODULES)


def test_the_reference_has_the_modules_of_the_public_page(names):
    rows = re.findall(
        r"^\| `(ocboost[.\w]*)` \|", (DOCS / "public.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert {*rows, "ocboost.errors"} == set(names.MODULES)


def functions(names):
    """Every public function and method that ocboost defines, each once, with its full name."""
    seen = {}
    for place in sorted(set(names.PLACES.values())):
        module, _, name = place.rpartition(".")
        value = getattr(sys.modules[module], name)
        members = {}
        if isinstance(value, type):
            for base in value.__mro__:
                members |= {key: each for key, each in vars(base).items() if key not in members}
        for key, each in {"": value, **members}.items():
            function = getattr(each, "fget", None) or getattr(each, "__func__", each)
            if inspect.isfunction(function) and not key.startswith("_"):
                seen.setdefault(inspect.unwrap(function), f"{place}.{key}".rstrip("."))
    return {each: full for each, full in seen.items() if each.__module__.startswith("ocboost")}


def raised(function) -> set[str]:
    """The errors that a function raises itself."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    calls = [each.exc for each in ast.walk(tree) if isinstance(each, ast.Raise) and each.exc is not None]
    return {ast.unparse(each.func if isinstance(each, ast.Call) else each) for each in calls}


def test_docstrings_say_what_comes_out_and_what_is_raised(names):
    """numpydoc looks for results only where it finds a ``return``, and never for errors."""
    lacking = []
    public = functions(names)
    assert len(public) > 400
    for function, full in public.items():
        text = inspect.getdoc(function) or ""
        gives = inspect.signature(function).return_annotation not in ("None", None, inspect.Parameter.empty)
        is_property = isinstance(
            inspect.getattr_static(_owner(full), full.rpartition(".")[2], None), property
        )
        if gives and not is_property and not re.search(r"^(Returns|Yields)\n-+$|^Refuse", text, re.MULTILINE):
            lacking.append(f"{full}: Returns")
        if raised(function) & PUBLIC_ERRORS and not re.search(r"^Raises\n-+$", text, re.MULTILINE):
            lacking.append(f"{full}: Raises")
    assert not lacking


PUBLIC_ERRORS = {"InputError", "ModelFileError", "NotSavableError", "FleetStoreError", "MissingExtraError"}


def _owner(full: str):
    """The class or module that a name is looked up in."""
    place, found = full.rpartition(".")[0], None
    parts = place.split(".")
    for n in range(len(parts), 0, -1):
        found = sys.modules.get(".".join(parts[:n]))
        if found is not None:
            for part in parts[n:]:
                found = getattr(found, part)
            return found
    raise LookupError(full)


# What a newcomer meets first has an example that runs.
WITH_EXAMPLES = [
    "ocboost.AdaptiveClassifier",
    "ocboost.BoostingSketch",
    "ocboost.Growth",
    "ocboost.Model",
    "ocboost.OCBClassifier",
    "ocboost.OzaRussell",
    "ocboost.adaboost_weights",
    "ocboost.boosters.merge_all",
    "ocboost.cascade.read_cascade",
    "ocboost.dask.DaskOCBClassifier",
    "ocboost.evaluation.lineup",
    "ocboost.evaluation.prequential",
    "ocboost.fleet.Fleet",
    "ocboost.hypotheses.Stumps",
    "ocboost.hypotheses.from_sklearn",
    "ocboost.learners.StumpLearner",
    "ocboost.lineage.FilterBoost",
    "ocboost.lineage.OzaRussellClassifier",
    "ocboost.live.Adapter",
    "ocboost.offsets.fit_offset",
    "ocboost.out_of_core.fit_folder",
    "ocboost.river.AdaptiveClassifier",
    "ocboost.river.OCBClassifier",
    "ocboost.streams.open_stream",
]


@pytest.mark.parametrize("full", WITH_EXAMPLES)
def test_what_is_met_first_has_an_example(names, full):
    value = getattr(_owner(full), full.rpartition(".")[2])
    assert re.search(r"^Examples\n-+$[\s\S]*>>> ", inspect.getdoc(value), re.MULTILINE)


def test_estimators_say_what_they_have_after_a_fit(names):
    for full in (
        "AdaptiveClassifier",
        "OCBClassifier",
        "lineage.FilterBoost",
        "lineage.OzaRussellClassifier",
    ):
        value = getattr(_owner(f"ocboost.{full}"), full.rpartition(".")[2])
        assert re.search(r"^Attributes\n-+$[\s\S]*^classes_ ", inspect.getdoc(value), re.MULTILINE), full


def test_attributes_are_explained(names):
    lacking = []
    for place in sorted(set(names.PLACES.values())):
        value = getattr(_owner(place), place.rpartition(".")[2])
        text = inspect.getdoc(value) if isinstance(value, type) else None
        section = re.search(r"^Attributes\n-+\n([\s\S]*?)(?=\n\n\w[\w ]*\n---|\Z)", text or "", re.MULTILINE)
        lines = section[1].splitlines() if section else []
        for line, following in pairwise([*lines, ""]):
            if line[:1].strip() and not following.startswith("    "):
                lacking.append(f"{place}: {line}")
    assert not lacking
