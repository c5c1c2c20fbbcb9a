"""Why an adaptive classifier predicts what it does: its members, their hypotheses, and the features."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocboost._kernels.arrays import Floats
from ocboost.errors import InputError
from ocboost.estimators.adaptive.bank import Bank
from ocboost.estimators.adaptive.voting import FIXED
from ocboost.estimators.explaining import (
    feature_parts,
    hypothesis_parts,
    one_dense_row,
    weight_changes_of,
)
from ocboost.estimators.explanation import Explanation, HypothesisPart, MemberPart, ShareChange, WeightChanges
from ocboost.hypotheses.attribution import features_share
from ocboost.hypotheses.describe import NamedFeatures
from ocboost.streams.rows import stack_matrices

RECENT_ROWS = 1000  # whose values stand for those of a feature
MOST_REPLACEMENTS = 20  # rows among them, that lend their values
MOST_PREDICTIONS = 2000  # for one explanation, beyond one for each column
MOST_SWAPPED = 200  # recent rows that an adopted model is asked about
LEAST_SCALE = 0.05  # of a booster's votes


def explained_by_members(
    bank: Bank,
    X: Any,
    predicted: tuple[NDArray[np.intp], Floats, Floats | None],
    probabilities: Callable[[Any], Floats],
    labels: list[Any],
    top: int,
    named: NamedFeatures,
) -> list[Explanation]:
    """What carried the predictions of rows, as the bank keeps them; nobody else uses the bank meanwhile.

    ``predicted`` are the codes, the probabilities, and those of an adopted model; ``probabilities`` predicts
    other rows.
    """
    lenders, found = _lenders(bank, len(named.columns)), []
    for i, code in enumerate(predicted[0].tolist()):
        losses = np.zeros(len(named.columns))
        x, row, probability = X[i : i + 1], one_dense_row(X, i), float(predicted[1][i, code])
        said = None if predicted[2] is None else predicted[2][i]
        with suppress(InputError):  # without a portable form an adopted model reads tables only
            losses = _losses(x, code, probability, lenders, probabilities, named)
        features = feature_parts(losses, row, top, named)
        if bank.untouched is None:
            members, hypotheses, others, n_others, score = _said(bank, x, said, row, code, top, named)
        else:
            members, hypotheses, others, n_others, score = (
                (MemberPart(bank.names[0], 1.0, probability),),
                (),
                0.0,
                0,
                0.0,
            )
        found.append(
            Explanation(
                prediction=labels[code],
                probability=probability,
                score=score,
                offset=None,
                hypotheses=hypotheses,
                other_hypotheses=others,
                n_other_hypotheses=n_others,
                features=features,
                other_features=None,
                members=members,
                alone=bank.untouched is not None,
            )
        )
    return found


def _said(
    bank: Bank, x: Any, said: Floats | None, row: Floats, code: int, top: int, named: NamedFeatures
) -> tuple[tuple[MemberPart, ...], tuple[HypothesisPart, ...], float, int, float]:
    """Members and hypotheses, what other hypotheses contribute, how many they are, and the sum of all."""
    shares = bank.mixing.influence()
    one = bank.row(x)
    record = bank.record(one, said)
    calibrated = record[2 * bank.mixing.n_experts + bank.mixing.n_mixers :]
    order = np.argsort(-shares, kind="stable")[:top].tolist()
    members = tuple(MemberPart(bank.names[e], float(shares[e]), float(calibrated[e, code])) for e in order)
    if bank.pool is None or bank.voting is None or one.answers is None:
        return members, (), 0.0, 0, 0.0
    weights = bank.voting.combined(_factors(bank, shares))
    two = len(weights) == 1
    k = 0 if two else code
    own, signed = bank.pool.columns[k], weights[k] * (-1.0 if two and code == 0 else 1.0)
    answers = one.answers[0, own]
    places = range(own.start, own.stop)
    parts = hypothesis_parts(bank.pool.hypotheses, places, signed, answers, row, top, named)
    return members, *parts, float((signed * answers).sum())


def _factors(bank: Bank, shares: Floats) -> Floats:
    """What each booster's weights count: its share of the prediction, by the mean size of its log-odds."""
    n = len(FIXED) + len(bank.boosters)
    factors: Floats = 2.0 * shares[:n] / np.maximum(bank.mixing.scales[:n, 0], LEAST_SCALE)
    if bank.deployed is not None:  # its place is that of an adopted model
        factors[0] = 0.0
    return factors


# Features --------------------------------------------------------------------------------------------------


def _recent(bank: Bank) -> Any:
    """The last rows that it knows; None if it knows none."""
    if bank.pool is not None and len(bank.pool.recent):
        return bank.pool.recent.last(RECENT_ROWS).X
    return stack_matrices([X for X, _, _ in bank._kept[-RECENT_ROWS:]]) if bank._kept else None


