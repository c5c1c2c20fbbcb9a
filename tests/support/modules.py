"""Modules that a test has imported anew, as if they had not been."""

from __future__ import annotations

import sys


def forget_modules(monkeypatch, *prefixes):
    """Forget the modules of these names and those below them, until the test is over.

    They are taken from their packages as well as from ``sys.modules``. Else the ones that are imported anew
    would stay in the package when the old ones are back, and a later patch would reach the wrong ones.
    """
    for name in [*sys.modules]:
        if any(name == prefix or name.startswith(f"{prefix}.") for prefix in prefixes):
            package, _, own = name.rpartition(".")
            if sys.modules.get(package) is not None:
                monkeypatch.delattr(sys.modules[package], own, raising=False)
            monkeypatch.delitem(sys.modules, name)
