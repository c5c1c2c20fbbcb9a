"""A whole fitted model of another library, over the raw columns it was fitted on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ocboost._core.codec import Fields, Tree
from ocboost._core.labels import classes_from, classes_tree
from ocboost.errors import InputError
from ocboost.foreign.base import (
    MAX_WIDTH,
    Floats,
    codes_of_model,
    model_from,
    n_classes_of,
    needs_of_model,
    part_tree,
)
from ocboost.foreign.slots import MAX_VOCABULARY

MAX_TEXT = 1 << 20  # letters of one text of a vocabulary, or of a column's name


class PortableModel:
    """A fitted classifier in ocboost's own form. It answers as the model does, and can be saved.

    Parameters
    ----------
    model : portable classifier, or trees of `ocboost.foreign.trees`
    classes : array of shape (K,)
        As the model's ``classes_``.
    column_names : texts, optional
        The names of the raw columns, if the model was fitted on named ones.
    vocabularies : dict
        The texts of each raw text column by its position: rows have the index into them, NaN for a missing
        value, -1 for any other text (`ocboost.foreign.columns.codes_of_texts`).

    Attributes
    ----------
    n_columns : int
        Raw columns.
    reads : tuple of int
        The positions of the columns that matter; the others may be NaN.
    accepts_missing : bool
        Whether every column may be missing.
    """

    kind: ClassVar[str] = "PortableModel"

    def __init__(
        self,
        model: Any,
        classes: NDArray[Any],
        column_names: Sequence[str] | None = None,
        vocabularies: Mapping[int, Sequence[str]] | None = None,
    ) -> None:
        self.model, self.classes, self.n_columns = model, np.asarray(classes), int(model.n_columns)
        self.column_names = None if column_names is None else tuple(column_names)
        self.vocabularies = {at: tuple(texts) for at, texts in sorted((vocabularies or {}).items())}
        self.reads = tuple(np.flatnonzero(needs_of_model(model)).tolist())
        self.accepts_missing = bool(getattr(model, "accepts_missing", True))
        if n_classes_of(model) != self.classes.size:
            raise InputError(
                f"classes must be those of the model; got {self.classes.size} for {n_classes_of(model)}."
            )
        if self.column_names is not None and len(self.column_names) != self.n_columns:
            raise InputError(
                f"column_names must be {self.n_columns}; got {len(self.column_names)}, {column_names!r:.80}."
            )
        for at, texts in self.vocabularies.items():
            if not 0 <= at < self.n_columns or len(set(texts)) != len(texts) or len(texts) > MAX_VOCABULARY:
                raise InputError(
                    f"vocabularies must be different texts, at most {MAX_VOCABULARY:,}, of columns 0 to "
                    f"{self.n_columns - 1}; got {len(texts)} for column {at}."
                )

    def __repr__(self) -> str:
        texts = f", {len(self.vocabularies)} of them text" if self.vocabularies else ""
        return f"<a model of {self.classes.size} classes over {self.n_columns} columns{texts}>"

    def _checked(self, X: Any) -> Floats:
        X = np.asarray(X, dtype=np.float64, order="C")
        if X.ndim != 2 or X.shape[1] != self.n_columns:
            raise InputError(
                f"X must have shape (rows, {self.n_columns}), the columns the model was fitted on; got shape "
                f"{X.shape}."
            )
        rows: Floats = X
        return rows

    def probabilities(self, X: Any) -> Floats:
        """The probabilities of the classes, (n, K): the model's ``predict_proba``.

        For a model that only decides, the logistic function of its score, or softmax for several classes.
        """
        found: Floats = self.model.probabilities(self._checked(X))
        if not np.isfinite(found).all():
            row = int(np.argmin(np.isfinite(found).all(axis=1)))
            raise InputError(
                f"the model must answer with numbers; got {found[row].tolist()!s:.80} for row {row}. Leave "
                "out rows of such size."
            )
        return found

    def predict_codes(self, X: Any) -> NDArray[np.int64]:
        """What the model's ``predict`` gives, as an index into the classes."""
        return codes_of_model(self.model, self._checked(X))

    def tree(self) -> Tree:
        """What a file holds."""
        return {
            "model": part_tree(self.model),
            "classes": classes_tree(self.classes),
            "column_names": None if self.column_names is None else list(self.column_names),
            "vocabularies": vocabularies_tree(self.vocabularies),
        }

    @classmethod
    def from_tree(cls, fields: Fields) -> Self:
        """The model that `tree` described; invalid contents raise `ModelFileError`."""
        names = None if fields.takes("column_names", None) else texts_from(fields, "column_names", MAX_WIDTH)
        model = fields.read("model", model_from)
        fields.require(not isinstance(model, cls), "a model must not hold itself")
        vocabularies = vocabularies_from(fields, int(model.n_columns))
        return fields.make(cls, model, fields.read("classes", classes_from), names, vocabularies)


def vocabularies_tree(vocabularies: Mapping[int, Sequence[str]]) -> list[Tree]:
    """Vocabularies by the position of their column, as a file holds them."""
    return [{"column": at, "texts": list(texts)} for at, texts in sorted(vocabularies.items())]


def vocabularies_from(fields: Fields, n_columns: int) -> dict[int, list[str]]:
    """What `vocabularies_tree` described."""

    def one(entry: Fields) -> tuple[int, list[str]]:
        at = entry.count("column", 0, max(n_columns - 1, 0))
        return at, texts_from(entry, "texts", MAX_VOCABULARY)

    pairs = fields.read_all("vocabularies", one)
    fields.require(len(dict(pairs)) == len(pairs), "a column must have one vocabulary")
    for _, texts in pairs:
        fields.require(len(set(texts)) == len(texts), "the texts of a vocabulary must be different")
    return dict(pairs)


def texts_from(fields: Fields, key: str, most: int) -> list[str]:
    """A list of texts."""
    texts = fields.items(key, most=most)
    fits = all(type(text) is str and len(text) <= MAX_TEXT for text in texts)
    fields.require(fits, f"{key} must be texts")
    return texts
