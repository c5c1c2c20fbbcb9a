"""Compiling and caching: never a crash for want of a folder, never a kernel of yesterday's source."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
from numba.core import caching

import ocboost
from ocboost._kernels import compile as compiling
from ocboost._kernels.compilations import Compilations
from tests.support.makers import random_margins

PACKAGE = Path(ocboost.__file__).parent

FIRST_USE = """
import json, sys
import numba
with_numba = set(sys.modules)
import ocboost
loaded = sorted({name.partition(".")[0] for name in set(sys.modules) - with_numba})
import numpy as np
margins = np.array(json.loads(sys.argv[1]))
sketch = ocboost.BoostingSketch(margins.shape[1])
for row in margins[:5]:
    sketch.update(row)
sketch.update_many(margins[5:], batch_size=8)
print(json.dumps({"file": ocboost.__file__, "loaded": loaded, "alpha": sketch.alpha.tolist()}))
"""


def first_use(margins, **environment):
    """Import ocboost and use it in a process of its own; what it says about itself."""
    ours = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA_", "PYTHONPATH"))}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", FIRST_USE, json.dumps(margins.tolist())],
        env={**ours, **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


@pytest.fixture
def margins():
    return random_margins(np.random.default_rng(220), 40, 7)


@pytest.fixture
def alpha(margins):
    sketch = ocboost.BoostingSketch(7)
    for row in margins[:5]:
        sketch.update(row)
    sketch.update_many(margins[5:], batch_size=8)
    return sketch.alpha.tolist()


@pytest.fixture
def no_folder(tmp_path):
    """A path where no folder can be made, by nobody: there is a file in the way."""
    (tmp_path / "file").write_bytes(b"")
    return str(tmp_path / "file" / "folder")


def test_importing_loads_nothing_heavy_beside_numba(margins, alpha, no_folder):
    # And a home that cannot be written: the kernels are cached beside the source.
    reported = first_use(margins, HOME=no_folder, XDG_CACHE_HOME=no_folder)
    assert reported["alpha"] == alpha
    assert "ocboost" in reported["loaded"]
    # What numba itself loads (it looks at scipy's version) is not for us to avoid.
    assert not {"sklearn", "matplotlib", "rich", "cyclopts", "scipy", "pandas"} & set(reported["loaded"])


def test_numbas_own_cache_folder_is_a_file(margins, alpha, tmp_path):
    (tmp_path / "file").write_bytes(b"")
    assert first_use(margins, NUMBA_CACHE_DIR=str(tmp_path / "file"))["alpha"] == alpha


def test_no_folder_can_be_written_at_all(margins, alpha, tmp_path, no_folder):
    # A package that is installed read-only. Permissions do not bind root, so there is a file where Python
    # and numba would make their folder.
    shutil.copytree(PACKAGE, tmp_path / "ocboost", ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [tmp_path / "ocboost", *(p for p in (tmp_path / "ocboost").rglob("*") if p.is_dir())]:
        (folder / "__pycache__").write_bytes(b"")
    places = {"HOME": no_folder, "XDG_CACHE_HOME": no_folder, "NUMBA_CACHE_DIR": no_folder}
    reported = first_use(margins, PYTHONPATH=str(tmp_path), **places)
    assert Path(reported["file"]).parent == tmp_path / "ocboost"
    assert reported["alpha"] == alpha
    assert not [p for p in tmp_path.rglob("*") if p.suffix in (".nbi", ".nbc", ".pyc")]


# The stamp --------------------------------------------------------------------------------------------


def test_the_stamp_follows_every_kernel_file(tmp_path, monkeypatch):
    folder = tmp_path / "kernels"
    shutil.copytree(PACKAGE / "_kernels", folder, ignore=shutil.ignore_patterns("__pycache__"))
    names = sorted(path.name for path in folder.glob("*.py"))
    assert {"compile.py", "llvm_bits.py", "scaled.py", "solve.py"} <= set(names)
    monkeypatch.setattr(compiling, "__file__", str(folder / "compile.py"))
    stamp = compiling._stamp_of_all_kernels()
    assert compiling._stamp_of_all_kernels() == stamp
    seen = {stamp}
    for name in names:
        path = folder / name
        text = path.read_bytes()
        path.write_bytes(text + b"# another word\n")
        seen.add(compiling._stamp_of_all_kernels())
        path.write_bytes(text)
    (folder / "another.py").write_bytes(b"")
    seen.add(compiling._stamp_of_all_kernels())
    (folder / "another.py").rename(folder / "renamed.py")
    seen.add(compiling._stamp_of_all_kernels())
    (folder / "renamed.py").unlink()
    with monkeypatch.context() as patched:
        patched.setattr(numba, "__version__", "0.0.0")
        seen.add(compiling._stamp_of_all_kernels())
    assert len(seen) == len(names) + 4
    assert compiling._stamp_of_all_kernels() == stamp


# The cache of one kernel ------------------------------------------------------------------------------

SOURCE = """
from ocboost._kernels.compile import kernel

