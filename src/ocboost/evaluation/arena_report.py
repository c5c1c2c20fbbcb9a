"""The report of a comparison: a page that stands alone, and Markdown, from the same blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..datasets.drift import stream_named
from ..reporting import document
from ..reporting.document import Block, Code, Heading, Illustration, Items, Notice, Pairs, Paragraph
from ..reporting.figure_style import render
from .arena_board import LEVEL, Board
from .arena_figure import draw_behind, draw_curves, draw_ranks, said_of
from .arena_summary import ALPHA, Summary
from .arena_table import (
    GROWTH,
    accuracy_table,
    board_table,
    growth_table,
    listed,
    rank_table,
    several,
    title_of,
    winner_table,
)
from .methods import METHODS
from .wording import bytes_in_words

_LEARNT = (
    "Hypotheses (decision stumps) are learnt from the first rows of a stream, at most a fifth of it unless "
    "more are asked for; all methods learn these rows first. Then each row is predicted by all methods, and "
    "learnt by them."
)
_REPEATS = (
    "Repeats differ by their seed: seed 0 begins with all of the first rows, any other with 0.8 of them, "
    "drawn without replacement; what a method draws is drawn anew."
)
_MEASURED = (
    "Methods over answers weigh the stumps of the start and share them; methods over features learn their "
    "own. Times are for one row, predicted and learnt on its own, without the answers of the stumps, which "
    "are computed once for all that share them; several processes at a time make them longer. “State” is "
    "what a method keeps, the shared stumps aside."
)
_SETTINGS = "Each method has the defaults of its class for settings, unless its title says otherwise."
_GAPS = (
    "Missing numbers become the mean of the first rows for methods that cannot do without (Oza-Russell over "
    "features)."
)
FILE_PROTOCOL = (_LEARNT, _REPEATS, _MEASURED, _SETTINGS, _GAPS)
PROTOCOL = (
    _LEARNT,
    f"{_REPEATS} So are generated streams.",
    _MEASURED,
    f"{_SETTINGS} They are the same on every stream. Those of growing OCB were chosen by accuracy on nine "
    "streams, five of them real ones that are also here (see ocboost.Growth), those of Winnow and EG± on "
    "six, elec2 and INSECTS among them: on these their figures are partly hindsight.",
    _GAPS,
)
READ = "How to read it:"


def stream_blocks(
    board: Board,
    title: str,
    stem: str = "curves",
    *,
    name: str | None = None,
    level: int = 2,
    most_points: int = 250,
) -> list[Block]:
    """What is said of one stream: its table and its curves, over which ``name`` stands."""
    figure = draw_curves(board, title=title if name is None else name, most_points=most_points)
    names = ", ".join(place.title for place in board.places)
    blocks: list[Block] = [
        Heading(title, level),
        *(Paragraph(note) for note in board.notes),
        board_table(board, f"{title}: {len(board.classes)} classes, {board.n_features:,} features"),
        Illustration(stem, figure, f"{title}: windowed accuracy of {names}", {READ: said_of(board)}),
    ]
    if board.interrupted:
        blocks.insert(1, Notice("Interrupted: this is about the rows before that."))
    return blocks


def stream_report(
    board: Board, about: Mapping[str, object], *, name: str, command: str, file: bool
) -> list[Block]:
    """The report on one stream.

    Parameters
    ----------
    board : Board
    about : mapping
        What else was run, and with what.
    name : str
        What the stream is called.
    command : str
        What made it.
    file : bool
        Whether the stream is someone's file, and not one of `STREAMS`.
    """
    return [
        Paragraph(lead(board)),
        Paragraph("Made by:"),
        Code(command),
        *stream_blocks(board, "Results", name=name),
        *_methods(board),
        Heading("How it was done"),
        Items(FILE_PROTOCOL if file else PROTOCOL),
        Heading("What was run"),
        Pairs({**about, **_run(board)}),
    ]


def lead(board: Board) -> str:
    """Who is best on a stream, and who is level with it."""
    n, best, level, error = len(board.places), board.best(), board.level(), board.standard_error
    text = f"{n} {'method' if n == 1 else 'methods'} on {board.n_scored:,} rows."
    if not best:
        return text
    text += f" Highest accuracy: {several(best)}, {best[0].mean('accuracy') or 0.0:.4f}."
    if level and error is not None:
        text += (
            f" Level with it, within {LEVEL:g} standard errors of {100 * error:.2g} points: "
            f"{several(level, 6)}."
        )
    return text


def _run(board: Board) -> dict[str, object]:
    return {
        "seeds": ", ".join(map(str, board.seeds)),
        "step, curve": f"{board.settings['step']:,} row(s), {board.settings['window']:,} examples",
        "rows": f"{board.start:,} to begin with, {board.n_scored:,} predicted and scored",
        "time": f"{in_words(board.seconds)}, summed over what ran side by side",
        "peak memory": bytes_in_words(board.peak_bytes),
    }


def in_words(seconds: float) -> str:
    """A time, in seconds or minutes.

    >>> in_words(31.4), in_words(600.0)
    ('31 s', '10 minutes')
    """
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} minutes"


def _methods(*boards: Board) -> list[Block]:
    names = dict.fromkeys(name for b in boards for name in (*(p.name for p in b.places), *b.skipped))
    known = {METHODS[name].title: METHODS[name].about for name in names if name in METHODS}
    return [Heading("The methods, and when to choose them"), Pairs(known)]


# Many streams ---------------------------------------------------------------------------------------------


def summary_report(
    summary: Summary, *, command: str, skipped: Mapping[str, str], about: Mapping[str, object]
) -> list[Block]:
    """The report on many streams.

    Parameters
    ----------
    summary : Summary
    command : str
        What made it.
    skipped : mapping
        By a stream's name why it is not there.
    about : mapping
        What else was run, and with what.
    """
    drifting = [board.stream for board in summary.boards if stream_named(board.stream).drifts]
    others = [board.stream for board in summary.boards if board.stream not in drifting]
    groups = {name: streams for name, streams in (("drifting", drifting), ("others", others)) if streams}
    growth = growth_table(summary)
    blocks: list[Block] = [
        Paragraph(
            f"{len(summary.names)} methods on {len(summary.boards)} streams, predicted row by row and then "
            "learnt. Made by:"
        ),
        Code(command),
        *(Notice(f"{name} was left out: {reason}.") for name, reason in skipped.items()),
        Heading("In short"),
        Items(findings(summary)),
        accuracy_table(summary),
        Illustration(
            "behind",
            draw_behind(summary),
            "Percentage points behind the best",
            {
                READ: "Each number is how many percentage points a method (row) is behind the best of a "
                "stream (column); the darker, the further. “best” is less than 0.05 behind; "
                "– did not take part."
            },
        ),
        Heading("Ranks"),
        rank_table(summary, groups),
        Illustration(
            "ranks",
            draw_ranks(summary),
            "Mean ranks of the methods",
            {
                READ: "A large dot is a method's mean rank, a small one its rank on one stream. Methods "
                "whose large dots lie under the red bar may be behind the first one by chance (Nemenyi's "
                "test). Colours are those of the curves."
            },
        ),
        Paragraph(chance(summary)),
        Heading("Who wins where"),
        winner_table(summary),
        *([growth] if growth is not None else []),
        *_methods(*summary.boards),
        Heading("How it was done"),
        Items(PROTOCOL),
        Heading("The streams"),
    ]
    for board in summary.boards:
        title = stream_named(board.stream).title
        blocks += stream_blocks(
            board, f"{title} ({board.stream})", f"stream-{board.stream}", level=3, most_points=100
        )
    return [*blocks, Heading("What was run"), Pairs(about)]


def findings(summary: Summary) -> list[str]:
    """What the tables say, in sentences."""
    n = len(summary.boards)
    first = summary.names[0]
    near = [title_of(name) for name in summary.not_apart()]
    chance = f"; by Nemenyi's test not apart from it: {listed(near, 6)}" if near else ""
    texts = [f"Best mean rank: {title_of(first)}, {summary.mean_rank(first) or 0.0:.2f}{chance}."]
    winners = {name: summary.wins(name) for name in summary.names if summary.wins(name)}
    texts.append(
        "Best on a stream: "
        + "; ".join(f"{title_of(name)} on {', '.join(streams)}" for name, streams in winners.items())
        + ". Equals are all named; a lead may be chance, see below who is level."
    )
    gaps, level = [], 0
    for board in summary.boards:
        ours = summary.best(board, role="ocb")
        gap = None if ours is None else summary.behind(board, ours.name)
        if gap is not None:
            gaps.append(gap)
            level += gap <= 100 * LEVEL * (board.standard_error or 0.0)
    if gaps:
        worst = f", and {max(gaps):.1f} points behind where it does worst" if max(gaps) > 0.0 else ""
        texts.append(
            f"OCB in its best setting is the best of all on {sum(gap == 0.0 for gap in gaps)} of {n} "
            f"streams, the best or level with it ({LEVEL:g} standard errors) on {level}, within half a point "
            f"of the best on {sum(gap <= 0.5 for gap in gaps)}{worst}. That setting is chosen with "
            "hindsight, as is the winner."
        )
    for fixed, grown in GROWTH:
        if {fixed, grown} <= set(summary.names):
            gains = [
                summary.gain(board, grown, fixed)
                for board in summary.boards
                if stream_named(board.stream).drifts
                and None not in (summary.accuracy(board, grown), summary.accuracy(board, fixed))
            ]
            if gains:
                texts.append(
                    f"{title_of(grown)} beats {title_of(fixed)} on {sum(gain > 0 for gain in gains)} of "
                    f"{len(gains)} drifting streams; between {min(gains):+.2f} and {max(gains):+.2f} points."
                )
    return texts


def chance(summary: Summary) -> str:
    """Whether the ranks may be chance, in words."""
    p, gap = summary.friedman, summary.critical
    if p is None or gap is None:
        return "Too few methods or streams to say whether the ranks may be chance."
    left = [board.stream for board in summary.boards if board not in summary.complete]
    out = f" Not among them, since not every method took part: {', '.join(left)}." if left else ""
    return (
        f"Over {len(summary.complete)} streams, Friedman's test gives ranks as different as these a chance "
        f"of {p:.2g} if all methods were alike. By Nemenyi's test two methods differ, at {ALPHA:g}, where "
        f"their mean ranks are more than {gap:.2f} apart.{out} Some streams are variants of each other, so "
        "they are not independent and the true chance is higher."
    )


# Files ----------------------------------------------------------------------------------------------------


def files_of(title: str, blocks: Sequence[Block], *, png: bool = True) -> dict[str, bytes]:
    """The page, the Markdown and the figures; without PNG the Markdown shows the SVG files."""
    text = document.as_markdown(title, blocks)
    files = {"report.html": document.as_html(title, blocks).encode()}
    for block in blocks:
        if isinstance(block, Illustration):
            pictures = render(block.figure, block.stem)
            if not png:
                del pictures[f"{block.stem}.png"]
                text = text.replace(f"]({block.stem}.png)", f"]({block.stem}.svg)")
            files |= pictures
    return {**files, "report.md": text.encode()}
