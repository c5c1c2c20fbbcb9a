"""Names of a package that are imported when they are first used: scikit-learn is slow to import."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any


def lazy_names(package: str, places: dict[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` for a package whose names live in other modules.

    ``places`` has the module of each name, relative to ``ocboost``; an empty one marks a submodule.
    """

    def get(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if not places[name]:
            return import_module(f"{package}.{name}")
        return getattr(import_module(f"ocboost.{places[name]}"), name)

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *places})

    return get, names
