"""MOA's OzaBoost with members that learn, taken through a stream by a Java process."""

import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from harness import UnavailableError

from peers import moa


def through(X: np.ndarray, y: np.ndarray, base: str, *, weighted: bool, seed: int, members: int) -> dict:
    """Its answers to the rows, each given before the row was learnt, CPU seconds, and how members ended."""
    path = [str(moa.classes()), str(moa.jar())]
    with tempfile.TemporaryDirectory(prefix="ocboost-moa-") as folder:
        data = Path(folder) / "stream.bin"
        header = np.array(X.shape, dtype=">i4")
        data.write_bytes(header.tobytes() + np.column_stack([X, y]).astype(">f8").tobytes())
        java = ["java", "-XX:+UseSerialGC", "-Xmx1g", "-cp", os.pathsep.join(path), "OzaDriver"]
        updates = "weighted" if weighted else "poisson"
        done = subprocess.run(
            [*java, str(data), base, updates, str(seed), str(members)], capture_output=True, text=True
        )
    if done.returncode:
        raise UnavailableError(f"the Java driver failed: {done.stderr.strip()[:300]}")
    cpu, answers, ends = done.stdout.splitlines()[-3:]
    right, wrong, vote = np.array(ends.split(), dtype=float).reshape(members, 3).T
    return {
        "answers": np.frombuffer(answers.encode(), np.uint8) - ord("0"),
        "cpu": int(cpu) * 1e-9,
        "right": right,
        "wrong": wrong,
        "votes": vote,
    }
