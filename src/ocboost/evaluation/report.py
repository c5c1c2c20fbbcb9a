"""The report of a comparison: a page that stands alone, and Markdown, from the same blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ocboost._core.metrics import METRIC_TABLE
from ocboost._report import document
from ocboost._report.document import Block, Code, Heading, Illustration, Items, Notice, Pairs, Paragraph
from ocboost._report.figures import render
from ocboost.datasets.drift import stream_named
from ocboost.evaluation.board import DRAWN_PER_SEED, LEVEL_ERRORS, Board
from ocboost.evaluation.contenders import Role
from ocboost.evaluation.figures import BANDED, draw, draw_behind, draw_ranks, keys_of
from ocboost.evaluation.methods import METHODS
from ocboost.evaluation.summary import ALPHA, Summary
from ocboost.evaluation.tables import (
    GROWING_PAIRS,
    UNDEFINED,
    accuracy_table,
    board_table,
    format_bytes,
    growth_table,
    joined,
    probability_table,
    rank_table,
    title_of,
    titles,
    winner_table,
)
from ocboost.evaluation.threshold_figure import draw_thresholds, shown_entry

READ_IT = "How to read it:"
COMPARISON_ONLY = "Takes part for comparison only, as it cannot be deployed."
_LEARNT = (
    "Hypotheses (decision stumps) are learnt from the first rows of a stream, at most a fifth of it unless "
    "more are asked for; all methods learn these rows first. Then each row is predicted by all methods, and "
    "learnt by them: every figure is about rows that a method had not seen."
)
_DEPLOYED = (
    "The hypotheses are those of the model that was given. Each row is predicted by all methods, and learnt "
    "by them: every figure is about rows that a method had not seen."
)
_REPEATS = (
    "Repeats differ by their seed: seed 0 begins with all of the first rows, any other with 0.8 of them, "
    "drawn without replacement; a method draws its own random numbers again."
)
_MEASURED = (
    "Methods over answers weigh the stumps of the start and share them; methods over features learn their "
    "own. Times are for one row, predicted and learnt on its own, without the answers of the stumps, which "
    "are computed once for all that share them; several processes at a time make them longer. A method that "
    "never learns predicts many rows at once, which is cheaper. “State” is what a method keeps, the shared "
    "stumps aside."
)
_METRICS = (
    " ".join(metric.explanation for metric in METRIC_TABLE.values())
    + " Where labels come in runs, compare with “no change”, which repeats the last label. "
    f"{UNDEFINED}, or a gap in a curve: not defined, as where only one class came."
)
_DEFAULT_SETTINGS = "Each method has the defaults of its class for settings, unless its title says otherwise."
_HINDSIGHT = (
    " They are the same on every stream. Those of growing OCB were chosen by accuracy on nine "
    "streams, five of them real ones that are also here (see ocboost.Growth), those of Winnow and EG± on "
    "six, elec2 and INSECTS among them: on these their figures are partly hindsight."
)
_GAPS = "Missing numbers become the mean of the first rows for methods that cannot do without"
_ONLY = (
    "Some take part for comparison only: what is no model (the most frequent class, the last label, "
    "retraining), and what cannot be saved without pickle (those of river, and boosting over them). The best "
    "is named among the others."
)
_ALARMS = (
    "A drift alarm is raised where ADWIN, watching a method's errors, finds that their rate has changed, for "
    "better or worse."
)


def protocol(board: Board, *, file: bool) -> list[str]:
    """How a comparison was done; ``file`` says whether the stream is a file, and not one of `STREAMS`."""
    texts = [_LEARNT if board.start else _DEPLOYED]
    if len(board.seeds) > 1:
        texts.append(_REPEATS + ("" if file else " So are generated streams."))
    texts += [_MEASURED, _METRICS, _DEFAULT_SETTINGS + ("" if file else _HINDSIGHT)]
    names = [*(entry.name for entry in board.entries), *board.skipped]
    filled = [METHODS[name].title for name in names if name in METHODS and METHODS[name].fills_gaps]
    if filled:
        texts.append(f"{_GAPS}: {'; '.join(filled)}.")
    if any(not entry.deployable for entry in board.entries):
        texts.append(_ONLY)
    return texts


def stream_blocks(
    board: Board,
    title: str,
    stem: str = "curves",
    *,
    name: str | None = None,
    level: int = 2,
    most_points: int = 250,
) -> list[Block]:
    """The section on one stream: its table and its curves, with ``name`` as their heading."""
    figure = draw(board, title=title if name is None else name, most_points=most_points)
    bare = draw(board, title="", most_points=most_points, named=False)
    names = ", ".join(entry.title for entry in board.entries)
    size = f"{len(board.classes)} classes" + (
        "" if board.n_features is None else f", {board.n_features:,} features"
    )
    blocks: list[Block] = [
        Heading(title, level),
        *(Paragraph(note) for note in board.notes),
        board_table(board, f"{title}: {size}"),
        probability_table(board),
        Illustration(
            stem,
            figure,
            f"{title}: windowed accuracy of {names}",
            {READ_IT: how_to_read(board)},
            on_page=bare,
            keys=keys_of(board),
        ),
    ]
    blocks += threshold_blocks(board)
    if board.interrupted:
        blocks.insert(1, Notice("Interrupted: this is about the rows before that."))
    return blocks


def threshold_blocks(board: Board) -> list[Block]:
    """What other thresholds would give, of two classes; nothing where that was not kept."""
    entry = shown_entry(board)
    if entry is None:
        return []
    first, second = board.classes
    marked_at = "" if board.least_probability is None else " A line marks the one that was chosen."
    return [
        Heading("Other thresholds", 3),
        Illustration(
            "thresholds",
            draw_thresholds(board),
            f"Recall, precision and accuracy of {entry.title} by the threshold, and precision by recall",
            {
                READ_IT: f"Left: {entry.title}, were “{second}” predicted from each probability on, over the "
                f"whole stream.{marked_at} Recall of “{second}” rises as the threshold falls, that of "
                f"“{first}” falls. Right: the precision that each recall of “{second}” costs; the dotted "
                "line is how frequent it is, which guesses reach."
            },
        ),
    ]


def how_to_read(board: Board) -> str:
    """What a reader must know of the curves."""
    n, window = len(board.seeds), board.settings["window"]
    text = f"Each point is about the last {window:,} examples"
    keys = "The legend is sorted by the accuracy over the whole stream, which stands beside each name."
    if n == 1:
        return f"{text}; one seed, so no bands. {keys}"
    what = (
        "which draw other streams"
        if DRAWN_PER_SEED in board.notes
        else "which begin with other rows of the start"
    )
    shaded = (
        f" A shaded band reaches one standard deviation over these seeds ({what}) to either side; only OCB "
        "and the adaptive classifier have one, to keep the others readable."
        if any(p.role in BANDED and any(x is not None for x in p.bands["accuracy"]) for p in board.entries)
        else ""
    )
    return f"{text}, the mean over {n} seeds. {keys}{shaded}"


def stream_report(
    board: Board, about: Mapping[str, object], *, name: str, command: str = "", file: bool
) -> list[Block]:
    """The report on one stream; ``about`` has what else was run, ``file`` is as of `protocol`."""
    made: list[Block] = [Paragraph("Made by:"), Code(command)] if command else []
    return [
        Paragraph(headline(board)),
        *made,
        *stream_blocks(board, "Results", name=name),
        *_alarms(board),
        *_methods(board),
        Heading("How it was done"),
        Items(protocol(board, file=file)),
        Heading("What was run"),
        Pairs({**about, **_run(board)}),
    ]


def headline(board: Board) -> str:
    """Who is best on a stream of those that can be deployed, who is level with it, and who is better."""
    n, best, level, ahead = len(board.entries), board.best(), board.level(), board.ahead()
    error = board.standard_error
    text = f"{_count(n, 'method')} on {_count(board.n_scored, 'row')}."
    if best:
        text += f" Highest accuracy: {titles(best)}, {best[0].accuracy:.4f}."
    if level and error is not None:
        text += (
            f" Level with it, within {LEVEL_ERRORS:g} standard errors of {100 * error:.2g} points: "
            f"{titles(level, 6)}."
        )
    if ahead:
        higher = "Higher, but for" if best else "Highest accuracy, for"
        text += f" {higher} comparison only: {titles(ahead)}, {ahead[0].accuracy:.4f}."
    return text


def recall_lines(board: Board, most: int = 8) -> list[str]:
    """How much of each class is found by the best in accuracy, and in balanced accuracy."""
    chosen = {entry.name: ("accuracy", entry) for entry in board.best()[:1]}
    able = [entry for entry in board.entries if entry.deployable]
    balanced = [entry for entry in able if entry.mean("balanced_accuracy") is not None]
    if balanced:
        entry = max(balanced, key=lambda each: each.mean("balanced_accuracy") or 0.0)
        chosen.setdefault(entry.name, ("balanced accuracy", entry))
    lines = []
    for what, entry in chosen.values():
        recalls = [(label, entry.recall(code)) for code, label in enumerate(board.classes)]
        known = [f"{label!s:.24} {recall:.1%}" for label, recall in recalls if recall is not None]
        value = entry.mean("balanced_accuracy")
        if len(known) > 1 and value is not None:
            found = joined(known, most)
            lines.append(f"Highest {what}, {entry.title}: recall {found}; balanced accuracy {value:.4f}.")
    return lines


def _count(n: int, word: str) -> str:
    return f"{n:,} {word}" if n == 1 else f"{n:,} {word}s"


def _alarms(board: Board) -> list[Block]:
    """Where drift alarms were raised, if they were watched for."""
    if not board.settings["drift"]:
        return []
    rows = {}
    for entry in board.entries:
        alarms = sorted(row for each in entry.alarms for row in each)
        some = ", ".join(f"{row:,}" for row in alarms[:40])
        more = f" and {len(alarms) - 40:,} more" if len(alarms) > 40 else ""
        rows[entry.title] = f"{len(alarms):,}: in row {some}{more}" if alarms else "none"
    return [Heading("Drift alarms"), Paragraph(_ALARMS), Pairs(rows)]


def _run(board: Board) -> dict[str, object]:
    step, delay = board.settings["step"], board.settings["delay"]
    bounds = [entry.auc_bound for entry in board.entries if entry.auc_bound is not None]
    pr_bounds = [entry.pr_auc_bound for entry in board.entries if entry.pr_auc_bound is not None]
    first = f"{board.start:,} to begin with, " if board.start else ""
    rows = f"{first}{board.n_predicted:,} predicted, {board.n_scored:,} scored, {board.n_learnt:,} learnt"
    summed = ", summed over processes" if len(board.seeds) > 1 else ""
    return {
        "seeds": ", ".join(map(str, board.seeds)),
        "rows": rows,
        "classes": joined([repr(label) for label in board.classes], 20),
        "predicted": "one by one" if step == 1 else f"{step:,} rows at once",
        "labels": f"arrive {delay:,} rows later" if delay else "arrive at once",
        "curves": f"over {board.settings['window']:,} examples, a point every {board.settings['every']:,}",
        "drift": "ADWIN, as river sets it" if board.settings["drift"] else "not watched",
        "AUC": f"from a histogram, off by at most {max(bounds):.1e}" if bounds else "not defined",
        "PR-AUC": f"from the same, off by at most {max(pr_bounds):.1e}" if pr_bounds else "not defined",
        "time": f"{duration(board.seconds)}{summed}",
        "peak memory": format_bytes(board.peak_bytes),
    }


def duration(seconds: float) -> str:
    """A time, in seconds or minutes.

    >>> duration(31.4), duration(600.0)
    ('31 s', '10 minutes')
    """
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} minutes"


def _methods(*boards: Board) -> list[Block]:
    names = dict.fromkeys(name for b in boards for name in (*(p.name for p in b.entries), *b.skipped))
    shown = {entry.name: entry.title for board in boards for entry in board.entries}
    known = {}
    for method in (METHODS[name] for name in names if name in METHODS):
        only = "" if method.deployable else f". {COMPARISON_ONLY}"
        known[shown.get(method.name, method.title)] = f"{method.about}{only}"
    return [Heading("The methods, and when to choose them"), Pairs(known)] if known else []


# Many streams ---------------------------------------------------------------------------------------------


def summary_report(
    summary: Summary, *, command: str, skipped: Mapping[str, str], about: Mapping[str, object]
) -> list[Block]:
    """The report on many streams; ``skipped`` says by a stream's name why it is not there."""
    drifting = [board.stream for board in summary.boards if stream_named(board.stream).drifts]
    others = [board.stream for board in summary.boards if board.stream not in drifting]
    groups = {name: streams for name, streams in (("drifting", drifting), ("others", others)) if streams}
    growth = growth_table(summary)
    blocks: list[Block] = [
        Paragraph(
            f"{_count(len(summary.names), 'method')} on {_count(len(summary.boards), 'stream')}, predicted "
            "row by row and then learnt. Made by:"
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
                READ_IT: "Each number is how many percentage points a method (row) is behind the best of "
                "a stream (column), whoever that is; the darker, the further. “best” is less than 0.05 "
                "behind; – did not take part."
            },
        ),
        Heading("Ranks"),
        rank_table(summary, groups),
        Illustration(
            "ranks",
            draw_ranks(summary),
            "Mean ranks of the methods",
            {
                READ_IT: "A large dot is a method's mean rank, hollow if it takes part for comparison only; "
                "a small one is its rank on one stream. Methods whose large dots lie under the red bar may "
                "be behind the best that can be deployed by chance (Nemenyi's test). Colours are those of "
                "the curves."
            },
        ),
        Paragraph(chance(summary)),
        Heading("Who wins where"),
        winner_table(summary),
        *([growth] if growth is not None else []),
        *_methods(*summary.boards),
        Heading("How it was done"),
        Items(protocol(summary.boards[0], file=False)),
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
    return [_best_ranks(summary), *_winners(summary), *_ours(summary), *_grown(summary)]


