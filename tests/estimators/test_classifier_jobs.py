"""One job or several, all answers in memory or those of one booster: the same result."""

from __future__ import annotations

import pickle
import subprocess
import sys

import joblib
import numpy as np
import pytest

from ocboost import OCBClassifier
from ocboost.estimators import committee
from tests.support.classifiers import assert_same_weights, examples

# Jobs -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted_alone():
    X, y = examples(3, 300)
    return OCBClassifier(n_hypotheses=30, head=20).fit(X, y).partial_fit(X, y)


def with_jobs(n_jobs=2):
    X, y = examples(3, 300)
    return OCBClassifier(n_hypotheses=30, head=20, n_jobs=n_jobs).fit(X, y).partial_fit(X, y)


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_jobs_change_nothing(backend, fitted_alone, monkeypatch):
    monkeypatch.setattr(committee, "MIN_ANSWERS_FOR_JOBS", 1)
    with joblib.parallel_config(backend=backend, n_jobs=2):
        assert_same_weights(with_jobs(), fitted_alone)
        assert_same_weights(with_jobs(None), fitted_alone)


def test_boosters_that_cannot_be_written_to_are_copied(fitted_alone, tmp_path):
    X, y = examples(3, 300)
    joblib.dump(fitted_alone, tmp_path / "model")
    mapped = joblib.load(tmp_path / "model", mmap_mode="r")
    expected = pickle.loads(pickle.dumps(fitted_alone))
    assert_same_weights(mapped.partial_fit(X, y), expected.partial_fit(X, y))
    frozen = expected.boosters_[0].copy()
    frozen._arrays[0].flags.writeable = False
    fed = committee._fed(
        frozen, np.ones((1, frozen.n_hypotheses), np.int8), 0, np.ones(1, np.int8), np.ones(1), 1
    )
    assert fed.n_seen == frozen.n_seen + 1


DASK = """
import joblib, numpy as np
from distributed import Client, LocalCluster
from ocboost import OCBClassifier
from ocboost.estimators import committee
committee.MIN_ANSWERS_FOR_JOBS = 1
rng = np.random.default_rng(0)
X = rng.normal(size=(300, 4)); y = np.digitize(X[:, 0] + 0.5 * rng.normal(size=300), [-0.5, 0.5])
def made(n_jobs):
    return OCBClassifier(n_hypotheses=20, head=20, n_jobs=n_jobs).fit(X, y).partial_fit(X, y)
if __name__ == "__main__":
    with LocalCluster(
        processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None
    ) as cluster, Client(cluster):
        with joblib.parallel_config(backend="dask"):
            there = made(2)
    here = made(None)
    assert all((a == b).all() for a, b in zip(there.alpha_, here.alpha_))
    print("the same")
"""


def test_dask_changes_nothing():
    pytest.importorskip("distributed")
    done = subprocess.run([sys.executable, "-c", DASK], capture_output=True, text=True, timeout=120)
    assert "the same" in done.stdout, done.stderr


def test_answers_held_for_one_booster_at_a_time(monkeypatch, fitted_alone):
    X, y = examples(3, 300)
    monkeypatch.setattr(committee, "MAX_ANSWERS_IN_MEMORY", 10)
    assert_same_weights(OCBClassifier(n_hypotheses=30, head=20).fit(X, y).partial_fit(X, y), fitted_alone)
