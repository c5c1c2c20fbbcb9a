"""A deployed model: a classifier, the columns it reads, and its history."""

from __future__ import annotations

import copy
import os
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ocboost._core.codec import Fields, Tree, read, refusal
from ocboost._core.file_format import load_any, save
from ocboost._core.kinds import KINDS
from ocboost.errors import InputError, ModelFileError
from ocboost.estimators.adaptive.classifier import AdaptiveClassifier
from ocboost.estimators.adaptive.file import ADAPTIVE_KIND, adaptive_from_tree, adaptive_tree
from ocboost.estimators.classifier import OCBClassifier
from ocboost.estimators.classifier_file import (
    CLASSIFIER_KIND,
    MAX_EVENTS,
    classifier_from_tree,
    classifier_tree,
)
from ocboost.estimators.committee import probabilities
from ocboost.hypotheses import Hypotheses
from ocboost.streams import Schema
from ocboost.streams.rows import Rows
from ocboost.streams.tables import encode_table

CHECKPOINT_KIND = "Adaptation"  # the name in files of the kind of `ocboost.deployment.adaptation`


class Model:
    """What the command line keeps in a file: a classifier with its schema and its history.

    Parameters
    ----------
    classifier : OCBClassifier or AdaptiveClassifier
        A fitted one.
    schema : Schema, optional
        How rows of a file become features; by default the classifier's, if it has one. Without one, as of a
        classifier fitted on arrays, a file must have its features as columns of numbers.
    history : list of dict
        What was done: each ``fit`` and ``adapt``, with the rows it took.

    Examples
    --------
    >>> import ocboost, pandas
    >>> frame = pandas.DataFrame({"size": [1.0, 2.0, 8.0, 9.0] * 5, "colour": ["red", "blue"] * 10})
    >>> clf = ocboost.OCBClassifier(n_hypotheses=5).fit(frame, ["small", "small", "large", "large"] * 5)
    >>> model = ocboost.Model(clf)
    >>> model.predict(frame[:3]).tolist()
    ['small', 'small', 'large']
    >>> model.schema.feature_names
    ('size', 'colour=blue', 'colour=red')
    """

    def __init__(
        self,
        classifier: OCBClassifier | AdaptiveClassifier,
        schema: Schema | None = None,
        history: list[dict[str, Any]] | None = None,
    ) -> None:
        if schema is not None:
            classifier.set_schema(schema)
        self.classifier = classifier
        self.history = list(history or [])

    def __repr__(self) -> str:
        n = self.classifier._n_encoded
        classes = ", ".join(map(str, self.classifier.classes_[:5].tolist()))
        hypotheses = self.hypotheses
        what = "no hypotheses yet" if hypotheses is None else repr(hypotheses)
        adaptive = "adaptive, " if isinstance(self.classifier, AdaptiveClassifier) else ""
        return f"<model for the classes {classes}: {adaptive}{what}, {n} features>"

    @property
    def schema(self) -> Schema | None:
        """How rows of a file become features: the classifier's ``schema_``."""
        return self.classifier.schema_

    @property
    def hypotheses(self) -> Hypotheses | None:
        """Its weak hypotheses; None where an adaptive classifier has not found any yet."""
        clf = self.classifier
        if isinstance(clf, AdaptiveClassifier):
            return None if clf.bank_.pool is None else clf.bank_.pool.hypotheses
        return clf.hypotheses_

    def features(self, table: Any) -> NDArray[np.float64]:
        """The features of a table, as the classifier wants them.

        Parameters
        ----------
        table : data frame of pandas or polars, table of Arrow
            With the columns the model was fitted on, in any order, and others.

        Returns
        -------
        array of shape (n, F)
            In float64.

        Raises
        ------
        InputError
            If it has no schema, or a column is missing.
        """
        if self.schema is None:
            raise InputError(
                "the model must know its columns to read a table; this one was fitted on arrays. "
                "Give its classifier an array."
            )
        return encode_table(self.schema, table)[0]

    def predict(self, table: Any) -> NDArray[Any]:
        """The class of each row of a table.

        Parameters
        ----------
        table : data frame of pandas or polars, table of Arrow
            As for `features`.

        Returns
        -------
        array of shape (n,)
            One of ``classes_`` each.
        """
        found: NDArray[Any] = self.classifier.predict(self.features(table), **self._unissued)
        return found

    def predict_proba(self, table: Any) -> NDArray[np.float64]:
        """The probability of each class, of each row of a table.

        Parameters
        ----------
        table : data frame of pandas or polars, table of Arrow
            As for `features`.

        Returns
        -------
        array of shape (n, K)
            In the order of ``classes_``.
        """
        return self.classifier.predict_proba(self.features(table), **self._unissued)

    def answers_to(self, rows: Rows) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """The class, as its code, and the probability of each, of checked rows; nothing is remembered.

        Parameters
        ----------
        rows : Batch
            Checked rows.

        Returns
        -------
        tuple of arrays
            Codes of classes (n,), and probabilities (n, K).
        """
        clf = self.classifier
        if isinstance(clf, AdaptiveClassifier):
            shares = clf.probabilities_of(rows, issue=False)
            return clf.decided(shares, rows.X), shares
        votes = clf.committee_.votes(rows.X)
        return clf.decided_by_votes(votes), probabilities(votes)

    @property
    def _unissued(self) -> dict[str, Any]:
        """The arguments with which a prediction is not remembered."""
        return {"issue": False} if isinstance(self.classifier, AdaptiveClassifier) else {}

    def tree(self) -> Tree:
        """What a file holds.

        Returns
        -------
        dict
            Plain values and arrays, by name.
        """
        now = copy.copy(self.classifier)  # others may learn meanwhile
        return {
            **(adaptive_tree(now) if isinstance(now, AdaptiveClassifier) else classifier_tree(now)),
            "history": self.history[-MAX_EVENTS:],
        }

    @classmethod
    def from_tree(cls, fields: Fields, offset: Any = None) -> Self:
        """A model from what `tree` gave, or from a classifier's file, and an offset that it does not hold.

        Parameters
        ----------
        fields : mapping
            What `tree` gave.
        offset : function or fitted classifier, optional
            What the file does not hold.

        Returns
        -------
        Model
            It continues exactly as that one would have.
        """
        if "bank" in fields:
            adaptive = adaptive_from_tree(fields, AdaptiveClassifier)
            return fields.make(cls, adaptive, None, list(adaptive._history))
        clf = classifier_from_tree(fields, OCBClassifier, offset)
        return fields.make(cls, clf, None, list(clf._history))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save to a file, in ocboost's own format (no pickle); an old file stays until this one is complete.

        A classifier whose hypotheses or offset are Python code is a `NotSavableError`. One with such an
        offset can be saved by itself, ``classifier.save(path, without_offset=True)``.

        Parameters
        ----------
        path : path
            The file.
        """
        save(path, self.kind, self.tree())

    @property
    def kind(self) -> str:
        """What a file calls it: the class of its classifier."""
        return ADAPTIVE_KIND if isinstance(self.classifier, AdaptiveClassifier) else CLASSIFIER_KIND

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Load what `save`, or that of either classifier, has written. Nothing in a file is executed.

        Of a checkpoint of ``ocboost adapt`` it is the model as it was then.

        Parameters
        ----------
        path : path
            The file.

        Returns
        -------
        Model
            It continues exactly as the saved one would have.

        Raises
        ------
        ModelFileError
            If the file is damaged, of another version, or no model.
        """
        name = os.fspath(path)
        kind, tree = load_any(path)
        if kind == CHECKPOINT_KIND:
            checkpoint = KINDS[CHECKPOINT_KIND].load()  # which needs this class
            model: Self = read(tree, name, checkpoint.from_tree).model
            return model
        if kind not in (CLASSIFIER_KIND, ADAPTIVE_KIND):
            raise ModelFileError(
                f"{name} holds {kind!r:.40}, not {CLASSIFIER_KIND} or {ADAPTIVE_KIND}. Load it with the "
                "class that saved it."
            )
        model = read(tree, name, cls.from_tree)
        if model.kind != kind:
            raise refusal(name, f"it says that it holds {kind}, and holds {model.kind}")
        return model
