"""Keeps the weights of the online methods between runs: one entry for each method on each stream of margins.

An entry is found by the content of the margins and their order, by the method's settings, and by a digest of
the source files that decide the result, so that changed code never meets what older code has left.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import cache as once
from importlib.metadata import version
from importlib.resources import files

import numpy as np

from ocboost.reproduce.cache import Cache
from ocboost.reproduce.method import Floats, Going, Margins, Method


class Kept:
    """The weights of online methods, fetched where they are kept, else made and kept.

    Parameters
    ----------
    cache : Cache or None
        None keeps nothing.
    margins : ndarray of int8, shape (n, J)
        All margins, in their first order: their content is hashed here, once.
    """

    def __init__(self, cache: Cache | None, margins: Margins) -> None:
        self._cache = cache if cache is None or cache.folder is not None else None
        self._code = None if self._cache is None else code_digest()
        self._margins = None if self._cache is None else self._cache.key("margins", margins=margins)

    def weights(
        self,
        method: Method,
        make: Callable[[], Floats],
        *,
        order: np.ndarray[tuple[int], np.dtype[np.int64]] | None,
        points: Sequence[int],
        start: int,
        smoothing: float,
        going: Going,
    ) -> Floats:
        """A method's weights at each checkpoint.

        Parameters
        ----------
        method : Method
        make : callable
            Makes them.
        order : ndarray of int64, optional
            Which margin comes when; None is their first order.
        points, start, smoothing
            As for `Method.follow`.
        going : callable
            Whether nobody has asked to stop; what was made until then is not whole, and not kept.
        """
        cache = self._cache
        if cache is None or self._code is None:
            return make()
        settings = {name: value for name, value in asdict(method).items() if name != "label"}
        key = cache.key(
            "online",
            code=self._code,
            margins=self._margins,
            order=order,
            method=settings,
            points=list(points),
            start=start,
            smoothing=smoothing,
        )
        found = cache.get(key)
        if found is not None and "alphas" in found[1]:
            return found[1]["alphas"]
        alphas = make()
        if going():
            cache.put(key, {}, {"alphas": alphas})
        return alphas


@once
def code_digest() -> str | None:
    """A hash of the source that decides the weights and of what it runs on; None where there is no source."""
    package = files("ocboost")
    digest = hashlib.sha256()
    try:
        names = sorted(
            f"{folder}{each.name}"
            for folder in ("", "kernels/")
            for each in (package / folder).iterdir()
            if each.name.endswith(".py")
        )
        for name in [*names, "reproduce/method.py"]:
            content = package.joinpath(*name.split("/")).read_bytes()
            digest.update(f"{name} {len(content)}\n".encode())
            digest.update(content)
    except OSError:
        return None
    for name in ("numpy", "numba"):
        digest.update(f"{name} {version(name)}\n".encode())
    return digest.hexdigest()
