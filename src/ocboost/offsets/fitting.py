"""The scale and the shift that turn a score into log-odds, by one-dimensional logistic regression."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ocboost._core.checks import as_weights
from ocboost._core.labels import codes_of, sorted_classes
from ocboost.errors import InputError
from ocboost.hypotheses.base import as_features
from ocboost.offsets.base import require_classes, scores_of
from ocboost.offsets.given import as_offset
from ocboost.offsets.scaled import ScaledOffset

# In units of examples. They keep both numbers finite if the score separates the classes, or if one class has
# no example, and change them by less than a hundredth if a few hundred examples overlap.
RIDGE = np.array([0.1, 1e-3])
MAX_STEPS = 100
CLEARLY_NEGATIVE = -0.1  # log-odds for each standard deviation of the score


def scale_and_shift(
    scores: NDArray[np.float64], labels: NDArray[np.float64], weights: NDArray[np.float64]
) -> tuple[float, float, bool]:
    """The log-odds a·s + b that fit the labels ±1 best, a >= 0; and whether a would be clearly negative.

    Newton's method on Σ w log(1 + exp(-y (a z + b))) + ½ (ρ_a a² + ρ_b b²), z the score at mean 0 and
    deviation 1, w at mean 1.

    >>> a, b, turned = scale_and_shift(np.array([-1.0, 1, 3, 5]), np.array([-1.0, 1, -1, 1]), np.ones(4))
    >>> bool(a > 0.2), turned
    (True, False)
    """
    weights = weights * (np.count_nonzero(weights) / weights.sum())
    unit = float(np.abs(scores).max()) or 1.0
    s = scores / unit
    mean = float(np.average(s, weights=weights))
    spread = float(np.sqrt(np.average((s - mean) ** 2, weights=weights)))
    rows = np.stack([np.zeros_like(s), np.ones_like(s)], axis=1)
    if spread > 1e-12:  # otherwise it is constant
        rows[:, 0] = (s - mean) / spread
    found = _minimum(rows, labels, weights)
    turned = bool(found[0] < CLEARLY_NEGATIVE)
    if found[0] < 0.0:
        rows[:, 0] = 0.0
        found = _minimum(rows, labels, weights)
    if not rows[:, 0].any():
        return 0.0, float(found[1]), turned
    return float(found[0] / spread / unit), float(found[1] - found[0] * mean / spread), False


def _minimum(
    rows: NDArray[np.float64], labels: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    def loss(at: NDArray[np.float64]) -> float:
        return float(weights @ np.logaddexp(0.0, -labels * (rows @ at)) + 0.5 * RIDGE @ at**2)

    at = np.zeros(2)
    now = loss(at)
    for _ in range(MAX_STEPS):
        wrong = np.exp(-np.logaddexp(0.0, labels * (rows @ at)))  # the probability of the other label
        slope = RIDGE * at - rows.T @ (weights * labels * wrong)
        curvature = (rows.T * (weights * wrong * (1.0 - wrong))) @ rows + np.diag(RIDGE)
        step = np.linalg.solve(curvature, slope)
        length = 1.0
        while length > 1e-9 and not loss(at - length * step) < now:
            length /= 2.0
        if length <= 1e-9:  # this is the minimum
            break
        at = at - length * step
        now = loss(at)
    return at


def fit_offset(
    scorer: Any,
    X: Any,
    y: ArrayLike,
    *,
    classes: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    class_weight: Any = None,
) -> ScaledOffset:
    """Put a score on AdaBoost's scale, by a few hundred labelled examples that it was not trained on.

    A logistic regression of the labels on the score s alone, P(y) = 1 / (1 + exp(-y (a s + b))), gives
    F₀ = ½ (a s + b), half the log-odds; for more than two classes one for each, against the rest. a is never
    negative: a score that is higher where it should be lower is ignored, with a warning.

    Parameters
    ----------
    scorer : offset, function or fitted classifier
        As the ``offset`` of `OCBClassifier`.
    X : array of shape (n, F)
        Rows that it was not trained on.
    y : array of shape (n,)
        Their classes.
    classes : array, optional
        All classes, in the order of the columns of the score; by default the scorer's ``classes_``, or
        those in y.
    sample_weight : array of shape (n,), optional
        1 each if left out.
    class_weight : dict, "balanced" or None
        As in scikit-learn.

    Returns
    -------
    ScaledOffset
        For ``OCBClassifier(offset=…)``.

    Raises
    ------
    InputError
        If there are fewer than two classes, no rows, or a score is not finite.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(5000, 2))
    >>> y = np.where(X[:, 0] + rng.logistic(size=5000) > 0, "yes", "no")  # log-odds x₀
    >>> offset = fit_offset(lambda X: 100 * X[:, 0] + 7, X, y)
    >>> bool(0.008 < offset.scale < 0.012)
    True
    """
    offset = as_offset(scorer)
    X = as_features(X, sparse=True, what="fit_offset")
    labels = np.asarray(y)
    if X.ndim != 2 or labels.shape != X.shape[:1] or not labels.size:
        raise InputError(
            f"X and y must be of shapes (n, F) and (n,), n at least 1; got {X.shape} and {labels.shape}."
        )
    known = offset.classes if classes is None else np.asarray(classes)
    ordered = sorted_classes(labels if known is None else known)
    if len(ordered) < 2:
        raise InputError(
            f"y must hold at least two classes; got {ordered.tolist()!s:.80}. Give examples of both, or name "
            "them with classes=."
        )
    codes = codes_of(labels, ordered)
    weights = as_weights(sample_weight, len(codes))
    if class_weight is not None:
        from sklearn.utils.class_weight import compute_sample_weight

        weights = weights * compute_sample_weight(class_weight, labels)
    if not 0.0 < float(weights.sum()) < np.inf:
        raise InputError("sample_weight must have a finite sum above zero; give 1.0 to each example.")
    K = len(ordered)
    require_classes(offset, ordered)
    scores = scores_of(offset, X, 1 if K == 2 else K)
    fitted = [
        scale_and_shift(s, np.where(codes == (1 if K == 2 else k), 1.0, -1.0), weights)
        for k, s in enumerate(scores.T)
    ]
    wrong = [ordered[1 if K == 2 else k] for k, (_, _, turned) in enumerate(fitted) if turned]
    if wrong:
        warnings.warn(
            f"the score is higher where the class is not {', '.join(map(str, wrong))!s:.80}, so it is "
            "ignored there. Is its sign, or the order of its classes, what it should be?",
            UserWarning,
            stacklevel=2,
        )
    scale, shift = np.array([a for a, _, _ in fitted]), np.array([b for _, b, _ in fitted])
    made = ScaledOffset(offset, *((scale[0], shift[0]) if K == 2 else (scale, shift)))
    made.classes = ordered if known is not None else None
    return made
