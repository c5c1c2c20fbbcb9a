"""A saved classifier continues as if it had never been saved."""

from __future__ import annotations

import os

import numpy as np
import pandas as pd
import pytest

from ocboost import InputError, Model, NotSavableError, OCBClassifier
from ocboost.hypotheses import Balls, Stumps, join
from tests.support.classifiers import MODELS, assert_same_answers, examples, saved

# It goes on ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", MODELS)
def test_it_goes_on_as_if_it_had_never_been_saved(name, n_classes, tmp_path):
    clf = MODELS[name](n_classes)
    X, y = examples(n_classes, 90, seed=1)
    clf.save(tmp_path / "model")
    loaded = OCBClassifier.load(tmp_path / "model")
    assert_same_answers(loaded, clf, X)
    for start in range(0, 90, 30):
        for each in (clf, loaded):
            part = slice(start, start + 30)
            each.partial_fit(X[part], y[part], sample_weight=np.linspace(0, 2, 30))
        assert_same_answers(loaded, clf, X)
    clf.save(tmp_path / "one")
    loaded.save(tmp_path / "other")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


@pytest.mark.parametrize(
    "change", [{"forgetting": 0.9}, {"smoothing": 5.0}, {"head": 9}, {"tail": False, "head": 15}]
)
def test_a_setting_that_waits_for_the_next_example_is_kept(change, tmp_path):
    X, y = examples()
    clf = OCBClassifier(n_hypotheses=6).fit(X, y).set_params(**change)
    clf.save(tmp_path / "model")
    loaded = OCBClassifier.load(tmp_path / "model")
    for each in (clf, loaded):
        each.partial_fit(X[:50], y[:50])
    assert_same_answers(loaded, clf, X)
    unchanged = OCBClassifier(n_hypotheses=6).fit(X, y).partial_fit(X[:50], y[:50])
    assert (loaded.decision_function(X) != unchanged.decision_function(X)).any()


LABELS = {
    "int64": np.array([-5, 3]),
    "int8": np.array([0, 1], np.int8),
    "uint64": np.array([3, 2**64 - 1], np.uint64),
    "float32": np.array([0.0, 2.0], np.float32),
    "bool": np.array([False, True]),
    "text": np.array(["no", "ähem"]),
    "objects": np.array(["no", "yes"], dtype=object),
}


@pytest.mark.parametrize("name", LABELS)
def test_labels_keep_their_type(name, tmp_path):
    X, y = examples()
    clf = OCBClassifier(n_hypotheses=4).fit(X, LABELS[name][y])
    clf.save(tmp_path / "model")
    loaded = OCBClassifier.load(tmp_path / "model")
    assert loaded.classes_.dtype == clf.classes_.dtype
    np.testing.assert_array_equal(loaded.predict(X), clf.predict(X))
    loaded.partial_fit(X, LABELS[name][y])


def test_settings_and_names_are_kept(tmp_path):
    X, y = examples()
    frame = pd.DataFrame(X, columns=["a", "b", "c", "ü"])
    clf = OCBClassifier(
        "stump",
        np.int64(7),
        order=2,
        head=33,
        smoothing=np.float64(2.0),
        batch_size=3,
        n_jobs=2,
        random_state=5,
    ).fit(frame, y)
    clf.save(tmp_path / "model")
    loaded = OCBClassifier.load(tmp_path / "model")
    assert loaded.get_params() == clf.get_params()
    assert loaded.feature_names_in_.tolist() == ["a", "b", "c", "ü"]
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(frame.rename(columns={"a": "z"}))
    assert not hasattr(
        OCBClassifier.load(saved(tmp_path, OCBClassifier(n_hypotheses=3).fit(X, y))), "feature_names_in_"
    )


def test_a_model_reads_a_classifier_and_the_other_way_round(tmp_path):
    clf = MODELS["stumps"](3)
    X, _ = examples(3)
    clf.save(tmp_path / "classifier")
    Model(clf, history=[{"what": "fit"}]).save(tmp_path / "model")
    model = Model.load(tmp_path / "model")
    assert model.history == [{"what": "fit"}]
    assert Model.load(tmp_path / "classifier").history == []
    assert_same_answers(model.classifier, clf, X)
    assert_same_answers(OCBClassifier.load(tmp_path / "model"), clf, X)


def test_labels_that_no_file_holds(tmp_path):
    X, y = examples()
    clf = OCBClassifier(n_hypotheses=3).fit(X, y)
    clf.classes_ = np.array([b"no", b"yes"])
    with pytest.raises(InputError, match="classes must be numbers or text to be saved; got"):
        clf.save(tmp_path / "model")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"smoothing": -1.0}, "smoothing must be a finite number"),
        ({"smoothing": float("nan")}, "smoothing must be a finite number"),
        ({"smoothing": "much"}, "smoothing must be a number"),
        ({"forgetting": 0.0}, "forgetting must be a finite number"),
        ({"head": 0}, "head must be a whole number"),
        ({"head": object()}, "head must be a whole number"),
        ({"order": -1}, "order must be a whole number"),
        ({"tail": 1}, "tail must be True or False"),
        ({"correction": "best"}, "correction must be one of"),
        ({"batch_size": 0}, "batch_size must be a whole number"),
        ({"n_hypotheses": 0}, "n_hypotheses must be a whole number"),
        ({"estimator": "oak"}, "estimator must be"),
    ],
)
def test_settings_that_no_file_is_read_with(change, match, tmp_path):
    # set_params checks nothing; what would be refused when it is read is not written.
    clf = MODELS["stumps"](2).set_params(**change)
    with pytest.raises(InputError, match=match):
        clf.save(tmp_path / "model")
    assert os.listdir(tmp_path) == []


def test_classes_that_no_file_is_read_with(tmp_path):
    clf = MODELS["stumps"](2)
    clf.classes_ = np.arange(10_001)
    with pytest.raises(InputError, match="classes must be at most 10,000 to be saved; got 10,001"):
        clf.save(tmp_path / "model")
    clf.classes_ = np.array(["a", "b" * (1 << 26)], dtype=object)
    with pytest.raises(InputError, match="the longest has 67,108,864 letters"):
        clf.save(tmp_path / "model")
    assert os.listdir(tmp_path) == []


class Turned(Stumps):
    """Somebody's own hypotheses: a file would have them loaded as others."""

    def _fill(self, X, block):
        super()._fill(X, block)
        np.negative(block, out=block)


@pytest.mark.parametrize("joined", [False, True])
def test_hypotheses_that_load_does_not_know_are_not_saved(joined, tmp_path):
    own = Turned([0, 1], [0.0, 0.1], [-1, -1], n_features=4)
    clf = OCBClassifier(join([own, Balls(np.eye(4)[:2], [1.0, 0.8])]) if joined else own).fit(*examples())
    with pytest.raises(NotSavableError, match=r"ocboost's own kinds, Stumps.* got Turned.*booster\.save"):
        clf.save(tmp_path / "model")
    assert os.listdir(tmp_path) == []
