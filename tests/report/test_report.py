"""Tables, pages and documents: what every report is made of."""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ElementTree
from importlib import resources
from io import StringIO

import pytest
from matplotlib.figure import Figure
from rich.console import Console

from ocboost._report import document, page, tables
from ocboost._report.document import Code, Heading, Illustration, Items, Key, Notice, Pairs, Paragraph
from ocboost._report.figures import INK, name_lines, render
from ocboost._report.tables import Row, Table
from ocboost.errors import InputError, MissingExtraError
from tests.support.pages import Page, check_light_and_dark, check_stands_alone

STYLE = (resources.files("ocboost._report") / "templates" / "style.css").read_text("utf-8")
HOSTILE = "<script>alert('x')</script>\"&|\x00\n[bold]*_`"
TABLE = Table(
    "Errors",
    ("method", "a|b", "c"),
    (Row(("ours [bold]", "0.10", "1 < 2")), Row(("  theirs", "0.20", ""), quiet=True)),
    "Lower is better.",
)


def figure():
    drawn = Figure(figsize=(3, 2))
    axes = drawn.add_axes((0.1, 0.1, 0.6, 0.8))
    axes.plot([1, 2], [3, 4], color=INK)
    axes.set_title("some words", color=INK)
    return drawn


class TestTables:
    def test_markdown(self):
        assert tables.as_markdown(TABLE) == "\n".join(
            [
                "**Errors**",
                "",
                r"| method | a\|b | c |",
                "| :--- | ---: | ---: |",
                r"| ours \[bold\] | 0.10 | 1 \< 2 |",
                "| *theirs* | *0.20* |  |",
                "",
                "Lower is better.",
            ]
        )

    def test_html(self):
        assert re.sub(r"\n", "", page.html_block(TABLE)) == (
            '<div class="wide"><table><caption>Errors</caption><thead><tr><th scope="col">method</th>'
            '<th scope="col">a|b</th><th scope="col">c</th></tr></thead><tbody>'
            '<tr><th scope="row">ours [bold]</th><td>0.10</td><td>1 &lt; 2</td></tr>'
            '<tr class="quiet"><th scope="row">  theirs</th><td>0.20</td><td></td></tr>'
            '</tbody></table></div><p class="small">Lower is better.</p>'
        )

    def test_wide_tables_fit_a_page(self):
        words = Row(("sea", "OCB, all history; OCB growing, all history", "0.9"))
        html = page.html_block(Table("Best", ("stream", "best", "a"), (words, Row(("elec2", "EG±", "0.8")))))
        assert html.count('<td class="words">') == 2  # the whole column
        assert '<th scope="col" class="words">best</th>' in html
        assert "<td>0.9</td>" in html
        assert "dense" not in html
        many = Table("Streams", tuple(f"stream {k}" for k in range(19)), (Row(tuple("a" * 19)),))
        assert '<table class="dense">' in page.html_block(many)
        assert page.html_block(Table("Nothing", ("a", "b"), ())).count("<th") == 2 + 1  # and thead
        assert "thead th { white-space: normal" in STYLE  # long heads would make a table too wide
        assert ".words { text-align: left; white-space: normal" in STYLE
        assert ".dense th, .dense td { padding" in STYLE

    def test_text_and_fewer_columns(self):
        assert tables.as_text(TABLE) == (
            "Errors\n\nmethod        a|b      c\n-----------------------\nours [bold]  0.10  1 < 2\n"
            "  theirs     0.20\n\nLower is better.\n"
        ).replace("-----------------------", "-" * 24)
        assert tables.without(TABLE, "a|b").columns == ("method", "c")
        assert tables.without(TABLE, "d") is TABLE
        assert tables.width_of(tables.without(TABLE, "c")) < tables.width_of(TABLE)

    def test_rich(self):
        console = Console(file=StringIO(), width=60, force_terminal=True, color_system="standard")
        console.print(tables.as_rich(TABLE))
        lines = console.file.getvalue().splitlines()
        (ours,), (theirs,) = ([line for line in lines if word in line] for word in ("ours", "theirs"))
        assert "[bold]" in ours
        assert "\x1b[2m" in theirs
        assert "\x1b[2m" not in ours
        assert any("Lower is better." in line for line in lines)

    def test_no_number_is_cut_where_there_is_no_room(self):
        wide = Table("t", ("method", "first", "second"), (Row(("ours", "1.234567e-04", "2.345678e-04")),))
        console = Console(file=StringIO(), width=24)
        console.print(tables.as_rich(wide))
        assert "…" not in console.file.getvalue()
        assert "e-04" in console.file.getvalue()

    def test_a_title_is_not_broken_where_heads_are(self):
        console = Console(width=80, file=StringIO())
        title = "A title that is wider than the table below it"
        console.print(tables.as_rich(Table(title, ("a", "two words"), (Row(("b", "1")),)), whole=True))
        lines = [line.rstrip() for line in console.file.getvalue().splitlines()]
        assert title in lines
        assert not any("two words" in line for line in lines)

    def test_no_number_is_broken_over_lines(self):
        wide = Table("t", ("method", "first", "second"), (Row(("ours", "1.234567e-04", "2.345678e-04")),))
        console = Console(file=StringIO(), width=24)
        console.print(tables.as_rich(wide, whole=True), crop=False)
        assert [line.split() for line in console.file.getvalue().splitlines() if "ours" in line] == [
            ["ours", "1.234567e-04", "2.345678e-04"]
        ]

    def test_rows_must_fit(self):
        with pytest.raises(InputError, match=r"'t' must have 2 cells; got 1 in \('x',\)"):
            Table("t", ("a", "b"), (Row(("x",)),))

    def test_hostile_text_stays_in_its_cell(self):
        table = Table(HOSTILE, (HOSTILE, HOSTILE), (Row((HOSTILE, HOSTILE)),), HOSTILE)
        lines = tables.as_markdown(table).splitlines()
        assert len(lines) == 7
        assert [len(re.findall(r"(?<!\\)\|", line)) for line in lines] == [0, 0, 3, 3, 3, 0, 0]
        assert not re.search(r"(?<!\\)<", "".join(lines))
        parsed = Page(page.html_block(table))
        assert "script" not in parsed.tags
        assert len(parsed.cells) == 4
        assert parsed.cells[0] == HOSTILE.replace("\x00", "·").replace("\n", "·")

    def test_without_rich(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "rich.box", None)
        with pytest.raises(MissingExtraError, match=r"pip install .*\[cli\]"):
            tables.as_rich(TABLE)


