"""The report of a reproduction: every table and figure of the paper beside ours, and how they were made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ocboost._report.document import Block, Code, Heading, Illustration, Items, Notice, Pairs, Paragraph
from ocboost._report.figures import GREY, house_style
from ocboost._report.tables import Row, Table
from ocboost.paper import erratum
from ocboost.paper.section import HEADLINE_COLUMNS, CaptionedFigure, HeadlineRow, Section

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ocboost.paper.faces import FacesResult
    from ocboost.paper.mnist import MnistResult
    from ocboost.paper.synthetic import SyntheticResult

FIGURE_STEM = "figure1"
TITLE = "Online Coordinate Boosting, reproduced"
PAPER = (
    "The paper, Online Coordinate Boosting by Raphael Pelossof, Michael Jones, Ilia Vovsha and Cynthia "
    "Rudin, keeps the weights of a boosted classifier close to those of AdaBoost retrained on all examples, "
    "while it sees each of them once. This report sets its tables and figures beside what this software "
    "finds."
)
QUICK = "Quick run: a subset, not the paper's sizes. Leave out --quick for those."
BALANCED_EXPLAINED = (
    "In AdaBoost all the weight that leaves one coordinate enters the next: this is the total. The theorem's "
    "factors do not keep it. The balanced correction, which is ours, scales each row of sums so that the "
    "total is kept."
)
VARIANTS = ("by the paper's theorem", "balanced", "balanced at full order", "with a head")
SAME = "The same command with the same versions gives the same numbers, run times aside."
_LEFT = (0.052, 0.555)
_BOTTOM = (0.535, 0.065)
_SIZE = (0.297, 0.345)


def draw(synthetic: SyntheticResult, mnist: MnistResult, faces: FacesResult) -> Figure:
    """All four panels of the paper's figure 1: a and b above, c and d below."""
    from ocboost.paper import faces_section, mnist_section, synthetic_section

    with house_style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(13, 9.4))
        panels = [figure.add_axes((left, bottom, *_SIZE)) for bottom in _BOTTOM for left in _LEFT]
        for axes in panels:
            axes.tick_params(labelsize=10.5)
        synthetic_section.panel(panels[0], synthetic, compact=True)
        mnist_section.panel(panels[1], mnist, compact=True)
        faces_section.approximation_panel(panels[2], faces, compact=True)
        faces_section.auc_panel(panels[3], faces, compact=True)
        for axes, letter, title in zip(panels, "abcd", _panel_titles(mnist, faces), strict=True):
            axes.set_title(f"{letter}   {title}", loc="left", fontsize=12.5, fontweight="bold", pad=10)
            axes.set_ylabel("")
            axes.xaxis.label.set_fontsize(11)
        heading = "Online Coordinate Boosting beside AdaBoost retrained"
        figure.text(_LEFT[0], 0.966, heading, fontsize=17, fontweight="bold", va="center")
        quick = synthetic.settings.quick or mnist.settings.quick or faces.settings.quick
        note = f"{'Quick run: a subset. ' if quick else ''}After figure 1 of the paper. Lower is better."
        figure.text(_LEFT[0], 0.936, note, color=GREY, fontsize=11.5, va="center")
        return figure


def _panel_titles(mnist: MnistResult, faces: FacesResult) -> list[str]:
    return [
        "Synthetic: approximation error",
        f"{mnist.name}: combined test error, %",
        f"{faces.name}: approximation error",
        f"{faces.name}: 1 − AUC",
    ]


def overview(sections: Sequence[Section], results: Mapping[str, Any]) -> CaptionedFigure | None:
    """The paper's figure 1 with the words of the sections' own figures, where all experiments were run."""
    if not results.keys() >= {"synthetic", "mnist", "faces"}:
        return None
    return CaptionedFigure(
        stem=FIGURE_STEM,
        alt="Four panels: " + "; ".join(_panel_titles(results["mnist"], results["faces"])),
        paper_says=(
            "accuracy improves with higher order (a); OCB and AdaBoost achieve lower test error rates than "
            "Oza and Russell's algorithm (b); OCB best approximates AdaBoost (c); OCB and AdaBoost have "
            "almost identical performance on the test set (d)."
        ),
        figure=draw(results["synthetic"], results["mnist"], results["faces"]),
        shows=" ".join(f"{each.title.partition(':')[0]}: {each.figure.shows}" for each in sections),
    )


def without_folder(section: Section, data: Path | None) -> Section:
    """The section with the data folder called DIR wherever its path stands in the results.

    >>> _hidden("MNIST from the files in '/home/me/data/mnist'.", Path("/home/me/data"))
    "MNIST from the files in 'DIR/mnist'."
    """
    if data is None:
        return section
    source = _hidden(section.results["source"], data)
    notes = [_hidden(note, data) for note in section.results["notes"]]
    return replace(section, results={**section.results, "source": source, "notes": notes})


def _hidden(text: str, data: Path) -> str:
    # A relative path may be an ordinary word, such as "data": only behind the quote that opens a path.
    return text.replace(str(data), "DIR") if data.is_absolute() else text.replace(f"'{data}", "'DIR")


