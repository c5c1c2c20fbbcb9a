"""How every kernel is compiled: one decorator, one cache that cannot go stale.

numba's own ``cache=True`` has two traps. It raises at import where no folder is writable, and it stamps
a cached kernel with the source of its own file only, so that a change of a callee in another file goes
unseen. Here a kernel is stamped with the text of *all* kernel files, and without a writable folder the
kernels are compiled in memory. A third trap is an image that one user builds and another runs: numba passes
over a folder that it cannot write. Here kernels that lie there are read.
"""

from __future__ import annotations

import hashlib
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from llvmlite import ir
from numba import types
from numba.core import caching as numba_caching
from numba.extending import intrinsic

from ocboost._ctrl_c import uninterrupted
from ocboost._kernels.compilations import COMPILATIONS

caching: Any = numba_caching  # which has no types
config: Any = numba.config
F = TypeVar("F", bound=Callable[..., Any])


# Reassociation and contraction are what the vectoriser needs. Flags that assume away NaN and infinity
# are not safe here and stay off.
FAST_MATH = {"reassoc", "contract", "nsz"}


def _stamp_of_all_kernels() -> bytes:
    paths = sorted(Path(__file__).parent.glob("*.py"))
    if not paths:  # imported from an archive: nothing cached is ever taken for this
        return os.urandom(32)
    digest = hashlib.sha256(numba.__version__.encode())
    for path in paths:
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.digest()


_nested = threading.local()  # whether a kernel is being compiled for another one
_STAMP = _stamp_of_all_kernels()


class _ForgivingCache:
    """A cache of compiled kernels that is only ever a help: what it cannot read or write is compiled."""

    def __init__(self, cache: Any, filled: Any = None) -> None:
        self._cache = cache
        self._filled = filled  # another one, that can only be read

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)

    def load_overload(self, signature: Any, context: Any) -> Any:
        for cache in (self._cache, self._filled):
            try:
                found = None if cache is None else cache.load_overload(signature, context)
            except Exception:  # a damaged file can raise anything when it is unpickled
                continue
            if found is not None:
                return found
        return None

    def save_overload(self, signature: Any, data: Any) -> None:
        try:
            self._cache.save_overload(signature, data)
        except Exception:  # a folder that is gone or full, or an index that is damaged
            COMPILATIONS.unsaved += 1


class _FilledCache(caching.FunctionCache):  # type: ignore[misc]
    """Kernels in a folder that this user cannot write, which numba would pass over."""

    def __init__(self, function: Any, index: Path) -> None:
        self._name, self._py_func = repr(function), function
        self._impl = object.__new__(self._impl_class)  # its way to rebuild code needs no place
        self._cache_path = str(index.parent)
        self._cache_file = caching.IndexDataCacheFile(str(index.parent), index.stem, _STAMP)
        self.enable()


def _filled_cache(function: Any, used: str | None) -> _FilledCache | None:
    """Where this very version is cached already, beside the source or in NUMBA_CACHE_DIR, if not in use."""
    source = Path(function.__code__.co_filename)
    folders = [source.parent / "__pycache__"]
    if config.CACHE_DIR:
        subpath = caching._CacheLocator.get_suitable_cache_subpath(str(source))
        folders.insert(0, Path(config.CACHE_DIR) / subpath)
    name = f"{source.stem}.{function.__qualname__}-{function.__code__.co_firstlineno}"
    python = f"py{sys.version_info[0]}{sys.version_info[1]}"
    pattern = f"{name}.{python}*-{_STAMP.hex()[:16]}.nbi"
    found = [index for folder in folders if str(folder) != used for index in sorted(folder.glob(pattern))]
    return _FilledCache(function, found[0]) if found else None


def _enable_cache(dispatcher: Any) -> None:
    """Cache ``dispatcher`` on disk where that is possible, and leave it uncached where it is not."""
    try:
        dispatcher.enable_caching()
        cache = dispatcher._cache
        # The stamp is part of the file's name too: numba writes the index before the code, and one that
        # was stopped in between would otherwise lead to the code of another version.
        cache._cache_file = type(cache._cache_file)(
            cache_path=cache._cache_path,
            filename_base=f"{cache._impl.filename_base}-{_STAMP.hex()[:16]}",
            source_stamp=_STAMP,
        )
        dispatcher._cache = _ForgivingCache(cache, _filled_cache(dispatcher.py_func, cache._cache_path))
    except (RuntimeError, OSError):  # no folder can be written: compile in memory
        filled = _filled_cache(dispatcher.py_func, None)
        if filled is not None:
            dispatcher._cache = _ForgivingCache(dispatcher._cache, filled)
    except (AttributeError, TypeError):  # numba has changed its insides
        # A cache that could go stale is worse than none.
        dispatcher._cache = numba.core.caching.NullCache()


