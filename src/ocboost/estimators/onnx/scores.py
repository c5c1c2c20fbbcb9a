"""Votes, offsets, probabilities and labels in operators of ONNX. Scores are (boosters, rows) on the way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocboost.errors import InputError
from ocboost.estimators.committee import CommitteeView, probabilities
from ocboost.estimators.decisions import Decision
from ocboost.estimators.onnx.answers import answers
from ocboost.estimators.onnx.graph import Graph, Value, onnx
from ocboost.hypotheses import Ballot, Hypotheses
from ocboost.offsets import LinearOffset, Offset, ScaledOffset, VotedOffset

Decide = Callable[[NDArray[np.float64]], NDArray[Any]]  # from probabilities, (n, K), to the codes of classes

MAX_SCORE = 1e6  # from here on the probabilities of two classes are 0 and 1


def votes(graph: Graph, X: Value, hypotheses: Hypotheses, ballots: list[Ballot]) -> Value:
    """Each ballot's sum of votes, (ballots, rows): `Hypotheses.votes` to the last bit."""
    answered = answers(graph, X, hypotheses)
    sums = []
    for first, up, down in ballots:
        part = answered
        if len(up) < len(hypotheses):
            part = graph.op("Slice", answered, np.array([first]), np.array([first + len(up)]), np.array([0]))
        sums.append(graph.total(graph.op("Where", part, up[:, None], down[:, None]), len(up)))
    return graph.stack(sums)


def scores(graph: Graph, X: Value, view: CommitteeView) -> Value:
    """What `decision_function` gives: the votes, on top of the offset where there is one."""
    ballots = [Ballot.of(alpha, c.start) for alpha, c in zip(view.alphas, view.columns, strict=True)]
    total = votes(graph, X, view.hypotheses, ballots)
    return total if view.offset is None else graph.op("Add", offset_scores(graph, X, view.offset), total)


def offset_scores(graph: Graph, X: Value, offset: Offset) -> Value:
    """The scores of an offset."""
    if isinstance(offset, LinearOffset):
        lines = graph.op("Transpose", X, perm=[1, 0])
        coef = np.atleast_2d(offset.coef)
        sums = [_paired_sum(graph, graph.op("Mul", lines, row[:, None]), 0, row.size) for row in coef]
        return graph.op("Add", graph.stack(sums), offset.intercept.reshape(-1, 1))
    if isinstance(offset, VotedOffset):
        ballots = [Ballot.of(row) for row in np.atleast_2d(offset.alpha)]
        return graph.op("Add", votes(graph, X, offset.hypotheses, ballots), offset.shift.reshape(-1, 1))
    if isinstance(offset, ScaledOffset):
        scaled = graph.op("Mul", offset_scores(graph, X, offset.scorer), offset.scale.reshape(-1, 1))
        return graph.op("Mul", graph.op("Add", scaled, offset.shift.reshape(-1, 1)), np.float64(0.5))
    raise InputError(
        "offset must be a LinearOffset, a VotedOffset or a ScaledOffset of these to be exported to ONNX; got "
        f"{offset.kind}, which is Python code. Give LinearOffset.from_sklearn(fitted), VotedOffset or "
        "fit_offset of one of these instead."
    )


def _paired_sum(graph: Graph, lines: Value, first: int, n: int) -> Value:
    """The sum of n lines as NumPy adds a row of numbers: eight sums side by side, at most 128 at a time."""
    if n > 128:
        half = n // 2 - n // 2 % 8
        return graph.op(
            "Add", _paired_sum(graph, lines, first, half), _paired_sum(graph, lines, first + half, n - half)
        )

    def part(begin: int, end: int) -> Value:
        return graph.op("Slice", lines, np.array([begin]), np.array([end]), np.array([0]))

    if n < 8:
        return graph.total(part(first, first + n), n)
    eights = n // 8
    by_eight = graph.op("Reshape", part(first, first + 8 * eights), np.array([eights, 8, -1]))
    sums = graph.op("Reshape", graph.total(by_eight, eights), np.array([8, -1]))
    for left in (4, 2, 1):
        even, odd = (graph.op("Gather", sums, 2 * np.arange(left) + side, axis=0) for side in (0, 1))
        sums = graph.op("Add", even, odd)
    rest = n - 8 * eights
    if rest == 0:
        return sums
    return graph.total(graph.op("Concat", sums, part(first + n - rest, first + n), axis=0), 1 + rest)


# Answers ----------------------------------------------------------------------------------------------------


