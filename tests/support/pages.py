"""HTML pages as tests look at them."""

from __future__ import annotations

import re
from html.parser import HTMLParser

VOID = {"meta", "br", "hr", "img", "input", "link"}


class Page(HTMLParser):
    """What a page holds: its tags, their attributes, and its text; every tag must be closed in its turn."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.words = [], [], []
        self.open, self.cells = [], []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)
        if {"td", "th"} & set(self.open):
            self.cells[-1] += data

    @property
    def text(self):
        return " ".join(self.words)


def check_stands_alone(page):
    """No scripts, nothing from elsewhere, and whatever is referred to by id is on the page once."""
    parsed = Page(page)
    assert not {"script", "link", "img", "iframe", "object", "image"} & set(parsed.tags)
    assert {"svg", "style", "table"} <= set(parsed.tags)
    for tag, name, value in parsed.attributes:
        assert not name.startswith("on")
        if "//" in value:
            assert name.startswith("xmlns"), (tag, name, value)
        if name in ("href", "xlink:href", "src"):
            assert value.startswith("#")
    assert "@import" not in page
    assert set(re.findall(r"url\((.)", page)) <= {"#"}
    assert page.count("<!") == 1  # its own doctype: none of the figures'
    assert "<metadata" not in page
    assert "<?xml" not in page
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert ids
    assert len(ids) == len(set(ids))
    used = set(re.findall(r'href="#([^"]+)"', page)) | set(re.findall(r"url\(#([^)]+)\)", page))
    assert used <= set(ids)


def check_light_and_dark(page):
    """Both papers, and inks by name."""
    assert "prefers-color-scheme: dark" in page
    assert "@media print" in page
    svg = page[page.index("<svg") : page.index("</svg>")]
    assert "var(--ink)" in svg
    assert "#1f2328" not in svg
    used, defined = set(re.findall(r"var\(--(\w+)\)", page)), set(re.findall(r"--(\w+):", page))
    assert used <= defined