def _best_ranks(summary: Summary) -> str:
    first, top = summary.first, summary.names[0]
    best = f"{title_of(top)}, {summary.mean_rank(top) or 0.0:.2f}"
    if first is None:
        return f"Best mean rank, for comparison only: {best}."
    near = [title_of(name) for name in summary.not_apart(first)]
    chance = f"; by Nemenyi's test not apart from it: {joined(near, 6)}" if near else ""
    text = f"Best mean rank: {title_of(first)}, {summary.mean_rank(first) or 0.0:.2f}{chance}."
    return text if first == top else f"{text} Better, but for comparison only: {best}."


def _winners(summary: Summary) -> list[str]:
    texts = []
    for deployable, head in ((True, "Best on a stream"), (False, "Better there, but for comparison only")):
        chosen = [name for name in summary.names if summary.deployable(name) is deployable]
        won = {title_of(name): summary.wins(name) for name in chosen}
        if not deployable:
            ahead = {board.stream for board in summary.boards if board.ahead()}
            won = {name: [stream for stream in streams if stream in ahead] for name, streams in won.items()}
        won = {name: streams for name, streams in won.items() if streams}
        if won:
            texts.append(f"{head}: " + "; ".join(f"{n} on {', '.join(where)}" for n, where in won.items()))
    return [". ".join(texts) + ". Ties are all named; a lead may be chance: see below who is level."]


