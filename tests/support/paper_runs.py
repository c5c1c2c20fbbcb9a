"""What the tests of the experiments share: the methods' keys, and runs that are killed in the middle."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

IMAGE_METHODS = [  # of both experiments with images
    "adaboost",
    "oza-russell",
    "ocb-order-400-theorem",
    "ocb-order-400",
    "ocb-full",
    "ocb-head",
    "ocb-head-newest",
]
BEFORE = """
import os, signal, sys
sys.path.insert(0, sys.argv[2])
from ocboost.paper.cache import Cache
"""


def killed(program, cache):
    """Run a program that kills itself; its first argument is the folder of the cache."""
    words = [sys.executable, "-c", BEFORE + textwrap.dedent(program), str(cache)]
    ended = subprocess.run([*words, str(Path(__file__).parents[2])], check=False)
    assert ended.returncode == -9
