"""What a result was computed with."""

from __future__ import annotations

import os
import platform
from importlib import metadata


def versions(*packages: str) -> dict[str, str | int | None]:
    """Versions of all that can change a figure, and the machine's kind; None for what is not installed.

    >>> import numpy
    >>> versions()["numpy"] == numpy.__version__
    True
    """
    return {
        "ocboost": _version("ocboost"),
        "python": platform.python_version(),
        **{name: _version(name) for name in ("numpy", "numba", "matplotlib", *packages)},
        "system": platform.system(),
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
    }


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
