"""What any page of ours needs: it stands alone, without scripts or network, on light and dark paper."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from ocboost._report.figures import (
    BLUES,
    FAINT,
    GREEN,
    GREY,
    HUES,
    INK,
    LANE,
    ORANGE,
    PALE,
    PINK,
    PURPLE,
    RED,
    render,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The figure's colours by name, on white and on black paper: each follows the reader's choice.
COLOURS = {
    "ink": (INK, "#e6edf3"),
    "grey": (GREY, "#9198a1"),
    "faint": (FAINT, "#30363d"),
    "pale": (PALE, "#656c76"),
    "lane": (LANE, "#262c36"),
    "red": (RED, "#ff7b72"),
    "palest": (BLUES[0], "#47719f"),
    "light": (BLUES[1], "#4a8fdb"),
    "blue": (BLUES[2], "#6cb2ff"),
    "deep": (BLUES[3], "#b6e0ff"),
    "green": (GREEN, "#3fb950"),
    "orange": (ORANGE, "#f0883e"),
    "pink": (PINK, "#6e3630"),
    "purple": (PURPLE, "#b392f0"),
    "brown": (HUES["brown"], "#d18a5f"),
    "teal": (HUES["teal"], "#39c5cf"),
    "magenta": (HUES["magenta"], "#f778ba"),
    "rose": (HUES["rose"], "#ff8fa0"),
    "olive": (HUES["olive"], "#c9be3a"),
    "sky": (HUES["sky"], "#58b4ea"),
    "mauve": (HUES["mauve"], "#cf8ac4"),
    "slate": (HUES["slate"], "#93a9bd"),
    "ochre": (HUES["ochre"], "#e3b341"),
    "sea": (HUES["sea"], "#2fb3ab"),
    "clay": (HUES["clay"], "#d09f96"),
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
h3 { font-size: 1rem; margin: 1.6rem 0 .5rem; }
ul { max-width: 46rem; padding-left: 1.3rem; }
pre { background: var(--shade); padding: .6rem .9rem; white-space: pre-wrap; overflow-wrap: anywhere; }
figcaption { margin: .4rem 0 1.4rem; }
p { max-width: 46rem; margin: .5rem 0; }
.lead, .small { color: var(--grey); }
.small { font-size: .875rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .92rem; }
th, td { padding: .38rem .6rem; text-align: right; white-space: nowrap; }
thead th { white-space: normal; vertical-align: bottom; }
tr { border-bottom: 1px solid var(--faint); }
th { font-weight: 600; color: var(--grey); }
th:first-child, td:first-child { text-align: left; white-space: normal; overflow-wrap: anywhere; }
tbody th { color: var(--ink); font-weight: 400; min-width: 9rem; }
.words { text-align: left; white-space: normal; min-width: 9rem; }
.dense { font-size: .78rem; }
.dense th, .dense td { padding: .3rem .25rem; }
.dense thead th + th { writing-mode: vertical-rl; transform: rotate(180deg); text-align: left;
  white-space: nowrap; }
.dense caption { font-size: .92rem; }
.settings th, .settings td { text-align: left; white-space: normal; vertical-align: top; }
.settings td { overflow-wrap: anywhere; }
.note { border-left: 3px solid var(--orange); background: var(--shade); padding: .5rem .9rem;
  max-width: 46rem; }
caption { text-align: left; font-weight: 600; padding: 1rem 0 .3rem; }
.quiet th, .quiet td, tbody .quiet th { color: var(--grey); font-size: .86rem; }
tbody .quiet th { padding-left: 1.6rem; }
summary { cursor: pointer; }
figure { margin: 0; }
.legend { columns: 15rem; column-gap: 1.6rem; max-width: none; list-style: none; margin: .6rem 0; padding: 0;
  font-size: .875rem; font-variant-numeric: tabular-nums; }
.legend li { break-inside: avoid; padding: .08rem 0; }
.legend svg { display: inline-block; width: 38px; min-width: 0; vertical-align: middle; }
.legend b { margin: 0 .3rem; font-weight: 600; }
figure .wide svg { display: block; width: 100%; min-width: 44rem; height: auto; }
@media print {
  body { max-width: none; padding: 0; font-size: 11pt; }
  .wide { overflow: visible; }
  figure .wide svg { min-width: 0; }
  table, figure, tr { break-inside: avoid; }
  h2 { break-after: avoid; }
}
"""


def html_page(title: str, parts: Iterable[str]) -> str:
    """A whole page: its head with the style, a heading, and the parts of its body, which are HTML."""
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{safe(title)}</title>",
            f"<style>{STYLE}</style></head><body>",
            f"<h1>{safe(title)}</h1>",
            *parts,
            "</body></html>\n",
        ]
    )


def inline_svg(figure: Figure, *, label: str, prefix: str) -> str:
    """A figure as an SVG element: text as text, ids of its own, inks that follow light and dark.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        Drawn with the inks of `COLOURS` on white.
    label : str
        What it shows, for those who do not see it.
    prefix : str
        Put before each id, so that two figures on a page share none.
    """
    from matplotlib import rc_context

    patches = [figure.patch, *(axes.patch for axes in figure.axes)]
    before = [patch.get_alpha() for patch in patches]
    try:
        for patch in patches:
            patch.set_alpha(0.0)
        with rc_context({"svg.fonttype": "none"}):
            text = render(figure, "figure")["figure.svg"].decode()
    finally:
        for patch, alpha in zip(patches, before, strict=True):
            patch.set_alpha(alpha)
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'\bid="', f'id="{prefix}-', text)
    text = re.sub(r'(href="#|url\(#)', rf"\1{prefix}-", text)
    for name, (colour, _) in COLOURS.items():
        text = re.sub(rf"((?:fill|stroke): ?){colour}\b", rf"\1var(--{name})", text)
    text = text.replace("'DejaVu Sans'", "'DejaVu Sans', Verdana, sans-serif")
    return text.replace("<svg ", f'<svg role="img" aria-label="{safe(label, 2000)}" ', 1)


def ink(colour: str) -> str:
    """A colour in CSS: by its name where it has one, so that it follows light and dark.

    >>> ink(INK), ink("#123456")
    ('var(--ink)', '#123456')
    """
    return next((f"var(--{name})" for name, (light, _) in COLOURS.items() if light == colour), colour)


def pairs(named: Mapping[str, Any], longest: int = 500) -> str:
    """A table of names and what they stand for; any text is only text."""
    rows = "".join(
        f'<tr><th scope="row">{safe(key)}</th><td>{safe(value, longest)}</td></tr>'
        for key, value in named.items()
    )
    return f'<div class="wide"><table class="settings"><tbody>{rows}</tbody></table></div>'


def safe(text: object, longest: int = 200) -> str:
    """Text in one line that HTML shows as it is.

    >>> safe("a < b & c")
    'a &lt; b &amp; c'
    """
    return escape(printable(text, longest), quote=True)


def printable(text: object, longest: int = 200) -> str:
    r"""Text in one line: what cannot be printed becomes a dot, what is too long is cut.

    >>> printable("a\nb"), printable("abcdef", 4)
    ('a·b', 'abc…')
    """
    clean = "".join(letter if letter.isprintable() else "·" for letter in str(text))
    return clean if len(clean) <= longest else clean[: longest - 1] + "…"
