"""``ocboost compare``: any set of methods on one stream, or on many, repeated over seeds."""

from __future__ import annotations

import shlex
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from ocboost._core.escaping import shown
from ocboost.cli.compare_runs import (
    CURVES,
    REPORTS,
    NamedStreams,
    compared_on_file,
    name_of,
    on_all_streams,
    on_named_stream,
    report_on,
)
from ocboost.cli.files import require_files
from ocboost.cli.next_lines import ComparedOn
from ocboost.cli.options import (
    Count,
    Dask,
    Delay,
    Flag,
    Format,
    Jobs,
    MaybeCount,
    MaybeStart,
    Names,
    UsageError,
    no_option,
    source,
)
from ocboost.cli.terminal import results, say
from ocboost.errors import InputError

if TYPE_CHECKING:
    from ocboost.evaluation.methods import Method

Folder = Annotated[Path | None, Parameter(env_var="OCBOOST_DATA")]
# Text as given: a Path would turn ./sea, a file, into the name sea.
MaybeStream = Annotated[str | None, Parameter(allow_leading_hyphen=True, show_default=False)]
Listed = Annotated[bool, Parameter(name="--list", negative="", show_default=False)]

SEEDS, QUICK_SEEDS = 3, 2
QUICK_ROWS = 3_000
SLOW_ROWS = 4_000  # of each stream, where all are run and slow methods take part


