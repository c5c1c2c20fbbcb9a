"""``ocboost reproduce``: the paper's experiments, each a command, and all of them in one."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter, validators

from ocboost.cli.options import whole_number
from ocboost.cli.terminal import results, say, steps_progress

if TYPE_CHECKING:
    from ocboost.paper.cache import Cache
    from ocboost.paper.section import Part, Picture

HELP = """Run the paper's experiments again, and set what they find beside what the paper says.

Writes a report (report.html, which stands alone, and report.md), the figures (PNG and SVG) and results.json.

A first look in seconds:  ocboost reproduce synthetic --quick

Everything, small:  ocboost reproduce all --quick --data DIR

The paper's sizes:  ocboost reproduce all --data DIR

Other data, elsewhere:  ocboost reproduce synthetic --seed 1 --out results/seed-1
"""

app = App(name="reproduce", help=HELP, help_format="plaintext")

Data = Annotated[Path | None, Parameter(env_var="OCBOOST_DATA")]
Count = Annotated[int | None, Parameter(converter=whole_number, validator=validators.Number(gte=1))]
Seed = Annotated[int, Parameter(converter=whole_number, validator=validators.Number(gte=0))]
Flag = Annotated[bool, Parameter(negative="")]
Progress = Callable[[str, int, int], None]

ALL = {"synthetic", "mnist", "faces"}
REPORTS = ("results.json", "report.html", "report.md")


@dataclass(frozen=True)
class _Experiment:
    """What the commands need to know of an experiment.

    Parameters
    ----------
    name : str
    run : callable
        Called with a function to tell progress to; returns the result.
    part : callable
        Makes the result's share of the report.
    check : callable
        Raises where the data cannot be read; called before long work on something else.
    packages : tuple of str
        Those whose versions can change a figure.
    """

    name: str
    run: Callable[[Progress], Any]
    part: Callable[[Any], Part]
    check: Callable[[], object] = lambda: None
    packages: tuple[str, ...] = ()


@app.command
def synthetic(
    *,
    quick: Flag = False,
    out: Path = Path("results/synthetic"),
    seed: Seed = 0,
    runs: Count = None,
    data: Data = None,
) -> int:
    """Compare online methods with batch AdaBoost on random margins that drift (figure 1a).

    In seconds:  ocboost reproduce synthetic --quick

    The paper's sizes:  ocboost reproduce synthetic

    Parameters
    ----------
    quick
        A fifth of the examples and two runs: a few seconds, rougher figures.
    out
        Folder for the report, synthetic.png, synthetic.svg and results.json; made if needed, older ones are
        replaced.
    seed
        Another seed draws other data.
    runs
        Independent repetitions to average over; 5, or 2 with --quick.
    data
        Folder with data sets. Not needed here: the margins are drawn.
    """
    command = _command("synthetic", quick=quick, seed=seed, runs=runs)
    return _reproduce([_synthetic(quick, seed, runs)], out, command)


@app.command
def mnist(
    *,
    quick: Flag = False,
    out: Path = Path("results/mnist"),
    seed: Seed = 0,
    data: Data = None,
    no_cache: Flag = False,
) -> int:
    """Compare online methods with AdaBoost on ten handwritten digits (tables 1, 2; figure 1b).

    A tenth of it:  ocboost reproduce mnist --quick --data DIR

    The paper's sizes:  ocboost reproduce mnist --data DIR

    Parameters
    ----------
    quick
        A tenth of the images and of the hypotheses: about a minute, rougher figures.
    out
        Folder for the report, mnist.png, mnist.svg and results.json; made if needed, older ones are replaced.
    seed
        Another seed draws other samples when hypotheses are found.
    data
        Folder that holds mnist/ with its four files. Without it MNIST is downloaded, or, where that fails, a
        smaller set of digits is taken; the report says which.
    no_cache
        Do all of the work anew, and keep nothing for the next run.
    """
    command = _command("mnist", quick=quick, data=data, seed=seed, no_cache=no_cache)
    cache = _cache(no_cache)
    return _reproduce([_mnist(quick, seed, data, cache)], out, command, data=data, cache=cache)


@app.command
def faces(
    *,
    quick: Flag = False,
    out: Path = Path("results/faces"),
    seed: Seed = 0,
    data: Data = None,
    no_cache: Flag = False,
) -> int:
    """Compare online methods with AdaBoost on faces against other windows (figures 1c, 1d).

    A subset:  ocboost reproduce faces --quick --data DIR

    The paper's sizes:  ocboost reproduce faces --data DIR

    Parameters
    ----------
    quick
        Fewer windows, hypotheses and permutations: rougher figures.
    out
        Folder for the report, the figures and results.json; made if needed, older ones are replaced.
    seed
        Another seed draws other samples and orders.
    data
        Folder that holds faces/ with its four mosaics. Without it a small set of windows is taken, or drawn
        faces; the report says which.
    no_cache
        Do all of the work anew, and keep nothing for the next run.
    """
    command = _command("faces", quick=quick, data=data, seed=seed, no_cache=no_cache)
    cache = _cache(no_cache)
    return _reproduce([_faces(quick, seed, data, cache)], out, command, data=data, cache=cache)


@app.command(name="all")
def everything(
    *,
    quick: Flag = False,
    out: Path = Path("results/paper"),
    seed: Seed = 0,
    data: Data = None,
    no_cache: Flag = False,
) -> int:
    """Run all three experiments, and write one report on the whole paper.

    Small:  ocboost reproduce all --quick --data DIR

    The paper's sizes:  ocboost reproduce all --data DIR

    Parameters
    ----------
    quick
        All experiments at their small sizes.
    out
        Folder for the report, all figures and results.json; made if needed, older ones are replaced.
    seed
        Of all experiments.
    data
        Folder that holds mnist/ and faces/. It is looked through before anything is run. Without it what can
        be had is taken, and the report says what.
    no_cache
        Do all of the work anew, and keep nothing for the next run.
    """
    command = _command("all", quick=quick, data=data, seed=seed, no_cache=no_cache)
    cache = _cache(no_cache)
    experiments = [
        _synthetic(quick, seed, None),
        _mnist(quick, seed, data, cache),
        _faces(quick, seed, data, cache),
    ]
    return _reproduce(experiments, out, command, data=data, cache=cache)


def _synthetic(quick: bool, seed: int, runs: int | None) -> _Experiment:
    from ocboost.paper import synthetic as experiment
    from ocboost.paper.synthetic_part import part

    make = experiment.SyntheticSettings.small if quick else experiment.SyntheticSettings
    settings = make(seed=seed) if runs is None else make(seed=seed, runs=runs)

    def run(told: Progress) -> Any:
        return experiment.run_synthetic(
            settings, progress=lambda done, total: told("margins that drift", done, total)
        )

    return _Experiment("synthetic", run, part)


def _mnist(quick: bool, seed: int, data: Path | None, cache: Cache | None) -> _Experiment:
    from ocboost.datasets import load_mnist
    from ocboost.paper.mnist import MnistSettings, run_mnist
    from ocboost.paper.mnist_part import part

    settings = MnistSettings.small(seed=seed) if quick else MnistSettings(seed=seed)
    return _Experiment(
        "mnist",
        lambda told: run_mnist(settings, data, cache=cache, progress=told),
        part,
        lambda: data is None or load_mnist(data),
        ("scikit-learn",),
    )


def _faces(quick: bool, seed: int, data: Path | None, cache: Cache | None) -> _Experiment:
    from ocboost.datasets import load_faces
    from ocboost.paper.faces import FacesSettings, run_faces
    from ocboost.paper.faces_part import part

    settings = FacesSettings.small(seed=seed) if quick else FacesSettings(seed=seed)
    return _Experiment(
        "faces",
        lambda told: run_faces(settings, data, cache=cache, progress=told),
        part,
        lambda: data is None or load_faces(data),
        ("scikit-learn", "pillow"),
    )


def _reproduce(
    experiments: Sequence[_Experiment],
    out: Path,
    command: str,
    *,
    data: Path | None = None,
    cache: Cache | None = None,
) -> int:
    """Run experiments, write what they found, and print it; the exit code."""
    from ocboost._report.output import OutputFolder, versions
    from ocboost._report.page import require_packages
    from ocboost.paper.report import STEM, without_folder

    require_packages()
    stems = [experiment.name for experiment in experiments]
    if set(stems) == ALL:
        stems.insert(0, STEM)
    pictured = [f"{stem}.{kind}" for stem in stems for kind in ("png", "svg")]
    made_with = versions(*dict.fromkeys(name for each in experiments for name in each.packages))
    try:
        with OutputFolder(out, [*pictured, *REPORTS]) as folder:
            began = time.perf_counter()
            if len(experiments) > 1:
                with steps_progress("data") as told:
                    for done, experiment in enumerate(experiments):
                        told(f"looking through {experiment.name}", done, len(experiments))
                        experiment.check()
            found = {}
            for experiment in experiments:
                with steps_progress(experiment.name) as told:
                    found[experiment.name] = experiment.run(told)
            parts = [experiment.part(found[experiment.name]) for experiment in experiments]
            overview = _overview(parts, found)
            to_write = [without_folder(part, data) for part in parts]
            seconds = {"everything, with drawing": time.perf_counter() - began}
            written = folder.write(_files(to_write, overview, command, made_with, seconds))
    except KeyboardInterrupt:
        kept = "" if cache is None or cache.folder is None else "; what was found is kept for the next run"
        say(f"interrupted; nothing was written to '{out}'{kept}.")
        return 130
    _tell(parts)
    names = ", ".join(path.name for path in written)
    results().print(f"Wrote {names} to {folder.path.resolve()}", soft_wrap=True)
    return 0


def _files(
    parts: list[Part],
    overview: Picture | None,
    command: str,
    versions: dict[str, Any],
    seconds: dict[str, float],
) -> dict[str, bytes]:
    """Everything that is written, by name: the figures, the numbers, the report in both forms."""
    from ocboost._report.figures import render
    from ocboost._report.output import to_json
    from ocboost.paper import report

    pictures = [picture for part in parts for picture in part.pictures]
    files: dict[str, bytes] = {}
    for picture in pictures if overview is None else [overview, *pictures]:
        files |= render(picture.figure, picture.stem)
    if len(parts) == 1:
        numbers = parts[0].results
    else:
        by_name = {part.name: part.results for part in parts}
        numbers = {
            "experiment": "all",
            "quick": any(part.quick for part in parts),
            **by_name,
            "seconds": seconds,
        }
    files["results.json"] = to_json({**numbers, "versions": versions, "command": command})
    about: dict[str, Any] = {
        "command": command,
        "versions": versions,
        "seconds": seconds,
        "overview": overview,
    }
    files["report.html"] = report.as_html(parts, **about).encode()
    files["report.md"] = report.as_markdown(parts, **about).encode()
    return files


def _overview(parts: list[Part], found: dict[str, Any]) -> Picture | None:
    """The paper's figure 1, where all three experiments were run."""
    if set(found) != ALL:
        return None
    from ocboost.paper.report import picture

    return picture(parts, found["synthetic"], found["mnist"], found["faces"])


