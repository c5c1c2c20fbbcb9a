"""A document in blocks, written as an HTML page or as Markdown: the same words in both.

A new kind of block is a class here, a macro of its name in ``templates/blocks.html``, and a line in
`_MARKDOWN`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ocboost._report import page, tables
from ocboost._report.tables import Table, in_markdown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_LETTERS = 4000  # of a paragraph; the templates have the same


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
    """A list of sentences."""

    texts: Sequence[str]


@dataclass(frozen=True)
class Pairs:
    """Names and their values."""

    named: Mapping[str, Any]


@dataclass(frozen=True)
class Code:
    """A command, one line."""

    text: str


@dataclass(frozen=True)
class Key:
    """One line of a figure's legend: name and number of a curve, and how it is drawn.

    ``dash`` holds the lengths of strokes and gaps in line widths, nothing for a solid line; ``width`` is in
    points.
    """

    text: str
    value: str
    colour: str
    dash: tuple[float, ...]
    width: float


@dataclass(frozen=True)
class Illustration:
    """A figure with remarks below it, each by who makes it.

    A page shows ``on_page`` instead, if there is one, with ``keys`` below it as text, which fits any width.
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
    return page.html_page(title, blocks)


def as_markdown(title: str, blocks: Sequence[Block], *, pictures_at: str = "", kind: str = "png") -> str:
    """Markdown that shows the figures' files of a kind, which lie at `pictures_at`, by default beside it."""
    written = [f"# {in_markdown(title)}"]
    for block in blocks:
        if isinstance(block, Illustration):
            written.append(f"![{_text(block.alt)}]({pictures_at}{block.stem}.{kind})")
            written += [
                f"**{in_markdown(who)}** {_text(said)}" for who, said in block.sayings.items() if said
            ]
        else:
            written.append(_MARKDOWN[type(block)](block))
    return "\n\n".join(written) + "\n"


def _text(text: object) -> str:
    return in_markdown(text, MAX_LETTERS)


_MARKDOWN: dict[type, Callable[[Any], str]] = {
    Heading: lambda block: f"{'#' * block.level} {in_markdown(block.text)}",
    Paragraph: lambda block: _text(block.text),
    Notice: lambda block: f"> **{_text(block.text)}**",
    Items: lambda block: "\n".join(f"- {_text(text)}" for text in block.texts),
    Pairs: lambda block: "\n".join(f"- **{in_markdown(k)}**: {_text(v)}" for k, v in block.named.items()),
    Code: lambda block: "    " + page.printable(block.text, MAX_LETTERS),
    Table: tables.as_markdown,
}
