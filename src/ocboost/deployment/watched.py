"""A run as a page shows it: what the model it began with, and the adapted one, said of each labelled row."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocboost._core.codec import Fields, Tree
from ocboost._watch.buckets import Said
from ocboost._watch.document import run_document
from ocboost._watch.record import Watch
from ocboost.deployment.model import Model
from ocboost.estimators.adaptive.classifier import AdaptiveClassifier
from ocboost.estimators.committee import probabilities
from ocboost.streams.rows import Rows


class WatchedRun:
    """A `Watch` of a model on its way through a stream, beside the model as it was when the run began.

    ``deployed`` is copied: it never learns. ``since`` is the row of the stream from which on it is watched.
    """

    def __init__(self, deployed: Model, since: int) -> None:
        self.deployed = Model(copy.copy(deployed.classifier), None, deployed.history)
        self.since = since
        self.watch = Watch()

    def take(
        self, rows: Rows, shares: NDArray[np.float64], codes: NDArray[Any], guesses: NDArray[Any]
    ) -> None:
        """Take labelled rows, with what the adapted model said of them before it learnt them."""
        own_codes, own_shares = self._deployed_answers(rows)
        places = np.arange(len(codes))
        sides = [
            zip(said.tolist(), table[places, said].tolist(), table[places, codes].tolist(), strict=True)
            for said, table in ((own_codes, own_shares), (guesses, shares))
        ]
        take, X = self.watch.take, rows.X
        for place, (code, before, now) in enumerate(zip(codes.tolist(), *sides, strict=True)):
            take(code, Said(*before), Said(*now), X[place])

    def _deployed_answers(self, rows: Rows) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """What the deployed model predicts; answers of hypotheses that both models share are used again."""
        clf = self.deployed.classifier
        if isinstance(clf, AdaptiveClassifier):
            return self.deployed.answers_to(rows)
        votes = clf.votes_of(rows)
        return clf.decided_by_votes(votes), probabilities(votes)

    def document(self, model: Model, title: str, notes: list[str]) -> dict[str, Any]:
        """What the page shows of ``model``, the adapted one; ``notes`` are sentences for its subtitle."""
        return run_document(
            self.watch, model.classifier, self.deployed.classifier, model.schema, title, notes
        )

    def tree(self) -> Tree:
        """What a file holds."""
        return {"deployed": self.deployed.tree(), "since": self.since, "watch": self.watch.tree()}

    @classmethod
    def from_tree(cls, fields: Fields, model: Model) -> WatchedRun:
        """From what `tree` gave, for the adapted ``model``; anything inconsistent is a `ModelFileError`."""
        deployed = fields.read("deployed", Model.from_tree)
        classes, n_features = model.classifier.classes_.tolist(), model.classifier._n_encoded
        fields.require(deployed.classifier.classes_.tolist() == classes, "its models have other classes")
        fields.require(deployed.classifier._n_encoded == n_features, "its models have other features")
        found = cls(deployed, fields.count("since"))
        found.watch = fields.read("watch", lambda one: Watch.from_tree(one, len(classes), n_features))
        return found