def _ours(summary: Summary) -> list[str]:
    """How the adaptive classifier does, and OCB."""
    hindsight = " That setting is chosen with hindsight, as is the winner."
    about: dict[Role, tuple[str, str]] = {
        "adaptive": ("The adaptive classifier, the same on every stream,", ""),
        "ocb": ("OCB in its best setting", hindsight),
    }
    n, texts = len(summary.boards), []
    for role, (who, remark) in about.items():
        gaps, level = [], 0
        for board in summary.boards:
            ours = board.best(role)
            gap = summary.behind(board, ours[0].name) if ours else None
            if gap is not None:
                gaps.append(gap)
                level += gap <= 100 * LEVEL_ERRORS * (board.standard_error or 0.0)
        if gaps:
            worst = f", and {max(gaps):.1f} points behind where it does worst" if max(gaps) > 0.0 else ""
            texts.append(
                f"{who} is the best of all on {sum(gap == 0.0 for gap in gaps)} of "
                f"{_count(n, 'stream')}, the best or level with it ({LEVEL_ERRORS:g} standard errors) on "
                f"{level}, within half a point of the best on {sum(gap <= 0.5 for gap in gaps)}{worst}."
                f"{remark}"
            )
    return texts


def _grown(summary: Summary) -> list[str]:
    """What growing is worth."""
    texts = []
    for fixed, grown in GROWING_PAIRS:
        if {fixed, grown} <= set(summary.names):
            gains = [
                summary.gain(board, grown, fixed)
                for board in summary.boards
                if stream_named(board.stream).drifts
                and None not in (summary.accuracy(board, grown), summary.accuracy(board, fixed))
            ]
            if gains:
                span = (
                    f"by {gains[0]:+.2f}"
                    if len(gains) == 1
                    else f"between {min(gains):+.2f} and {max(gains):+.2f}"
                )
                texts.append(
                    f"{title_of(grown)} beats {title_of(fixed)} on {sum(gain > 0 for gain in gains)} of "
                    f"{_count(len(gains), 'drifting stream')}; {span} points."
                )
    return texts


