"""``ocboost reproduce``: the paper's experiments, each a command, and all of them in one."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter, validators

from ocboost.cli.options import Dask, whole_number
from ocboost.cli.terminal import results, say, steps_progress

if TYPE_CHECKING:
    from ocboost.paper.section import CaptionedFigure, Section

HELP = """Run the paper's experiments again, and set what they find beside what the paper says.

Writes a report (report.html, which stands alone, and report.md), the figures (PNG and SVG) and results.json.

A first look in seconds:  ocboost reproduce synthetic --quick

Everything, small:  ocboost reproduce all --quick --data DIR

The paper's sizes:  ocboost reproduce all --data DIR

Other data, elsewhere:  ocboost reproduce synthetic --seed 1 --out results/seed-1

On a Dask cluster:  ocboost reproduce all --data DIR --dask tcp://HOST:8786
"""

app = App(name="reproduce", help=HELP, help_format="plaintext")

Data = Annotated[Path | None, Parameter(env_var="OCBOOST_DATA")]
Count = Annotated[int | None, Parameter(converter=whole_number, validator=validators.Number(gte=1))]
Seed = Annotated[int, Parameter(converter=whole_number, validator=validators.Number(gte=0))]
Flag = Annotated[bool, Parameter(negative="")]

REPORTS = ("results.json", "report.html", "report.md")


@dataclass(frozen=True)
class CommandHelp:
    """The help of a command, and what its experiments need."""

    about: str
    small: str  # what --quick is called in its examples
    quick: str  # the help of this parameter, as are the next two
    seed: str
    data: str
    out: str = ""  # its default folder within results/, if that is not its name
    loader: str = ""  # of its data, in `ocboost.datasets`; none where they are drawn
    packages: tuple[str, ...] = ()  # whose versions can change a figure of theirs


# The experiments in the order of the report. Each has a module and a section in `ocboost.paper`, by its name.
EXPERIMENTS = {
    "synthetic": CommandHelp(
        "Compare online methods with batch AdaBoost on random margins that drift (figure 1a).",
        small="In seconds",
        quick="A fifth of the examples and two runs: a few seconds, rougher figures.",
        seed="Another seed draws other data.",
        data="Folder with data sets. Not needed here: the margins are drawn.",
    ),
    "mnist": CommandHelp(
        "Compare online methods with AdaBoost on ten handwritten digits (tables 1, 2; figure 1b).",
        small="A tenth of it",
        quick="A tenth of the images and of the hypotheses: about a minute, rougher figures.",
        seed="Another seed draws other samples when hypotheses are found.",
        data="Folder that holds mnist/ with its four files. Without it MNIST is downloaded, or, where that "
        "fails, a smaller set of digits is taken; the report says which.",
        loader="load_mnist",
        packages=("scikit-learn",),
    ),
    "faces": CommandHelp(
        "Compare online methods with AdaBoost on faces against other windows (figures 1c, 1d).",
        small="A subset",
        quick="Fewer windows, hypotheses and permutations: rougher figures.",
        seed="Another seed draws other samples and orders.",
        data="Folder that holds faces/ with its four mosaics. Without it a small set of windows is taken, or "
        "drawn faces; the report says which.",
        loader="load_faces",
        packages=("scikit-learn", "pillow"),
    ),
}
ALL_EXPERIMENTS = CommandHelp(
    "Run all experiments, and write one report on the whole paper.",
    small="Small",
    quick="All experiments at their small sizes.",
    seed="Of all experiments.",
    data="Folder that holds mnist/ and faces/. It is checked before anything is run. Without it smaller sets "
    "are used where necessary; the report says which.",
    out="paper",
)
COMMAND_HELP = """{about}

    {small}:  ocboost reproduce {name} --quick{folder}

    The paper's sizes:  ocboost reproduce {name}{folder}

    On a Dask cluster:  ocboost reproduce {name}{folder} --dask tcp://HOST:8786

    Parameters
    ----------
    quick
        {quick}
    out
        Folder for the report, the figures and results.json; made if needed, older ones are replaced.
    seed
        {seed}
    runs
        Independent repetitions to average over; 5, or 2 with --quick.
    data
        {data}
    no_cache
        Compute everything again, and store nothing for the next run.
    dask
        Run on the Dask cluster whose scheduler has this address, instead of here. The workers need the same
        version of ocboost, and the data at the same path. Results are cached on this machine.
    """


def _add_command(name: str, command: CommandHelp, experiments: Sequence[str]) -> None:
    """Add a command; what needs no data has repetitions instead of a cache."""

    def drawn(
        *,
        quick: Flag = False,
        out: Path = Path("results", command.out or name),
        seed: Seed = 0,
        runs: Count = None,
        data: Data = None,
        dask: Dask = None,
    ) -> int:
        return _reproduce(experiments, out, quick=quick, seed=seed, runs=runs, dask=dask)

    def loaded(
        *,
        quick: Flag = False,
        out: Path = Path("results", command.out or name),
        seed: Seed = 0,
        data: Data = None,
        no_cache: Flag = False,
        dask: Dask = None,
    ) -> int:
        return _reproduce(experiments, out, quick=quick, seed=seed, data=data, no_cache=no_cache, dask=dask)

    needs_data = any(EXPERIMENTS[each].loader for each in experiments)
    function = loaded if needs_data else drawn
    folder = " --data DIR" if needs_data else ""
    function.__doc__ = COMMAND_HELP.format(name=name, folder=folder, **asdict(command))
    app.command(function, name=name)


for _name, _experiment in EXPERIMENTS.items():
    _add_command(_name, _experiment, [_name])
_add_command("all", ALL_EXPERIMENTS, list(EXPERIMENTS))


def _reproduce(
    names: Sequence[str],
    out: Path,
    *,
    quick: bool,
    seed: int,
    data: Path | None = None,
    no_cache: bool = False,
    runs: int | None = None,
    dask: str | None = None,
) -> int:
    """Run experiments, write what they found, and print it; the exit code."""
    if dask is not None:
        from ocboost._core.cluster import require_address

        require_address(dask)
    from ocboost import datasets
    from ocboost._report.output import OutputFolder, versions
    from ocboost._report.page import require_packages
    from ocboost.paper.cache import Cache
    from ocboost.paper.report import FIGURE_STEM, overview, without_folder

    require_packages()
    everything = len(names) == len(EXPERIMENTS)
    stems = [FIGURE_STEM, *names] if everything else names
    pictures = [f"{stem}.{kind}" for stem in stems for kind in ("png", "svg")]
    made_with = versions(*dict.fromkeys(package for name in names for package in EXPERIMENTS[name].packages))
    loaders = [EXPERIMENTS[name].loader for name in names if EXPERIMENTS[name].loader]
    cache = Cache() if loaders and not no_cache else None
    name = "all" if everything else names[0]
    command = _command(name, quick=quick, seed=seed, data=data, no_cache=no_cache, runs=runs)
    chosen = {"seed": seed} if runs is None else {"seed": seed, "runs": runs}
    try:
        with OutputFolder(out, [*pictures, *REPORTS]) as folder:
            began = time.perf_counter()
            if everything and data is not None:
                with steps_progress("data") as progress:
                    for done, load in enumerate(loaders):
                        progress(f"checking {load.removeprefix('load_')}", done, len(loaders))
                        getattr(datasets, load)(data)  # raises before long work on something else
            if dask is None:
                found = {}
                for name in names:
                    with steps_progress(name) as progress:
                        found[name] = _run(name, quick, chosen, data, cache, progress)
            else:
                found = _run_on_cluster(dask, names, quick, chosen, data, cache)
            sections = [import_module(f"ocboost.paper.{name}_section").section(found[name]) for name in names]
            figure = overview(sections, found)
            to_write = [without_folder(section, data) for section in sections]
            seconds = {"everything, with drawing": time.perf_counter() - began}
            written = folder.write(_files(to_write, figure, command, made_with, seconds))
    except KeyboardInterrupt:
        stored = "" if cache is None or cache.folder is None else "; the next run resumes from the cache"
        say(f"interrupted; nothing was written to '{out}'{stored}.")
        return 130
    _print(sections)
    listed = ", ".join(path.name for path in written)
    results().print(f"Wrote {listed} to {folder.path.resolve()}", soft_wrap=True)
    return 0


def _run_on_cluster(
    address: str,
    names: Sequence[str],
    quick: bool,
    chosen: dict[str, int],
    data: Path | None,
    cache: Any,
) -> dict[str, Any]:
    """The results of experiments that run all at once on a Dask cluster, by name."""
    from ocboost._core.cluster import connected
    from ocboost.paper.run import all_at_once

    loaded = [name for name in names if EXPERIMENTS[name].loader]
    files = [
        file
        for name in loaded
        for file in getattr(import_module(f"ocboost.datasets.{name}"), f"{name.upper()}_FILES")
    ]
    with (
        steps_progress(names[0] if len(names) == 1 else "reproducing") as show,
        connected(address) as cluster,
    ):
        show("asking the workers", 0, 1)
        if data is not None:
            cluster.require_files(path for file in files if (path := data / file).is_file())
        joined = _joined_progress(show)
        works = [partial(_run, name, quick, chosen, data, cache, joined(name), cluster) for name in names]
        return dict(zip(names, all_at_once(cluster, works), strict=True))


def _joined_progress(show: Callable[[str, float, int], None]) -> Callable[[str], Callable[..., None]]:
    """The progress of several experiments in one bar: a function that gives each its own."""
    counts: dict[str, tuple[int, int]] = {}
    lock = Lock()

    def of(name: str) -> Callable[[str, int, int], None]:
        def progress(what: str, done: int, total: int) -> None:
            with lock:
                counts[name] = done, total
                show(f"{name}, {what}", *map(sum, zip(*counts.values(), strict=True)))

        return progress

    return of


def _run(
    name: str,
    quick: bool,
    chosen: dict[str, int],
    data: Path | None,
    cache: Any,
    progress: Any,
    cluster: Any = None,
) -> Any:
    """The result of an experiment at its full or its small size."""
    experiment = import_module(f"ocboost.paper.{name}")
    settings_class = getattr(experiment, f"{name.capitalize()}Settings")
    settings = settings_class.small(**chosen) if quick else settings_class(**chosen)
    run = getattr(experiment, f"run_{name}")
    if not EXPERIMENTS[name].loader:
        return run(settings, progress=progress, cluster=cluster)
    return run(settings, data, cache=cache, progress=progress, cluster=cluster)


def _files(
    sections: list[Section],
    overview: CaptionedFigure | None,
    command: str,
    versions: dict[str, Any],
    seconds: dict[str, float],
) -> dict[str, bytes]:
    """Everything that is written, by name: the figures, the numbers, the report in both forms."""
    from ocboost._report.document import as_html, as_markdown
    from ocboost._report.figures import render
    from ocboost._report.output import to_json
    from ocboost.paper.report import TITLE, report_blocks

    files: dict[str, bytes] = {}
    for shown in [*([] if overview is None else [overview]), *(section.figure for section in sections)]:
        files |= render(shown.figure, shown.stem)
    numbers = sections[0].results
    if len(sections) > 1:
        by_name = {section.results["experiment"]: section.results for section in sections}
        quick = any(section.results["quick"] for section in sections)
        numbers = {"experiment": "all", "quick": quick, **by_name, "seconds": seconds}
    files["results.json"] = to_json({**numbers, "versions": versions, "command": command})
    blocks = report_blocks(sections, command=command, versions=versions, seconds=seconds, overview=overview)
    files["report.html"] = as_html(TITLE, blocks).encode()
    files["report.md"] = as_markdown(TITLE, blocks).encode()
    return files


def _print(sections: Sequence[Section]) -> None:
    """Print each section's tables and findings; notes go to stderr."""
    from ocboost._report.tables import as_rich

    console = results(piped=160)  # the paper's tables have a column for each digit
    for section in sections:
        console.print(f"{section.title}. {section.results['source']}", soft_wrap=True)
        console.print()
        for table in section.tables:
            console.print(as_rich(table, whole=True), crop=False)
        for sentence in section.findings:
            console.print(sentence, soft_wrap=True)
        console.print()
        for note in section.results["notes"]:
            say(note)
    if any(section.results["quick"] for section in sections):
        console.print("This was a quick run; leave out --quick for the paper's sizes.", soft_wrap=True)


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
