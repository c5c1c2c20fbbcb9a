"""The MNIST experiment, at the size of the digits that scikit-learn carries."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from ocboost import adaboost_weights, approximation_error, datasets
from ocboost.__main__ import main
from ocboost.learners import BallLearner
from ocboost.paper import mnist, mnist_section
from ocboost.paper.cache import Cache
from ocboost.paper.experiment import ONLINE
from ocboost.paper.mnist import MnistSettings, run_mnist
from tests.support.paper_runs import IMAGE_METHODS, killed

SMALL = MnistSettings(
    n_hypotheses=20, n_sample=80, start=200, every=100, order=5, batch_size=16, max_images=800, quick=True
)


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    monkeypatch.setattr(mnist, "load_mnist", lambda data: datasets.load_mnist(data, online=False))


@pytest.fixture(scope="module")
def result():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mnist, "load_mnist", lambda data: datasets.load_mnist(data, online=False))
        return run_mnist(SMALL)


def test_shapes_and_names(result):
    assert result.digits == list(range(10))
    assert result.examples == [300, 400, 500, 600, 700, 800]
    assert list(result.test_error) == IMAGE_METHODS == list(result.combined_test_error)
    assert [key for key in result.approximation_error if key != "adaboost"] == IMAGE_METHODS[1:]
    assert all(e.shape == (10, 6) for e in result.test_error.values())
    record = json.loads(json.dumps(result.as_dict(), allow_nan=False))
    assert record["test_error"]["ocb-full"] == result.test_error["ocb-full"][:, -1].tolist()
    assert record["combined_test_error"]["adaboost"] == result.combined_test_error["adaboost"][-1]


def test_against_a_plain_run_of_one_digit(result):
    """The yardstick and the full-order sketch of digit 3, by hand."""
    images = datasets.load_mnist(None, online=False)
    X = images.train_X[:800].reshape(800, -1).astype(np.float64)
    X = (X - X.mean(axis=1, keepdims=True)) / X.std(axis=1, keepdims=True)
    signs = np.where(images.train_y[:800] == 3, 1, -1).astype(np.int8)
    learner = BallLearner(n_sample=80)
    balls = learner.learn(
        X.astype(np.float32), signs, n_hypotheses=20, rng=np.random.default_rng([SMALL.seed, 3])
    )
    test = images.test_X.reshape(len(images.test_X), -1).astype(np.float64)
    test = (test - test.mean(axis=1, keepdims=True)) / test.std(axis=1, keepdims=True)
    alpha = adaboost_weights(balls.answers(X.astype(np.float32)) * signs[:, None])
    wrong = ((balls.answers(test.astype(np.float32)) @ alpha) > 0) != (images.test_y == 3)
    assert result.test_error["adaboost"][3, -1] == pytest.approx(100 * wrong.mean(), abs=0.4)


def test_an_automatic_head_that_holds_everything_is_adaboost():
    margins = np.where(np.random.default_rng(0).random((300, 40)) < 0.6, 1, -1).astype(np.int8)
    found = {m.key: m.follow(margins, 200, [300], 1.0)[0][0] for m in SMALL.methods()}
    assert approximation_error(found["adaboost"], found["ocb-head"]) < 1e-9
    assert approximation_error(found["adaboost"], found["oza-russell"]) > 1e-3


def test_the_cache_changes_nothing(result, tmp_path):
    for _ in range(2):
        again = run_mnist(SMALL, cache=Cache(tmp_path))
        for key in IMAGE_METHODS:
            np.testing.assert_array_equal(again.test_error[key], result.test_error[key])
    assert list(tmp_path.rglob("output.pkl"))


def test_a_killed_run_resumes(tmp_path, monkeypatch):
    """Killed when it looks for the fourth digit's balls; the next run looks for those of seven digits."""
    killed(
        """
        from ocboost import datasets
        from ocboost.learners import BallLearner
        from ocboost.paper import mnist
        from tests.paper.test_mnist import SMALL
        mnist.load_mnist = lambda data: datasets.load_mnist(data, online=False)
        learn, calls = BallLearner.learn, []
        def learn_three(*args, **kwargs):
            if len(calls) == 3:
                os.kill(os.getpid(), signal.SIGKILL)
            calls.append(1)
            return learn(*args, **kwargs)
        BallLearner.learn = learn_three
        mnist.run_mnist(SMALL, cache=Cache(sys.argv[1]))
        """,
        tmp_path,
    )
    learn, calls = BallLearner.learn, []
    monkeypatch.setattr(BallLearner, "learn", lambda *a, **k: calls.append(1) or learn(*a, **k))
    run_mnist(SMALL, cache=Cache(tmp_path))
    assert len(calls) == 7


def test_a_small_set_shrinks_what_is_too_large(result):
    again = run_mnist(replace(SMALL, start=5000, every=5000))
    assert (again.settings.start, again.examples[-1]) == (66, 800)
    assert "only 800 training images" in again.notes[0]
    assert not result.notes


