"""Pyarrow, imported when it is first needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..errors import MissingExtraError


def arrow(module: str = "") -> Any:
    """Pyarrow or one of its modules: ``arrow("csv")`` is `pyarrow.csv`."""
    try:
        return import_module(f"pyarrow.{module}" if module else "pyarrow")
    except ImportError:
        raise MissingExtraError("pyarrow", "streams", "Reading streams") from None
