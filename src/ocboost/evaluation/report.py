"""One HTML page of an evaluation: a table, the curves, the alarms, and how to read them.

The page needs nothing but itself: no scripts, no network, the figure is drawn inside it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from ..reporting.figure_style import BLUES, FAINT, GREEN, GREY, INK, RED
from .figure import LANE, PALE, PURPLE, draw, render
from .result import Result
from .table import caption, cells
from .wording import NONE, bytes_in_words, printable

# The figure's colours by name, on white and on black paper: each follows the reader's choice.
COLOURS = {
    "ink": (INK, "#e6edf3"),
    "grey": (GREY, "#9198a1"),
    "faint": (FAINT, "#30363d"),
    "pale": (PALE, "#656c76"),
    "lane": (LANE, "#262c36"),
    "red": (RED, "#ff7b72"),
    "blue": (BLUES[2], "#58a6ff"),
    "deep": (BLUES[3], "#388bfd"),
    "green": (GREEN, "#3fb950"),
    "purple": (PURPLE, "#b392f0"),
    "paper": ("#ffffff", "#0d1117"),
    "shade": ("#f6f8fa", "#161b22"),
}


def _variables(paper: int) -> str:
    return " ".join(f"--{name}: {pair[paper]};" for name, pair in COLOURS.items())


STYLE = f"""
:root {{ color-scheme: light dark; {_variables(0)} }}
@media (prefers-color-scheme: dark) {{ :root {{ {_variables(1)} }} }}
@media print {{ :root {{ color-scheme: light; {_variables(0)} }} }}
"""
STYLE += """
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 2rem 1.25rem 4rem; background: var(--paper);
  color: var(--ink); font: 16px/1.5 system-ui, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .3rem; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 2.4rem 0 .7rem; }
p { max-width: 46rem; margin: .5rem 0; }
.lead, .small { color: var(--grey); }
.small { font-size: .875rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .92rem; }
th, td { padding: .38rem .7rem; text-align: right; white-space: nowrap; }
tr { border-bottom: 1px solid var(--faint); }
th { font-weight: 600; color: var(--grey); }
th:first-child, td:first-child { text-align: left; white-space: normal; overflow-wrap: anywhere; }
tbody th { color: var(--ink); font-weight: 400; min-width: 9rem; }
td b { font-weight: 700; }
.settings th, .settings td { text-align: left; white-space: normal; vertical-align: top; }
.settings td { overflow-wrap: anywhere; }
.note { border-left: 3px solid #e8710a; background: var(--shade); padding: .5rem .9rem; max-width: 46rem; }
summary { cursor: pointer; }
figure { margin: 0; }
figure svg { display: block; width: 100%; min-width: 44rem; height: auto; }
@media print {
  body { max-width: none; padding: 0; font-size: 11pt; }
  .wide { overflow: visible; }
  figure svg { min-width: 0; }
  table, figure, tr { break-inside: avoid; }
  h2 { break-after: avoid; }
}
"""

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
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{_safe(title)}</title>",
        f"<style>{STYLE}</style></head><body>",
        f"<h1>{_safe(title)}</h1>",
        f'<p class="lead">{_lead(result)}</p>',
        *(f'<p class="note">{_safe(note, 1000)}</p>' for note in result.notes),
        "<h2>Results</h2>",
        _table(result),
        f'<p class="small">{_safe(caption(result), 1000)} Best in bold.{_bound(result)}</p>',
        "<h2>Curves</h2>",
        f'<figure class="wide">{inline_svg(result, title=title, metrics=metrics)}</figure>',
    ]
    if result.settings["drift"]:
        parts += ["<h2>Drift alarms</h2>", f"<p>{ALARMS}</p>", _alarms(result)]
    parts += ["<h2>How to read this</h2>", *(f"<p>{text}</p>" for text in READING)]
    parts += ["<h2>What was run</h2>", _pairs({**(about or {}), **_settings(result)})]
    if versions:
        parts += ["<h2>With what</h2>", _pairs(versions)]
    parts.append("</body></html>")
    return "\n".join(parts) + "\n"


def inline_svg(result: Result, *, title: str, metrics: Sequence[str], prefix: str = "curves") -> str:
    """The figure as an SVG element: text as text, ids of its own, inks that follow light and dark."""
    from matplotlib import rc_context

    with rc_context({"svg.fonttype": "none"}):
        figure = draw(result, title="", metrics=metrics)
        figure.patch.set_alpha(0.0)
        for axes in figure.axes:
            axes.patch.set_alpha(0.0)
        text = render(figure, "curves")["curves.svg"].decode()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'\bid="', f'id="{prefix}-', text)
    text = re.sub(r'(href="#|url\(#)', rf"\1{prefix}-", text)
    for name, (colour, _) in COLOURS.items():
        text = re.sub(rf"((?:fill|stroke): ?){colour}\b", rf"\1var(--{name})", text)
    text = text.replace("'DejaVu Sans'", "'DejaVu Sans', Verdana, sans-serif")
    names = ", ".join(printable(standing.name, 60) for standing in result.standings)
    label = escape(f"{printable(title)}: windowed curves of {names}", quote=True)
    return text.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)


def _safe(text: object, longest: int = 200) -> str:
    return escape(printable(text, longest), quote=True)


def _lead(result: Result) -> str:
    best = [s for s in result.standings if s.metrics["accuracy"] is not None]
    rows = f"{result.n_predicted:,} rows, {len(result.classes)} classes, {len(result.standings)} learners."
    if not best:
        return rows
    first = max(best, key=lambda s: s.metrics["accuracy"] or 0.0)
    return f"{rows} Highest accuracy: {_safe(first.name, 60)}, {first.metrics['accuracy']:.4f}."


def _bound(result: Result) -> str:
    bounds = [(s.auc_bound, s.name) for s in result.standings if s.auc_bound is not None]
    if not bounds:
        return ""
    bound, name = max(bounds)
    return f" AUC: off by at most {bound:.1e} ({_safe(name, 60)}), less for the others."


def _table(result: Result) -> str:
    heads, rows = cells(result)
    lines = [f'<th scope="col">{_safe(head)}</th>' for head in heads]
    body = []
    for row in rows:
        first, *others = (f"<b>{_safe(c.text)}</b>" if c.best else _safe(c.text) for c in row)
        body.append(f'<tr><th scope="row">{first}</th>' + "".join(f"<td>{c}</td>" for c in others) + "</tr>")
    return (
        f'<div class="wide"><table><thead><tr>{"".join(lines)}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table></div>"
    )


def _alarms(result: Result) -> str:
    pairs = {}
    for standing in result.standings:
        some = ", ".join(f"{row:,}" for row in standing.alarms[:40])
        more = f" and {len(standing.alarms) - 40:,} more" if len(standing.alarms) > 40 else ""
        pairs[standing.name] = f"{len(standing.alarms):,}: {some}{more}" if standing.alarms else "none"
    table = _pairs(pairs, longest=1000)
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


def _pairs(pairs: Mapping[str, Any], longest: int = 500) -> str:
    rows = "".join(
        f'<tr><th scope="row">{_safe(key)}</th><td>{_safe(value, longest)}</td></tr>'
        for key, value in pairs.items()
    )
    return f'<div class="wide"><table class="settings"><tbody>{rows}</tbody></table></div>'
