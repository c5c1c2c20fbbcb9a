"""What a result was computed with."""

from __future__ import annotations

import os
import platform
from importlib import metadata

import ocboost


def versions() -> dict[str, str | int | None]:
    """Versions of everything that can change a figure, and the machine's kind.

    >>> versions()["ocboost"] == ocboost.__version__
    True
    """
    packages = {name: metadata.version(name) for name in ("numpy", "numba", "matplotlib")}
    return {
        "ocboost": ocboost.__version__,
        "python": platform.python_version(),
        **packages,
        "system": platform.system(),
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
    }
