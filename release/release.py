"""Build, check, test and tag a release.

    python release/release.py                       # everything but the tag
    python release/release.py --python python3.13   # on this Python only; may be given several times
    python release/release.py --tag                 # then tag the commit

It builds sdist and wheel into dist/, has twine check them, compares what they hold with what git knows,
installs them into new environments, away from the clone, and runs a smoke test and the README there: its
doctests, and those of its commands that need no server. Everything is made below build/release/.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WORK, DIST = ROOT / "build" / "release", ROOT / "dist"
BIN = "Scripts" if os.name == "nt" else "bin"
VERSIONS = ("3.11", "3.12", "3.13", "3.14")  # looked for on the path and in pyenv
IN_SDIST = (
    *("src", "tests", "docs", "examples", "experiments", "benchmarks", "release"),
    *("CITATION.cff", "LICENSE", "test.sh", "pyproject.toml", ".gitignore"),
)
# Words of commands that wait for somebody else, need a cluster, another model, or many minutes.
NOT_RUN = (
    "serve",
    "redis://",
    "kafka://",
    "tcp://",
    "reproduce",
    "compare",
    "tail",
    "--follow",
    "live",
    "|",
)
SMOKE = """
import io, pathlib, pickle, sys
import numpy as np
import ocboost
from importlib import metadata
assert ocboost.__version__ == metadata.version("ocboost") == sys.argv[1], ocboost.__version__
assert "site-packages" in ocboost.__file__, ocboost.__file__
for name in ocboost.__all__:
    getattr(ocboost, name)
X = np.random.default_rng(0).normal(size=(300, 4))
y = np.where(X[:, 0] > X[:, 1], "up", "down")
for clf in (ocboost.OCBClassifier(n_hypotheses=20), ocboost.AdaptiveClassifier(random_state=0)):
    clf.fit(X[:200], y[:200]).partial_fit(X[200:250], y[200:250])
    assert clf.score(X[250:], y[250:]) > 0.8
    assert (pickle.loads(pickle.dumps(clf)).predict(X) == clf.predict(X)).all()
"""


class ReleaseError(Exception):
    """Something that must be put right before a release."""


def run(*words: object, cwd: Path = ROOT, quiet: bool = True, **environment: str) -> str:
    """Run a program to its end; what it printed."""
    clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV", "PYTHONHOME")}
    done = subprocess.run(
        [str(word) for word in words],
        cwd=cwd,
        env={**clean, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    if done.returncode:
        raise ReleaseError(
            f"{' '.join(map(str, words))}\nended with {done.returncode}:\n{done.stdout[-3000:]}"
        )
    if not quiet:
        print(done.stdout, end="")
    return done.stdout


def tracked() -> set[str]:
    """The files that git knows and that are there."""
    return {name for name in run("git", "ls-files", "-z").split("\0") if name and (ROOT / name).is_file()}


def check_texts() -> str:
    """The version, which the citation and the changelog must have too."""
    source = (ROOT / "src" / "ocboost" / "__init__.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "([^"]+)"', source, re.MULTILINE)
    if found is None:
        raise ReleaseError("src/ocboost/__init__.py has no __version__")
    version = found[1]
    if f"\nversion: {version}\n" not in (ROOT / "CITATION.cff").read_text(encoding="utf-8"):
        raise ReleaseError(f"CITATION.cff must have the version {version}")
    newest = re.search(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    if newest is None or not re.fullmatch(rf"{re.escape(version)} \(\d{{4}}-\d\d-\d\d\)", newest[1]):
        raise ReleaseError(f"CHANGELOG.md must begin with '## {version} (year-month-day)'")
    return version


def new_environment(name: str, python: str = sys.executable) -> Path:
    """The interpreter of a new environment."""
    folder = WORK / name
    shutil.rmtree(folder, ignore_errors=True)
    run(python, "-m", "venv", folder)
    return folder / BIN / "python"


def install(python: Path, *what: object) -> None:
    """Install into an environment."""
    run(python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *what)


def build(version: str) -> tuple[Path, Path]:
    """Build both, and have twine check them."""
    shutil.rmtree(DIST, ignore_errors=True)
    tools = new_environment("tools")
    install(tools, "build", "twine")
    run(tools, "-m", "build", "--outdir", DIST, ROOT)
    wheel, sdist = DIST / f"ocboost-{version}-py3-none-any.whl", DIST / f"ocboost-{version}.tar.gz"
    if sorted(DIST.iterdir()) != sorted([wheel, sdist]):
        raise ReleaseError(f"dist/ holds {sorted(path.name for path in DIST.iterdir())}")
    run(tools, "-m", "twine", "check", "--strict", wheel, sdist, quiet=False)
    return wheel, sdist


def compare_files(what: str, found: set[str], wanted: set[str]) -> None:
    """Refuse an artefact in which something is missing, or too much."""
    for word, names in (("lacks", wanted - found), ("should not hold", found - wanted)):
        if names:
            raise ReleaseError(f"{what} {word} {len(names)} files: {', '.join(sorted(names)[:20])}")
    print(f"{what}: {len(found):,} files, as they should be")


def check_contents(wheel: Path, sdist: Path, version: str) -> None:
    """Every file that git knows is where it belongs, and nothing else."""
    known = tracked()
    package = {name.removeprefix("src/") for name in known if name.startswith("src/ocboost/")}
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
    info = f"ocboost-{version}.dist-info"
    facts = {f"{info}/{name}" for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt")}
    compare_files("the wheel", names, package | facts | {f"{info}/licenses/LICENSE"})
    with tarfile.open(sdist) as archive:
        names = {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()}
    wanted = {
        name
        for name in known
        if name.partition("/")[0] in IN_SDIST or ("/" not in name and name.endswith(".md"))
    }
    compare_files("the sdist", names, wanted | {"PKG-INFO"})


def write_streams(folder: Path, names: set[str]) -> None:
    """The files that the README's commands read: numbers, a key, and a class that they decide."""
    draw = random.Random(0)
    for name in sorted(names):
        lines = ["a,b,c,customer,y"]
        for _ in range(400):
            a, b, c = (draw.gauss(0, 1) for _ in range(3))
            label = "yes" if a + b * c + draw.gauss(0, 0.3) > 0 else "no"
            lines.append(f"{a:.4f},{b:.4f},{c:.4f},{draw.randrange(3)},{label}")
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def readme_commands() -> list[str]:
    """The commands in the shell blocks of the README."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```(?:sh|bash|console)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    lines = [re.sub(r"\s+#.*", "", line).strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line.startswith("ocboost ")]


def run_readme(python: Path, folder: Path) -> None:
    """The README's doctests, and its commands that end by themselves."""
    shutil.copy(ROOT / "README.md", folder)
    run(python, "-m", "doctest", "-o", "NORMALIZE_WHITESPACE", "-o", "ELLIPSIS", "README.md", cwd=folder)
    commands = readme_commands()
    taken = [line for line in commands if not any(word in line.replace(" > ", " ") for word in NOT_RUN)]
    if not taken:
        raise ReleaseError("README.md has no command that can be run")
    write_streams(folder, set(re.findall(r"\b[\w-]+\.csv\b", " ".join(taken))) - {"predictions.csv"})
    for line in taken:
        words = shlex.split(line.partition(" > ")[0])
        run(python.with_name("ocboost"), *words[1:], cwd=folder)
        print(f"    {line}")
    for line in commands:
        if line not in taken:
            print(f"    not run: {line}")