def compare(
    stream: MaybeStream = None,
    /,
    *,
    label: str | None = None,
    methods: str = "usual",
    seeds: MaybeCount = None,
    model: Path | None = None,
    start: MaybeStart = None,
    hypotheses: Count = 100,
    delay: Delay = 0,
    step: Count = 1,
    curve: MaybeCount = None,
    rows: MaybeCount = None,
    data: Folder = None,
    out: Path = Path("results/compare"),
    jobs: Jobs = None,
    dask: Dask = None,
    drop: Names = None,
    format: Format | None = None,
    quick: Flag = False,
    no_cache: Flag = False,
    listed: Listed = False,
) -> int:
    """Compare any set of methods on a stream, repeated over seeds: predict, then learn.

    On a stream of your own:
        ocboost compare stream.csv --label y

    Some methods only:
        ocboost compare stream.csv --label y --methods ocb-forgetting,eg,logistic

    Where labels come 200 rows late, for a deployed model:
        ocboost compare stream.csv --model model.ocb --delay 200

    What methods and streams there are:
        ocboost compare --list

    On a stream that is known by its name, generated or from a data folder:
        ocboost compare sea
        ocboost compare elec2 --data DIR

    On all of them, with a summary:
        ocboost compare all --data DIR --out docs/streams

    The same on the workers of a Dask cluster, which read DIR themselves:
        ocboost compare all --data DIR --dask tcp://HOST:8786

    A table is shown, with means and spreads over the seeds, ranks, time and
    memory, and the lines to type that deploy the best. The folder gets
    report.html, which needs nothing but itself, report.md, the figures, and
    results.json. Seed 0 begins with all of the first rows, others with 0.8 of
    them; generated streams are drawn again.

    Parameters
    ----------
    stream
        A CSV, JSON lines or Parquet file, - for standard input, the name of a stream, or all.
    label
        The column that holds the class; named streams know theirs, and so does a model made from a file.
    methods
        Names with commas between them, or usual, fast (all but the slow ones), or all. A number of your own
        may follow ocb-forgetting-, ocb-window-, oza-forgetting- and logistic-. Those that --list marks with c
        take part for comparison only: they cannot be deployed.
    seeds
        Repetitions; 3, or 2 with --quick, or 1 with --model, which is the same each time.
    model
        Start from this model, over its hypotheses, instead of learning from the first rows of a file.
    start
        Learn hypotheses from so many rows, at most nine tenths of the stream; the comparison begins after
        them. 2,000, or a fifth of a shorter stream.
    hypotheses
        How many to learn, for each class if they are more than two.
    delay
        The label of a row arrives after so many further rows.
    step
        Rows predicted before any of them is learnt; more are faster.
    curve
        A point of a curve is about so many recent examples; 1,000, or a tenth of a shorter stream.
    rows
        Take at most so many rows. Of INSECTS and the flights every k-th is taken, of others the first. With
        all streams and a slow method 4,000; a named stream has its own most.
    data
        Folder that holds streams/ with the files of real streams.
    out
        Folder for the report; made if needed, older files are replaced.
    jobs
        Processes for named streams; as many as there are cores if left out.
    dask
        Instead of processes here, the Dask cluster whose scheduler has this address: each stream and seed is
        a task of one of its workers. They need the same version of ocboost, and the data at the same path.
    drop
        Columns to leave out.
    format
        What the file is, where its name does not say.
    quick
        At most 3,000 rows and two seeds: rougher figures.
    no_cache
        With all: discard what an interrupted run has finished, and cache nothing.
    listed
        Show all methods and named streams, each in one line.
    """
    if listed:
        _show_all()
        return 0
    if stream is None:
        raise UsageError("A stream must be given: a file, the name of a stream, or all.")
    if dask is not None and jobs is not None:
        raise UsageError(
            "--dask and --jobs exclude each other. Drop --jobs to run on the cluster, which has its own "
            "number of workers, or --dask to run in processes of this machine."
        )
    if dask is not None:
        from ocboost._core.cluster import require_address

        require_address(dask)
    from ocboost.datasets.drift import STREAMS

    named = stream == "all" or stream in STREAMS
    if not named:
        _require_file(stream)
    require_files(model)

    from ocboost.evaluation.methods import methods_named

    chosen = methods_named(methods)
    for method in chosen if methods not in ("usual", "fast", "all") else ():
        method.require()
    settings: dict[str, Any] = {
        "seeds": seeds if seeds is not None else QUICK_SEEDS if quick else SEEDS,
        "start": start,
        "hypotheses": hypotheses,
        "delay": delay,
        "step": step,
        "window": curve,
        "rows": rows if rows is not None or not quick else QUICK_ROWS,
    }
    reads = label is not None or drop or format is not None or model is not None
    reading = {"label": label, "drop": tuple(drop or ()), "format": format}
    if not named or (reads and Path(stream).is_file()):
        if label is None and model is None:
            raise UsageError(
                "--label must name the column that holds the class, or --model a model that knows it."
            )
        if model is not None and (start is not None or (seeds or 1) > 1):
            what = "--start" if start is not None else "--seeds"
            raise UsageError(f"{what} is for a start from the first rows; leave it out with --model.")
        for option, given in (
            ("--jobs", jobs is not None),
            ("--dask", dask is not None),
            ("--no-cache", no_cache),
        ):
            if given:
                say(f"{option} is for named streams; a file is read once, in one process.")
        return _compare_file(Path(stream), methods, chosen, reading, settings, out, model)
    if reads:
        what = "all means all named streams" if stream == "all" else f"{stream} is the name of a stream"
        raise UsageError(
            f"--label, --drop, --format and --model are for files, and {what}; a file of that name is "
            f"./{stream}."
        )
    if Path(stream).is_file():
        say(f"{stream} is taken for the name of a stream; for that file give --label, or ./{stream}.")
    command = _command(stream, methods, settings, data, out)
    if stream == "all" and settings["rows"] is None and any(method.slow for method in chosen):
        settings["rows"] = SLOW_ROWS
    run = NamedStreams(chosen, settings, data, out, jobs, command, dask)
    return on_all_streams(run, cache=not no_cache) if stream == "all" else on_named_stream(stream, run)


