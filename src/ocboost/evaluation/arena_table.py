"""What a comparison found, as tables: of one stream, and of many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..reporting.tables import Row, Table
from .arena_board import DRAWN, LEVEL, Board, Place, best_of
from .arena_summary import Summary
from .methods import METHODS
from .wording import NONE, bytes_in_words, time_of

BEST = "★ "
HEADS = {"accuracy": "accuracy", "balanced_accuracy": "balanced", "kappa": "kappa", "log_loss": "log-loss"}


def board_table(board: Board, title: str, *, narrow: bool = False) -> Table:
    """One row for each method: means and spreads, rank, time and memory; those that were skipped last.

    A narrow one has only accuracy, rank and time, and fits 80 columns.
    """
    heads = {"accuracy": "accuracy"} if narrow else HEADS
    columns: list[list[str]] = [[place.title for place in board.places]]
    columns += [_marked(metric, board.places) for metric in heads]
    columns.append([f"{place.rank:.1f}" for place in board.places])
    columns.append([time_of(place.us) for place in board.places])
    if not narrow:
        columns.append([bytes_in_words(place.nbytes) for place in board.places])
    rows = [Row(cells) for cells in zip(*columns, strict=True)]
    width = len(columns)
    rows += [Row((title_of(name), *[NONE] * (width - 1)), quiet=True) for name in board.skipped]
    last = ("rank", "µs") if narrow else ("rank", "µs", "state")
    return Table(title, ("method", *heads.values(), *last), tuple(rows), _caption(board, narrow=narrow))


def _caption(board: Board, *, narrow: bool) -> str:
    n = len(board.seeds)
    how = (
        "predicted, then learnt" if board.settings["step"] == 1 else f"in steps of {board.settings['step']:,}"
    )
    text = f"{board.n_scored:,} rows {how}, after {board.start:,} to begin with; ★ best. "
    error = board.standard_error
    size = "" if error is None else f", whose standard error is about {100 * error:.2g} points here"
    if n == 1:
        text += f"One seed, so no spread; other rows would give another accuracy{size}. "
    elif DRAWN in board.notes:
        text += f"± is the standard deviation over {n} seeds, each with rows of its own. "
        text += "" if error is None else f"The standard error of a mean is about {100 * error:.2g} points. "
    else:
        text += (
            f"± is the spread (standard deviation) over {n} starts on the same rows, not the uncertainty of "
            f"the accuracy itself{size}. "
        )
    text += "rank: by accuracy" + (", the mean of its ranks for each seed" if n > 1 else "")
    text += "" if narrow else "; balanced: accuracy averaged over the classes"
    text += "; µs: to predict and learn a row."
    if board.skipped:
        names: dict[str, list[str]] = {}
        for name, reason in board.skipped.items():
            names.setdefault(reason, []).append(title_of(name))
        reasons = "; ".join(f"{reason}: {', '.join(who)}" for reason, who in names.items())
        text += f" {NONE} did not take part: {reasons}."
    return text


def _star(best: bool) -> str:
    return BEST if best else ""


def _marked(metric: str, places: Sequence[Place]) -> list[str]:
    values = [place.mean(metric) for place in places]
    top = best_of(values, metric)
    shown = NONE if top is None else f"{top:.4f}"
    texts = []
    for value, place in zip(values, places, strict=True):
        if value is None:
            texts.append(NONE)
            continue
        spread = place.spread(metric)
        text = f"{value:.4f}" + ("" if spread is None else f" ± {spread:.4f}")
        texts.append(_star(f"{value:.4f}" == shown and len(places) > 1) + text)
    return texts


def title_of(name: str) -> str:
    """What a method is called."""
    return METHODS[name].title if name in METHODS else name


# Many streams ---------------------------------------------------------------------------------------------


def accuracy_table(summary: Summary) -> Table:
    """Methods by streams: mean accuracy in percent."""
    columns: list[list[str]] = []
    for board in summary.boards:
        found = {place.name: place.mean("accuracy") for place in board.places}
        top = best_of(list(found.values()), "accuracy")
        shown = "" if top is None else f"{100 * top:.1f}"
        column = []
        for name in summary.names:
            value = found.get(name)
            text = NONE if value is None else f"{100 * value:.1f}"
            column.append(_star(text == shown) + text)
        columns.append(column)
    rows = tuple(
        Row((title_of(name), *(column[k] for column in columns))) for k, name in enumerate(summary.names)
    )
    caption = (
        f"Mean accuracy over the seeds, in percent; ★ best, to the digit shown; {NONE} did not take part."
    )
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
                    title_of(name),
                    _figure(summary.mean_rank(name), 2),
                    *(_figure(rank, 2) for rank in ranks),
                    str(len(summary.wins(name))),
                    _figure(summary.mean_behind(name), 2),
                    time_of(summary.us(name)),
                    bytes_in_words(summary.nbytes(name)),
                )
            )
        )
    caption = (
        "Rank by mean accuracy, 1 the best, averaged over the streams that every method took part in; equals "
        "share their ranks. Points behind: percentage points behind the best, on average over the streams it "
        "took part in. µs: median over the streams. State: the most it kept."
    )
    return Table("Ranks over the streams", heads, tuple(rows), caption)


def winner_table(summary: Summary) -> Table:
    """Who is best on each stream, equals side by side, and how far behind the best OCB is."""
    rows = []
    for board in summary.boards:
        best, ours, error = board.best(), board.best("ocb"), board.standard_error
        if not best:
            continue
        behind = NONE if not ours else f"{100 * (_accuracy(best[0]) - _accuracy(ours[0])):.1f}"
        own = (NONE, NONE) if not ours else (several(ours), f"{100 * _accuracy(ours[0]):.1f}")
        chance = NONE if error is None else f"{100 * error:.2g}"
        top = (several(best), f"{100 * _accuracy(best[0]):.1f}", chance, str(len(board.level())))
        rows.append(Row((board.stream, *top, *own, behind)))
    heads = ("stream", "best", "accuracy", "s.e.", "level", "best of OCB", "accuracy", "points behind")
    caption = (
        "Equals stand side by side. s.e.: the standard error of the best accuracy, in points, as if each row "
        f"erred on its own. Level: how many others are within {LEVEL:g} standard errors of the best, so "
        "that other rows may turn it round."
    )
    return Table("The best on each stream", heads, tuple(rows), caption)


def several(places: Sequence[Place], most: int = 4) -> str:
    """The titles of some methods, in one line."""
    return listed([place.title for place in places], most)


def listed(texts: Sequence[str], most: int) -> str:
    """Texts that may hold commas, in one line; of many the first ones.

    >>> listed(["OCB, window 20", "EG±", "pa"], 2)
    'OCB, window 20; EG±; and 1 more'
    """
    more = [f"and {len(texts) - most} more"] if len(texts) > most else []
    return "; ".join([*texts[:most], *more])


def growth_table(summary: Summary) -> Table | None:
    """Growing OCB beside OCB over fixed hypotheses with the same memory; None where neither took part."""
    pairs = [pair for pair in GROWTH if set(pair) <= set(summary.names)]
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


GROWTH = tuple(
    (f"ocb{setting}", f"growing{setting}") for setting in ("", "-forgetting", "-window-200", "-window-20")
)


def _accuracy(place: Place) -> float:
    return place.mean("accuracy") or 0.0


def _figure(value: float | None, digits: int) -> str:
    return NONE if value is None else f"{value:.{digits}f}"
