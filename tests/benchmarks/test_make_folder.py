"""`benchmarks/make_folder.py`: the same rows from a seed, however they lie in files."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

pytest.importorskip("rich")
from ocboost.streams.folder import open_folder

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "make_folder.py"
pytestmark = pytest.mark.skipif(not SCRIPT.is_file(), reason="the benchmarks are not beside the tests")


@pytest.fixture
def maker(monkeypatch):
    """The script as a module, with small blocks."""
    spec = importlib.util.spec_from_file_location("make_folder", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "make_folder", module)  # dataclasses look there
    spec.loader.exec_module(module)
    module.DRAWN = 64
    return module


def rows_of(folder):
    batches = [rows for _, rows in open_folder(folder, label="y").batches()]
    return np.concatenate([rows.X for rows in batches]), np.concatenate([rows.y for rows in batches])


@pytest.mark.parametrize("format", ["parquet", "csv"])
@pytest.mark.parametrize("float32", [False, True])
def test_rows_do_not_depend_on_files(maker, format, float32, tmp_path):
    made = []
    for files, row_group in ((1, 1000), (3, 50), (4, 7)):
        out = tmp_path / str(files)
        settings = maker.Settings(
            200, features=12, files=files, categories=2, format=format, float32=float32, row_group=row_group
        )
        maker.make_folder(out, settings)
        assert len(list(out.glob(f"part-*.{format}"))) == files
        made.append(rows_of(out))
    for X, y in made[1:]:
        np.testing.assert_array_equal(X, made[0][0])
        np.testing.assert_array_equal(y, made[0][1])
    X, y = made[0]
    assert X.shape[0] == 200
    assert np.isnan(X).any()
    assert set(y.tolist()) == {0, 1}
    about = json.loads((tmp_path / "1" / "_about.json").read_text())
    assert 0.6 < about["best_accuracy"] < 0.95
    if format == "parquet":
        assert str(pq.read_schema(tmp_path / "1" / "part-0.parquet").field("x0").type) == (
            "float" if float32 else "double"
        )


def test_a_folder_with_files_is_left_alone(maker, tmp_path):
    (tmp_path / "a").write_text("mine")
    with pytest.raises(SystemExit, match="must be an empty folder"):
        maker.make_folder(tmp_path, maker.Settings(10))
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
