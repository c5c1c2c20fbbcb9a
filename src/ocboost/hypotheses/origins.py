"""Where the columns come from that hypotheses see after preprocessing: for words, and to share votes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ocboost.foreign.columns import Columns

if TYPE_CHECKING:
    from ocboost.foreign.base import PortableStep
    from ocboost.hypotheses.describe import Feature

_TRIED = np.array([-1.0, 0.0, 1.0, 3.0])  # numbers that show whether a column is only scaled
MAX_TEXTS_TRIED = 256


def sources(step: PortableStep, column: int) -> NDArray[np.intp]:
    """The columns before a step that decide one after it."""
    wanted = np.zeros(step.n_out, np.bool_)
    wanted[column] = True
    return np.flatnonzero(step.needs(wanted))


def features_after(
    step: PortableStep,
    features: Sequence[Feature],
    vocabularies: Mapping[int, Sequence[str]],
    used: NDArray[np.intp],
) -> dict[int, Feature]:
    """What words call the columns after a step, those of ``used``.

    A column that is only scaled keeps its name and its unit, one that says whether a text is there names the
    text. Any other is called by what it was made of.
    """
    if isinstance(step, Columns):
        return {int(d): features[step.indices[d]] for d in used}
    found = {}
    for d in used:
        before = sources(step, int(d))
        if len(before) != 1:
            names = ", ".join(features[c].name for c in before[:3]) + (", …" if len(before) > 3 else "")
            found[int(d)] = features[before[0] if len(before) else 0]._replace(
                name=f"a mix of {names}" if len(before) else "a constant", category=None
            )
            continue
        own = features[before[0]]
        found[int(d)] = _named(step, int(before[0]), int(d), own, vocabularies.get(int(before[0])))
    return found


def _named(step: PortableStep, before: int, after: int, own: Feature, texts: Sequence[str] | None) -> Feature:
    if texts is not None and len(texts) <= MAX_TEXTS_TRIED:
        said = _outcomes(step, before, after, np.arange(len(texts), dtype=np.float64))
        if said is not None and set(said.tolist()) <= {0.0, 1.0} and said.sum() == 1.0:
            return own._replace(category=texts[int(said.argmax())], texts=())
    elif texts is None and own.category is None:
        said = _outcomes(step, before, after, _TRIED)
        if said is not None:
            scale, shift = float(said[2] - said[1]), float(said[1])
            if scale > 0.0 and np.allclose(said, shift + scale * _TRIED, rtol=1e-9):
                return own._replace(scale=own.scale * scale, shift=shift + scale * own.shift)
    return own._replace(name=f"{own.name} (transformed)", category=None, texts=())


def _outcomes(step: PortableStep, before: int, after: int, values: NDArray[Any]) -> NDArray[Any] | None:
    """What comes out where only one column differs; None if the step refuses the rows."""
    X = np.zeros((len(values), step.n_columns))
    X[:, before] = values
    try:
        said: NDArray[Any] = step(X)[:, after]
    except ValueError:
        return None
    return said if np.isfinite(said).all() else None
