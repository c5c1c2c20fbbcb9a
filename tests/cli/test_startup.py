"""What a command imports before it has to: nothing slow for help, a version, or a file that is not there."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import typing

import numpy as np
import pytest

import ocboost
from ocboost.errors import OcboostError
from tests.support.processes import ran

SLOW = ("numba", "llvmlite", "sklearn", "scipy", "pyarrow", "pandas", "joblib", "matplotlib", "asyncio")
REPORT = """
import json, sys
from ocboost.__main__ import main
code = main(sys.argv[2:])
slow = [name for name in json.loads(sys.argv[1]) if name in sys.modules]
print("\\n" + json.dumps([code, slow]))
"""
NAMES_AT_ONCE = """
import sys, threading, importlib
import ocboost
names = sys.argv[1:]
start, failed = threading.Barrier(len(names)), []
def get(name):
    start.wait()
    try:
        getattr(ocboost, name)
    except BaseException as error:
        failed.append((name, repr(error)))
threads = [threading.Thread(target=get, args=(name,)) for name in names]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
sys.exit(str(failed) if failed else 0)
"""
MISSING = [
    ["adapt", "no.ocb", "no.csv", "--out", "out.ocb"],
    ["predict", "no.ocb", "no.csv"],
    ["evaluate", "no.csv", "--label", "y"],
    ["compare", "no.csv", "--label", "y"],
    ["fit", "no.csv", "--label", "y", "--out", "out.ocb"],
    ["info", "no.ocb"],
    ["explain", "no.ocb", "no.csv"],
    ["export", "no.ocb", "out.onnx"],
    ["serve", "no.ocb"],
    ["fleet", "adapt", "no.ocb", "no.csv", "--key", "k", "--store", "store"],
    ["fleet", "info", "no"],
    ["cascade", "info", "no.xml"],
    ["cascade", "live", "no.xml"],
    ["cascade", "detect", "no.xml", "no", "--out", "out"],
    ["cascade", "adapt", "no.xml", "--faces", "no", "--others", "no", "--out", "out.xml"],
    ["cascade", "evaluate", "no.xml", "--boxes", "no.json"],
]


def imported(*words, cwd):
    """The exit code of a command in a new process, what it said, and the slow packages it has imported."""
    done = subprocess.run(
        [sys.executable, "-c", REPORT, json.dumps(SLOW), *words],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=cwd,
    )
    code, slow = json.loads(done.stdout.splitlines()[-1])
    return code, done.stderr, slow


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["fit", "--help"], ["cascade", "adapt", "-h"]])
def test_help_imports_nothing_slow(words, tmp_path):
    assert imported(*words, cwd=tmp_path) == (0, "", [])


@pytest.mark.parametrize("words", MISSING, ids=lambda words: " ".join(words[:2]))
def test_a_missing_file_is_told_before_anything_slow_is_imported(words, tmp_path):
    code, said, slow = imported(*words, cwd=tmp_path)
    assert code == 1
    assert "'no" in said
    if words[0] == "compare":  # it knows the names of streams, and joblib is not slow
        slow = [name for name in slow if name in ("numba", "sklearn", "scipy", "pyarrow")]
    assert slow == []


def test_importing_the_package_imports_nothing(tmp_path):
    code = "import sys, ocboost; print([n for n in ('numpy', 'numba', 'sklearn') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_every_public_name_is_there_listed_and_known_to_type_checkers():
    source = typing.cast(str, ocboost.__file__)
    with open(source, encoding="utf-8") as file:
        for_checkers = file.read().split("if TYPE_CHECKING:")[1].split("__version__")[0]
    assert set(ocboost.__all__) <= set(dir(ocboost))
    for name in ocboost.__all__:
        thing = getattr(ocboost, name)
        assert getattr(thing, "__name__", name).endswith(name)
        eager = isinstance(thing, type) and issubclass(thing, OcboostError | Warning)
        assert eager or name in for_checkers, name
    with pytest.raises(AttributeError, match="has no attribute 'Sketch'"):
        ocboost.Sketch  # noqa: B018


def test_threads_may_ask_for_names_at_once(tmp_path):
    names = ["OCBClassifier", "BoostingSketch", "AdaptiveClassifier", "Model", "lineage", "evaluation"]
    done = subprocess.run(
        [sys.executable, "-c", NAMES_AT_ONCE, *names, *names],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=tmp_path,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_pickle_is_read_where_nothing_was_imported(tmp_path):
    sketch = ocboost.BoostingSketch(3)
    sketch.update_many(np.array([[1, -1, 1], [1, 1, -1]]))
    (tmp_path / "sketch.pickle").write_bytes(pickle.dumps(sketch))
    code = "import pickle; print(pickle.load(open('sketch.pickle', 'rb')).alpha.tolist())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert json.loads(done.stdout) == sketch.alpha.tolist()


def test_a_missing_option_is_told_as_before():
    done = ran("fit", "no.csv")
    assert done.returncode == 2
    assert "is missing" in done.stderr
