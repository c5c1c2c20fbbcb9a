"""The results of comparisons as tables: of one stream, and of many."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ocboost._core.metrics import CALIBRATION_BINS, METRIC_TABLE
from ocboost._report import tables
from ocboost._report.page import printable
from ocboost._report.tables import Row, Table
from ocboost.evaluation.board import (
    DRAWN_PER_SEED,
    LEVEL_ERRORS,
    Board,
    BoardEntry,
    best_of,
    board_of,
    mean_of,
)
from ocboost.evaluation.methods import METHODS
from ocboost.evaluation.result import Result
from ocboost.evaluation.summary import Summary

UNDEFINED = "–"
MAX_RECALLS = 6  # classes whose recall a table has


def format_us(microseconds: float | None) -> str:
    """Microseconds with about three digits.

    >>> format_us(0.1234), format_us(12.34), format_us(1234.5)
    ('0.12', '12.3', '1,234')
    """
    if microseconds is None:
        return UNDEFINED
    if microseconds < 10:
        return f"{microseconds:.2f}"
    return f"{microseconds:.1f}" if microseconds < 1000 else f"{microseconds:,.0f}"


def format_bytes(n: int | None) -> str:
    """Bytes in a fitting unit.

    >>> format_bytes(640), format_bytes(55_904), format_bytes(411_873_280)
    ('640 B', '55 KiB', '393 MiB')
    """
    if n is None:
        return UNDEFINED
    size = float(n)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            break
        size /= 1024
    return f"{size:.1f} {unit}" if size < 9.95 and unit != "B" else f"{size:,.0f} {unit}"


BEST, BEST_OF_ALL = "★ ", "☆ "  # of those that can be deployed; better, for comparison only
COMPARISON_ONLY_MARK = "†"  # behind the name of what takes part for comparison only
# Columns that are left out where a table is too wide, by their importance; accuracy stays.
COLUMN_IMPORTANCE = {
    **{metric.column: metric.importance for metric in METRIC_TABLE.values() if metric.importance < math.inf},
    **{"state": 0, "predict µs": 2, "learn µs": 3, "alarms": 4, "µs": 8},
}
GROWING_PAIRS = tuple(
    (f"ocb{setting}", f"growing{setting}") for setting in ("", "-forgetting", "-window-200", "-window-20")
)


def board_table(board: Board, title: str) -> Table:
    """One row for each method: means and spreads, rank, time and memory; those that were skipped last.

    `narrowed` leaves out what does not fit.
    """
    several = len(board.seeds) > 1
    columns = {"method": [marked(entry) for entry in board.entries]}
    for name, metric in METRIC_TABLE.items():
        if metric.first_table and (metric.shown_with_spread or not several):
            columns[metric.column] = _starred(name, board.entries)
    if several:
        columns["rank"] = [f"{entry.rank:.1f}" for entry in board.entries]
    columns["predict µs"] = [format_us(mean_of(entry.predict_us)) for entry in board.entries]
    columns["learn µs"] = [format_us(mean_of(entry.learn_us)) for entry in board.entries]
    columns["state"] = [format_bytes(entry.nbytes) for entry in board.entries]
    if board.settings["drift"]:
        columns["alarms"] = [f"{sum(map(len, entry.alarms)):,}" for entry in board.entries]
    rows = [Row(cells) for cells in zip(*columns.values(), strict=True)]
    rows += [
        Row((marked_title(name), *[UNDEFINED] * (len(columns) - 1)), quiet=True) for name in board.skipped
    ]
    return Table(title, tuple(columns), tuple(rows), _caption(board))


def probability_table(board: Board) -> Table:
    """One row for each method: metrics of its probabilities, and the recall of each class.

    Also F1, where spreads leave no room for it in the other table.
    """
    columns = {"method": [marked(entry) for entry in board.entries]}
    names = ["auc", "pr_auc", "log_loss", "brier", "ece"]
    for name in names if len(board.seeds) == 1 else ["f1", *names]:
        means = [entry.mean(name) for entry in board.entries]
        texts = [UNDEFINED if value is None else f"{value:.4f}" for value in means]
        marks = stars_of(means, board.entries, name, ".4f")
        both = zip(marks, texts, strict=True)
        columns[METRIC_TABLE[name].column] = [mark + text for mark, text in both]
    shown_classes = board.classes[:MAX_RECALLS]
    for code, label in enumerate(shown_classes):
        recalls = [entry.recall(code) for entry in board.entries]
        columns[f"recall of {printable(label, 24)}"] = [
            UNDEFINED if value is None else f"{value:.1%}" for value in recalls
        ]
    rows = tuple(Row(cells) for cells in zip(*columns.values(), strict=True))
    more = len(board.classes) - len(shown_classes)
    caption = (
        f"{stars(board.entries)}. log-loss, Brier and ECE: less is better. ECE: the calibration error, over "
        f"{CALIBRATION_BINS} bins of equal width of the likeliest class's probability; recall: the share of "
        "a class's rows that were predicted right"
    )
    caption += f"; {more:,} more classes are in results.json." if more else "."
    return Table("Probabilities, and each class", tuple(columns), rows, caption)


def narrowed(table: Table, width: int) -> Table:
    """The same without the columns that say least, until a terminal of this width shows it whole."""
    for less in sorted(COLUMN_IMPORTANCE, key=COLUMN_IMPORTANCE.__getitem__):
        if tables.width_of(table) <= width:
            break
        table = tables.without(table, less)
    return table


def as_text(result: Result | Board, *, title: str = "Prequential evaluation") -> str:
    """The tables of an evaluation in plain text."""
    board = board_of(result)
    return "\n".join(tables.as_text(table) for table in (board_table(board, title), probability_table(board)))


def _caption(board: Board) -> str:
    n, step = len(board.seeds), board.settings["step"]
    how = "predicted, then learnt" if step == 1 else f"in steps of {step:,}"
    late = f", labels {board.settings['delay']:,} rows late" if board.settings["delay"] else ""
    after = f", after {board.start:,} to begin with" if board.start else ""
    scored = f"{board.n_scored:,} of {board.n_predicted:,} rows scored"
    text = f"{scored}, {how}{late}{after}; {stars(board.entries)}. "
    error = board.standard_error
    size = "" if error is None else f", whose standard error is about {100 * error:.2g} points here"
    if n == 1:
        text += f"One seed, so no spread; other rows would give another accuracy{size}. "
    elif DRAWN_PER_SEED in board.notes:
        text += f"± is the standard deviation over {n} seeds, each with rows of its own. "
        text += "" if error is None else f"The standard error of a mean is about {100 * error:.2g} points. "
    else:
        text += (
            f"± is the spread (standard deviation) over {n} starts on the same rows, not the uncertainty of "
            f"the accuracy itself{size}. "
        )
    text += "rank: by accuracy, the mean of its ranks for each seed; " if n > 1 else ""
    text += "".join(
        f"{metric.column}: {metric.caption}; "
        for metric in METRIC_TABLE.values()
        if metric.caption and metric.first_table and (metric.shown_with_spread or n == 1)
    )
    text += (
        "µs: for a row, without the weak answers, which are shared and take "
        f"{format_us(board.answers_us)}; {UNDEFINED} not defined."
    )
    if board.skipped:
        names: dict[str, list[str]] = {}
        for name, reason in board.skipped.items():
            names.setdefault(reason, []).append(title_of(name))
        reasons = "; ".join(f"{reason}: {', '.join(who)}" for reason, who in names.items())
        text += f" {UNDEFINED} did not take part: {reasons}."
    return text


def stars(entries: Sequence[BoardEntry]) -> str:
    """What the marks of a table mean, as far as it needs them."""
    some, all_ = (any(entry.deployable is yes for entry in entries) for yes in (False, True))
    if not some:
        return "★ best"
    only = f"{COMPARISON_ONLY_MARK} comparison only, cannot be deployed"
    return (
        f"★ best that can be deployed, ☆ better but for comparison only; {only}"
        if all_
        else f"☆ best; {only}"
    )


def marked(entry: BoardEntry) -> str:
    """The title of a method, and a mark if it takes part for comparison only."""
    return entry.title if entry.deployable else f"{entry.title}{COMPARISON_ONLY_MARK}"


def _starred(metric: str, entries: Sequence[BoardEntry]) -> list[str]:
    means = [entry.mean(metric) for entry in entries]
    texts = []
    for value, entry, star in zip(means, entries, stars_of(means, entries, metric, ".4f"), strict=True):
        spread = entry.spread(metric)
        text = UNDEFINED if value is None else f"{value:.4f}" + ("" if spread is None else f" ± {spread:.4f}")
        texts.append(star + text)
    return texts


def stars_of(
    values: Sequence[float | None],
    entries: Sequence[BoardEntry],
    metric: str,
    digits: str,
    scale: float = 1.0,
) -> list[str]:
    """A star before those that read as the best that can be deployed, a hollow one if comparison leads."""
    if len(entries) < 2:
        return [""] * len(entries)
    both = list(zip(values, entries, strict=True))
    able = best_of([value for value, entry in both if entry.deployable], metric)
    top = best_of(values, metric)
    able_text, top_text = (None if v is None else format(scale * v, digits) for v in (able, top))
    found = []
    for value, entry in both:
        text = None if value is None else format(scale * value, digits)
        if text is None:
            found.append("")
        elif entry.deployable:
            found.append(BEST if text == able_text else "")
        else:
            found.append(BEST_OF_ALL if text == top_text and text != able_text else "")
    return found


def title_of(name: str) -> str:
    """What a method is called."""
    return METHODS[name].title if name in METHODS else name


def marked_title(name: str) -> str:
    """The same with a mark if it takes part for comparison only."""
    return title_of(name) + ("" if name not in METHODS or METHODS[name].deployable else COMPARISON_ONLY_MARK)


# Many streams ---------------------------------------------------------------------------------------------


def accuracy_table(summary: Summary) -> Table:
    """Methods by streams: mean accuracy in percent."""
    columns: list[list[str]] = []
    for board in summary.boards:
        means = [entry.mean("accuracy") for entry in board.entries]
        marks = stars_of(means, board.entries, "accuracy", ".1f", 100.0)
        texts = [
            UNDEFINED if v is None else f"{mark}{100 * v:.1f}" for v, mark in zip(means, marks, strict=True)
        ]
        found = {entry.name: text for entry, text in zip(board.entries, texts, strict=True)}
        columns.append([found.get(name, UNDEFINED) for name in summary.names])
    rows = tuple(
        Row((marked_title(name), *(column[k] for column in columns))) for k, name in enumerate(summary.names)
    )
    entries = [entry for board in summary.boards for entry in board.entries]
    caption = f"Mean accuracy over the seeds, in percent; {stars(entries)}; {UNDEFINED} did not take part."
    heads = ("method", *(board.stream for board in summary.boards))
    return Table("Accuracy of each method on each stream", heads, rows, caption)


def rank_table(summary: Summary, groups: Mapping[str, Sequence[str]]) -> Table:
    """Methods in the order of their mean rank; ``groups`` are streams by what they have in common."""
    heads = ("method", "rank", *groups, "wins", "points behind", "µs", "state")
    rows = []
    for name in summary.names:
        ranks = [summary.mean_rank(name, list(streams)) for streams in groups.values()]
        rows.append(
            Row(
                (
                    marked_title(name),
                    _figure(summary.mean_rank(name), 2),
                    *(_figure(rank, 2) for rank in ranks),
                    str(len(summary.wins(name))),
                    _figure(summary.mean_behind(name), 2),
                    format_us(summary.us(name)),
                    format_bytes(summary.nbytes(name)),
                )
            )
        )
    only = (
        f" {COMPARISON_ONLY_MARK}: for comparison only, as it cannot be deployed."
        if any(not summary.deployable(name) for name in summary.names)
        else ""
    )
    caption = (
        "Rank by mean accuracy, 1 the best, averaged over the streams that every method took part in; equals "
        "share their ranks. Wins: streams where none that can be deployed is better, or none at all for "
        "those that cannot. Points behind: percentage points behind the best of all, on average over the "
        f"streams it took part in. µs: median over the streams. State: the most it kept.{only}"
    )
    return Table("Ranks over the streams", heads, tuple(rows), caption)


def winner_table(summary: Summary) -> Table:
    """Who is best on each stream, equals side by side, and how far behind the best OCB is."""
    compared = any(board.ahead() for board in summary.boards)
    rows = []
    for board in summary.boards:
        best, ours, ahead, error = board.best(), board.best("ocb"), board.ahead(), board.standard_error
        if not best:
            continue
        behind = UNDEFINED if not ours else f"{100 * (best[0].accuracy - ours[0].accuracy):.1f}"
        own = (UNDEFINED, UNDEFINED) if not ours else (titles(ours), f"{100 * ours[0].accuracy:.1f}")
        chance = UNDEFINED if error is None else f"{100 * error:.2g}"
        top = (titles(best), f"{100 * best[0].accuracy:.1f}", chance, str(len(board.level())))
        better = (
            (f"{titles(ahead)}, {100 * ahead[0].accuracy:.1f}" if ahead else UNDEFINED,) if compared else ()
        )
        rows.append(Row((board.stream, *top, *own, behind, *better)))
    heads = ["stream", "best", "accuracy", "s.e.", "level", "best of OCB", "accuracy", "points behind"]
    caption = (
        "Best: of those that can be deployed; equals stand side by side. s.e.: the standard error of the "
        "best accuracy, in points, as if each row erred on its own. Level: how many others that can be "
        f"deployed are within {LEVEL_ERRORS:g} standard errors of the best: other rows may reverse the order."
    )
    if compared:
        heads.append("comparison only")
        caption += " Comparison only: what is better, and cannot be deployed."
    return Table("The best on each stream", tuple(heads), tuple(rows), caption)


def titles(entries: Sequence[BoardEntry], most: int = 4) -> str:
    """The titles of some methods, in one line."""
    return joined([entry.title for entry in entries], most)


def joined(texts: Sequence[str], most: int) -> str:
    """Texts that may hold commas, in one line; of many the first ones.

    >>> joined(["OCB, window 20", "EG±", "pa"], 2)
    'OCB, window 20; EG±; and 1 more'
    """
    more = [f"and {len(texts) - most} more"] if len(texts) > most else []
    return "; ".join([*texts[:most], *more])


def growth_table(summary: Summary) -> Table | None:
    """Growing OCB beside OCB over fixed hypotheses with the same memory; None where neither took part."""
    pairs = [pair for pair in GROWING_PAIRS if set(pair) <= set(summary.names)]
    if not pairs:
        return None
    rows = []
    for board in summary.boards:
        cells = [f"{summary.gain(board, grown, fixed):+.2f}" for fixed, grown in pairs]
        rows.append(Row((board.stream, *cells)))
    for text, count in (("better", 1), ("worse", -1)):
        sums = []
        for fixed, grown in pairs:
            gains = [summary.gain(board, grown, fixed) for board in summary.boards]
            sums.append(f"{sum(count * gain > 0 for gain in gains)} of {len(gains)}")
        rows.append(Row((text, *sums), quiet=True))
    heads = ("stream", *(title_of(fixed).removeprefix("OCB, ") for fixed, _ in pairs))
    caption = "Percentage points that growing gains over the hypotheses of the start, with the same memory."
    return Table("Growing against fixed hypotheses", heads, tuple(rows), caption)


def _figure(value: float | None, digits: int) -> str:
    return UNDEFINED if value is None else f"{value:.{digits}f}"
