"""Members of the adaptive classifier's bank, each with rows to learn, and pools that change."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

from ocboost._core.codec import read
from ocboost._core.file_format import from_bytes, to_bytes
from ocboost.boosters.linear import OnlineLogistic
from ocboost.estimators.adaptive.forest_member import ForestMember
from ocboost.estimators.adaptive.members import OneRow, PoolChange
from ocboost.estimators.adaptive.neighbours import Neighbours
from ocboost.estimators.adaptive.patterns import LabelPatterns
from ocboost.estimators.adaptive.regression import FeatureRegression
from ocboost.estimators.adaptive.settings import USUAL
from ocboost.estimators.adaptive.voting import Voting
from ocboost.estimators.committee import Committee
from ocboost.hypotheses import Stumps
from ocboost.streams.rows import Rows

F = 4
KINDS = ("voting", "neighbours", "labels", "features", "sparse features", "forests")


def columns_of(K, J=12):
    """Two classes share all; of more the last has no hypotheses of its own, and shares those of others."""
    if K == 2:
        return [slice(0, J)]
    return [slice(k * J, (k + 1) * J) for k in range(K - 1)] + [slice(0, J + 3)]


def some_stumps(rng, n):
    return Stumps(rng.integers(0, F, n), rng.normal(size=n), rng.choice([-1, 1], n), n_features=F)


def some_rows(rng, n, K):
    X, codes = rng.normal(size=(n, F)), rng.integers(0, K, n)
    X[:, 0] += codes
    return Rows(X, codes=codes, weights=rng.choice([0.5, 1.0, 2.0], n))


def new_member(kind, K):
    """A member that has learnt nothing."""
    return {
        "voting": lambda: Voting(list(USUAL), columns_of(K)),
        "neighbours": lambda: Neighbours(K),
        "labels": lambda: LabelPatterns(K),
        "features": lambda: FeatureRegression(F, K, sparse=False),
        "sparse features": lambda: FeatureRegression(F, K, sparse=True),
        "forests": lambda: ForestMember(F, K, sparse=False, seed=3),
    }[kind]()


def rows_for(kind, rows):
    """Sparse ones for a member of sparse rows."""
    if kind != "sparse features":
        return rows
    return Rows(csr_matrix(np.maximum(rows.X, 0.0)), codes=rows.codes, weights=rows.weights)


def one_row(rows, i, answers, last):
    return OneRow(rows.X[i : i + 1], answers[i : i + 1], last)


def learn_all(member, rows, answers, last=0):
    """Learn rows one by one, each after the label before it."""
    for i in range(len(rows)):
        member.learn(one_row(rows, i, answers, last), int(rows.codes[i]), float(rows.weights[i]))
        last = int(rows.codes[i])


def scores_of(member, row, K):
    out = np.full((len(member.experts), K), np.nan)
    member.scores(row, out)
    return out


def state_of(member):
    return to_bytes("x", member.tree())


def resumed(kind, K, tree):
    """A member that has taken over what a file holds."""
    member = new_member(kind, K)
    read(tree, "a file", member.resume)
    return member


def from_file(member):
    return from_bytes(state_of(member), "x")


class ChangingPool:
    """Hypotheses that come and go, as a committee replaces them."""

    def __init__(self, rng, K):
        self.rng, self.K = rng, K
        columns = columns_of(K)
        stumps = some_stumps(rng, max(c.stop for c in columns))
        self.committee = Committee(stumps, columns, OnlineLogistic(1).given_settings, None, OnlineLogistic)
        self.committee.on_change = lambda *noted: setattr(self, "_noted", noted)

    @property
    def hypotheses(self):
        return self.committee.hypotheses

    @property
    def columns(self):
        return self.committee.columns

    def answers(self, X):
        return self.hypotheses.answers(X)

    def change(self, recent, n_gone=None, n_added=None):
        """Drop some hypotheses of a booster and append others."""
        rng = self.rng
        k = int(rng.integers(len(self.columns)))
        size = self.columns[k].stop - self.columns[k].start
        n_gone = int(rng.integers(0, size)) if n_gone is None else n_gone
        n_added = int(rng.integers(1, 9)) if n_added is None else n_added
        keep = np.sort(rng.permutation(size)[n_gone:])
        self.committee.replace_hypotheses(k, keep, some_stumps(rng, n_added), None, np.empty(0, np.int64))
        return PoolChange(*self._noted, self.columns, self.hypotheses, recent)
