"""All four panels of the paper's figure 1 in one figure.

The report of a reproduction: every table and figure of the paper beside ours, and how they were made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ocboost._report import document
from ocboost._report.document import Block, Code, Heading, Illustration, Items, Notice, Pairs, Paragraph
from ocboost._report.figures import GREY, house_style
from ocboost._report.tables import Row, Table
from ocboost.paper import erratum, mnist_figure, synthetic_figure
from ocboost.paper.mnist import MnistResult
from ocboost.paper.online import BALANCED
from ocboost.paper.section import HEADLINE, Headline, Part, Picture
from ocboost.paper.synthetic import ORDERS, SyntheticResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ocboost.paper.faces import FacesResult

STEM = "figure1"
WHAT = ("approximation error", "combined test error, %", "approximation error", "1 − AUC")
_LEFT = (0.052, 0.555)
_BOTTOM = (0.535, 0.065)
_SIZE = (0.297, 0.345)


def draw(synthetic: SyntheticResult, mnist: MnistResult, faces: FacesResult) -> Figure:
    """Draw the three experiments as the paper does: a and b above, c and d below.

    Parameters
    ----------
    synthetic, mnist, faces
        What the experiments returned.
    """
    from ocboost.paper import faces_figure

    with house_style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(13, 9.4))
        places = [(left, bottom, *_SIZE) for bottom in _BOTTOM for left in _LEFT]
        panels = [figure.add_axes(place) for place in places]
        for axes in panels:
            axes.tick_params(labelsize=10.5)
        synthetic_figure.panel(panels[0], synthetic, compact=True)
        mnist_figure.panel(panels[1], mnist, compact=True)
        faces_figure.approximation_panel(panels[2], faces, compact=True)
        faces_figure.auc_panel(panels[3], faces, compact=True)
        titled = zip(panels, "abcd", titles(mnist, faces), strict=True)
        for axes, letter, title in titled:
            axes.set_title(f"{letter}   {title}", loc="left", fontsize=12.5, fontweight="bold", pad=10)
            axes.set_ylabel("")
            axes.xaxis.label.set_fontsize(11)
        heading = "Online Coordinate Boosting beside AdaBoost retrained"
        figure.text(_LEFT[0], 0.966, heading, fontsize=17, fontweight="bold", va="center")
        quick = synthetic.settings.quick or mnist.settings.quick or faces.settings.quick
        note = f"{'Quick run: a subset. ' if quick else ''}After figure 1 of the paper. Lower is better."
        figure.text(_LEFT[0], 0.936, note, color=GREY, fontsize=11.5, va="center")
        return figure


def titles(mnist: MnistResult, faces: FacesResult) -> list[str]:
    """What each panel shows, of which data."""
    whose = ("Synthetic", mnist.name, faces.name, faces.name)
    return [f"{name}: {what}" for name, what in zip(whose, WHAT, strict=True)]


def picture(parts: list[Part], synthetic: SyntheticResult, mnist: MnistResult, faces: FacesResult) -> Picture:
    """The figure with its words, those of the parts' own pictures."""
    said = [(part.title.partition(":")[0], picture) for part in parts for picture in part.pictures[:1]]
    return Picture(
        stem=STEM,
        alt="Four panels: " + "; ".join(titles(mnist, faces)),
        says=(
            "accuracy improves with higher order (a); OCB and AdaBoost achieve lower test error rates than "
            "Oza and Russell's algorithm (b); OCB best approximates AdaBoost (c); OCB and AdaBoost have "
            "almost identical performance on the test set (d)."
        ),
        figure=draw(synthetic, mnist, faces),
        shows=" ".join(f"{title}: {picture.shows}" for title, picture in said),
    )


