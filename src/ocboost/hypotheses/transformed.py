"""Hypotheses over columns as they are before preprocessing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from ocboost._core.codec import Fields, Tree
from ocboost._core.kinds import HYPOTHESES, nested_reader, nested_tree
from ocboost._core.threads import without_warning
from ocboost.errors import InputError, MissingExtraError, NotSavableError
from ocboost.foreign.base import Floats, Mask, PortableStep, part_tree, step_from
from ocboost.foreign.convert import column_names_of, portable_steps
from ocboost.foreign.portable import vocabularies_from, vocabularies_tree
from ocboost.hypotheses.base import Hypotheses
from ocboost.hypotheses.category_trees import CategoryTrees
from ocboost.hypotheses.joined import Joined
from ocboost.hypotheses.origins import features_after
from ocboost.hypotheses.stumps import Stumps
from ocboost.hypotheses.trees import Trees


class Transformed(Hypotheses):
    """Hypotheses that are given what a step makes of the rows.

    Parameters
    ----------
    step : portable step
        Such as ``ocboost.foreign.columns.Columns([2, 0], 3)``, or what `transformed` makes of transformers.
    hypotheses : Hypotheses
        Over what the step gives.
    vocabularies : dict, optional
        The texts of each text column by its position, where rows hold the index into them.

    Examples
    --------
    >>> from ocboost.foreign.columns import Columns
    >>> from ocboost.hypotheses import Stumps
    >>> Transformed(Columns([2], 3), Stumps([0], [1.0], [1]))
    <1 stumps over 1 of 1 features, after steps over 3 features>
    """

    kind = "Transformed"

    def __init__(
        self,
        step: PortableStep,
        hypotheses: Hypotheses,
        vocabularies: Mapping[int, Sequence[str]] | None = None,
    ) -> None:
        if step.n_out != hypotheses.n_features:
            raise InputError(
                f"hypotheses must be over the {step.n_out} columns that the step gives; got some over "
                f"{hypotheses.n_features} features."
            )
        self.step, self.hypotheses = step, hypotheses
        self.vocabularies = {at: tuple(texts) for at, texts in sorted((vocabularies or {}).items())}
        self.n_hypotheses, self.n_features = hypotheses.n_hypotheses, step.n_columns
        self.thread_safe = step.thread_safe and hypotheses.thread_safe
        after = step.missing_after(np.ones(step.n_columns, np.bool_))
        self.accepts_missing = after is not None and (hypotheses.accepts_missing or not after.any())

    def __repr__(self) -> str:
        return f"<{repr(self.hypotheses).strip('<>')}, after steps over {self.n_features} features>"

    def _fill(self, X: Any, block: NDArray[np.int8]) -> None:
        given = self.step(np.ascontiguousarray(X, dtype=np.float64))
        self.hypotheses._fill(self.hypotheses.check(given), block)

    def __getitem__(self, members: Any) -> Self:
        return type(self)(self.step, self.hypotheses[members], self.vocabularies)

    def beside(self, other: Hypotheses) -> Hypotheses | None:
        """These and then the others, if they follow the same steps.

        Parameters
        ----------
        other : Hypotheses
            Those that come last.

        Returns
        -------
        Hypotheses or None
            None where there is no such set.
        """
        if type(other) is not Transformed or self.vocabularies != other.vocabularies:
            return None
        if not same_step(self.step, other.step):
            return None
        both = self.hypotheses.beside(other.hypotheses) or Joined([self.hypotheses, other.hypotheses])
        return Transformed(self.step, both, self.vocabularies)

    @cached_property
    def used(self) -> NDArray[np.intp]:
        """The columns after the step that the hypotheses look at."""
        return np.flatnonzero(looked_at(self.hypotheses))

    def features_after(self, features: Sequence[Any]) -> list[Any]:
        """What words call the columns after the step.

        Parameters
        ----------
        features : sequence
            What words call the columns before it.

        Returns
        -------
        list
            One for each column.
        """
        cached = self.__dict__.get("_after")
        if cached is None or cached[0] is not features:
            found = features_after(self.step, features, self.vocabularies, self.used)
            after = [found.get(d, features[0]) for d in range(self.step.n_out)]
            cached = self.__dict__["_after"] = features, after
        named: list[Any] = cached[1]
        return named

    def tree(self) -> Tree:
        """What a file holds.

        Returns
        -------
        dict
            Plain values and arrays, by name.
        """
        return {
            "step": part_tree(self.step),
            "hypotheses": nested_tree(self.hypotheses, HYPOTHESES),
            "vocabularies": vocabularies_tree(self.vocabularies),
        }

    @classmethod
    def from_tree(cls, fields: Fields) -> Self:
        """Hypotheses from what a file holds.

        Parameters
        ----------
        fields : mapping
            What `tree` gave.

        Returns
        -------
        Transformed
            They answer the same.
        """
        step = fields.read("step", step_from)
        hypotheses = fields.read("hypotheses", nested_reader(HYPOTHESES))
        return fields.make(cls, step, hypotheses, vocabularies_from(fields, step.n_columns))


def looked_at(hypotheses: Hypotheses) -> Mask:
    """Which features hypotheses look at, as far as they say; else all."""
    mask = np.zeros(hypotheses.n_features, np.bool_)
    if isinstance(hypotheses, Joined):
        for each in hypotheses.sets:
            mask |= looked_at(each)
    elif isinstance(hypotheses, Stumps | Trees):
        mask[hypotheses.feature[hypotheses.feature >= 0]] = True
    elif isinstance(hypotheses, CategoryTrees):
        mask[list(hypotheses.nodes.reads)] = True
    elif isinstance(hypotheses, Transformed):
        wanted = np.zeros(hypotheses.step.n_out, np.bool_)
        wanted[hypotheses.used] = True
        mask |= hypotheses.step.needs(wanted)
    else:
        mask[:] = True
    return mask


class PythonSteps(PortableStep):
    """Fitted transformers that are called as they are. No file holds them."""

    kind = "PythonSteps"
    thread_safe = False  # the transformers may not be

    def __init__(self, transformers: Sequence[Any], n_out: int) -> None:
        self.transformers = list(transformers)
        self._names = column_names_of(self.transformers[0])
        known = getattr(self.transformers[0], "n_features_in_", None)
        if known is None:
            raise InputError(
                f"transformers must know how many columns they were fitted on; got "
                f"{self.transformers[0]!r:.80}, which does not. Put one before it that does, such as a "
                "ColumnTransformer."
            )
        self.n_columns, self.n_out = int(known), n_out

    def __call__(self, X: Floats) -> Floats:
        """Transform by each."""
        rows: Any = X
        if self._names is not None:  # those who select columns by name need a table
            try:
                from pandas import DataFrame
            except ImportError:
                raise MissingExtraError("pandas", "river", "Calling transformers of tables") from None
            rows = DataFrame(X, columns=list(self._names))
        with without_warning("X does not have valid feature names"):
            for each in self.transformers:
                rows = each.transform(rows)
        return np.ascontiguousarray(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=np.float64)

    def missing_after(self, missing: Mask) -> Mask | None:
        """Missing values are taken if each of the transformers says that it takes them."""
        from ocboost.hypotheses.sklearn import input_tags

        takes = all(input_tags(each)[1] for each in self.transformers)
        return np.ones(self.n_out, np.bool_) if takes or not missing.any() else None

    def tree(self) -> NoReturn:
        """Python objects have no form in a file: this raises `NotSavableError`."""
        try:
            portable_steps(self.transformers)
        except NotSavableError as error:
            raise error from None
        raise NotSavableError("transformers must be made of arrays to be saved; these are Python objects.")


def transformed(transformers: Sequence[Any], hypotheses: Hypotheses) -> Hypotheses:
    """Hypotheses over the columns that fitted scikit-learn transformers take, one after the other.

    Those that can be written as arrays are, and can be saved (docs/adopt.md). Others are called as they are.

    Parameters
    ----------
    transformers : sequence
        The steps, in their order; fitted, of scikit-learn.
    hypotheses : Hypotheses
        Over the columns after the last step.

    Returns
    -------
    Hypotheses
        Over the columns before the first step.
    """
    if not transformers:
        return hypotheses
    try:
        step, vocabularies = portable_steps(transformers)
    except NotSavableError:
        return Transformed(PythonSteps(transformers, hypotheses.n_features), hypotheses)
    return Transformed(step, hypotheses, vocabularies)


def same_step(one: PortableStep, two: PortableStep) -> bool:
    """Whether two steps do the same: they are one object, or a file would hold the same of them."""
    if one is two:
        return True
    if isinstance(one, PythonSteps) or isinstance(two, PythonSteps) or type(one) is not type(two):
        return False
    return _equal(one.tree(), two.tree())


def _equal(one: Any, two: Any) -> bool:
    if type(one) is not type(two):
        return False
    if isinstance(one, dict):
        return one.keys() == two.keys() and all(_equal(one[key], two[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(two) and all(map(_equal, one, two))
    if isinstance(one, np.ndarray):
        return one.dtype == two.dtype and np.array_equal(one, two, equal_nan=one.dtype.kind == "f")
    return bool(one == two)
