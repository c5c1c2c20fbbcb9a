"""The synthetic experiment: its data, its claims, its figure, its words and how it is written."""

from __future__ import annotations

import json
from dataclasses import replace
from io import StringIO
from itertools import pairwise

import numpy as np
import pytest
from rich.console import Console

from ocboost import BoostingSketch, adaboost_weights, approximation_error
from ocboost._report import figures as figure_style
from ocboost._report.output import to_json, versions
from ocboost._report.tables import as_rich
from ocboost.errors import InputError, MissingExtraError
from ocboost.paper import synthetic_section
from ocboost.paper.synthetic import METHODS, SyntheticResult, SyntheticSettings, draw_margins, run_synthetic

# Names that readers of results.json rely on.
PROMISED = {
    "oza-russell",
    "ocb-order-1",
    "ocb-order-5",
    "ocb-order-10",
    "ocb-order-20",
    "ocb-listing",
    "ocb-balanced",
    "ocb-head",
    "ocb-head-newest",
    "ocb-listing-order-1",
    "ocb-listing-order-5",
    "ocb-listing-order-10",
}
POINTS = [150, 300, 450, 600, 750, 800]
TINY = SyntheticSettings(runs=2, matrices=2, examples_per_matrix=400, start=100, every=150)


@pytest.fixture(scope="module")
def tiny() -> SyntheticResult:
    return run_synthetic(TINY)


@pytest.fixture(scope="module")
def paper() -> SyntheticResult:
    """The paper's sizes, with a fifth of the checkpoints: the streams and claims are the same."""
    return run_synthetic(SyntheticSettings(every=500))


class TestSettings:
    def test_paper_sizes(self) -> None:
        settings = SyntheticSettings()
        assert (settings.runs, settings.matrices, settings.examples_per_matrix) == (5, 3, 10_000)
        assert (settings.n_hypotheses, settings.start) == (20, 200)
        assert settings.drifts == [10_000, 20_000]

    def test_last_checkpoint_is_the_whole_stream(self) -> None:
        assert run_synthetic(replace(TINY, runs=1)).examples == POINTS

    @pytest.mark.parametrize(
        ("wrong", "text"),
        [
            ({"runs": 0}, "runs must be at least 1; got 0"),
            ({"seed": -1}, "seed must be at least 0; got -1"),
            ({"n_hypotheses": 5}, "n_hypotheses must be at least 20; got 5"),
            (
                {"examples_per_matrix": 250},
                r"examples_per_matrix must be at least start \+ every = 300; got 250",
            ),
        ],
    )
    def test_wrong_sizes(self, wrong: dict[str, int], text: str) -> None:
        with pytest.raises(InputError, match=text):
            SyntheticSettings(**wrong)  # type: ignore[arg-type]


class TestMargins:
    def test_columns_follow_one_probability_per_matrix(self) -> None:
        settings = SyntheticSettings(seed=3)
        margins = draw_margins(settings, run=1)
        rng = np.random.default_rng([3, 1])
        p = rng.uniform(0, 1, 20)
        rates = (margins.reshape(3, 10_000, 20) == 1).mean(axis=1)
        assert np.abs(rates[0] - p).max() < 0.025  # five standard errors of a rate over 10,000
        for before, after in pairwise(rates):
            moved = np.abs(after - before)
            assert 0.02 < moved.mean() < 0.1
            assert moved.max() < settings.perturbation + 0.03

    def test_seed_and_run_decide(self) -> None:
        first = draw_margins(TINY, 0)
        np.testing.assert_array_equal(first, draw_margins(TINY, 0))
        assert (first != draw_margins(TINY, 1)).any()


class TestClaims:
    """What the experiment is there to show."""

    def test_error_falls_with_every_order(self, paper: SyntheticResult) -> None:
        errors = [paper.mean_error(f"ocb-order-{order}") for order in (1, 5, 10, 20)]
        assert all(after < before for before, after in pairwise(errors))
        assert errors[-1] <= 0.02

    def test_oza_and_russell_is_where_it_was_measured(self, paper: SyntheticResult) -> None:
        assert paper.mean_error("oza-russell") == pytest.approx(0.035, abs=0.005)

    def test_the_listing_gets_worse_with_order(self, paper: SyntheticResult) -> None:
        keys = [f"ocb-listing-order-{order}" for order in (1, 5, 10)] + ["ocb-listing"]
        errors = [paper.mean_error(key) for key in keys]
        assert all(before < after for before, after in pairwise(errors))
        assert errors[-1] > paper.mean_error("oza-russell")

    def test_balanced_cold_is_at_least_as_good_as_theorem_warm(self, paper: SyntheticResult) -> None:
        assert paper.mean_error("ocb-balanced") <= paper.mean_error("ocb-order-20")
        assert paper.mean_error("ocb-head-newest") <= paper.mean_error("ocb-balanced")
        assert paper.mean_error("ocb-head") <= 0.3 * paper.mean_error("ocb-head-newest")

    def test_balanced_never_diverges(self, paper: SyntheticResult) -> None:
        assert not paper.diverged["ocb-balanced"]
        assert not paper.diverged["ocb-head"]