def chance(summary: Summary) -> str:
    """Whether the ranks may be chance, in words."""
    if summary.complete and summary.all_level:
        return "All methods are level on every stream: there are no ranks to test."
    p, gap = summary.friedman, summary.critical
    if p is None or gap is None:
        return "Too few methods or streams to say whether the ranks may be chance."
    left = [board.stream for board in summary.boards if board not in summary.complete]
    out = f" Not among them, since not every method took part: {', '.join(left)}." if left else ""
    return (
        f"Over {_count(len(summary.complete), 'stream')}, Friedman's test, which counts ties, gives ranks as "
        f"different as these a chance of {p:.2g} if all methods were alike. By Nemenyi's test two methods "
        f"differ, at {ALPHA:g}, where their mean ranks are more than {gap:.2f} apart.{out} Some streams are "
        "variants of each other, so they are not independent and the true chance is higher."
    )


# Files ----------------------------------------------------------------------------------------------------


def files_of(title: str, blocks: Sequence[Block], *, png: bool = True) -> dict[str, bytes]:
    """The page, the Markdown and the figures; without PNG the Markdown shows the SVG files."""
    text = document.as_markdown(title, blocks, kind="png" if png else "svg")
    files = {"report.html": document.as_html(title, blocks).encode(), "report.md": text.encode()}
    for block in blocks:
        if isinstance(block, Illustration):
            pictures = render(block.figure, block.stem)
            files |= {name: made for name, made in pictures.items() if png or name.endswith(".svg")}
    return files
