"""MOA's OCBoost and OzaBoost, each in a Java process of its own that waits for orders to train."""

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from functools import cache
from pathlib import Path

import numpy as np
from harness import Columns, Method, Timing, UnavailableError

HERE = Path(__file__).resolve().parent.parent
CACHE = HERE / ".cache"
SOURCES = sorted((HERE / "java").glob("*.java"))
CAPYMOA = "capymoa==0.15.1"  # the wheel that carries the jar

# With MOA's largest smoothing, and the model reset every so many examples, its weights stay finite.
FINITE_SMOOTHING = "100"
FINITE_CHUNK = {20: 1_000, 100: 100, 400: 50, 1520: 10}


@cache
def jar() -> Path:
    """MOA's jar: from OCBOOST_MOA_JAR, an installed capymoa, the cache, or the wheel, in this order."""
    named = os.environ.get("OCBOOST_MOA_JAR")
    if named:
        if not Path(named).is_file():
            raise UnavailableError(f"OCBOOST_MOA_JAR names no file: {named}")
        return Path(named)
    found = importlib.util.find_spec("capymoa")
    if found is not None and found.origin:
        installed = Path(found.origin).parent / "jar" / "moa.jar"
        if installed.is_file():
            return installed
    cached = CACHE / "moa.jar"
    if not cached.is_file():
        CACHE.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as folder:
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "-d", folder, CAPYMOA]
            if subprocess.run(command, capture_output=True).returncode:
                raise UnavailableError(
                    f"no MOA jar: could not download {CAPYMOA}; set OCBOOST_MOA_JAR to one"
                )
            wheel = next(Path(folder).glob("*.whl"))
            with zipfile.ZipFile(wheel) as archive:
                archive.extract("capymoa/jar/moa.jar", folder)
            (Path(folder) / "capymoa" / "jar" / "moa.jar").replace(cached)
    return cached


@cache
def classes() -> Path:
    """The folder with the compiled drivers, compiled once per source and jar."""
    for tool in ("java", "javac"):
        if shutil.which(tool) is None:
            raise UnavailableError(f"{tool} is not installed")
    text = b"".join(source.read_bytes() for source in SOURCES)
    key = hashlib.sha256(text + str(jar().stat().st_size).encode()).hexdigest()[:16]
    folder = CACHE / f"classes-{key}"
    if not all((folder / f"{source.stem}.class").is_file() for source in SOURCES):
        folder.mkdir(parents=True, exist_ok=True)
        command = ["javac", "-encoding", "UTF-8", "-cp", str(jar()), "-d", str(folder)]
        done = subprocess.run([*command, *map(str, SOURCES)], capture_output=True, text=True)
        if done.returncode:
            raise UnavailableError(f"javac failed: {done.stderr.strip()[:300]}")
    return folder


def write(columns: Columns, path: Path) -> None:
    """The ring as the driver reads it: n and J, then rows of J answers and a label."""
    rows = np.hstack([columns.answers, columns.labels[:, None]]).astype(np.int8)
    header = np.array([len(rows), columns.n_hypotheses], dtype=">i4")
    path.write_bytes(header.tobytes() + rows.tobytes())


def methods(columns: Columns) -> list[Method]:
    """OCBoost while its weights are finite, OCBoost in a long run with its own defaults, and OzaBoost."""
    path = [str(classes()), str(jar())]
    J = columns.n_hypotheses
    folder = Path(tempfile.mkdtemp(prefix="ocboost-moa-"))
    data = folder / "columns.bin"
    write(columns, data)
    still_open = 3

    def row(name: str, booster: str, chunk: int, *smoothing: str) -> Method:
        java = ["java", "-XX:+UseSerialGC", "-Xmx2g", "-cp", os.pathsep.join(path), "MoaDriver"]
        process = subprocess.Popen(
            [*java, str(data), booster, "shared", *smoothing],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        if not (process.stdout and process.stdin and process.stdout.readline().startswith("ready")):
            raise UnavailableError("the Java driver did not start")
        state = {"nan": 0, "seen": 0}

        def run(n: int) -> Timing:
            print(n, chunk, file=process.stdin, flush=True)
            cpu, wall, nan, _largest = process.stdout.readline().split()
            state["nan"] = int(nan)
            state["seen"] += n
            return Timing(n, int(cpu) * 1e-9, int(wall) * 1e-9)

        def finding() -> str:
            if not state["nan"]:
                return "weights finite"
            return f"{state['nan']} of {J} weights NaN after {state['seen']} examples"

        def close() -> None:
            nonlocal still_open
            process.stdin.close()
            process.wait(timeout=60)
            still_open -= 1
            if not still_open:
                shutil.rmtree(folder, ignore_errors=True)

        order = J if booster == "ocboost" else None
        inside = "the members' answers; CPU time of the training thread alone, no compiler or collector"
        return Method(
            "MOA",
            name,
            run,
            order=order,
            inside=inside,
            budget=2.5,
            warm_up=1.5,
            finding=finding,
            close=close,
        )

    return [
        row("OCBoost", "ocboost", FINITE_CHUNK[J], FINITE_SMOOTHING),
        row("OCBoost, long run", "ocboost", 0),
        row("OzaBoost", "ozaboost", 0),
    ]