def report_blocks(
    sections: Sequence[Section],
    *,
    command: str,
    versions: Mapping[str, object],
    seconds: Mapping[str, float] | None = None,
    overview: CaptionedFigure | None = None,
) -> list[Block]:
    """The report, to be written as a page or as Markdown under the heading `TITLE`.

    `command` is what runs it again with `versions`; `seconds` has times beside those of the sections, and
    `overview` is a figure of all experiments.
    """
    blocks: list[Block] = [Paragraph(PAPER)]
    if any(section.results["quick"] for section in sections):
        blocks.append(Notice(QUICK))
    blocks += [Notice(_other_data(section)) for section in sections if section.results["fallback"]]
    rows = [row for section in sections for row in section.headline]
    if rows:
        blocks += [Heading("Summary"), Paragraph(_summary(rows)), Paragraph(BALANCED_EXPLAINED)]
        blocks.append(_headline_table(rows))
    if overview is not None:
        blocks.append(_illustration(overview))
    for section in sections:
        blocks += _section_blocks(section)
    blocks += _erratum_blocks(sections)
    blocks += [Heading("Run times"), _times(sections, seconds or {})]
    where = "DIR is the folder that holds the data sets. " if " DIR" in command else ""
    blocks += [Heading("How to run it again"), Code(command), Paragraph(where + SAME)]
    shown = {name: "not installed" if value is None else value for name, value in versions.items()}
    return [*blocks, Heading("Software and machine"), Pairs(shown)]


def _other_data(section: Section) -> str:
    name = section.title.partition(":")[0].partition(",")[0]
    return f"{name}: not the paper's data. {section.results['source']}"


def _headline_table(rows: Sequence[HeadlineRow]) -> Table:
    caption = "Each section says which order its methods have and how they were started"
    if any(row.quiet for row in rows):
        caption = f"Slanted or dim: the paper's own numbers, where it prints them. {caption}"
    if any(row.name.startswith("Synthetic") for row in rows):
        caption += "; on synthetic data the highest order is the full one"
    return Table("Errors, lower is better", HEADLINE_COLUMNS, tuple(row.row for row in rows), f"{caption}.")


def _summary(rows: Sequence[HeadlineRow]) -> str:
    """The first table in words: how often OCB has the lower error, and how much lower it is."""
    ours = [row.values for row in rows if not row.quiet]
    counts, shares, lower_by = [], [], []
    for column, variant in enumerate(VARIANTS, start=1):
        both = [(row[column], row[0]) for row in ours]
        lower = sum(ocb < oza for ocb, oza in both if ocb is not None and oza is not None)
        counts.append(f"{lower} {variant}")
        lower_by += [variant] if lower else []
        if ratios := [ocb / oza for ocb, oza in both if ocb is not None and oza]:
            ends = dict.fromkeys(f"{end:.3f}" for end in (min(ratios), max(ratios)))
            shares.append(f"{' to '.join(ends)} {variant}")
    than = "lower than Oza and Russell's"
    first = f"Of {len(ours)} errors, OCB's is {than} in {', '.join(counts)}."
    if len(ours) == 1:
        first = f"OCB's error is {than} {', '.join(lower_by)}." if lower_by else f"OCB's error is not {than}."
    return (
        f"{first} As a share of Oza and Russell's it is {', '.join(shares)}. Balanced is our correction; the "
        "paper's own update is its theorem, here with the listing's sign corrected."
    )


def _section_blocks(section: Section) -> list[Block]:
    results = section.results
    source = Notice(_other_data(section)) if results["fallback"] else Paragraph(results["source"])
    blocks: list[Block] = [Heading(section.title), Paragraph(section.about), source]
    blocks += [Notice(note) for note in results["notes"]]
    blocks += [_illustration(section.figure), *section.tables]
    blocks += [Heading("Findings", 3), Items(section.findings)]
    if results["chosen_here"]:
        chosen = Pairs(results["chosen_here"])
        blocks += [Heading("Chosen where the paper is silent or not followed", 3), chosen]
    return [*blocks, Heading("Seeds", 3), Paragraph(section.seeds)]


def _illustration(shown: CaptionedFigure) -> Illustration:
    sayings = {"The paper:": shown.paper_says, "Here:": shown.shows}
    return Illustration(shown.stem, shown.figure, shown.alt, sayings)


def _erratum_blocks(sections: Sequence[Section]) -> list[Block]:
    steps = erratum.steps()
    blocks: list[Block] = [Heading("The erratum at work"), *map(Paragraph, erratum.EXPLANATION)]
    blocks += [erratum.small_table(steps), Paragraph(erratum.in_words(steps))]
    for section in sections:
        if section.results["experiment"] == "synthetic":
            blocks.append(erratum.orders_table(section.results["approximation_error"]))
    return blocks


def _times(sections: Sequence[Section], seconds: Mapping[str, float]) -> Table:
    times = {
        f"{section.results['experiment']}: {'in all' if step == 'total' else step}": spent
        for section in sections
        for step, spent in section.results["seconds"].items()
    }
    caption = (
        "What came from the cache counts only the time to read it. Methods that ran side by side can sum to "
        "more than went by."
    )
    rows = tuple(Row((step, f"{spent:.2f}")) for step, spent in {**times, **seconds}.items())
    return Table("Seconds", ("step", "seconds"), rows, caption)