TITLE = "Online Coordinate Boosting, reproduced"
PAPER = (
    "The paper, Online Coordinate Boosting by Raphael Pelossof, Michael Jones, Ilia Vovsha and Cynthia "
    "Rudin, keeps the weights of a boosted classifier close to those of AdaBoost retrained on all examples, "
    "while it sees each of them once. This report sets its tables and figures beside what this software "
    "finds."
)
QUICK = "Quick run: a subset, not the paper's sizes. Leave out --quick for those."
VARIANTS = ("by the paper's theorem", "balanced", "balanced at full order", "with a head")
SAME = "The same command with the same versions gives the same numbers, run times aside."


def as_html(
    parts: Sequence[Part],
    *,
    command: str,
    versions: Mapping[str, object],
    seconds: Mapping[str, float] | None = None,
    overview: Picture | None = None,
) -> str:
    """A page that stands alone, its figures inside it.

    Parameters
    ----------
    parts : sequence of Part
        One for each experiment.
    command : str
        What runs it again.
    versions : mapping
        What it was run with.
    seconds : mapping of str to float, optional
        Times beside those of the parts, as of all together.
    overview : Picture, optional
        A figure of all experiments.
    """
    return document.as_html(TITLE, _blocks(parts, command, versions, seconds, overview))


def as_markdown(
    parts: Sequence[Part],
    *,
    command: str,
    versions: Mapping[str, object],
    seconds: Mapping[str, float] | None = None,
    overview: Picture | None = None,
    pictures_at: str = "",
) -> str:
    """The same report in Markdown, with the figures' PNG files at `pictures_at`, by default beside it."""
    blocks = _blocks(parts, command, versions, seconds, overview)
    return document.as_markdown(TITLE, blocks, pictures_at=pictures_at)


def without_folder(part: Part, data: Path | None) -> Part:
    """The part with the data folder called DIR wherever its path stands, also in the results.

    >>> _hidden("MNIST from the files in '/home/me/data/mnist'.", Path("/home/me/data"))
    "MNIST from the files in 'DIR/mnist'."
    """
    if data is None:
        return part
    return replace(
        part,
        source=_hidden(part.source, data),
        notes=tuple(_hidden(note, data) for note in part.notes),
        results={
            key: _hidden(value, data) if isinstance(value, str) else value
            for key, value in part.results.items()
        },
    )


def _hidden(text: str, data: Path) -> str:
    # A relative path may be an ordinary word, such as "data": only behind the quote that opens a path.
    return text.replace(str(data), "DIR") if data.is_absolute() else text.replace(f"'{data}", "'DIR")


def _blocks(
    parts: Sequence[Part],
    command: str,
    versions: Mapping[str, object],
    seconds: Mapping[str, float] | None,
    overview: Picture | None,
) -> list[Block]:
    blocks: list[Block] = [Paragraph(PAPER)]
    if any(part.quick for part in parts):
        blocks.append(Notice(QUICK))
    blocks += [Notice(_elsewhere(part)) for part in parts if part.results.get("fallback")]
    rows = [row for part in parts for row in part.headline]
    if rows:
        blocks += [Heading("Summary"), Paragraph(_summary(rows)), Paragraph(BALANCED), _headline(rows)]
    if overview is not None:
        blocks.append(_illustration(overview))
    for part in parts:
        blocks += _section(part)
    blocks += _erratum(parts)
    blocks += [Heading("Run times"), _times(parts, seconds or {})]
    where = "DIR is the folder that holds the data sets. " if " DIR" in command else ""
    blocks += [Heading("How to run it again"), Code(command), Paragraph(where + SAME)]
    shown = {name: "not installed" if value is None else value for name, value in versions.items()}
    return [*blocks, Heading("With what"), Pairs(shown)]


def _elsewhere(part: Part) -> str:
    name = part.title.partition(":")[0].partition(",")[0]
    return f"{name}: not the paper's data. {part.source}"