class TestResult:
    def test_every_method_at_every_checkpoint(self, tiny: SyntheticResult) -> None:
        assert set(tiny.approximation_error) == PROMISED == {method.key for method in METHODS}
        for errors in tiny.approximation_error.values():
            assert errors.shape == (2, 6)
            assert ((errors >= 0) & (errors <= 1)).all()

    def test_an_error_is_to_adaboost_on_everything_so_far(self, tiny: SyntheticResult) -> None:
        margins = draw_margins(TINY, 1)
        model = BoostingSketch.from_margins(margins[:100], order=5, correction="theorem")
        for row in margins[100:450]:
            model.update(row)
        expected = approximation_error(adaboost_weights(margins[:450]), model.alpha)
        assert tiny.approximation_error["ocb-order-5"][1, 2] == pytest.approx(expected, rel=1e-12)

    def test_same_settings_same_errors(self, tiny: SyntheticResult) -> None:
        again = run_synthetic(TINY)
        for key in PROMISED:
            np.testing.assert_array_equal(tiny.approximation_error[key], again.approximation_error[key])

    def test_progress_counts_to_the_end(self) -> None:
        calls: list[tuple[str, int, int]] = []
        run_synthetic(TINY, progress=lambda *call: calls.append(call))
        total = 2 * (1 + len(METHODS))
        assert [call[1:] for call in calls if call[0] == "run 2 of 2"][-1] == (total, total)
        assert [done for _, done, _ in calls] == sorted(done for _, done, _ in calls)

    def test_as_dict_survives_json(self, tiny: SyntheticResult) -> None:
        content = json.loads(to_json({**tiny.as_dict(), "versions": versions()}))
        assert set(content["approximation_error"]) == PROMISED
        assert content["approximation_error"]["ocb-head"] == float(
            tiny.approximation_error["ocb-head"].mean()
        )
        assert content["final_error"]["ocb-head"] == float(tiny.approximation_error["ocb-head"][:, -1].mean())
        assert content["examples"] == POINTS
        assert len(content["curves"]["ocb-listing"]["mean"]) == len(content["examples"])
        assert content["seeds"] == [[0, 0], [0, 1]]
        assert set(content["seconds"]) == PROMISED | {"adaboost", "total"}
        assert "±0.1" in content["chosen_here"]["perturbation"]
        assert {"ocboost", "numpy", "numba", "python"} <= set(content["versions"])

    def test_one_run_has_no_spread(self) -> None:
        content = run_synthetic(SyntheticSettings(runs=1, matrices=1, examples_per_matrix=300)).as_dict()
        assert content["approximation_error_std"]["oza-russell"] is None
        to_json(content)


class TestWords:
    def test_table_shows_every_method(self, tiny: SyntheticResult) -> None:
        stream = StringIO()
        Console(file=stream, width=100).print(as_rich(synthetic_section.table(tiny)))
        text = stream.getvalue()
        for method in METHODS:
            assert f"{tiny.mean_error(method.key):.4f}" in text
            assert method.label in text
        assert "1.00" in text

    def test_words_follow_the_numbers(self, tiny: SyntheticResult) -> None:
        errors = {key: np.full((1, 1), 0.05) for key in PROMISED}
        for error, order in zip((0.04, 0.03, 0.02, 0.01), (1, 5, 10, 20), strict=True):
            errors[f"ocb-order-{order}"] = np.full((1, 1), error)
        result = replace(tiny, examples=[1], approximation_error=errors)
        words = " ".join(synthetic_section.findings(result))
        assert "falls with every order (0.0400 to 0.0100" in words
        assert "The listing as printed does not get worse with every order" in words
        assert "is less close than the theorem at order 20 from a warm one (0.0500)" in words

    def test_words_of_the_whole_section(self, tiny: SyntheticResult) -> None:
        flat = {key: np.full((1, 6), 0.05) for key in tiny.approximation_error}
        flat["ocb-head"] = np.full((1, 6), 0.06)
        wild = {**tiny.diverged, "ocb-listing": True}
        section = synthetic_section.section(replace(tiny, approximation_error=flat, diverged=wild))
        assert "does not fall with every order" in section.findings[0]
        assert (
            "with a head of the heaviest examples it is no closer (0.06000; of the newest 0.0500)"
            in section.findings[2]
        )
        assert section.findings[3] == "Diverged in some run: OCB as printed, order 20."
        assert any("(diverged)" in row.cells[0] for row in section.tables[0].rows)
        assert "higher order is not always better" in section.figure.shows
        assert "not above" in section.figure.shows

    def test_title_claims_only_what_is_there(self, tiny: SyntheticResult) -> None:
        flat = {key: np.full((1, 6), 0.05) for key in PROMISED}
        figure = synthetic_section.draw(replace(tiny, approximation_error=flat))
        assert figure.texts[0].get_text() == "How close online weights stay to batch AdaBoost"


class TestFigure:
    def test_png_and_svg(self, tiny: SyntheticResult) -> None:
        files = figure_style.render(synthetic_section.draw(tiny), "synthetic")
        assert files["synthetic.png"].startswith(b"\x89PNG")
        assert b"<svg" in files["synthetic.svg"]

    def test_same_result_same_bytes(self, tiny: SyntheticResult) -> None:
        once, twice = (figure_style.render(synthetic_section.draw(tiny), "synthetic") for _ in range(2))
        assert once == twice

    def test_every_method_is_drawn(self) -> None:
        assert {key for key, *_ in synthetic_section.LINES} == PROMISED

    def test_labels_do_not_overlap(self) -> None:
        rng = np.random.default_rng(0)
        for _ in range(100):
            positions = rng.uniform(0, 1, 9).tolist()
            moved = figure_style.spread_out(positions, gap=0.06)
            assert (np.diff(np.sort(moved)) > 0.06 - 1e-9).all()
            assert np.argsort(moved).tolist() == np.argsort(positions).tolist()

    def test_without_matplotlib(self, monkeypatch: pytest.MonkeyPatch, tiny: SyntheticResult) -> None:
        monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
        with pytest.raises(MissingExtraError, match=r"pip install .*\[all\]"):
            synthetic_section.draw(tiny)