class TestWithoutJinja2:
    def test_it_says_what_to_install(self, monkeypatch):
        page._templates.cache_clear()
        monkeypatch.setitem(sys.modules, "jinja2", None)
        for use in (page.require_packages, lambda: document.as_html("t", [])):
            with pytest.raises(MissingExtraError, match=r"'jinja2'.*pip install .*\[plot\]"):
                use()


class TestInlineSvg:
    def test_text_inks_and_ids(self):
        svg = page.inline_svg(figure(), label=HOSTILE, prefix="one")
        root = ElementTree.fromstring(svg)
        words = ["".join(each.itertext()) for each in root.iter("{http://www.w3.org/2000/svg}text")]
        assert "some words" in words
        assert root.get("aria-label").startswith("<script>alert")
        assert "var(--ink)" in svg
        assert INK not in svg
        ids = re.findall(r'\bid="([^"]+)"', svg)
        assert ids
        assert all(each.startswith("one-") for each in ids)

    def test_the_figure_stays_as_it_was(self):
        drawn = figure()
        before = render(drawn, "x")
        assert 'fill: #ffffff"' in before["x.svg"].decode()
        page.inline_svg(drawn, label="", prefix="p")
        assert render(drawn, "x") == before


class TestNamesOfLines:
    @pytest.mark.parametrize("scale", ["linear", "log"])
    def test_beside_their_ends_and_apart(self, scale):
        axes = figure().axes[0]
        axes.set_yscale(scale)
        axes.set_ylim(0.01, 1.0)
        name_lines(axes, [(0.1, "middle", INK), (0.1, "same", INK), (2.0, "above", INK), (0.0, "below", INK)])
        at = {text.get_text(): text.get_position()[1] for text in axes.texts}
        assert at["below"] < at["middle"] < at["same"] < at["above"]
        if scale == "log":
            assert (at["middle"] + at["same"]) / 2 == pytest.approx(0.5)
        assert at["same"] - at["middle"] == pytest.approx(1.42 * 12.5 / 72 / 1.6)


