"""The examples run top to bottom, without data of anybody's."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def told_by(name, out):
    environment = {key: value for key, value in os.environ.items() if key != "OCBOOST_DATA"}
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name), "--out", str(out)],
        capture_output=True,
        text=True,
        timeout=300,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_camera(tmp_path):
    pytest.importorskip("cv2")
    pytest.importorskip("skimage")
    told = told_by("camera.py", tmp_path)
    assert "inside scikit-image" in told
    assert "the shipped detector is kept" in told
    found = [line.split()[0] for line in told.splitlines() if line.endswith(" found")]
    assert len(found) == 2
    assert int(found[1]) <= int(found[0])  # so few windows must do no harm
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "adapted.xml.gz",
        "camera-1-windows.png",
        "camera-2-roc.png",
        "camera-3-before.png",
        "camera-4-after.png",
    ]


def test_the_tour(tmp_path):
    told = told_by("tour.py", tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "1-adapted.png",
        "2-weights.png",
        "3-side-by-side.png",
        "4-balls.png",
    ]
    assert "drawn: no --data was given" in told
    assert "8. The same from the shell" in told