@kernel
def answer(x):
    return x + {number}
"""


@pytest.fixture
def kernel_of(tmp_path, monkeypatch):
    """A function that loads a small kernel from a file again, as a new process would."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    path = tmp_path / "small.py"

    def load(number):
        path.write_text(SOURCE.format(number=number))
        spec = importlib.util.spec_from_file_location("small", path)
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, "small", module)
        # Not by its loader, which believes a compiled file of the same second and size.
        exec(compile(path.read_text(), str(path), "exec"), module.__dict__)
        return module.answer

    return load


def cached(tmp_path, suffix):
    return sorted((tmp_path / "__pycache__").glob(f"small.answer*.{suffix}"))


def test_a_kernel_is_compiled_once_for_all_processes(kernel_of, tmp_path):
    first = kernel_of(1)
    assert (first(1.0), first.stats.cache_misses.total()) == (2.0, 1)
    assert len(cached(tmp_path, "nbi")) == len(cached(tmp_path, "nbc")) == 1
    again = kernel_of(1)
    assert (again(1.0), again.stats.cache_hits.total()) == (2.0, 1)


def test_a_kernel_whose_callees_have_changed_is_recompiled(kernel_of, monkeypatch):
    # The source of the kernel itself is the same; only the stamp of all kernels tells.
    kernel_of(1)(1.0)
    monkeypatch.setattr(compiling, "_STAMP", b"another")
    changed = kernel_of(1)
    assert (changed(1.0), changed.stats.cache_hits.total()) == (2.0, 0)


def test_a_kill_between_the_two_files_of_a_cache_entry(kernel_of, monkeypatch):
    # numba writes the index first, and gives data files the same names for every source: after a kill
    # between the two, a new index must not lead to old code.
    assert kernel_of(1)(1.0) == 2.0
    monkeypatch.setattr(compiling, "_STAMP", b"another")

    def killed(*args):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(caching.IndexDataCacheFile, "_save_data", killed)
        with pytest.raises(KeyboardInterrupt):
            kernel_of(5)(1.0)
    assert kernel_of(5)(1.0) == 6.0


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
@pytest.mark.parametrize("contents", [b"", b"\x80", b"not a pickle"])
def test_a_damaged_cache(contents, suffix, kernel_of, tmp_path):
    kernel_of(1)(1.0)
    for path in cached(tmp_path, suffix):
        path.write_bytes(contents)
    assert kernel_of(1)(1.0) == 2.0


def test_a_folder_that_is_lost_after_import(kernel_of, tmp_path):
    # As a disk does that is full by the time the kernel is compiled.
    kernel = kernel_of(1)
    shutil.rmtree(tmp_path / "__pycache__", ignore_errors=True)
    (tmp_path / "__pycache__").write_bytes(b"")
    assert kernel(1.0) == 2.0


class Dispatcher:
    """As much of numba's dispatcher as the cache needs."""

    py_func = staticmethod(random_margins)  # which nobody has cached

    def __init__(self, error=None):
        self.error = error
        self._cache = caching.NullCache()

    def enable_caching(self):
        if self.error:
            raise self.error
        self._cache = object()  # without the insides that carry the stamp


@pytest.mark.parametrize("error", [RuntimeError("no locator available"), OSError("read-only")])
def test_a_cache_that_cannot_be_had_is_done_without(error):
    dispatcher = Dispatcher(error)
    compiling._enable_cache(dispatcher)
    assert isinstance(dispatcher._cache, caching.NullCache)


def test_a_cache_that_cannot_be_stamped_is_not_used():
    dispatcher = Dispatcher()
    compiling._enable_cache(dispatcher)
    assert isinstance(dispatcher._cache, caching.NullCache)