def shares(graph: Graph, scores: Value, n_classes: int) -> Value:
    """The probability of each class, (classes, rows), see `committee.probabilities`."""
    if n_classes == 2:
        helper = onnx("helper")
        zero = helper.make_tensor("value", onnx().TensorProto.DOUBLE, [1], [0.0])
        none = graph.op("ConstantOfShape", graph.op("Shape", scores), value=zero)
        scores = graph.op("Concat", none, scores, axis=0)
    gap = graph.op("Sub", scores, graph.op("ReduceMax", scores, axes=[0], keepdims=1))
    share = graph.op("Exp", graph.op("Mul", gap, np.float64(2.0)))
    return graph.op("Div", share, graph.op("ReduceSum", share, np.array([0]), keepdims=1))


def winners(graph: Graph, X: Value, scores: Value, view: CommitteeView) -> Value:
    """The code of the class with the highest vote, (rows,): `CommitteeView.predict`, ties too."""
    K = len(view.columns)
    if K == 1:
        return _coded(graph, graph.op("Greater", scores, np.float64(0.0)))
    if view.deployed is not None:  # by scikit-learn's own sum, as long as nothing has been learnt
        weights = 2.0 * view.deployed[0]
        less = -1 / (K - 1) * weights
        ballots = [Ballot(c.start, weights, less) for c in view.columns]
        own = votes(graph, X, view.hypotheses, ballots)
        scores = graph.op("Div", own, np.float64(view.deployed[1]))
    return graph.op("ArgMax", scores, axis=0, keepdims=0)


def decided_by_score(graph: Graph, scores: Value, decide: Decide) -> Value:
    """The code of one of two classes, by a rule on their probabilities.

    A rule that compares weighted probabilities changes at one score at most. The comparison is made with that
    score, so that it does not depend on how a runtime rounds exponentials.
    """
    low, high, at = turning_point(decide)
    above = graph.op("GreaterOrEqual", graph.op("Reshape", scores, np.array([-1])), np.float64(at))
    return graph.op("Where", above, np.int64(high), np.int64(low))


def decided_by_share(graph: Graph, share: Value, rule: Decision) -> Value:
    """The code of the class of least expected cost, or of largest weighted probability: `Decision.codes`."""
    if rule.weights is not None:
        share = graph.op("Mul", share, rule.weights[:, None])
    if rule.costs is None:
        return graph.op("ArgMax", share, axis=0, keepdims=0)
    return graph.op("ArgMin", graph.op("MatMul", rule.costs.T, share), axis=0, keepdims=0)


def turning_point(decide: Decide) -> tuple[int, int, float]:
    """Which of two classes low and high scores lead to, and the smallest score that counts as high.

    >>> low, high, at = turning_point(lambda p: p[:, 1] >= 0.8)
    >>> low, high, round(2.0 * at, 6)  # the log-odds of 0.8
    (0, 1, 1.386294)
    >>> turning_point(lambda p: p[:, 0] > 2.0)
    (0, 0, inf)
    """

    def code(score: float) -> int:
        return int(decide(probabilities(np.array([score])))[0])

    low, high = -MAX_SCORE, MAX_SCORE
    first, last = code(low), code(high)
    if first == last:
        return first, last, np.inf
    if code(0.0) == last:
        high = 0.0
    else:
        low = 0.0
    while (middle := low + (high - low) / 2.0) not in (low, high):
        if code(middle) == last:
            high = middle
        else:
            low = middle
    return first, last, high


def _coded(graph: Graph, flags: Value) -> Value:
    """0 or 1, (rows,), for flags of shape (1, rows)."""
    codes = graph.op("Cast", flags, to=onnx().TensorProto.INT64)
    return graph.op("Reshape", codes, np.array([-1]))


def label_values(classes: NDArray[Any]) -> NDArray[Any]:
    """The classes as ONNX has them: int64, double, truth values or texts."""
    kind = classes.dtype.kind
    if kind == "U" or (kind == "O" and all(isinstance(each, str) for each in classes.tolist())):
        texts = [str(each) for each in classes.tolist()]
        if not any("\ud800" <= letter <= "\udfff" for text in texts for letter in text):  # not in UTF-8
            return np.array(texts, dtype=object)
    if kind in "iu" and (classes.size == 0 or int(classes.max()) <= np.iinfo(np.int64).max):
        return classes.astype(np.int64)
    if kind == "b":
        return classes
    if kind == "f":
        return classes.astype(np.float64)
    raise InputError(
        "classes must be whole numbers, numbers, truth values or texts of UTF-8 to be exported to ONNX; got "
        f"{classes.tolist()!r:.80}. Fit with labels of one of these."
    )
