"""How a classifier says why: `explain`, `weight_changes`, `feature_importances_`, and their plots."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ocboost._core.checks import as_count
from ocboost.estimators.committee import CommitteeView, probabilities
from ocboost.estimators.explanation import (
    Explanation,
    Explanations,
    FeaturePart,
    HypothesisPart,
    WeightChange,
    WeightChanges,
)
from ocboost.estimators.start_weights import StartWeights
from ocboost.hypotheses import Hypotheses
from ocboost.hypotheses.attribution import features_share
from ocboost.hypotheses.describe import NamedFeatures, features_of, in_words, path_in_words

Floats = NDArray[np.float64]
MAX_ALIKE = 5  # hypotheses of the same words, about, that are looked for
USUAL_TOP = 10


class Explains:
    """The methods of a classifier that say why; it implements the three that begin with an underscore."""

    def _explained(self, rows: Any, given: Any, top: int, named: NamedFeatures) -> list[Explanation]:
        """The explanations of checked rows; ``given`` are the rows as they came, or None."""
        raise NotImplementedError

    def _changed(self, top: int, named: NamedFeatures) -> WeightChanges:
        raise NotImplementedError

    def _importances(self) -> Floats:
        """What each feature that hypotheses see has in the votes; at least 0, and not NaN."""
        raise NotImplementedError

    def _still(self) -> Any:
        """It as it is now, should another thread fit it again meanwhile; locks are shared."""
        check_is_fitted(self)
        estimator: Any = self
        _ = estimator._guard
        return estimator._snapshot()

    def explain(self, X: Any, top: int | None = USUAL_TOP) -> Explanations:
        """Which hypotheses and features carried each prediction. Nothing is remembered.

        Parameters
        ----------
        X : array or table of shape (n, n_features)
            The rows.
        top : int or None, default 10
            So many of each are named, those that contribute most; None names all.

        Returns
        -------
        list of Explanation
            One for each row, with ``prediction``, ``probability``, ``hypotheses``, ``features`` and
            ``members``. It prints as tables, also in a notebook; ``to_dict()`` gives plain values.

        Examples
        --------
        >>> from ocboost import OCBClassifier
        >>> from ocboost.hypotheses import Stumps
        >>> clf = OCBClassifier(Stumps([0, 1], [0.5, 2.0], [-1, -1])).fit([[0, 1], [1, 3], [1, 1]], [0, 1, 1])
        >>> why = clf.explain([[1, 1]])[0]
        >>> why.prediction, [(h.words, h.answer) for h in why.hypotheses]
        (1, [('x0 > 0.5', 1), ('x1 > 2', -1)])
        """
        now = self._still()
        return explanations(now, now._checked_rows(X), top, given=X)

    def weight_changes(self, top: int | None = USUAL_TOP) -> WeightChanges:
        """Which hypotheses have gained or lost most weight since the model was deployed.

        That is since it was fitted (also by a first ``partial_fit``) or adopted (``from_fitted``,
        ``from_offset``). The weights of that moment are saved with it; of a file that an earlier version has
        written, since it was loaded.

        Parameters
        ----------
        top : int or None, default 10
            So many are named, those that have changed most; None names all.

        Returns
        -------
        WeightChanges
            With ``hypotheses``, also those that came and went as it grew, and ``members``, whose shares are
            those of an `AdaptiveClassifier`. It prints as tables; ``to_dict()`` gives plain values.
        """
        return changes(self._still(), top)

    @property
    def feature_importances_(self) -> Floats:
        """What each column has in the votes; the sum is 1, or 0 before anything is learnt.

        It is the share of ``|α|``, each hypothesis's shared among the features that it looks at; one that
        always answers the same has none. See ``docs/explain.md``.
        """
        now = self._still()
        return importances(now, features_of(now))

    def plot_explanation(self, row: Any, ax: Any = None, of: str = "features") -> Any:
        """Draw what carried the prediction of one row; needs matplotlib, and gives its axes.

        Parameters
        ----------
        row : sequence of n_features numbers, or a table of one row
            What is explained.
        ax : matplotlib.axes.Axes, optional
            Where to draw; new axes if left out.
        of : {"features", "hypotheses"}
            Whose contributions to draw.

        Returns
        -------
        matplotlib.axes.Axes
            Where it was drawn.
        """
        is_table = getattr(row, "ndim", 1) == 2 or hasattr(row, "columns")
        X = row if is_table else self._still()._one_row(row)
        return self.explain(X)[0].plot(ax, of)

    def plot_weight_changes(self, top: int = USUAL_TOP, ax: Any = None) -> Any:
        """Draw the weights before and now of what has changed most; needs matplotlib, and gives its axes.

        Parameters
        ----------
        top : int, default 10
            How many.
        ax : matplotlib.axes.Axes, optional
            Where to draw; new axes if left out.

        Returns
        -------
        matplotlib.axes.Axes
            Where it was drawn.
        """
        return self.weight_changes(top).plot(ax)

    def plot_feature_importances(self, top: int = USUAL_TOP, ax: Any = None) -> Any:
        """Draw the largest of ``feature_importances_``; needs matplotlib, and gives its axes.

        Parameters
        ----------
        top : int, default 10
            How many.
        ax : matplotlib.axes.Axes, optional
            Where to draw; new axes if left out.

        Returns
        -------
        matplotlib.axes.Axes
            Where it was drawn.
        """
        from ocboost.estimators.explanation_plot import draw_importances

        return draw_importances(features_of(self).columns, self.feature_importances_, checked_top(top), ax)


def checked_top(top: Any) -> int:
    """How many to name at most; None is all."""
    return (
        1 << 60 if top is None else as_count(top, "top", 1, None, "It is how many to name; None names all.")
    )


def explanations(
    clf: Any, rows: Any, top: int | None = USUAL_TOP, schema: Any = None, given: Any = None
) -> Explanations:
    """The explanations of checked rows by a fitted classifier; the schema names its features.

    ``given`` are the rows as they came, if an adopted model should see them so.
    """
    return Explanations(clf._explained(rows, given, checked_top(top), features_of(clf, schema)))


def changes(clf: Any, top: int | None = USUAL_TOP, schema: Any = None) -> WeightChanges:
    """What has changed since a fitted classifier was deployed; the schema names its features."""
    found: WeightChanges = clf._changed(checked_top(top), features_of(clf, schema))
    return found


def importances(clf: Any, named: NamedFeatures) -> Floats:
    """The share of each column, summing to 1; zeros if there is nothing to share."""
    found = named.of_columns(clf._importances())
    total = found.sum()
    return found / total if total > 0.0 else np.zeros(len(found))


# A committee -----------------------------------------------------------------------------------------------


def explained_by_votes(
    view: CommitteeView,
    rows: Any,
    classes: NDArray[Any],
    top: int,
    named: NamedFeatures,
    decided: NDArray[np.intp] | None = None,
) -> list[Explanation]:
    """What carried the votes of a committee on checked rows.

    ``decided`` has the codes of the predicted classes, where they are not those of the highest votes.
    """
    votes, labels = view.votes_each(rows), classes.tolist()
    codes = view.predict(rows) if decided is None else decided
    shares = probabilities(votes[:, 0] if votes.shape[1] == 1 else votes)
    answers = view.hypotheses.answers(rows)
    scores = view.offset_scores(rows)
    found = []
    for i, code in enumerate(codes.tolist()):
        k, sign = (0, 1.0 if code else -1.0) if len(view.columns) == 1 else (code, 1.0)
        own, weights = view.columns[k], sign * view.alphas[k]
        score = sign * float(votes[i, k])
        offset = None if scores is None else sign * float(scores[i, k])
        row = one_dense_row(rows, i)
        contributions = np.zeros(len(view.hypotheses))
        contributions[own] = weights * answers[i, own]
        parts, others, n_others = hypothesis_parts(
            view.hypotheses, range(own.start, own.stop), weights, answers[i, own], row, top, named
        )
        features = named.of_columns(features_share(view.hypotheses, contributions, row))
        listed = feature_parts(features, row, top, named)
        found.append(
            Explanation(
                prediction=labels[code],
                probability=float(shares[i, code]),
                score=score,
                offset=offset,
                hypotheses=parts,
                other_hypotheses=others,
                n_other_hypotheses=n_others,
                features=listed,
                other_features=_rest(score, offset, [part.contribution for part in listed]),
                members=(),
                likeliest=likelier(labels, shares[i], code),
            )
        )
    return found


def likelier(labels: list[Any], probabilities: Floats, code: int) -> Any:
    """The likeliest class, if it is likelier than the predicted one; else None."""
    best = int(probabilities.argmax())
    return labels[best] if probabilities[best] > probabilities[code] else None


def _rest(score: float, offset: float | None, listed: list[float]) -> float:
    """What is left of a score; nothing where only rounding is."""
    rest = math.fsum([score, -(offset or 0.0), *(-each for each in listed)])
    return rest if abs(rest) > 1e-12 * math.fsum(map(abs, [score, offset or 0.0, *listed])) else 0.0


def one_dense_row(rows: Any, i: int) -> Floats:
    """One row of a matrix, dense."""
    row = rows[i] if isinstance(rows, np.ndarray) else rows[i : i + 1].toarray()[0]
    return np.asarray(row, np.float64)


def hypothesis_parts(
    hypotheses: Hypotheses,
    places: Sequence[int],
    weights: Floats,
    answers: NDArray[Any],
    row: Floats,
    top: int,
    named: NamedFeatures,
) -> tuple[tuple[HypothesisPart, ...], float, int]:
    """Those of some hypotheses that contribute most, what the others do, and how many these are.

    Those of the same words and answer count as one.
    """
    contributions = weights * answers
    order = np.argsort(-np.abs(contributions), kind="stable")
    likely = order[: min(MAX_ALIKE * top, int((contributions != 0.0).sum()))]
    alike: dict[tuple[str, int], list[int]] = {}
    for j in likely.tolist():
        words = path_in_words(hypotheses, named.features, places[j], row)
        alike.setdefault((words, int(answers[j])), []).append(j)
    sums = {key: float(contributions[own].sum()) for key, own in alike.items()}
    first = sorted(alike, key=lambda key: -abs(sums[key]))[:top]
    parts = tuple(
        HypothesisPart(*key, float(weights[alike[key]].sum()), sums[key]) for key in first if sums[key]
    )
    listed = [j for key in first for j in alike[key]]
    others = np.delete(np.arange(len(contributions)), listed)
    return parts, float(contributions[others].sum()), len(others)


def feature_parts(
    contributions: Floats, row: Floats, top: int, named: NamedFeatures
) -> tuple[FeaturePart, ...]:
    """The columns that contribute most, with what a row has there."""
    order = np.argsort(-np.abs(contributions), kind="stable")
    first = order[: min(top, int((contributions != 0.0).sum()))].tolist()
    places = named.places_of(first)
    return tuple(
        FeaturePart(
            named.title(c), named.value(c, {f: float(row[f]) for f in places[c]}), float(contributions[c])
        )
        for c in first
    )


def weight_changes_of(
    view: CommitteeView, classes: NDArray[Any], top: int, named: NamedFeatures
) -> tuple[tuple[WeightChange, ...], int, int, int]:
    """The weights of a committee that have changed most; how many there are, have come and have gone."""
    starts = StartWeights.of(view.alphas) if view.start is None else view.start
    labels = classes.tolist()
    lines: list[tuple[float, int, int, bool]] = []  # size of the change, booster, place, whether it has gone
    for k, (alpha, start) in enumerate(zip(view.alphas, starts, strict=True)):
        lines += [(abs(d), k, j, False) for j, d in enumerate((alpha - start.alpha).tolist())]
        lines += [(abs(d), k, j, True) for j, d in enumerate(start.gone_alpha.tolist())]
    lines.sort(key=lambda line: -line[0])
    found = []
    for size, k, j, went in lines[:top]:
        if size == 0.0:
            break
        start, label = starts[k], labels[1 if len(view.columns) == 1 else k]
        if went:
            assert start.gone is not None
            words = in_words(start.gone, named.features, j)
            found.append(WeightChange(words, label, float(start.gone_alpha[j]), 0.0, went=True))
        else:
            words = in_words(view.hypotheses, named.features, view.columns[k].start + j)
            before, now = float(start.alpha[j]), float(view.alphas[k][j])
            found.append(WeightChange(words, label, before, now, came=not start.here[j]))
    n_came = sum(int((~start.here).sum()) for start in starts)
    n_went = sum(start.gone_alpha.size for start in starts)
    return tuple(found), len(lines), n_came, n_went


def importances_by_votes(view: CommitteeView) -> Floats:
    """What each feature has in |α|."""
    sizes = np.zeros(len(view.hypotheses))
    for alpha, own in zip(view.alphas, view.columns, strict=True):
        sizes[own] += np.abs(alpha)
    return features_share(view.hypotheses, sizes)
