"""``ocboost reproduce``: the paper's experiments, each a command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter, validators

from ocboost.cli.terminal import progress_bar, results, say, steps_progress

HELP = """Run an experiment of the paper again; writes its figure (PNG and SVG) and results.json.

A first look in seconds:  ocboost reproduce synthetic --quick

The paper's sizes:  ocboost reproduce synthetic

Other data, elsewhere:  ocboost reproduce synthetic --seed 1 --out results/seed-1
"""

app = App(name="reproduce", help=HELP, help_format="plaintext")

Data = Annotated[Path | None, Parameter(env_var="OCBOOST_DATA")]
Count = Annotated[int | None, Parameter(validator=validators.Number(gte=1))]
Seed = Annotated[int, Parameter(validator=validators.Number(gte=0))]


@app.command
def synthetic(
    *,
    quick: Annotated[bool, Parameter(negative="")] = False,
    out: Path = Path("results/synthetic"),
    seed: Seed = 0,
    runs: Count = None,
    data: Data = None,
) -> int:
    """Compare online methods with batch AdaBoost on random margins that drift.

    Parameters
    ----------
    quick
        A fifth of the examples and two runs: a few seconds, rougher figures.
    out
        Folder for synthetic.png, synthetic.svg and results.json; made if needed, older ones are replaced.
    seed
        Another seed draws other data.
    runs
        Independent repetitions to average over; 5, or 2 with --quick.
    data
        Folder with data sets. Not needed here: the margins are drawn.
    """
    from ocboost.reporting import figure_style
    from ocboost.reporting.environment import versions
    from ocboost.reporting.output import OutputFolder, to_json
    from ocboost.reproduce import synthetic_figure, synthetic_table
    from ocboost.reproduce.synthetic import SyntheticSettings, run_synthetic

    make = SyntheticSettings.small if quick else SyntheticSettings
    settings = make(seed=seed) if runs is None else make(seed=seed, runs=runs)
    figure_style.require_matplotlib()
    try:
        with OutputFolder(out, ["synthetic.png", "synthetic.svg", "results.json"]) as folder:
            with progress_bar("synthetic") as progress:
                result = run_synthetic(settings, progress=progress)
            files = figure_style.render(synthetic_figure.draw(result), "synthetic")
            files["results.json"] = to_json({**result.as_dict(), "versions": versions()})
            written = folder.write(files)
    except KeyboardInterrupt:
        say(f"interrupted; nothing was written to '{out}'.")
        return 130

    console = results()
    console.print(synthetic_table.as_table(result))
    console.print(synthetic_table.in_words(result), soft_wrap=True)
    if quick:
        console.print("This was a quick run; leave out --quick for the paper's sizes.", soft_wrap=True)
    names = ", ".join(path.name for path in written)
    console.print(f"Wrote {names} to {folder.path.resolve()}", soft_wrap=True, markup=False)
    return 0


@app.command
def mnist(
    *,
    quick: Annotated[bool, Parameter(negative="")] = False,
    out: Path = Path("results/mnist"),
    seed: Seed = 0,
    data: Data = None,
    no_cache: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Compare online methods with AdaBoost on ten handwritten digits (tables 1, 2; figure 1b).

    Parameters
    ----------
    quick
        A tenth of the images and of the hypotheses: half a minute, rougher figures.
    out
        Folder for mnist.png, mnist.svg and results.json; made if needed, older ones are replaced.
    seed
        Another seed draws other samples when hypotheses are found.
    data
        Folder that holds mnist/ with its four files. Without it MNIST is downloaded, or, where that fails, a
        smaller set of digits is taken; the report says which.
    no_cache
        Find all hypotheses anew, and keep none for the next run.
    """
    from ocboost.reporting import figure_style
    from ocboost.reporting.environment import versions
    from ocboost.reporting.output import OutputFolder, to_json
    from ocboost.reproduce import mnist_figure, mnist_table
    from ocboost.reproduce.cache import Cache
    from ocboost.reproduce.mnist import MnistSettings, run_mnist

    settings = MnistSettings.small(seed=seed) if quick else MnistSettings(seed=seed)
    figure_style.require_matplotlib()
    cache = None if no_cache else Cache()
    try:
        with OutputFolder(out, ["mnist.png", "mnist.svg", "results.json"]) as folder:
            with steps_progress("mnist") as progress:
                result = run_mnist(settings, data, cache=cache, progress=progress)
            files = figure_style.render(mnist_figure.draw(result), "mnist")
            files["results.json"] = to_json({**result.as_dict(), "versions": versions("scikit-learn")})
            written = folder.write(files)
    except KeyboardInterrupt:
        kept = "" if cache is None or cache.folder is None else "; what was found is kept for the next run"
        say(f"interrupted; nothing was written to '{out}'{kept}.")
        return 130

    console = results()
    console.print(result.source, soft_wrap=True, markup=False)
    for table in mnist_table.as_tables(result):
        console.print(table)
    console.print(mnist_table.in_words(result), soft_wrap=True)
    for note in result.notes:
        say(note)
    names = ", ".join(path.name for path in written)
    console.print(f"Wrote {names} to {folder.path.resolve()}", soft_wrap=True, markup=False)
    return 0
