"""A long stream takes no more memory than a short one."""

from __future__ import annotations

import subprocess
import sys

import pytest

PEAK = """
import sys

def peak():  # of this program alone: what ru_maxrss says may be the memory of the test that started it
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))

n = 0
"""
CODE = f"""{PEAK}
from ocboost.streams import open_stream

with open_stream(sys.argv[1], label="y") as stream:
    for batch in stream:
        n += len(batch)
        if batch.first == 100_000:
            before = peak()
print(n, peak() - before, peak())
"""
FOLDER_CODE = f"""{PEAK}
from ocboost.streams.folder import open_folder

folder = open_folder(sys.argv[1], label="y")
before = 0
for _ in range(2):
    for _, batch in folder.batches(10_000):
        n += len(batch)
    before = before or peak()
print(n, peak() - before, peak())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet"])
def test_memory_does_not_grow_with_the_stream(name, tmp_path):
    import gzip

    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    lines = "".join(f"{i}.25,{i / 7:.6f},{'abcdefg'[i % 7]},{-i},{i * 3},{i % 2}\n" for i in range(10_000))
    path, times = tmp_path / name, 150
    with gzip.open(path, "wb", 1) if name.endswith(".gz") else path.open("wb") as file:
        file.write(b"p,q,c,r,s,y\n")
        for _ in range(times):
            file.write(lines.encode())
    if name == "t.parquet":
        table = pa.csv.read_csv(path)
        pa.parquet.write_table(table, path, row_group_size=200_000)
    done = subprocess.run([sys.executable, "-c", CODE, path], check=True, capture_output=True, text=True)
    n, growth, peak = (int(number) for number in done.stdout.split())
    assert n == times * 10_000
    assert growth < 24 * 1024  # kB; the features alone are 130 MB
    assert peak < 300 * 1024


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_of_a_folder_is_not_that_of_its_row_groups(tmp_path):
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet

    rng = np.random.default_rng(0)
    for k in range(2):  # one row group of 160 MB each
        columns = {f"x{j}": rng.random(500_000) for j in range(40)}
        pa.parquet.write_table(pa.table(columns | {"y": np.arange(500_000) % 2}), tmp_path / f"{k}.parquet")
    done = subprocess.run(
        [sys.executable, "-c", FOLDER_CODE, tmp_path], check=True, capture_output=True, text=True
    )
    n, growth, peak = (int(number) for number in done.stdout.split())
    assert n == 2_000_000
    assert growth < 24 * 1024  # kB, in the second pass
    assert peak < 400 * 1024
