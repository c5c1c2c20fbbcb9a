"""A document in blocks, written as a page that stands alone or as Markdown: the same words in both."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ocboost._report import page, tables
from ocboost._report.page import safe
from ocboost._report.tables import Table, in_markdown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LONGEST = 4000


@dataclass(frozen=True)
class Heading:
    """The heading of a section (level 2) or of a part of one (level 3)."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Paragraph:
    """Sentences."""

    text: str


@dataclass(frozen=True)
class Notice:
    """What must not be overlooked."""

    text: str


@dataclass(frozen=True)
class Items:
    """Sentences, each on its own."""

    texts: Sequence[str]


@dataclass(frozen=True)
class Pairs:
    """Names and what they stand for."""

    named: Mapping[str, Any]


@dataclass(frozen=True)
class Code:
    """What to type, one line."""

    text: str


@dataclass(frozen=True)
class Key:
    """What one line of a figure stands for.

    Parameters
    ----------
    text, value : str
        Its name, and its number.
    colour : str
    dash : tuple of float
        Lengths of strokes and gaps, in widths of the line; an empty one is a solid line.
    width : float
        Of the line, in points.
    """

    text: str
    value: str
    colour: str
    dash: tuple[float, ...]
    width: float


@dataclass(frozen=True)
class Illustration:
    """A figure, and below it who says what about it.

    A page shows ``on_page`` in its place, if there is one, and ``keys`` below it as text, which any width
    can hold.
    """

    stem: str
    figure: Figure
    alt: str
    sayings: Mapping[str, str]
    on_page: Figure | None = None
    keys: Sequence[Key] = ()


Block = Heading | Paragraph | Notice | Items | Pairs | Code | Illustration | Table


def as_html(title: str, blocks: Sequence[Block]) -> str:
    """A page with its figures inside it."""
    return page.html_page(title, (_HTML[type(block)](block) for block in blocks))


def as_markdown(title: str, blocks: Sequence[Block], *, pictures_at: str = "") -> str:
    """Markdown that shows the figures' PNG files, which lie at `pictures_at`, by default beside it."""
    written = [f"# {in_markdown(title)}"]
    for block in blocks:
        if isinstance(block, Illustration):
            written.append(_picture(block, pictures_at))
        else:
            written.append(_MARKDOWN[type(block)](block))
    return "\n\n".join(written) + "\n"


def _illustration(block: Illustration) -> str:
    svg = page.inline_svg(block.on_page or block.figure, label=block.alt, prefix=block.stem)
    below = "".join(
        f"<p><b>{safe(who)}</b> {safe(said, _LONGEST)}</p>" for who, said in block.sayings.items() if said
    )
    legend = f'<ul class="legend">{"".join(map(_key, block.keys))}</ul>' if block.keys else ""
    return f'<figure><div class="wide">{svg}</div>{legend}<figcaption>{below}</figcaption></figure>'


def _key(key: Key) -> str:
    dash = (
        f' stroke-dasharray="{" ".join(f"{length * key.width:g}" for length in key.dash)}"'
        if key.dash
        else ""
    )
    line = f'<line x1="1" y1="5" x2="37" y2="5" stroke-width="{key.width * 1.2:g}"{dash}/>'
    ink = f'style="stroke: {page.ink(key.colour)}"'
    sample = f'<svg width="38" height="10" aria-hidden="true" {ink}>{line}</svg>'
    return f"<li>{sample} <b>{safe(key.value)}</b> {safe(key.text)}</li>"


def _picture(block: Illustration, pictures_at: str) -> str:
    image = f"![{in_markdown(block.alt, _LONGEST)}]({pictures_at}{block.stem}.png)"
    said = [
        f"**{in_markdown(who)}** {in_markdown(said, _LONGEST)}" for who, said in block.sayings.items() if said
    ]
    return "\n\n".join([image, *said])


_HTML: dict[type, Callable[[Any], str]] = {
    Heading: lambda block: f"<h{block.level}>{safe(block.text)}</h{block.level}>",
    Paragraph: lambda block: f"<p>{safe(block.text, _LONGEST)}</p>",
    Notice: lambda block: f'<p class="note">{safe(block.text, _LONGEST)}</p>',
    Items: lambda block: (
        "<ul>" + "".join(f"<li>{safe(text, _LONGEST)}</li>" for text in block.texts) + "</ul>"
    ),
    Pairs: lambda block: page.pairs(block.named, _LONGEST),
    Code: lambda block: f'<pre class="wide"><code>{safe(block.text, _LONGEST)}</code></pre>',
    Illustration: _illustration,
    Table: tables.as_html,
}
_MARKDOWN: dict[type, Callable[[Any], str]] = {
    Heading: lambda block: f"{'#' * block.level} {in_markdown(block.text)}",
    Paragraph: lambda block: in_markdown(block.text, _LONGEST),
    Notice: lambda block: f"> **{in_markdown(block.text, _LONGEST)}**",
    Items: lambda block: "\n".join(f"- {in_markdown(text, _LONGEST)}" for text in block.texts),
    Pairs: lambda block: "\n".join(
        f"- **{in_markdown(key)}**: {in_markdown(value, _LONGEST)}" for key, value in block.named.items()
    ),
    Code: lambda block: "    " + page.printable(block.text, _LONGEST),
    Table: tables.as_markdown,
}
