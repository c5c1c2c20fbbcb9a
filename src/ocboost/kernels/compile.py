"""How every kernel is compiled: one decorator, one cache that cannot go stale.

numba's own ``cache=True`` has two traps. It raises at import where no folder is writable, and it stamps
a cached kernel with the source of its own file only, so that a change of a callee in another file goes
unseen. Here a kernel is stamped with the text of *all* kernel files, and without a writable folder the
kernels are compiled in memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.extending import intrinsic

F = TypeVar("F", bound=Callable[..., Any])


# Reassociation and contraction are what the vectoriser needs. Flags that assume away NaN and infinity
# are not safe here and stay off.
FAST_MATH = {"reassoc", "contract", "nsz"}


def _stamp_of_all_kernels() -> bytes:
    digest = hashlib.sha256(numba.__version__.encode())
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.digest()


_STAMP = _stamp_of_all_kernels()


def _enable_cache(dispatcher: Any) -> None:
    """Cache ``dispatcher`` on disk where that is possible, and leave it uncached where it is not."""
    try:
        dispatcher.enable_caching()
    except (RuntimeError, OSError):  # no folder can be written: compile in memory
        return
    try:
        index = dispatcher._cache._cache_file
        index._source_stamp  # noqa: B018  raises where numba has changed its insides
        index._source_stamp = _STAMP
    except AttributeError:
        # A cache that could go stale is worse than none.
        dispatcher._cache = numba.core.caching.NullCache()


def instruction(function: Callable[..., Any]) -> Any:
    """Let ``function`` write LLVM instructions where it is called: it sees types, its callers give values."""
    return intrinsic(function)


def kernel(function: F) -> F:
    """Compile ``function`` on first use; it releases the GIL and divides as numpy does."""
    dispatcher = numba.njit(fastmath=FAST_MATH, error_model="numpy", nogil=True)(function)
    _enable_cache(dispatcher)
    return cast(F, dispatcher)


def plain(function: F) -> F:
    """Compile ``function`` like `kernel`, with every rounding as written: no reassociation or contraction."""
    dispatcher = numba.njit(fastmath=False, error_model="numpy", nogil=True)(function)
    _enable_cache(dispatcher)
    return cast(F, dispatcher)


def helper(function: F) -> F:
    """Compile ``function`` into the kernels that call it, at the place of the call."""
    compiled = numba.njit(fastmath=FAST_MATH, error_model="numpy", nogil=True, forceinline=True)(function)
    return cast(F, compiled)


def exact(function: F) -> F:
    """Like `helper`, with every rounding as written (said aloud, or the flags of the caller are inherited).

    For loops that store what they compute: LLVM keeps a plain version beside the vectorised one for
    arrays that might overlap, and left free it would round the two differently, so that the last digit
    would depend on where an array happens to lie.
    """
    return cast(F, numba.njit(fastmath=False, error_model="numpy", nogil=True, forceinline=True)(function))


def seldom(function: F) -> F:
    """Compile ``function`` beside the kernels that call it: for the way that is hardly ever taken."""
    return cast(F, numba.njit(fastmath=FAST_MATH, error_model="numpy", nogil=True)(function))
