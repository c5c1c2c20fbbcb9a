"""Checks that every link inside the site leads to a file that is there, and to a place on that page.

    python docs/check_links.py docs/_build/html

Names each that does not, and exits with 1.
"""

from __future__ import annotations

import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The links of a page, and the places on it that links may name."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.places: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag links to, and the names it gives."""
        for name, value in attrs:
            if value and (name in ("href", "src", "srcset", "poster")):
                self.links.add(value)
            elif value and (name == "id" or (name == "name" and tag == "a")):
                self.places.add(value)


@cache
def page_at(path: Path) -> Page:
    """A page, read once."""
    return Page(path)


def broken_links(site: Path) -> list[str]:
    """What leads nowhere, with the page that has it."""
    found = []
    for path in sorted(path for path in site.rglob("*.html") if "_static" not in path.parts):
        for link in sorted(page_at(path).links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_file():
                found.append(f"{path.relative_to(site)}: {link}: no such file")
            elif parts.fragment and target.suffix == ".html":
                place = unquote(parts.fragment)
                if place not in page_at(target).places:
                    found.append(f"{path.relative_to(site)}: {link}: no such place on that page")
    return found


def main(words: list[str]) -> int:
    """Check the site in a folder."""
    site = Path(words[0]).resolve()
    found = broken_links(site)
    for line in found:
        print(line, file=sys.stderr)
    print(f"{len(list(site.rglob('*.html')))} pages, {len(found)} broken links")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
