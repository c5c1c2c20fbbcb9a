"""One HTML page of an evaluation: a table, the curves, the alarms, and how to read them.

The page needs nothing but itself: no scripts, no network, the figure is drawn inside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..reporting import page
from ..reporting.page import html_page, pairs, printable, safe
from .figure import draw
from .result import Result
from .table import caption, cells
from .wording import NONE, bytes_in_words

READING = (
    "Each row was predicted before its label was learnt, so every figure is about examples the learner "
    "had not seen. Figures of the table are over the whole stream, those of the curves over a moving window.",
    "Accuracy flatters whoever says the frequent class; balanced accuracy is the mean over the classes, and "
    "Cohen's kappa is 0 for whoever guesses by frequency alone. On a stream where labels come in runs, "
    "compare with “no change”, which repeats the last label.",
    "AUC and log-loss look at the probabilities: the AUC at their order, log-loss at their size. Log-loss "
    "takes probabilities below 1e-15 as 1e-15. The AUC over the whole stream comes from a histogram; "
    "it may be off by the bound given with it.",
    f"A dash ({NONE}) or a gap in a curve means that a metric is not defined, as where only one class came.",
    "Times are for one row, without the weak answers, which are computed once for all learners. A learner "
    "that never learns predicts many rows at once, which is cheaper than one by one. “State” is what a "
    "learner keeps, its hypotheses aside.",
)
ALARMS = (
    "A drift alarm is raised where ADWIN, watching a learner's errors, finds that their rate has changed, "
    "for better or worse."
)


def as_html(
    result: Result,
    *,
    title: str = "Prequential evaluation",
    about: Mapping[str, object] | None = None,
    versions: Mapping[str, object] | None = None,
    metrics: Sequence[str] = ("accuracy", "kappa"),
) -> str:
    """A page that stands alone.

    Parameters
    ----------
    result : Result
    title : str
    about : mapping, optional
        What was run, in the order to be shown: the stream, the model, seeds. Any text is safe.
    versions : mapping, optional
        What it was run with.
    metrics : sequence of str
        The panels of the figure.
    """
    parts = [
        f'<p class="lead">{_lead(result)}</p>',
        *(f'<p class="note">{safe(note, 1000)}</p>' for note in result.notes),
        "<h2>Results</h2>",
        _table(result),
        f'<p class="small">{safe(caption(result), 1000)} Best in bold.{_bound(result)}</p>',
        "<h2>Curves</h2>",
        f'<figure class="wide">{inline_svg(result, title=title, metrics=metrics)}</figure>',
    ]
    if result.settings["drift"]:
        parts += ["<h2>Drift alarms</h2>", f"<p>{ALARMS}</p>", _alarms(result)]
    parts += ["<h2>How to read this</h2>", *(f"<p>{text}</p>" for text in READING)]
    parts += ["<h2>What was run</h2>", pairs({**(about or {}), **_settings(result)})]
    if versions:
        parts += ["<h2>With what</h2>", pairs(versions)]
    return html_page(title, parts)


def inline_svg(result: Result, *, title: str, metrics: Sequence[str], prefix: str = "curves") -> str:
    """The figure as an SVG element: text as text, ids of its own, inks that follow light and dark."""
    names = ", ".join(printable(standing.name, 60) for standing in result.standings)
    label = f"{printable(title)}: windowed curves of {names}"
    return page.inline_svg(draw(result, title="", metrics=metrics), label=label, prefix=prefix)


def _lead(result: Result) -> str:
    best = [s for s in result.standings if s.metrics["accuracy"] is not None]
    rows = f"{result.n_predicted:,} rows, {len(result.classes)} classes, {len(result.standings)} learners."
    if not best:
        return rows
    first = max(best, key=lambda s: s.metrics["accuracy"] or 0.0)
    return f"{rows} Highest accuracy: {safe(first.name, 60)}, {first.metrics['accuracy']:.4f}."


def _bound(result: Result) -> str:
    bounds = [(s.auc_bound, s.name) for s in result.standings if s.auc_bound is not None]
    if not bounds:
        return ""
    bound, name = max(bounds)
    return f" AUC: off by at most {bound:.1e} ({safe(name, 60)}), less for the others."


def _table(result: Result) -> str:
    heads, rows = cells(result)
    lines = [f'<th scope="col">{safe(head)}</th>' for head in heads]
    body = []
    for row in rows:
        first, *others = (f"<b>{safe(c.text)}</b>" if c.best else safe(c.text) for c in row)
        body.append(f'<tr><th scope="row">{first}</th>' + "".join(f"<td>{c}</td>" for c in others) + "</tr>")
    return (
        f'<div class="wide"><table><thead><tr>{"".join(lines)}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table></div>"
    )


def _alarms(result: Result) -> str:
    rows = {}
    for standing in result.standings:
        some = ", ".join(f"{row:,}" for row in standing.alarms[:40])
        more = f" and {len(standing.alarms) - 40:,} more" if len(standing.alarms) > 40 else ""
        rows[standing.name] = f"{len(standing.alarms):,}: {some}{more}" if standing.alarms else "none"
    table = pairs(rows, longest=1000)
    return f"<details><summary>The rows at which alarms were raised</summary>{table}</details>"


def _settings(result: Result) -> dict[str, str]:
    settings = result.settings
    return {
        "rows": f"{result.first_row} to {result.last_row}, {result.n_predicted:,} predicted, "
        f"{result.n_scored:,} scored, {result.n_learnt:,} learnt",
        "classes": ", ".join(map(repr, result.classes)),
        "predicted": "one by one" if settings["step"] == 1 else f"{settings['step']:,} rows at once",
        "labels": f"arrive {settings['delay']:,} rows later" if settings["delay"] else "arrive at once",
        "window": f"{settings['window']:,} examples, a point every {settings['every']:,}",
        "drift": "ADWIN, as river sets it" if settings["drift"] else "not watched",
        "time": f"{result.seconds:.1f} s in all",
        "peak memory": bytes_in_words(result.peak_bytes),
    }
