"""Public names: each has one page, and docstrings may call it by its last part."""

from __future__ import annotations

import importlib
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
# Bases whose methods are documented by the projects that they come from.
OUTSIDE_BASES = (
    "ABC, BaseEstimator, ClassifierMixin, Classifier, dict, tuple, Exception, BaseException, UserWarning"
)


def public_names(module: str) -> list[str]:
    """What a module offers: its ``__all__``, or its classes if it has none."""
    found = importlib.import_module(module)
    names = getattr(found, "__all__", None)
    if names is None:
        names = sorted(
            name
            for name, value in vars(found).items()
            if isinstance(value, type) and value.__module__ == module and not name.startswith("_")
        )
    return [
        name
        for name in names
        if not hasattr(getattr(found, name), "__path__") and f"{module}.{name}" not in MODULES
    ]


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
SHORT: dict[str, str] = {}
for _full, _place in PLACES.items():
    SHORT.setdefault(_full.rpartition(".")[2], _place)
ALIASES = {
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
        f"{PLACES.get(owner) or SHORT.get(owner)}.{member}",
    ):
        if place in python.objects:  # type: ignore[attr-defined]
            return python.resolve_xref(env, node["refdoc"], app.builder, "obj", place, node, text)
    return None


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("missing-reference", resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