def test_kernels_in_a_folder_that_only_others_can_write_are_read(kernel_of, monkeypatch, tmp_path):
    # An image is built by one user and run by another. Root may write everywhere, so numba is told otherwise.
    kernel_of(1)(1.0)

    def refused(self):
        raise PermissionError("read-only")

    monkeypatch.setattr(caching._CacheLocator, "ensure_cache_path", refused)
    again = kernel_of(1)
    assert (again(1.0), again.stats.cache_hits.total()) == (2.0, 1)
    monkeypatch.setattr(compiling, "_STAMP", b"another")  # which there is none of
    assert kernel_of(5)(1.0) == 6.0


def test_kernels_beside_the_source_are_read_where_others_are_written(kernel_of, monkeypatch, tmp_path):
    kernel_of(1)(1.0)
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "elsewhere"))
    again = kernel_of(1)
    assert (again(1.0), again.stats.cache_hits.total()) == (2.0, 1)
    assert not cached(tmp_path / "elsewhere", "nbc")


def test_what_was_compiled_is_counted_and_told_once_where_it_takes_long(kernel_of, monkeypatch):
    told = []
    counts = Compilations(tell=lambda: told.append(counts.compiled))
    monkeypatch.setattr(compiling, "COMPILATIONS", counts)
    monkeypatch.setattr("ocboost._kernels.compilations.LONG_SECONDS", 0.0)
    kernel = kernel_of(1)
    kernel(1.0)
    kernel(1)
    kernel(2)
    kernel_of(1)(1.0)
    assert (counts.compiled, counts.loaded, counts.unsaved, told) == (2, 1, 0, [1])


def test_short_compiling_is_not_worth_a_word(kernel_of, monkeypatch):
    told = []
    counts = Compilations(tell=lambda: told.append(1))
    monkeypatch.setattr(compiling, "COMPILATIONS", counts)
    monkeypatch.setattr("ocboost._kernels.compilations.LONG_SECONDS", 1e9)
    kernel_of(1)(1.0)
    assert (counts.compiled, told) == (1, [])


def test_kernels_that_could_not_be_cached_are_counted(kernel_of, monkeypatch, tmp_path):
    counts = Compilations()
    monkeypatch.setattr(compiling, "COMPILATIONS", counts)
    kernel = kernel_of(1)
    shutil.rmtree(tmp_path / "__pycache__", ignore_errors=True)
    (tmp_path / "__pycache__").write_bytes(b"")
    kernel(1.0)
    assert (counts.compiled, counts.unsaved) == (1, 1)


# Rounding ---------------------------------------------------------------------------------------------


@compiling.exact
def rounding_error(a, b):
    return (a + b) - a


@compiling.helper
def rounding_error_left_free(a, b):
    return (a + b) - a


@numba.njit(fastmath=compiling.FAST_MATH)
def rounding_errors(a, b):
    return rounding_error(a, b), rounding_error_left_free(a, b)


def test_an_exact_piece_rounds_as_written_in_a_kernel_that_need_not():
    as_written, left_free = rounding_errors(1e20, 1.0)
    assert left_free == 1.0  # the compiler has seen that a - a is nothing
    assert as_written == 0.0


CTRL_C_WHILE_LOADING = """
import signal
from numba.core.codegen import JITCodeLibrary

load = JITCodeLibrary._object_getbuffer_hook.__func__
pressed = []

def pressed_now(library, module):
    if not pressed:
        pressed.append(True)
        signal.raise_signal(signal.SIGINT)
    return load(library, module)

JITCodeLibrary._object_getbuffer_hook = classmethod(pressed_now)
import numpy as np
import ocboost

signal.signal(signal.SIGINT, signal.default_int_handler)
margins = np.where(np.arange(60).reshape(20, 3) % 7 < 4, 1, -1)
try:
    ocboost.adaboost_weights(margins)
except KeyboardInterrupt:
    print("interrupted", bool(pressed))
print(ocboost.adaboost_weights(margins).tolist())
"""


def test_ctrl_c_while_a_kernel_is_loaded_or_compiled():
    # LLVM calls Python for the code. An exception there is lost, and the process would crash.
    first_use(random_margins(np.random.default_rng(0), 8, 3))  # compiled and kept
    done = subprocess.run(
        [sys.executable, "-c", CTRL_C_WHILE_LOADING], capture_output=True, text=True, timeout=300
    )
    margins = np.where(np.arange(60).reshape(20, 3) % 7 < 4, 1, -1)
    expected = ["interrupted True", str(ocboost.adaboost_weights(margins).tolist())]
    assert (done.returncode, done.stderr, done.stdout.splitlines()) == (0, "", expected)
