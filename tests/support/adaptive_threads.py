"""Adaptive classifiers as subjects of `thread_stress`."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from typing import Any

from ocboost import AdaptiveClassifier
from tests.support.thread_stress import Subject, rows, saved


def adaptive() -> Iterator[Subject]:
    """Adaptive classifiers: labels on time and late, and from nothing."""

    def reads_of(X: Any) -> dict[str, Callable[[Any], Any]]:
        return {
            "predict": lambda c: c.predict(X, issue=False),
            "predict_proba": lambda c: c.predict_proba(X, issue=False),
            "decision_function": lambda c: c.decision_function(X),
            "members_": lambda c: repr(c.members_),
            "nbytes": lambda c: c.nbytes,
            "explain": lambda c: c.explain(X[:1], 3),
            "weight_changes": lambda c: c.weight_changes(5),
            "feature_importances_": lambda c: c.feature_importances_,
            "copy": lambda c: copy.copy(c).predict_proba(X, issue=False),
            "deepcopy": lambda c: copy.deepcopy(c).predict_proba(X, issue=False),
            "pickle": lambda c: pickle.loads(pickle.dumps(c)).predict_proba(X, issue=False),
            "save": saved,
        }

    def subject(name: str, K: int, start: Any, late: int) -> Subject:
        X, y = rows(180, K)
        steps: list[Callable[[Any], Any]] = []
        for i in range(60, 150, 6):
            j = i - late
            steps.append(lambda c, i=i: c.predict(X[i : i + 6], ids=range(i, i + 6)))
            steps.append(lambda c, j=j: c.partial_fit(X[j : j + 6], y[j : j + 6], ids=range(j, j + 6)))
        if start is None:
            steps.insert(11, lambda c: c.fit(X[40:100], y[40:100]))
        n = 60 if start is None else start
        given = {} if start is None else {"classes": range(K)}

        def make() -> Any:
            return AdaptiveClassifier(n_hypotheses=6, random_state=0).partial_fit(X[:n], y[:n], **given)

        return Subject(name, make, steps, reads_of(X[:5]), saved)

    yield subject("adaptive", 2, None, 0)
    yield subject("adaptive, 3 classes, late labels", 3, None, 12)
    yield subject("adaptive, from nothing", 2, 1, 6)
