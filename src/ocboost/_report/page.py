"""HTML pages that stand alone: no scripts, no network, readable in light and dark.

The pages are the templates beside this module. Every expression in them is escaped; only figures, which
matplotlib has drawn, are put in as markup.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from ocboost._report.figures import COLOURS, as_svg, require_matplotlib
from ocboost.errors import MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jinja2 import Environment
    from matplotlib.figure import Figure


def require_packages() -> None:
    """Raise `MissingExtraError` where figures or pages cannot be made; call it before long work."""
    require_matplotlib()
    _templates()


@cache
def _templates() -> Environment:
    try:
        from jinja2 import Environment, FunctionLoader, StrictUndefined
    except ModuleNotFoundError as error:
        raise MissingExtraError("jinja2", "plot", "Writing pages") from error
    folder = resources.files(__package__) / "templates"
    environment = Environment(
        loader=FunctionLoader(lambda name: (folder / name).read_text("utf-8")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"line": printable, "ink": ink, "kind": _kind}
    environment.globals["inline_svg"] = inline_svg
    return environment


def html_page(title: str, blocks: Sequence[Any]) -> str:
    """A whole page: its head with the style, a heading, and the blocks of a document."""
    page = _templates().get_template("page.html")
    return page.render(title=title, blocks=blocks, colours=COLOURS).lstrip()


def html_block(block: Any) -> str:
    """One block of a document as HTML."""
    macros: Any = _templates().get_template("blocks.html").module
    return str(getattr(macros, _kind(block))(block))


def _kind(block: Any) -> str:
    return type(block).__name__.lower()


def inline_svg(figure: Figure, *, label: str, prefix: str) -> str:
    """A figure as an SVG element whose colours follow light and dark.

    ``label`` says what it shows to those who do not see it. ``prefix`` is put before each id, so that two
    figures on a page share none.
    """
    from markupsafe import Markup, escape

    patches = [figure.patch, *(axes.patch for axes in figure.axes)]
    before = [patch.get_alpha() for patch in patches]
    try:
        for patch in patches:
            patch.set_alpha(0.0)
        text = as_svg(figure).decode()
    finally:
        for patch, alpha in zip(patches, before, strict=True):
            patch.set_alpha(alpha)
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'\bid="', f'id="{prefix}-', text)
    text = re.sub(r'(href="#|url\(#)', rf"\1{prefix}-", text)
    for name, (colour, _) in COLOURS.items():
        text = re.sub(rf"((?:fill|stroke): ?){colour}\b", rf"\1var(--{name})", text)
    described = f'<svg role="img" aria-label="{escape(printable(label, 2000))}" '
    return Markup(text.replace("<svg ", described, 1))  # drawn by matplotlib, which escapes names


def ink(colour: str) -> str:
    """A colour in CSS: by its name where it has one, so that it follows light and dark.

    >>> ink("#1f2328"), ink("#123456")
    ('var(--ink)', '#123456')
    """
    return next((f"var(--{name})" for name, (light, _) in COLOURS.items() if light == colour), colour)


def printable(text: object, longest: int = 200) -> str:
    r"""Text in one line: what cannot be printed becomes a dot, what is too long is cut.

    >>> printable("a\nb"), printable("abcdef", 4)
    ('a·b', 'abc…')
    """
    clean = "".join(letter if letter.isprintable() else "·" for letter in str(text))
    return clean if len(clean) <= longest else clean[: longest - 1] + "…"