def _spread(X: Any, n: int) -> Any:
    """At most n rows, evenly from all."""
    last = X.shape[0] - 1
    return X[np.linspace(0, last, min(n, last + 1)).round().astype(np.int64)]


def _lenders(bank: Bank, n_columns: int) -> Any:
    """Recent rows whose values replace those of a row; None if no row is known."""
    X = _recent(bank)
    return None if X is None else _spread(X, min(MOST_REPLACEMENTS, max(1, MOST_PREDICTIONS // n_columns)))


def _losses(
    x: Any,
    code: int,
    probability: float,
    lenders: Any,
    probabilities: Callable[[Any], Floats],
    named: NamedFeatures,
) -> Floats:
    """By how much the probability falls, on the average, where a column has the values of recent rows.

    Of a sparse row only the columns that are not zero are replaced.
    """
    losses = np.zeros(len(named.columns))
    if lenders is None:
        return losses
    dense = isinstance(x, np.ndarray)
    columns = (
        sorted({named.features[f].column for f in x.indices.tolist()}) if not dense else range(len(losses))
    )
    places, n = named.places_of(columns), lenders.shape[0]
    for column, own in places.items():
        if not own:
            continue
        theirs = lenders[:, own] if dense else lenders[:, own].toarray()
        mine = x[0, own] if dense else x[:, own].toarray()[0]
        other = ~((theirs == mine) | (np.isnan(theirs) & np.isnan(mine))).all(axis=1)
        if not other.any():
            continue  # the prediction would be the same
        replaced = _replaced(x, own, theirs[other])
        losses[column] = float((probability - probabilities(replaced)[:, code]).sum()) / n
    return losses


def _replaced(x: Any, own: list[int], values: Floats) -> Any:
    """Copies of a row with other values of some features."""
    n = len(values)
    if isinstance(x, np.ndarray):
        rows = np.repeat(x, n, axis=0)
        rows[:, own] = values
        return rows
    from scipy.sparse import csr_matrix

    columns = np.union1d(x.indices, own)
    rows = np.repeat(x[:, columns].toarray(), n, axis=0)
    rows[:, np.searchsorted(columns, own)] = values
    ends = np.arange(0, rows.size + 1, columns.size)
    return csr_matrix((rows.ravel(), np.tile(columns, n), ends), shape=(n, x.shape[1]))


# Since it was deployed, and on the whole -------------------------------------------------------------------


def changed_in_bank(bank: Bank, classes: NDArray[Any], top: int, named: NamedFeatures) -> WeightChanges:
    """Weights of the OCB that drives the pool, and shares of the members, then and now."""
    now, before = bank.mixing.influence(), bank.start_shares
    order = np.argsort(-np.abs(now - before), kind="stable")
    order = order[: min(top, int((now != before).sum()))]
    members = tuple(ShareChange(bank.names[e], float(before[e]), float(now[e])) for e in order.tolist())
    if bank.pool is None:
        return WeightChanges((), 0, 0, 0, members)
    view = bank.pool.driver.committee_.view()
    return WeightChanges(*weight_changes_of(view, classes, top, named), members)


def importances_in_bank(bank: Bank, n_features: int) -> Floats:
    """What each feature has in the members that can tell, each summing to its share of the prediction."""
    shares, total = bank.mixing.influence(), np.zeros(n_features)

    def add(sizes: Floats, share: float) -> None:
        whole = sizes.sum()
        if whole > 0.0:
            np.add(total, share / whole * sizes, out=total)

    if bank.deployed is not None:
        add(_of_adopted(bank, n_features), float(shares[0]))
    if bank.pool is not None and bank.voting is not None:
        hypotheses = bank.pool.hypotheses
        for e in range(0 if bank.deployed is None else 1, bank._n_voting):
            sizes = np.zeros(len(hypotheses))
            for alpha, c in zip(
                bank.voting.combined(np.eye(bank._n_voting)[e]), bank.pool.columns, strict=True
            ):
                sizes[c] += np.abs(alpha)
            add(features_share(hypotheses, sizes), float(shares[e]))
    for member, start, _ in bank._places:
        known = member.importances(n_features)
        for e, sizes in enumerate(() if known is None else known, start):
            add(sizes, float(shares[e]))
    return total


def _of_adopted(bank: Bank, n_features: int) -> Floats:
    """By how much the probabilities of an adopted model change where recent rows swap a feature's values."""
    sizes = np.zeros(n_features)
    X = _recent(bank)
    if bank.deployed is None or not isinstance(X, np.ndarray) or len(X) < 2:
        return sizes
    X = _spread(X, min(MOST_SWAPPED, max(2, 10 * MOST_PREDICTIONS // n_features)))
    with suppress(InputError):  # without a portable form it reads tables only
        before = bank.deployed.probabilities(X)
        for f in range(n_features):
            swapped = X.copy()
            swapped[:, f] = np.roll(X[:, f], 1)
            sizes[f] = np.abs(bank.deployed.probabilities(swapped) - before).sum()
    return sizes