def check_wheel(python: str, label: str, wheel: Path, version: str) -> None:
    """The wheel with all extras, in an environment of this Python."""
    began = time.monotonic()
    inner = new_environment(f"wheel-{label}", python)
    install(inner, f"ocboost[all] @ {wheel.as_uri()}")
    run(inner, "-m", "pip", "check")
    folder = WORK / f"run-{label}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    run(inner, "-W", "error::DeprecationWarning:ocboost", "-c", SMOKE, version, cwd=folder)
    said = run(inner.with_name("ocboost"), "--version", cwd=folder).strip()
    if said != f"ocboost {version}":
        raise ReleaseError(f"ocboost --version says {said!r}")
    run(inner.with_name("ocboost"), "reproduce", "synthetic", "--quick", "--out", "synthetic", cwd=folder)
    run_readme(inner, folder)
    print(f"the wheel with its extras on Python {label}: passed in {time.monotonic() - began:.0f} s")


def check_sdist(python: str, label: str, sdist: Path, version: str) -> None:
    """The sdist without extras: the library works, and the command says what it needs."""
    inner = new_environment(f"sdist-{label}", python)
    install(inner, sdist)
    run(inner, "-c", SMOKE, version, cwd=WORK)
    done = subprocess.run([inner.with_name("ocboost"), "--version"], capture_output=True, text=True, cwd=WORK)
    hint = f"ocboost[all] @ {sdist.as_uri()}"
    if done.returncode != 1 or hint not in done.stderr or "Traceback" in done.stderr:
        raise ReleaseError(f"ocboost without its extras says {done.stderr!r}, and not {hint!r}")
    print(f"the sdist without extras on Python {label}: passed")


def pythons(asked: list[str]) -> dict[str, str]:
    """Interpreters by their version: those that are asked for, or those that can be had."""
    folder = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = asked or [
        sys.executable,
        *(str(path / BIN / "python") for path in sorted(folder.glob("3.*")) if path.is_dir()),
        *(f"python{version}" for version in VERSIONS),
    ]
    found: dict[str, str] = {}
    for each in candidates:
        try:
            label = run(each, "-c", "import sys; print('%d.%d' % sys.version_info[:2])").strip()
        except (ReleaseError, OSError):
            if asked:
                raise ReleaseError(f"{each} is no Python that can be run") from None
            continue
        if label in VERSIONS:
            found.setdefault(label, each)
    print("Pythons: " + ", ".join(f"{version} {found.get(version, '(not here)')}" for version in VERSIONS))
    return dict(sorted(found.items()))


def tag(version: str) -> None:
    """Tag the commit; pushing the tag publishes it."""
    if run("git", "status", "--porcelain"):
        raise ReleaseError("there are changes that are not committed")
    run("git", "tag", "--annotate", f"v{version}", "--message", f"ocboost {version}")
    print(f"Tagged v{version}. To publish it: git push origin v{version}")


def main() -> int:
    """Do everything in order; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--python", action="append", default=[], help="an interpreter to test on")
    parser.add_argument("--tag", action="store_true", help="tag the commit when everything has passed")
    options = parser.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    try:
        if options.tag and run("git", "status", "--porcelain"):
            raise ReleaseError("there are changes that are not committed")
        version = check_texts()
        wheel, sdist = build(version)
        check_contents(wheel, sdist, version)
        found = pythons(options.python)
        if not found:
            raise ReleaseError("no Python to test on was found")
        first = next(iter(found))
        check_sdist(found[first], first, sdist, version)
        for label, python in found.items():
            check_wheel(python, label, wheel, version)
        if options.tag:
            tag(version)
    except ReleaseError as error:
        print(f"release: {error}", file=sys.stderr)
        return 1
    print(f"ocboost {version} can be released" if not options.tag else f"ocboost {version} is tagged")
    return 0


if __name__ == "__main__":
    sys.exit(main())
