"""The tour runs top to bottom, without data of anybody's."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

TOUR = Path(__file__).parents[1] / "examples" / "tour.py"


def test_the_tour(tmp_path):
    environment = {key: value for key, value in os.environ.items() if key != "OCBOOST_DATA"}
    done = subprocess.run(
        [sys.executable, str(TOUR), "--out", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=300,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "1-adapted.png",
        "2-weights.png",
        "3-side-by-side.png",
        "4-balls.png",
    ]
    assert "drawn: no --data was given" in done.stdout
    assert "8. The same from the shell" in done.stdout