def _headline(rows: Sequence[Headline]) -> Table:
    quiet = (
        "Slanted or dim: the paper's own numbers, where it prints them. "
        if any(r.quiet for r in rows)
        else ""
    )
    synthetic = any(row.name.startswith("Synthetic") for row in rows)
    drawn = "; on synthetic data the highest order is the full one" if synthetic else ""
    return Table(
        "Errors, lower is better",
        HEADLINE,
        tuple(row.row for row in rows),
        f"{quiet}Which order each has and how it was started is said in its section{drawn}.",
    )


def _summary(rows: Sequence[Headline]) -> str:
    """The first table in words: how often OCB has the lower error, and how much lower it is."""
    ours = [row.values for row in rows if not row.quiet]
    counts, shares, lower_by = [], [], []
    for column, variant in enumerate(VARIANTS, start=1):
        both = [(row[column], row[0]) for row in ours]
        lower = sum(ocb < oza for ocb, oza in both if ocb is not None and oza is not None)
        counts.append(f"{lower} {variant}")
        lower_by += [variant] if lower else []
        ratios = [ocb / oza for ocb, oza in both if ocb is not None and oza]
        if ratios:
            shares.append(f"{_between(min(ratios), max(ratios))} {variant}")
    than = "lower than Oza and Russell's"
    first = f"Of {len(ours)} errors, OCB's is {than} in {', '.join(counts)}."
    if len(ours) == 1:
        first = f"OCB's error is {than} {', '.join(lower_by)}." if lower_by else f"OCB's error is not {than}."
    return (
        f"{first} As a share of Oza and Russell's it is {', '.join(shares)}. Balanced is our correction; the "
        "paper's own update is its theorem, here with the listing's sign mended."
    )


def _between(low: float, high: float) -> str:
    return f"{low:.3f}" if f"{low:.3f}" == f"{high:.3f}" else f"{low:.3f} to {high:.3f}"


def _section(part: Part) -> list[Block]:
    blocks: list[Block] = [Heading(part.title), Paragraph(part.about)]
    if part.results.get("fallback"):
        blocks.append(Notice(_elsewhere(part)))
    elif part.source:
        blocks.append(Paragraph(part.source))
    blocks += [Notice(note) for note in part.notes]
    blocks += [_illustration(picture) for picture in part.pictures]
    blocks += part.tables
    blocks += [Heading("Findings", 3), Items(part.words)]
    if part.chosen:
        blocks += [Heading("Chosen where the paper is silent or not followed", 3), Pairs(part.chosen)]
    return [*blocks, Heading("Seeds", 3), Paragraph(part.seeds)]


def _illustration(picture: Picture) -> Illustration:
    sayings = {"The paper:": picture.says, "Here:": picture.shows}
    return Illustration(picture.stem, picture.figure, picture.alt, sayings)


def _erratum(parts: Sequence[Part]) -> list[Block]:
    steps = erratum.steps()
    blocks: list[Block] = [Heading("The erratum at work"), *map(Paragraph, erratum.EXPLANATION)]
    blocks += [erratum.small_table(steps), Paragraph(erratum.in_words(steps))]
    for part in parts:
        if part.name == "synthetic":
            blocks.append(erratum.orders_table(part.results["approximation_error"], ORDERS))
    return blocks


def _times(parts: Sequence[Part], seconds: Mapping[str, float]) -> Table:
    rows = []
    for part in parts:
        steps = {step: spent for step, spent in part.seconds.items() if step != "total"}
        rows += [Row((f"{part.name}: {step}", f"{spent:.2f}")) for step, spent in steps.items()]
        if "total" in part.seconds:
            rows.append(Row((f"{part.name}: in all", f"{part.seconds['total']:.2f}")))
    rows += [Row((step, f"{spent:.2f}")) for step, spent in seconds.items()]
    caption = (
        "What came from the cache counts only the time to read it. Methods that ran side by side can sum to "
        "more than went by."
    )
    return Table("Seconds", ("step", "seconds"), tuple(rows), caption)