BLOCKS = [
    Notice("Look here."),
    Heading("Section"),
    Paragraph("Some sentences."),
    TABLE,
    Illustration("toy", figure(), "a toy", {"The paper:": "goes up.", "Here:": "goes down.", "Silent:": ""}),
    Heading("Part", 3),
    Items(["one", "two"]),
    Pairs({"seed": 7}),
    Code("ocboost --help"),
]


class TestKeys:
    def test_a_page_names_lines_below_the_figure(self):
        keys = [Key("ours <i>", "0.9", INK, (), 2.0), Key("theirs", "0.8", "#123456", (5, 1.5), 1.0)]
        bare = figure()
        bare.axes[0].set_title("bare")
        block = Illustration("f", figure(), "a figure", {"Look:": "here"}, on_page=bare, keys=keys)
        html = document.as_html("Page", [block])
        assert "bare" in html
        assert "some words" not in html
        legend = html[html.index('<ul class="legend">') : html.index("</ul>")]
        assert legend.count("<li>") == 2
        assert "<b>0.9</b> ours &lt;i&gt;" in legend
        assert 'style="stroke: var(--ink)"' in legend  # follows light and dark
        assert 'stroke-dasharray="5 1.5"' in legend
        assert Page(html).text.index("0.9") < Page(html).text.index("0.8")
        assert ".legend {" in STYLE
        assert "legend" not in document.as_markdown("Page", [block])


class TestDocument:
    def test_markdown(self):
        written = document.as_markdown("Title", BLOCKS, pictures_at="figures/")
        before, after = written.split(tables.as_markdown(TABLE))
        assert before == "# Title\n\n> **Look here.**\n\n## Section\n\nSome sentences.\n\n"
        assert after == (
            "\n\n![a toy](figures/toy.png)\n\n**The paper:** goes up.\n\n**Here:** goes down.\n\n### Part\n\n"
            "- one\n- two\n\n- **seed**: 7\n\n    ocboost --help\n"
        )

    def test_html(self):
        written = document.as_html("Title", BLOCKS)
        check_stands_alone(written)
        check_light_and_dark(written)
        parsed = Page(written)
        for words in ("Title", "Look here.", "The paper:", "goes down.", "two", "seed", "ocboost --help"):
            assert words in parsed.text
        assert "Silent" not in parsed.text
        assert {"h1", "h2", "h3", "figcaption", "pre", "li", "caption"} <= set(parsed.tags)
        assert ("p", "class", "note") in parsed.attributes

    def test_hostile_text_is_only_text(self):
        kinds = [Heading, Paragraph, Notice, Code]
        blocks = [kind(HOSTILE) for kind in kinds] + [Items([HOSTILE]), Pairs({HOSTILE: HOSTILE})]
        blocks.append(Illustration("toy", figure(), HOSTILE, {HOSTILE: HOSTILE}))
        parsed = Page(document.as_html(HOSTILE, blocks))
        assert "script" not in parsed.tags
        assert not [name for _, name, _ in parsed.attributes if name.startswith("on")]
        assert parsed.text.count("alert") == 2 + 4 + 1 + 2 + 2  # titles, single texts, item, pair, saying
        written = document.as_markdown(HOSTILE, blocks)
        assert "\x00" not in written
        code = "    " + HOSTILE.replace("\x00", "·").replace("\n", "·")  # in such a line nothing is markup
        assert code in written.splitlines()
        assert not re.search(r"(?<!\\)[<`]", written.replace(code, ""))
