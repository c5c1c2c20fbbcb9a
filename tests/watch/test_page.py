"""The page's files, and the page in one file: nothing from elsewhere, and texts that stay texts."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser

import pytest

from ocboost._report.figures import COLOURS
from ocboost._watch.page import one_file, static_files
from tests.support.documents import comparison_document, run_document

OWN = ["/page/dom.js", "/page/charts.js", "/page/sections.js", "/page/service.js", "/page/page.js"]
SINKS = [
    "innerHTML",
    "outerHTML",
    "insertAdjacentHTML",
    "document.write",
    "eval(",
    "Function(",
    "createContextualFragment",
    "DOMParser",
    "srcdoc",
    'setAttribute("style"',
    'setAttribute("on',
    "cssText",
]
ALLOWED_ADDRESSES = {"http://www.w3.org/2000/svg", "https://github.com/leeoniya/uPlot"}
HOSTILE = [
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "]]>",
    "&lt;b&gt;",
    "\u2028\u2029",
    "\ud800",
    '"}',
    "\\u003c",
    "\x00",
]


class Elements(HTMLParser):
    """Elements with what is in scripts and styles."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.found = []
        self.inside = False
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs), []))
        self.inside = True

    def handle_endtag(self, tag):
        self.inside = False

    def handle_data(self, data):
        if self.inside:
            self.found[-1][2].append(data)

    def contents(self, tag):
        return [(attributes, "".join(text)) for name, attributes, text in self.found if name == tag]


def text_of(path):
    return static_files()[path][0].decode()


def document_in(page):
    return next(text for attributes, text in Elements(page).contents("script") if attributes.get("id"))


# Files -----------------------------------------------------------------------------------------------------


def test_files_have_their_paths_and_media_types():
    types = {path: media for path, (_, media) in static_files().items()}
    assert types["/"] == "text/html; charset=utf-8"
    assert types["/page/page.css"] == "text/css; charset=utf-8"
    assert types["/page/uPlot-LICENSE.txt"] == "text/plain; charset=utf-8"
    assert {types[path] for path in OWN} == {"text/javascript; charset=utf-8"}


def test_every_file_that_the_page_asks_for_is_there_and_others_are_not():
    page = text_of("/")
    asked = {f"/{name}" for name in re.findall(r'(?:src|href)="(page/[^"]+)"', page)}
    assert asked | {"/", "/page/uPlot-LICENSE.txt"} == set(static_files())


@pytest.mark.parametrize("path", static_files())
def test_no_file_names_another_host(path):
    text = text_of(path)
    assert set(re.findall(r"\w+://[\w./-]+", text)) <= ALLOWED_ADDRESSES
    assert not re.search(r"""["'(]//""", text)
    assert "@import" not in text


@pytest.mark.parametrize("path", OWN)
def test_no_script_makes_markup_of_a_text(path):
    text = text_of(path)
    assert text.startswith('"use strict";')
    assert [sink for sink in SINKS if sink in text] == []


def test_the_page_has_nothing_inline():
    for tag, attributes, text in Elements(text_of("/")).found:
        assert not [name for name in attributes if name.startswith("on") or name == "style"], (
            tag,
            attributes,
        )
        assert tag != "style"
        if tag == "script":
            assert "src" in attributes or "".join(text).strip() == ""


def test_ids_are_there_once_and_every_id_that_scripts_look_up_is_there():
    page = text_of("/")
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    looked_up = {name for path in OWN for name in re.findall(r'byId\("([^"]+)"\)', text_of(path))}
    named = {
        name
        for words in re.findall(r'(?:aria-labelledby|aria-describedby|for)="([^"]+)"', page)
        for name in words.split()
    }
    assert looked_up
    assert named
    assert looked_up | named <= set(ids)


def test_uplot_comes_with_its_licence():
    licence = text_of("/page/uPlot-LICENSE.txt")
    assert "Copyright (c) 2022 Leon Sorokin" in licence
    assert licence.strip() in one_file(run_document())


def test_colours_are_those_of_the_reports():
    css = text_of("/page/page.css")
    light, dark = css.split("prefers-color-scheme: dark", 1)
    defined = dict(re.findall(r"--(\w+): (#\w+);", light))
    assert defined == {name: COLOURS[name][0] for name in defined}
    assert dict(re.findall(r"--(\w+): (#\w+);", dark)) == {name: COLOURS[name][1] for name in defined}
    used = set(re.findall(r"var\(--(\w+)\)", css))
    drawn = set(re.findall(r'colour: "(\w+)"', text_of("/page/charts.js")))
    assert used | drawn <= set(defined)


# One file --------------------------------------------------------------------------------------------------


def policy_of(page):
    metas = [attributes for attributes, _ in Elements(page).contents("meta")]
    (policy,) = [each["content"] for each in metas if each.get("http-equiv") == "Content-Security-Policy"]
    return {words.split()[0]: words.split()[1:] for words in policy.split("; ")}


def digest(text):
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def test_scripts_and_styles_of_the_file_are_allowed_by_their_hashes_alone():
    page = one_file(run_document())
    elements, policy = Elements(page), policy_of(page)
    scripts = [text for attributes, text in elements.contents("script") if "type" not in attributes]
    styles = [text for _, text in elements.contents("style")]
    assert len(scripts) == len(OWN) + 1
    assert policy["script-src"] == [digest(text) for text in scripts]
    assert policy["style-src"] == [digest(text) for text in styles]
    assert policy["default-src"] == ["'none'"]
    assert "connect-src" not in policy


def test_the_file_refers_to_nothing():
    for tag, attributes, _ in Elements(one_file(comparison_document())).found:
        assert "src" not in attributes, tag
        assert attributes.get("href", "#").startswith(("#", "data:,"))


def test_the_policy_comes_before_anything_that_it_rules():
    page = one_file(run_document())
    assert page.index("Content-Security-Policy") < page.index("<style>") < page.index("<script>")


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_leaves_its_place(text):
    document = {**run_document(), "title": text, "classes": [text], "hypotheses": [{text: text}]}
    page = one_file(document)
    plain = one_file(run_document())
    assert page.count("<") == plain.count("<")
    assert page.count("&") == plain.count("&")
    found = document_in(page)
    assert found.isascii()
    assert found.isprintable()
    assert json.loads(found) == document


def test_numbers_that_json_does_not_have_become_null():
    values = [float("nan"), float("inf"), -float("inf"), 0.5, 3, True, None]
    found = json.loads(document_in(one_file({"format": 1, "a": {"b": tuple(values)}})))
    assert found["a"]["b"] == [None, None, None, 0.5, 3, True, None]
