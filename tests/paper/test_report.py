"""The report on the paper, and the commands that write it."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from matplotlib.figure import Figure

import ocboost.paper
from ocboost import datasets
from ocboost._report.document import as_html, as_markdown
from ocboost._report.figures import INK, render
from ocboost._report.tables import Row, Table
from ocboost._report.tables import as_markdown as table_in_markdown
from ocboost.cli.reproduce import EXPERIMENTS
from ocboost.errors import InputError
from ocboost.paper import erratum, mnist, mnist_section, report, synthetic, synthetic_section
from ocboost.paper.mnist import MnistSettings, run_mnist
from ocboost.paper.section import HEADLINE_COLUMNS, CaptionedFigure, HeadlineRow, Section
from ocboost.paper.synthetic import SyntheticSettings, run_synthetic
from tests.support.cli_runs import ran, refused
from tests.support.pages import Page, check_light_and_dark, check_stands_alone

DIGITS = MnistSettings(n_hypotheses=8, n_sample=40, start=100, every=50, order=3, max_images=400, quick=True)
MARGINS = SyntheticSettings(runs=2, matrices=2, examples_per_matrix=400, start=100, every=150, quick=True)
ABOUT = {
    "command": "ocboost reproduce all --quick --seed 0",
    "versions": {"numpy": "2.0", "river": None},
    "seconds": {"everything, with drawing": 12.5},
}
HOSTILE = "<script>alert('x')</script>\"&|\x00\n*_`"


def drawn() -> Figure:
    figure = Figure(figsize=(3, 2))
    figure.add_axes((0.1, 0.1, 0.8, 0.8)).plot([1, 2], [3, 4], color=INK)
    return figure


def stand_in(text: str = "faces", *, results: dict[str, object] | None = None, **changes: object) -> Section:
    """A section as the face experiment would make it."""
    made = Section(
        title=f"Faces: {text}",
        about=f"About {text}.",
        findings=(f"A finding on {text}.",),
        tables=(Table(f"Of {text}", ("method", "error"), (Row((text, "0.125")),), f"Below {text}."),),
        figure=CaptionedFigure("faces", f"{text} drawn", f"said of {text}.", drawn(), f"shown of {text}."),
        seeds=f"Seeds of {text}.",
        headline=(HeadlineRow(f"Faces, {text}", (0.4, 0.7, 0.3, 0.5, 0.1, 0.2), ".1f"),),
        results={
            "experiment": "faces",
            "quick": True,
            "source": f"Drawn {text}.",
            "fallback": True,
            "chosen_here": {"filters": f"some {text}"},
            "seconds": {"finding filters": 3.25, "total": 4.5},
            "notes": [f"A note on {text}."],
            **(results or {}),
        },
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def page_of(sections, **about):
    return as_html(report.TITLE, report.report_blocks(sections, **{**ABOUT, **about}))


def markdown_of(sections, **about):
    return as_markdown(report.TITLE, report.report_blocks(sections, **{**ABOUT, **about}))


@pytest.fixture(scope="module")
def margins():
    return run_synthetic(MARGINS)


@pytest.fixture(scope="module")
def digits():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mnist, "load_mnist", lambda data: datasets.load_mnist(data, online=False))
        return run_mnist(DIGITS)


@pytest.fixture(scope="module")
def sections(margins, digits):
    return [synthetic_section.section(margins), mnist_section.section(digits), stand_in()]


@pytest.fixture(scope="module")
def html(sections):
    return page_of(sections)


@pytest.fixture(scope="module")
def markdown(sections):
    return markdown_of(sections)


class TestReport:
    def test_html_stands_alone(self, html):
        check_stands_alone(html)
        check_light_and_dark(html)

    def test_every_cell(self, html, markdown, sections):
        steps = erratum.steps()
        orders = erratum.orders_table(sections[0].results["approximation_error"])
        cells = Page(html).cells
        for table in [
            *(t for section in sections for t in section.tables),
            erratum.small_table(steps),
            orders,
        ]:
            assert table_in_markdown(table) in markdown
            flat = [*table.columns, *(cell for row in table.rows for cell in row.cells)]
            start = next(k for k in range(len(cells)) if cells[k : k + len(flat)] == flat)
            assert start >= 0
        for section in sections:
            for row in section.headline:
                assert list(row.row.cells) in [
                    cells[k : k + len(HEADLINE_COLUMNS)] for k in range(len(cells))
                ]

    def test_every_picture(self, html, markdown, sections):
        assert html.count("<svg ") == 3
        assert re.findall(r"\]\((\w+)\.png\)", markdown) == ["synthetic", "mnist", "faces"]
        text = Page(html).text
        for section in sections:
            assert section.figure.paper_says in text
            assert section.figure.shows in text
            assert f"**The paper:** {section.figure.paper_says}" in markdown
        assert ("svg", "aria-label", "faces drawn") in Page(html).attributes

    def test_words_choices_seeds_times(self, html, markdown, sections):
        page = Page(html)
        for section in sections:
            results = section.results
            shown = (section.about, *section.findings, section.seeds)
            for text in (*shown, *results["notes"], *results["chosen_here"].values()):
                assert text in page.text
            name = results["experiment"]
            for step, spent in results["seconds"].items():
                named = "in all" if step == "total" else step
                assert [f"{name}: {named}", f"{spent:.2f}"] in [
                    page.cells[k : k + 2] for k in range(len(page.cells))
                ]
                assert f"| {name}: {named} | {spent:.2f} |" in markdown
        for text in (
            "12.50",
            "ocboost reproduce all --quick --seed 0",
            "not installed",
            "The erratum at work",
        ):
            assert text in page.text
            assert text in markdown
        assert "DIR is the folder" not in page.text

    def test_summary_follows_from_the_numbers(self, sections):
        two = replace(
            sections[2],
            headline=(
                HeadlineRow("Faces, error", (0.4, 0.8, 0.3, 0.5, 0.1, 0.2), ".1f"),
                HeadlineRow("  in the paper", (0.1, 0.2, None, None, None, None), ".1f", quiet=True),
                HeadlineRow("Faces, 1 - AUC", (1.4e-4, 1.4e-4, 1.5e-4, 1.3e-4, None, None), ".1e"),
                HeadlineRow("Alike when rounded", (0.6321, 0.6319, 0.6320, 0.6322, None, None), ".2f"),
            ),
        )
        text = markdown_of([two])
        assert (
            "Of 3 errors, OCB's is lower than Oza and Russell's in 1 by the paper's theorem, 2 balanced, "
            "1 balanced at full order, 1 with a head. As a share of Oza and Russell's it is "
            "1.000 to 2.000 by the paper's theorem, 0.750 to 1.071 balanced, 0.929 to 1.250 balanced at full "
            "order, 0.250 with a head."
        ) in text
        assert "| Alike when rounded | 0.63 | 0.63 | 0.63 | 0.63 | – | – |" in text
        assert "scales each row of sums so that the total is kept" in text

    def test_summary_of_one_error(self, sections):
        for values, said in (
            (
                (0.4, 0.8, 0.3, 0.5, 0.1, 0.2),
                "OCB's error is lower than Oza and Russell's balanced, with a head.",
            ),
            ((0.4, 0.8, 0.5, 0.5, 0.6, 0.5), "OCB's error is not lower than Oza and Russell's."),
        ):
            one = replace(sections[2], headline=(HeadlineRow("Faces, error", values, ".1f"),))
            text = markdown_of([one])
            assert said in text
            assert "Of 1 errors" not in text

    def test_banners(self, html, markdown, sections):
        assert "> **Quick run: a subset, not the paper's sizes." in markdown
        assert "Quick run: a subset, not the paper's sizes." in Page(html).text
        assert "> **Faces: not the paper's data. Drawn faces.**" in markdown
        assert (
            "> **Digits of scikit-learn: not the paper's data. The digits inside scikit-learn, not MNIST"
            in markdown
        )
        whole = markdown_of([stand_in(results={"quick": False, "fallback": False})])
        assert "Quick run" not in whole
        assert "not the paper's data" not in whole
        assert "Drawn faces." in whole

    def test_the_erratum_without_the_synthetic_part(self):
        text = markdown_of([stand_in()])
        assert "α₂ after one more example" in text
        assert "Synthetic data: mean approximation error" not in text

    def test_markdown_tables_are_well_formed(self, markdown):
        tables = re.findall(r"(?:^\|.*\n)+", markdown, flags=re.MULTILINE)
        assert len(tables) >= 8
        for table in tables:
            widths = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
            assert len(widths) == 1
            assert re.fullmatch(r"\| :---( \| ---:)+ \|", table.splitlines()[1])

    def test_hostile_text_is_only_text(self):
        hostile = stand_in(HOSTILE)
        about = {**ABOUT, "command": HOSTILE, "versions": {HOSTILE: HOSTILE}}
        page = page_of([hostile], **about)
        parsed = Page(page)
        assert set(parsed.tags) == set(Page(page_of([stand_in()])).tags)
        assert "<script" not in page
        assert "\x00" not in page + markdown_of([hostile], **about)

    def test_a_report_is_the_same_twice(self, sections, html):
        assert page_of(sections) == html

    @pytest.mark.parametrize("folder", ["/home/me/data", "data"])
    def test_the_data_folder_is_not_named(self, folder):
        source = f"Windows from the data in '{folder}/faces': 3 faces."
        section = stand_in(results={"source": source, "n": 3, "notes": [source]})
        results = report.without_folder(section, Path(folder)).results
        assert results["source"] == "Windows from the data in 'DIR/faces': 3 faces."
        assert results["notes"] == [results["source"]]
        assert {**results, "source": source, "notes": [source]} == section.results


@pytest.fixture
def faces(monkeypatch):
    """A face experiment that takes no time, instead of the real one."""

    class FacesSettings(SimpleNamespace):
        quick = False

        @classmethod
        def small(cls, *, seed=0):
            return cls(seed=seed, quick=True)

    def run_faces(settings, data, *, cache, progress, cluster):
        progress("finding filters", 1, 2)
        return SimpleNamespace(settings=settings, name="Faces")

    def panel(axes, result, *, compact=False):
        assert compact
        axes.plot([1, 2], [3, 4], color=INK)
        axes.set_ylabel("to be taken away")
        axes.text(0.0, 1.02, "in the title's place", transform=axes.transAxes)

    modules = {
        "faces": {"FacesSettings": FacesSettings, "run_faces": run_faces},
        "faces_section": {
            "section": lambda result: stand_in(),
            "approximation_panel": panel,
            "auc_panel": panel,
        },
    }
    for name, content in modules.items():
        module = ModuleType(f"ocboost.paper.{name}")
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, module.__name__, module)
        monkeypatch.setattr(ocboost.paper, name, module, raising=False)
    return SimpleNamespace(settings=FacesSettings(quick=False), name="Faces")


@pytest.fixture
def small(monkeypatch, tmp_path, faces, margins, digits):
    """All experiments done already: these tests are about the commands."""
    monkeypatch.setattr(synthetic, "run_synthetic", lambda settings, **_: margins)
    monkeypatch.setattr(mnist, "run_mnist", lambda settings, data, **_: digits)
    monkeypatch.setenv("OCBOOST_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("OCBOOST_DATA", raising=False)


class TestPaperFigure:
    def test_four_panels(self, faces, margins, digits, sections):
        results = {"synthetic": margins, "mnist": digits, "faces": faces}
        picture = report.overview(sections, results)
        assert [axes.get_title(loc="left")[0] for axes in picture.figure.axes] == list("abcd")
        assert all(axes.get_ylabel() == "" for axes in picture.figure.axes)
        assert picture.figure.axes[1].get_title(loc="left")[4:].startswith("Digits of scikit-learn")
        names = [text.get_text() for text in picture.figure.axes[1].texts]
        assert {"order 3, theorem", "order 3, balanced"} <= set(names)
        assert picture.shows.endswith("Faces: shown of faces.")
        assert "Quick run" in picture.figure.texts[1].get_text()
        assert render(picture.figure, "figure1")["figure1.png"].startswith(b"\x89PNG")

    def test_names_stay_inside(self, faces, margins, digits):
        figure = report.draw(margins, digits, faces)
        figure.canvas.draw()
        width = figure.bbox.width
        panels = figure.axes
        for axes in panels[:2]:
            edge = panels[1].get_position().x0 * width - 25 if axes is panels[0] else width
            assert axes.texts
            assert all(text.get_window_extent().x1 < edge for text in axes.texts)


@pytest.mark.usefixtures("small")
class TestCommands:
    def test_all(self, tmp_path, capsys):
        out = tmp_path / "out"
        code, printed, err = ran(capsys, "reproduce", "all", "--quick", "--out", out, "--seed", "3")
        assert (code, err) == (0, "ocboost: A note on faces.\n")
        stems = ("figure1", "synthetic", "mnist", "faces")
        figures = {f"{stem}.{kind}" for stem in stems for kind in ("png", "svg")}
        assert {path.name for path in out.iterdir()} == figures | {"results.json", "report.html", "report.md"}
        record = json.loads((out / "results.json").read_text())
        assert record["experiment"] == "all"
        assert [record[name]["experiment"] for name in stems[1:]] == ["synthetic", "mnist", "faces"]
        assert record["command"] == "ocboost reproduce all --quick --seed 3"
        assert {"scikit-learn", "numpy", "pillow"} <= set(record["versions"])
        page = (out / "report.html").read_text()
        check_stands_alone(page)
        assert page.count("<svg ") == 4
        assert "![Four panels: Synthetic" in (out / "report.md").read_text()
        for words in ("Approximation error to batch", "Table 1", "Table 2", "Of faces", "A finding on faces"):
            assert words in printed
        assert "This was a quick run" in printed

    def test_one(self, tmp_path, capsys):
        out = tmp_path / "out"
        assert ran(capsys, "reproduce", "faces", "--no-cache", "--data", tmp_path, "--out", out)[0] == 0
        names = {"faces.png", "faces.svg", "results.json", "report.html", "report.md"}
        assert {path.name for path in out.iterdir()} == names
        record = json.loads((out / "results.json").read_text())
        assert record["experiment"] == "faces"
        assert record["command"] == "ocboost reproduce faces --data DIR --seed 0 --no-cache"
        for name in ("report.html", "report.md", "results.json"):
            assert str(tmp_path) not in (out / name).read_text()

    def test_the_terminal_says_where_the_data_are(self, tmp_path, monkeypatch, capsys):
        source = f"Windows from '{tmp_path}/faces'."
        module = sys.modules["ocboost.paper.faces_section"]
        monkeypatch.setattr(module, "section", lambda result: stand_in(results={"source": source}))
        out = tmp_path / "out"
        code, printed, _ = ran(capsys, "reproduce", "faces", "--data", tmp_path, "--out", out)
        assert code == 0
        assert source in printed
        assert "Windows from 'DIR/faces'." in (out / "report.md").read_text()

    @pytest.mark.parametrize("option", ["--seed", "--runs"])
    @pytest.mark.parametrize("text", ["1.5", "1e3", "one"])
    def test_only_whole_numbers(self, option, text, tmp_path, capsys):
        code, _, err = ran(capsys, "reproduce", "synthetic", option, text, "--out", tmp_path / "out")
        assert code != 0
        assert f"whole number; got '{text}'" in " ".join(err.replace("│", "").split())
        assert not (tmp_path / "out").exists()

    def test_default_folder(self, tmp_path, monkeypatch, capsys):
        monkeypatch.chdir(tmp_path)
        assert ran(capsys, "reproduce", "all")[0] == 0
        assert (tmp_path / "results" / "paper" / "report.html").is_file()

    @pytest.mark.parametrize(("more", "stored"), [([], True), (["--no-cache"], False)])
    def test_interrupted(self, more, stored, tmp_path, monkeypatch, capsys):
        def interrupt(*_, **__):
            raise KeyboardInterrupt

        monkeypatch.setattr(mnist, "run_mnist", interrupt)
        code, _, err = ran(capsys, "reproduce", "all", "--out", tmp_path / "out", *more)
        assert code == 130
        assert "nothing was written" in err
        assert ("the next run resumes from the cache" in err) == stored
        assert not (tmp_path / "out").exists()

    def test_unwritable_out_is_found_before_the_work(self, tmp_path, monkeypatch, capsys):
        monkeypatch.setattr(synthetic, "run_synthetic", not_to_be_reached)
        (tmp_path / "file").write_text("")
        message = refused(capsys, "reproduce", "all", "--out", tmp_path / "file")
        assert "out must be a folder that can be written" in message
        (tmp_path / "figure1.png").mkdir()
        assert "figure1.png" in refused(capsys, "reproduce", "all", "--out", tmp_path)

    @pytest.mark.parametrize("missing", ["mnist/train-labels-idx1-ubyte.gz", "faces/faces24_train.png"])
    def test_a_missing_file_is_found_before_the_work(self, missing, tmp_path, monkeypatch, capsys):
        monkeypatch.setattr(synthetic, "run_synthetic", not_to_be_reached)
        if missing.startswith("faces"):
            monkeypatch.setattr(datasets, "load_mnist", lambda data: None)
        message = refused(capsys, "reproduce", "all", "--data", tmp_path, "--out", tmp_path / "out")
        assert missing in message
        assert not (tmp_path / "out").exists()

    def test_an_error_leaves_old_results(self, tmp_path, monkeypatch, capsys):
        def fail(*_, **__):
            raise InputError("data must be something else")

        monkeypatch.setattr(mnist, "run_mnist", fail)
        (tmp_path / "results.json").write_text("old")
        refused(capsys, "reproduce", "all", "--out", tmp_path)
        assert (tmp_path / "results.json").read_text() == "old"

    @pytest.mark.parametrize("name", ["synthetic", "mnist", "faces", "all"])
    def test_help_has_examples(self, name, capsys):
        code, printed, _ = ran(capsys, "reproduce", name, "--help")
        assert code == 0
        assert f"ocboost reproduce {name} --quick" in printed
        for option in ("--quick", "--out", "--seed", "--data", "OCBOOST_DATA"):
            assert option in printed


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_has_its_module_and_section(name):
    module = import_module(f"ocboost.paper.{name}")
    assert getattr(module, f"{name.capitalize()}Settings").small(seed=1).quick
    assert name == getattr(module, f"{name.capitalize()}Result").NAME
    assert callable(getattr(module, f"run_{name}"))
    assert callable(import_module(f"ocboost.paper.{name}_section").section)
    assert not EXPERIMENTS[name].loader or callable(getattr(datasets, EXPERIMENTS[name].loader))


def not_to_be_reached(*_, **__):
    raise AssertionError("the work was started")