def _compile_uninterrupted(dispatcher: Any) -> None:
    """Let Ctrl-C wait while ``dispatcher`` is compiled or loaded from the cache, and count which of them.

    LLVM asks Python for cached code by a call back, in which an exception is lost: the code is then taken
    for empty, and the process dies.
    """
    compile_now = dispatcher.compile

    def compile_then_stop(signature: Any) -> Any:
        began, missed = time.perf_counter(), sum(dispatcher.stats.cache_misses.values())
        outermost, _nested.inside = not getattr(_nested, "inside", False), True  # kernels call kernels
        try:
            with uninterrupted():
                compiled = compile_now(signature)
        finally:
            _nested.inside = not outermost
        place = dispatcher.stats.cache_path
        if place is not None:
            COMPILATIONS.folders.add(place)
        if sum(dispatcher.stats.cache_misses.values()) > missed:
            COMPILATIONS.unsaved += place is None
            COMPILATIONS.add(time.perf_counter() - began if outermost else 0.0)
        else:
            COMPILATIONS.loaded += 1
        return compiled

    dispatcher.compile = compile_then_stop


def instruction(function: Callable[..., Any]) -> Any:
    """Let ``function`` write LLVM instructions where it is called: it sees types, its callers give values."""
    return intrinsic(function)


def _compiled(function: F, *, fast: bool, inline: bool) -> Any:
    """``function``, to be compiled on first use; it releases the GIL and divides as numpy does."""
    fast_math = FAST_MATH if fast else False
    return numba.njit(fastmath=fast_math, error_model="numpy", nogil=True, forceinline=inline)(function)


def _called_from_python(dispatcher: Any) -> Any:
    _enable_cache(dispatcher)
    _compile_uninterrupted(dispatcher)
    return dispatcher


def kernel(function: F) -> F:
    """Compile ``function`` on first use, to be called from Python, and keep it on disk."""
    return cast(F, _called_from_python(_compiled(function, fast=True, inline=False)))


def plain(function: F) -> F:
    """Like `kernel`, with every rounding as written: no reassociation or contraction."""
    return cast(F, _called_from_python(_compiled(function, fast=False, inline=False)))


def helper(function: F) -> F:
    """Compile ``function`` into the kernels that call it, at the place of the call."""
    return cast(F, _compiled(function, fast=True, inline=True))


def exact(function: F) -> F:
    """Like `helper`, with every rounding as written (said aloud, or the flags of the caller are inherited).

    For loops that store what they compute: LLVM keeps a plain version beside the vectorised one for
    arrays that might overlap, and left free it would round the two differently, so that the last digit
    would depend on where an array happens to lie.
    """
    return cast(F, _compiled(function, fast=False, inline=True))


def seldom(function: F) -> F:
    """Compile ``function`` beside the kernels that call it: for the way that is hardly ever taken."""
    return cast(F, _compiled(function, fast=True, inline=False))


@instruction
def unlikely(typing_context: Any, condition: Any) -> tuple[Any, Any]:
    """The condition itself, expected to be false.

    Without it LLVM moves the divisions and exponentials of rare cases into the common path, to save a
    branch that is predicted right every time. Conditions are joined by ``|`` and ``&``: ``or`` and ``and``
    make branches of their own, which the hint would not reach.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        boolean = ir.IntType(1)
        expect = builder.module.declare_intrinsic(
            "llvm.expect", [boolean], ir.FunctionType(boolean, [boolean, boolean])
        )
        return builder.call(expect, [args[0], ir.Constant(boolean, 0)])

    return types.boolean(types.boolean), codegen


@instruction
def out_of_line(typing_context: Any) -> tuple[Any, Any]:
    """Keep the function this stands in from being copied into its callers: it is for rare cases."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        attributes = builder.function.attributes
        attributes.discard("alwaysinline")
        attributes.add("noinline")
        attributes.add("cold")
        return context.get_dummy_value()

    return types.void(), codegen
