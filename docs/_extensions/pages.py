"""Pages as the code host shows them: links and pictures of Markdown files that are written for both.

A page of ``PROJECT`` takes its text from a file outside ``docs/``. Every relative link is then made to lead
to the page of the site that has the file, or offers the file itself. ``<picture>`` with a dark source becomes
a picture of Markdown, and a picture that has a dark twin (``name-dark.svg`` beside ``name.svg`` or
``name-light.svg``) is shown by the colours of the page.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

logger = logging.getLogger(__name__)

# pages of the site, and the files outside docs/ that they show
PROJECT = {
    "project/benchmarks": "benchmarks/README.md",
    "project/changelog": "CHANGELOG.md",
    "project/contributing": "CONTRIBUTING.md",
    "project/examples": "examples/README.md",
    "project/experiments": "experiments/README.md",
    "project/security": "SECURITY.md",
}
LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\]]*\])*\]\()([^)\s]+)((?:\s+\"[^\"]*\")?\))")
PICTURE = re.compile(r"<picture>.*?<img\s+([^>]*?)/?>.*?</picture>", re.DOTALL)
ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')


def read_page(app: Sphinx, docname: str, source: list[str]) -> None:
    """Take the text of a page, from outside ``docs/`` if it lies there, with links as the site has them."""
    docs = Path(app.srcdir)
    path = Path(app.env.doc2path(docname))
    if path.suffix != ".md":
        return
    page = path
    if docname in PROJECT:
        path = docs.parent / PROJECT[docname]
        app.env.note_dependency(str(path))
        source[0] = path.read_text(encoding="utf-8")
    lines = PICTURE.sub(_picture, source[0]).splitlines(keepends=True)
    fenced = False
    for at, line in enumerate(lines):
        fenced ^= line.lstrip().startswith("```")
        if not fenced:
            lines[at] = LINK.sub(lambda found: _link(found, path, page, docs), line)
    source[0] = "".join(lines)


def _picture(found: re.Match[str]) -> str:
    given = dict(ATTRIBUTE.findall(found[1]))
    return f"![{given.get('alt', '')}]({given['src']})"


def _link(found: re.Match[str], path: Path, page: Path, docs: Path) -> str:
    """A link of ``path``, as ``page`` has to write it."""
    before, target, after = found.groups()
    place, mark, anchor = target.partition("#")
    if not place or re.match(r"[a-z]+:", place):
        return found[0]
    file = Path(os.path.normpath(path.parent / place))
    shown = {docs.parent / name: docs / f"{docname}.md" for docname, name in PROJECT.items()}
    shown[docs.parent / "README.md"] = docs / "index.md"
    shown |= {name.parent: there for name, there in shown.items() if name.name == "README.md"}
    if file in shown and not before.startswith("!"):
        file = shown[file]
        if file.name == "index.md":
            mark = anchor = ""
    elif not file.is_file():
        logger.warning("no such file: %s", target, location=str(path))
    return f"{before}{os.path.relpath(file, page.parent)}{mark}{anchor}{after}"


class DarkTwins(SphinxTransform):
    """Shows a picture's dark twin where the page is dark."""

    default_priority = 100  # before Sphinx collects pictures

    def apply(self, **kwargs: Any) -> None:
        """Put the dark twin beside each picture that has one."""
        folder = Path(self.env.doc2path(self.env.docname)).parent
        for image in list(self.document.findall(nodes.image)):
            light = Path(image["uri"])
            dark = light.with_stem(f"{light.stem.removesuffix('-light')}-dark")
            if "://" in image["uri"]:
                continue
            if _adapts(folder / light):
                image["classes"] = [*image["classes"], "dark-light"]  # or the theme puts it on white
                continue
            if dark == light or not (folder / dark).is_file():
                continue
            twin = image.deepcopy()
            twin["uri"] = dark.as_posix()
            twin["classes"] = [*twin["classes"], "only-dark"]
            image["classes"] = [*image["classes"], "only-light"]
            image.parent.insert(image.parent.index(image) + 1, twin)


def _adapts(picture: Path) -> bool:
    """Whether a picture has colours of its own for dark pages."""
    return (
        picture.suffix == ".svg"
        and picture.is_file()
        and "prefers-color-scheme" in picture.read_text(encoding="utf-8")
    )


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("source-read", read_page)
    app.add_transform(DarkTwins)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
