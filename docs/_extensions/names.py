"""Public names: each has one page, and docstrings may call it by its last part."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from types import ModuleType
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

# In the order in which they are asked who has the page of a name that several list.
MODULES = [
    "ocboost",
    "ocboost.boosters",
    "ocboost.hypotheses",
    "ocboost.learners",
    "ocboost.offsets",
    "ocboost.streams",
    "ocboost.lineage",
    "ocboost.live",
    "ocboost.fleet",
    "ocboost.evaluation",
    "ocboost.datasets",
    "ocboost.cascade",
    "ocboost.out_of_core",
    "ocboost.dask",
    "ocboost.river",
    "ocboost.errors",
]
WITHOUT_ALL = {"ocboost.river": ["AdaptiveClassifier", "OCBClassifier"]}
# Bases whose methods are documented by the projects that they come from.
OUTSIDE_BASES = (
    "ABC, BaseEstimator, ClassifierMixin, Base, dict, tuple, Generic, Warning, ImportError, OSError, "
    "ValueError, Exception, BaseException, object"
)


def public_names(module: str) -> list[str]:
    """What a module offers, but for modules: its ``__all__``, or the classes it defines if it has none."""
    found = importlib.import_module(module)
    names = WITHOUT_ALL.get(module) or getattr(found, "__all__", None)
    if names is None:
        values = vars(found).items()
        names = [name for name, value in values if isinstance(value, type) and value.__module__ == module]
    return sorted(name for name in names if not isinstance(getattr(found, name), ModuleType))


def places() -> dict[str, str]:
    """The page of each public name, by every full name that it goes by."""
    seen: dict[int, str] = {}
    found = {}
    for module in MODULES:
        for name in public_names(module):
            value = getattr(importlib.import_module(module), name)
            found[f"{module}.{name}"] = seen.setdefault(id(value), f"{module}.{name}")
    return found


PLACES = places()
DEFINED = {}  # by the module that defines them
SHORT: dict[str, str] = {}
for _full, _place in PLACES.items():
    SHORT.setdefault(_full.rpartition(".")[2], _place)
    _value = getattr(importlib.import_module(_full.rpartition(".")[0]), _full.rpartition(".")[2])
    DEFINED.setdefault(f"{getattr(_value, '__module__', '')}.{getattr(_value, '__qualname__', '')}", _place)
ALIASES = {
    "Rows": "ocboost.streams.Batch",
    "array-like": ":term:`array-like <numpy:array_like>`",
    "ndarray": "numpy.ndarray",
    "RandomState": "numpy.random.RandomState",
    "DataFrame": "pandas.DataFrame",
    "Series": "pandas.Series",
    "Path": "pathlib.Path",
    **SHORT,
}


def resolve(app: Sphinx, env: BuildEnvironment, node: addnodes.pending_xref, text: nodes.Element) -> Any:
    """Find a public name that is called by its last parts, or by another module that lists it."""
    if node.get("refdomain") != "py":
        return None
    target = node["reftarget"].removesuffix("()")
    owner, _, member = target.rpartition(".")
    python = env.get_domain("py")
    for place in (
        PLACES.get(target),
        SHORT.get(target),
        DEFINED.get(target),
        f"{PLACES.get(owner) or SHORT.get(owner)}.{member}",
    ):
        if place in python.objects:  # type: ignore[attr-defined]
            return python.resolve_xref(env, node["refdoc"], app.builder, "obj", place, node, text)
    return None


def drop_old_pages(app: Sphinx) -> None:
    """Delete the pages of names that are no longer public, which an earlier build has left."""
    for page in Path(app.srcdir, "reference", "generated").glob("*.rst"):
        if page.stem not in PLACES.values():
            page.unlink()


def skip_made(app: Sphinx, what: str, name: str, value: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what nobody wrote: scikit-learn's metadata routing, the fields of named tuples."""
    made = re.fullmatch(r"set_\w+_request|get_metadata_routing", name)
    return True if made or str(value.__doc__).startswith("Alias for field number") else None


def quote_others(app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Show what other projects' docstrings have in single backticks as code: it is not a name of this one."""
    value = getattr(value, "fget", None) or value
    if not str(getattr(value, "__module__", "ocboost")).startswith("ocboost"):
        lines[:] = [re.sub(r"(?<![`:])`([^`]+)`(?!`)", r"``\1``", line) for line in lines]


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("builder-inited", drop_old_pages, priority=100)  # before autosummary
    app.connect("autodoc-skip-member", skip_made)
    app.connect("autodoc-process-docstring", quote_others, priority=100)  # before numpydoc
    app.connect("missing-reference", resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