def _tell(parts: Sequence[Part]) -> None:
    """Print each part's tables and findings; what is only worth a remark goes to stderr."""
    from ocboost._report.tables import as_rich

    console = results(piped=160)  # the paper's tables have a column for each digit
    for part in parts:
        console.print(f"{part.title}. {part.source}", soft_wrap=True)
        console.print()
        for table in part.tables:
            console.print(as_rich(table, whole=True), crop=False)
        for sentence in part.words:
            console.print(sentence, soft_wrap=True)
        console.print()
        for note in part.notes:
            say(note)
    if any(part.quick for part in parts):
        console.print("This was a quick run; leave out --quick for the paper's sizes.", soft_wrap=True)


def _cache(no_cache: bool) -> Cache | None:
    from ocboost.paper.cache import Cache

    return None if no_cache else Cache()


def _command(
    name: str,
    *,
    quick: bool,
    seed: int,
    data: Path | None = None,
    runs: int | None = None,
    no_cache: bool = False,
) -> str:
    """The command that runs it again, the same on any machine: the data folder is called DIR.

    >>> _command("all", quick=True, seed=0, data=Path("/home/me/data"))
    'ocboost reproduce all --quick --data DIR --seed 0'
    """
    words = ["ocboost", "reproduce", name]
    words += ["--quick"] if quick else []
    words += ["--data", "DIR"] if data is not None else []
    words += ["--seed", str(seed)]
    words += ["--runs", str(runs)] if runs is not None else []
    words += ["--no-cache"] if no_cache else []
    return " ".join(words)
