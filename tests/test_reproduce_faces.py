"""The face experiment, at the size of faces that are drawn."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from ocboost import BoostingSketch, adaboost_weights, approximation_error
from ocboost.datasets import Images
from ocboost.datasets.toy_faces import draw_toys
from ocboost.learners import BoxLearner
from ocboost.reproduce import faces, faces_figure, faces_part
from ocboost.reproduce.cache import Cache
from ocboost.reproduce.faces import FacesSettings, run_faces

SMALL = FacesSettings(
    n_hypotheses=12,
    n_sample=60,
    n_filters=40,
    permutations=3,
    start=50,
    every=100,
    batch_size=10,
    order=3,
    head=60,
    quick=True,
)
PAPER = ["adaboost", "oza-russell", "ocb-order-400", "ocb-full", "ocb-head"]


def some_images(data=None):
    def part(seed):
        (X, Y), noise = draw_toys(150, seed=seed), np.random.default_rng(seed)
        pixels = np.concatenate([X, Y]).astype(np.int64) + noise.integers(-90, 91, (300, 24, 24))
        return pixels.clip(0, 255).astype(np.uint8), np.repeat(np.array([1, -1], np.int8), 150)

    return Images(*part(0), *part(1), "Drawn faces under noise.", fallback=True)


@pytest.fixture(autouse=True)
def noisy_toys(monkeypatch):
    monkeypatch.setattr(faces, "load_faces", some_images)


@pytest.fixture(scope="module")
def result():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(faces, "load_faces", some_images)
        return run_faces(SMALL)


def test_shapes_and_names(result):
    assert result.examples == [100, 200, 300]
    assert list(result.one_minus_auc)[:5] == PAPER
    for table in (result.one_minus_auc, result.approximation_error):
        assert {key: rows.shape for key, rows in table.items()} == {
            method.key: (1 if method.key.endswith("one-by-one") else 3, 3) for method in SMALL.methods()
        }
    record = json.loads(json.dumps(result.as_dict(), allow_nan=False))
    assert record["examples"] == [100, 200, 300]
    assert record["fallback"]
    for key in PAPER:
        assert record["one_minus_auc"][key] == result.one_minus_auc[key].mean(axis=0).tolist()
        assert len(record["approximation_error"][key]) == 3
    assert record["approximation_error"]["adaboost"] == [0.0, 0.0, 0.0]
    assert record["one_minus_auc_std"]["ocb-order-400-one-by-one"] is None


def test_against_a_plain_run_of_one_permutation(result):
    images = some_images()
    train, test = (X.reshape(len(X), -1) for X in (images.train_X, images.test_X))
    learner = BoxLearner(n_sample=60, n_filters=40)
    boxes = learner.learn(train, images.train_y, n_hypotheses=12, rng=np.random.default_rng([0, 0]))
    margins = boxes.answers(train) * images.train_y[:, None]
    margins = margins[np.random.default_rng([0, 2]).permutation(300)]
    exact = adaboost_weights(margins[:200])
    sketch = BoostingSketch.from_margins(margins[:50], order=3)
    sketch.update_many(margins[50:100], batch_size=10)
    sketch.update_many(margins[100:200], batch_size=10)
    error = approximation_error(exact, sketch.alpha)
    assert result.approximation_error["ocb-order-400"][1, 1] == pytest.approx(error, rel=1e-9)
    area = 1.0 - roc_auc_score(images.test_y, np.round(boxes.answers(test) @ exact, 9))
    assert result.one_minus_auc["adaboost"][1, 1] == pytest.approx(area, abs=1e-9)
    assert area > 0.0


def test_in_the_end_the_order_does_not_matter_to_adaboost(result):
    assert np.ptp(result.one_minus_auc["adaboost"][:, -1]) == 0.0
    assert np.ptp(result.one_minus_auc["adaboost"][:, 0]) > 0.0
    assert np.ptp(result.approximation_error["oza-russell"][:, -1]) > 0.0


def test_the_cache_changes_nothing(result, tmp_path):
    for _ in range(2):
        again = run_faces(SMALL, cache=Cache(tmp_path))
        for key, rows in result.one_minus_auc.items():
            np.testing.assert_array_equal(again.one_minus_auc[key], rows)
    assert Cache(tmp_path).size() > 0


def test_a_killed_run_goes_on_where_it_was(tmp_path):
    """The filters are chosen, the run is killed in its first permutation; the next one chooses none."""
    program = textwrap.dedent(
        """
        import os, signal, sys
        sys.path.insert(0, sys.argv[2])
        from test_reproduce_faces import SMALL, some_images
        from ocboost.reproduce import faces
        from ocboost.reproduce.cache import Cache
        faces.load_faces = some_images
        faces.follow_all = lambda *a, **k: os.kill(os.getpid(), signal.SIGKILL)
        faces.run_faces(SMALL, cache=Cache(sys.argv[1]))
        """
    )
    ended = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path), str(Path(__file__).parent)], check=False
    )
    assert ended.returncode == -9
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BoxLearner, "learn", lambda *a, **k: pytest.fail("the filters were chosen again"))
        run_faces(SMALL, cache=Cache(tmp_path))


def test_a_small_set_shrinks_what_is_too_large():
    result = run_faces(replace(SMALL, start=5000, every=10_000, head=20_000))
    assert (result.settings.start, result.settings.every, result.settings.head) == (15, 30, 60)
    assert result.examples[-1] == 300
    assert "only 300 training windows" in result.notes[0]


def test_thinning_takes_both_kinds():
    images = some_images()
    thin = faces._thinned(
        replace(images, train_X=np.tile(images.train_X, (10, 1, 1)), train_y=np.tile(images.train_y, 10)), 2
    )
    assert len(thin.train_y) == 1500
    assert len(thin.test_y) == 150
    assert (thin.test_y == 1).sum() == 75
    assert faces._thinned(images, 2) is images


def test_progress_counts_every_step():
    told = []
    run_faces(SMALL, progress=lambda *what: told.append(what))
    assert told[0][1] == 0
    assert told[-1][1] == told[-1][2] == 1 + 3 * 9 + 1
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)


def test_figure_tables_and_words(result):
    figure = faces_figure.draw(result)
    assert len(figure.axes) == 2
    part = faces_part.part(result)
    assert [len(table.rows) for table in part.tables] == [9, 10]
    oza = result.approximation_error["oza-russell"][:, -1].mean()
    full = result.approximation_error["ocb-full"][:, -1].mean()
    row = next(row for row in part.tables[0].rows if row.cells[0] == "OCB, full order")
    assert row.cells[-4:-2] == (
        f"{full:.4f}",
        f"{result.approximation_error['ocb-full'][:, -1].std(ddof=1):.4f}",
    )
    assert row.cells[-2] == f"{full / oza:.2f}"
    assert f"({oza:.4f})" in part.words[0]
    assert part.results["fallback"]


def test_words_turn_with_the_numbers(result):
    def said(**changes):
        errors = {**result.approximation_error, **changes}
        return " ".join(faces_part.findings(replace(result, approximation_error=errors)))

    far, near = np.full((3, 3), 0.9), np.full((3, 3), 1e-6)
    assert "OCB, full order is farther from AdaBoost than Oza and Russell up to 300 windows" in said(
        **{"ocb-full": far}
    )
    assert "OCB, full order is farther" not in said(**{"ocb-full": near})
    assert "Oza and Russell end closest" in faces_part._shows(
        replace(result, approximation_error={**result.approximation_error, "oza-russell": np.zeros((3, 3))})
    )