def _compare_file(
    path: Path,
    names: str,
    methods: list[Method],
    reading: dict[str, Any],
    settings: dict[str, Any],
    out: Path,
    model: Path | None,
) -> int:
    """Compare on a file; the exit code."""
    from ocboost.cli.columns import open_for
    from ocboost.deployment.model import Model
    from ocboost.evaluation.first_rows import FirstRows
    from ocboost.streams import open_stream

    name = name_of(path)
    about = {"stream": name, "label": reading["label"], "hypotheses": settings["hypotheses"]}
    on = ComparedOn(path=str(path), hypotheses=settings["hypotheses"], step=settings["step"], **reading)
    deployed = None
    start: dict[str, Any] = {"seeds": range(settings["seeds"])}
    if model is not None:
        deployed = Model.load(model)
        settings = {**settings, "seeds": SEEDS}  # as many as usual, for the command
        start = {"seeds": (0,), "start": FirstRows.of_model(deployed.classifier)}
        about["hypotheses"], about["learnt from"] = repr(deployed.hypotheses).strip("<>"), shown(model)
        on = replace(on, model=deployed, at=str(model))
    command = _command("-" if str(path) == "-" else name, names, settings, None, out, reading, model)

    def opened() -> Any:
        if deployed is None:
            return open_stream(source(path), **reading)
        return open_for(deployed, path, batch_size=1_000, **{**reading, "drop": list(reading["drop"])})

    compare = partial(
        compared_on_file,
        opened,
        methods,
        {**settings, **start},
        name,
        about=lambda comparison, opened: about,
        record=lambda comparison, board: {"command": command, **board.as_dict()},
    )
    title, files = f"Methods on {name}", [*REPORTS, *CURVES]
    return report_on(compare, name=name, title=title, out=out, files=files, command=command, file=True, on=on)


def _require_file(name: str) -> None:
    """Refuse what is neither a file nor a name."""
    from ocboost.datasets.drift import STREAMS

    no_option(Path, Path(name))
    if name != "-" and not Path(name).exists():
        close = get_close_matches(name.lower(), STREAMS, 1)
        hint = f" Did you mean {close[0]}?" if close else ""
        raise InputError(
            f"there is no file '{name}', nor a stream of that name.{hint} The stream must be a file, all, or "
            f"one of {', '.join(STREAMS)}."
        )


def _show_all() -> None:
    """All methods and streams, each in one line."""
    from ocboost.datasets.drift import STREAMS
    from ocboost.evaluation.methods import METHODS

    console = results(piped=160)
    console.print("Methods (u: takes part by default, s: slow, c: comparison only, it cannot be deployed)")
    for method in METHODS.values():
        flags = {"u": method.usual, "s": method.slow, "c": not method.deployable}
        marks = "".join(letter if set_ else " " for letter, set_ in flags.items())
        needs = "" if method.package is None else f" (needs {method.package})"
        console.print(f"  {method.name:<20} {marks} {method.about}{needs}", soft_wrap=True)
    console.print("\nStreams")
    where = {"file": "needs --data", "bundled": "of river", "generated": "generated by river"}
    for stream in STREAMS.values():
        console.print(f"  {stream.name:<20}     {stream.about} ({where[stream.origin]})", soft_wrap=True)


def _command(
    name: str,
    methods: str,
    settings: dict[str, Any],
    data: Path | None,
    out: Path,
    reading: dict[str, Any] | None = None,
    model: Path | None = None,
) -> str:
    """The command that runs it again, the same on any machine: the data folder is called DIR.

    >>> settings = {"seeds": 3, "start": None, "hypotheses": 100, "step": 1, "window": None, "rows": None}
    >>> _command("all", "usual", settings, Path("/home/me/data"), Path("docs/streams"))
    'ocboost compare all --data DIR --out docs/streams'
    """
    usual = {"seeds": SEEDS, "start": None, "hypotheses": 100, "delay": 0, "step": 1, "window": None}
    usual["rows"] = None
    words = ["ocboost", "compare", shlex.quote(name)]
    for option, given in (reading or {}).items():
        several = given if isinstance(given, tuple) else (given,) if given is not None else ()
        words += [f"--{option}", *(shlex.quote(each) for each in several)] if several else []
    words += ["--model", shlex.quote(shown(model.name))] if model is not None else []
    words += ["--methods", methods] if methods != "usual" else []
    for key, value in settings.items():
        if value != usual[key]:
            words += [f"--{'curve' if key == 'window' else key}", str(value)]
    words += ["--data", "DIR"] if data is not None else []
    return " ".join(
        [*words, "--out", shlex.quote(shown(out.as_posix() if not out.is_absolute() else out.name))]
    )