def test_why_these_sizes_only_where_it_is_so(result):
    whole = replace(result, settings=replace(SMALL, quick=False), fallback=False)
    assert mnist.WHY_THESE_SIZES in whole.chosen()["hypotheses"]
    assert mnist.WHY_THESE_SIZES not in result.chosen()["hypotheses"]


def test_figure_tables_and_words(result):
    figure = mnist_section.draw(result)
    assert len(figure.axes) == 2
    section = mnist_section.section(result)
    assert [len(table.rows) for table in section.tables] == [7, 6, 6]
    assert "the mean approximation error" in section.findings[0]
    assert result.source.endswith("; of these 800 training and 597 test images were used.")
    assert result.chosen()["hypotheses"].startswith("up to 20 balls")


def test_digits_beside_the_paper(result):
    section = mnist_section.section(result)
    assert [len(table.rows) for table in section.tables] == [7, 6, 6]
    assert not any(row.quiet for table in section.tables for row in table.rows)
    assert not any(row.quiet for row in section.headline)
    assert all("; digits of scikit-learn, not MNIST" in table.title for table in section.tables)
    assert "in the paper" not in " ".join(section.findings)
    assert "MNIST" not in section.title + mnist_section.draw(result).texts[0].get_text()
    section = mnist_section.section(replace(result, fallback=False))
    one, two, means = section.tables
    assert [len(table.rows) for table in section.tables] == [10, 8, 8]
    assert section.title.startswith("MNIST:")
    assert one.columns[-1] == "all"
    assert one.rows[0].cells[-1] == f"{result.combined_test_error['adaboost'][-1]:.2f}"
    assert one.rows[1].quiet
    assert " ".join(one.rows[1].cells[1:]) == "0.31 0.19 0.80 0.89 0.90 1.00 0.47 0.79 1.62 1.29 –"
    assert " ".join(two.rows[1].cells[1:]) == "0.10 0.10 0.09 0.09 0.10 0.09 0.10 0.10 0.10 0.09"
    names = [row.cells[0] for row in means.rows[2:4]]
    assert names == ["OCB, order 5, the paper's theorem", "  in the paper (order 400)"]
    assert means.rows[3].cells[1:] == ("0.051", "0.531", "0.829")
    assert section.headline[1].row.cells == (
        "  in the paper (order 400)",
        "0.096",
        "0.051",
        "–",
        "–",
        "–",
        "–",
    )
    theorem = result.approximation_error["ocb-order-400-theorem"][:, -1].mean()
    assert section.headline[0].values[1] == theorem


def test_findings_on_digits_follow_from_the_numbers(result):
    far = {key: np.full((10, 1), 0.1) for key in ("adaboost", *ONLINE)}
    far["ocb-order-400"] = np.linspace(0.06, 0.15, 10)[:, None]
    far["ocb-head"] = np.zeros((10, 1))
    test = {key: np.full((10, 1), 1.0) for key in result.test_error}
    test["oza-russell"] = np.linspace(0.8, 1.7, 10)[:, None]
    combined = {key: np.array([2.0]) for key in test} | {"oza-russell": np.array([1.5])}
    far["ocb-order-400-theorem"] = np.linspace(0.095, 0.185, 10)[:, None]
    made = replace(
        result,
        fallback=False,
        examples=[400],
        approximation_error=far,
        test_error=test,
        combined_test_error=combined,
    )
    first, second, third = mnist_section.findings(made)
    assert "at order 5) the mean approximation error is 0.1400, not below Oza and Russell's 0.1000" in first
    assert "for 1 of 10 digits (in the paper, at order 400, 9), and has the lower test error for 7" in first
    assert "0.0000 with a head, which held every image. One of these three is closer" in second
    assert "At order 5 it is closer for 4 of 10 digits, and has the lower test error for 7." in second
    assert "within 0.00 points" in third
    assert "Oza and Russell's within 0.70" in third
    shows = mnist_section.section(made).figure.shows
    assert shows.startswith("none of AdaBoost, OCB by the paper's theorem at order 5 and OCB balanced")
    combined |= {"adaboost": np.array([1.0]), "ocb-order-400": np.array([1.25])}
    shows = mnist_section.section(made).figure.shows
    assert shows.startswith(
        "AdaBoost and OCB balanced at order 5 end below Oza and Russell, OCB by the paper's theorem at "
        "order 5 does not. AdaBoost 1.00 %"
    )


def test_the_command(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(MnistSettings, "small", classmethod(lambda cls, seed=0: SMALL))
    monkeypatch.setenv("OCBOOST_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("OCBOOST_DATA", raising=False)
    assert main(["reproduce", "mnist", "--quick", "--out", str(tmp_path / "out")]) == 0
    printed = capsys.readouterr().out
    assert "not MNIST" in printed
    assert "in the paper" not in printed
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "mnist.png",
        "mnist.svg",
        "report.html",
        "report.md",
        "results.json",
    ]


def test_a_folder_without_the_files(tmp_path, capsys):
    assert main(["reproduce", "mnist", "--data", str(tmp_path), "--out", str(tmp_path / "out")]) == 1
    assert capsys.readouterr().err.startswith("ocboost: ")
    assert not (tmp_path / "out").exists()
