"""Oza and Russell's online boosting in full: members that learn, from features."""

from __future__ import annotations

import copy
from typing import Any, Self

import numpy as np
import sklearn
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ocboost._core.checks import as_count, as_number, as_weights
from ocboost._core.interrupts import all_or_nothing
from ocboost._core.labels import codes_of, require_same, sorted_classes, weights_to_fit
from ocboost._core.locks import GuardedEstimator, reads, writes
from ocboost.errors import InputError
from ocboost.estimators.base_learners import BaseLearner, prototypes_of, require_votes
from ocboost.estimators.committee import probabilities
from ocboost.estimators.one_row import OneRow
from ocboost.estimators.selector import Selector
from ocboost.streams.rows import Rows

ALONE = 1e-6  # the vote of the first member where no member has one: only its side matters
HEAVIEST = 1e100  # sums of sample weights stay within a double's range
PIECE = 1 << 12  # rows answered at once


class OzaRussellClassifier(OneRow, GuardedEstimator, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Online boosting after Oza and Russell: members that learn, each what the ones before it got wrong.

    An example comes with λ = 1 (or its sample weight) and passes the members in order. Each of them learns it
    k ~ Poisson(λ) times, then answers it; the sums of rightly and wrongly answered weight make the λ that the
    next member sees:

        right:  λ_sc += λ,  λ ← λ (λ_sc + λ_sw) / (2 λ_sc)
        wrong:  λ_sw += λ,  λ ← λ (λ_sc + λ_sw) / (2 λ_sw)

    so that half of the weight that the next member gets comes from what this one has wrong. Members vote with
    log((1 - ε_m) / ε_m), ε_m = λ_sw / (λ_sc + λ_sw).

    Parameters
    ----------
    estimator : classifier, list of classifiers, or None
        What the members are copies of: a scikit-learn classifier with ``partial_fit`` and ``predict``, a
        River classifier or a pipeline that ends in one, or a `BaseLearner` of one's own. Of a list, each
        position has a copy of every one; all of them learn, and the one with the least error so far stands
        for the position (a selector of Grabner and Bischof 2006). None is naive Bayes with Gaussian
        features: it has nothing to tune, it is the same online as in batch, and it is one of the learners
        that Oza and Russell boosted themselves.
    n_estimators : int, default 10
        Members, or positions.
    updates : "poisson" or "weighted", default "poisson"
        Whether a member learns an example k ~ Poisson(λ) times, as in the paper, or once with weight λ, which
        is less noisy, and for naive Bayes and trees the same on average; the base learner must take weights.
    votes : "answers" or "probabilities", default "answers"
        What a member puts into the vote. All of it goes to the class that it answers, as in the paper, or it
        is shared among the classes by the member's probabilities, as in River and MOA; the base learner must
        have some. Members are judged by their answers in either case, and learn the same, so this can be
        changed at any time.
    smoothing : float, default 1.0
        ε, as in `OzaRussell`: each of a member's two sums gets as much added as ε examples weigh, in its vote
        and in the reweighting. 0 is the paper's.
    forgetting : float, default 1.0
        Both sums of every member are multiplied by it before each example. 1 is the paper's. It does not make
        the members forget.
    random_state : int, RandomState or None
        For the Poisson draws, and for members that draw.

    Attributes
    ----------
    classes_ : array of shape (K,)
    members_ : list
        The members that vote now, as their users know them. Their classes are places in ``classes_``.
    selectors_ : list of Selector
        The positions: ``candidates``, ``chosen``, and the sums ``right`` and ``wrong`` of each candidate.
    alpha_ : array of shape (n_estimators,)
        Half the members' votes, ½ log((1 - ε_m) / ε_m), as elsewhere in this package.
    errors_ : array of shape (n_estimators,)
        ε_m, smoothed.
    lambda_right_, lambda_wrong_ : arrays of shape (n_estimators,)
        λ_sc and λ_sw.
    n_seen_ : int
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Notes
    -----
    Source: N. C. Oza and S. Russell, "Online Bagging and Boosting" (AISTATS 2001), and N. C. Oza under the
    same title (IEEE SMC 2005), whose ε_m and λ / (2 (1 - ε_m)) are the formulas above. A member is judged
    after it has learnt the example, as there, so members that adapt to every example seem better than they
    are. One that has not learnt anything yet (all draws were 0) is wrong.

    Members that are worse than chance, ε_m > ½, are where implementations part:

    - Here, with two classes, the vote is negative, as the formula says, so the answer is turned round, and so
      are the probabilities.
      With more classes there is no vote, as AdaBoost.M1 asks for ε_m < ½. If that leaves no vote at all, the
      first member, which learns from examples as they come, decides alone.
    - River's ``AdaBoostClassifier`` gives such a member the vote +1, as much as one with ε_m = 0.27 has.
    - MOA's ``OzaBoost`` stops at the first such member, or the first that never erred: neither it nor any
      after it votes. If it is the first of all, every answer is the first class.

    Choose ``votes="probabilities"`` for members whose probabilities mean something. Later members learn from
    reweighted examples and know little: a probability near ½ says so, an answer does not. On three streams of
    750 to 1,500 rows it was better than the answers in 12 of 15 cases and worse in 2, by -1.9 to +2.3 points;
    over twice the rows, with naive Bayes, always, by 0.7 to 4.4 (``benchmarks/README.md``). It is not the
    paper's algorithm any more, and AdaBoost's theory is of answers.

    MOA has N, the number of examples so far, in place of λ_sc + λ_sw, and learns once with weight k, not k
    times.

    The sums are never corrected: a position goes on with what it counted while earlier ones were worse, or
    had chosen otherwise. Members that settle soon come close to batch AdaBoost; those chosen from a list
    settle late.

    Examples are taken one by one, so it makes no difference how they are cut into calls. In a Poisson draw λ
    counts for at most 1,000: a member that was right a million times and then errs would otherwise have the
    next one learn that example half a million times.

    There is no ``save``: a file of plain arrays cannot hold members of any kind. pickle and skops can, and
    whether to trust such a file is for its user to judge.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = OzaRussellClassifier(n_estimators=5, random_state=0)
    >>> for i in range(400):
    ...     clf = clf.partial_fit(X[i : i + 1], y[i : i + 1], classes=[0, 1])
    >>> bool(clf.score(X[400:], y[400:]) > 0.9)
    True

    With members of another kind:

    >>> from river.tree import HoeffdingTreeClassifier
    >>> clf = OzaRussellClassifier(HoeffdingTreeClassifier(), updates="weighted").fit(X, y)
    >>> type(clf.members_[0]).__name__
    'HoeffdingTreeClassifier'
    """

    n_seen_: int
    _total: float  # Σw
    _choices: tuple[str, str]  # updates and votes, as they were checked last

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 10,
        *,
        updates: str = "poisson",
        votes: str = "answers",
        smoothing: float = 1.0,
        forgetting: float = 1.0,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.updates = updates
        self.votes = votes
        self.smoothing = smoothing
        self.forgetting = forgetting
        self.random_state = random_state

    # Learning --------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from the beginning: one pass, in the order of the rows.

        If it fails, what was learnt before stays.
        """
        return self._learn_all(X, y, None, sample_weight, first=True, streaming=False)

    @writes
    def partial_fit(
        self,
        X: Any,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from more examples, one by one in the order of the rows.

        All rows are checked before the first is learnt. If a member itself fails at one of them, the rows
        before it stay learnt, and ``n_seen_`` says how many; members before that one have learnt it too. If
        the first call fails, nothing is learnt.

        Parameters
        ----------
        X : array of shape (n, n_features)
        y : array of shape (n,)
        classes : array, optional
            All classes that will ever come; needed in the first call if that does not show them all.
        sample_weight : array of shape (n,), optional
            What λ begins with; at most 1e100.
        """
        first = not hasattr(self, "selectors_")
        return self._learn_all(X, y, classes, sample_weight, first=first, streaming=True)

    @writes
    def _learn_all(
        self,
        X: Any,
        y: ArrayLike,
        classes: ArrayLike | None,
        sample_weight: ArrayLike | None,
        *,
        first: bool,
        streaming: bool,
    ) -> Self:
        with all_or_nothing(self) as draft:
            settings = self._settings()
            rows, labels, weights = draft._examples(X, y, sample_weight, reset=first, streaming=streaming)
            known = draft._known(labels, classes, first=first)
            codes = codes_of(labels, known)
            choices = self.updates, self.votes
            if first:
                draft._begin(prototypes_of(self.estimator, *choices), known)
            elif self.n_estimators != len(self.selectors_) or self.estimator is not self._estimator_given:
                raise InputError(
                    "estimator and n_estimators cannot change once the classifier has been fitted. Fit anew."
                )
            elif choices != self._choices:
                prototypes_of(self.estimator, *choices)
                draft._choices = choices
            if first:  # members of its own learn, so that nothing is lost if one of them fails
                draft._take_all(rows, codes, weights, settings)
        if not first:
            self._take_all(rows, codes, weights, settings)
        return self

    def _take_all(
        self,
        X: NDArray[np.float64],
        codes: NDArray[np.int64],
        weights: NDArray[np.float64],
        settings: tuple[float, float],
    ) -> None:
        """Learn examples one by one."""
        rows = Rows(X, names=self._names)
        # Every row has been checked already: no need that members do so again and again.
        with sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
            for i, (code, weight) in enumerate(zip(codes.tolist(), weights.tolist(), strict=True)):
                self._take(rows[i : i + 1], code, weight, *settings)

    def _take(self, example: Rows, code: int, weight: float, smoothing: float, forgetting: float) -> None:
        """Learn one example."""
        self._total = forgetting * self._total + weight
        if forgetting != 1.0:
            for selector in self.selectors_:
                selector.decay(forgetting)
        rng = self._rng if self.updates == "poisson" else None
        for selector in self.selectors_:
            if weight == 0.0:  # nothing to learn, or so little that it has no floating-point number
                break
            weight = selector.take(example, code, weight, rng, smoothing, self._total)
        self.n_seen_ += 1

    def _settings(self) -> tuple[float, float]:
        forgetting = as_number(
            self.forgetting, "forgetting", 0.0, 1.0, "1.0 forgets nothing, 0.999 slowly.", low_open=True
        )
        as_count(self.n_estimators, "n_estimators", 1, None, "It is how many members there are.")
        return self._smoothing(), forgetting

    def _smoothing(self) -> float:
        return as_number(self.smoothing, "smoothing", 0.0, np.inf, "1.0 is the default.")

    def _examples(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None, *, reset: bool, streaming: bool
    ) -> tuple[NDArray[np.float64], NDArray[Any], NDArray[np.float64]]:
        """Check examples and their labels and weights."""
        if not reset and self._is_plain(X) and type(y) is np.ndarray and y.shape == (len(X),):
            rows, labels = np.ascontiguousarray(X), y  # codes_of refuses what is no class
        else:
            rows, labels = validate_data(self, X, y, reset=reset, dtype=np.float64, order="C")
            check_classification_targets(labels)
        # A stream may well bring an example that does not count; data to fit are not all such.
        weights = as_weights(sample_weight, len(rows)) if streaming else weights_to_fit(sample_weight, rows)
        if weights.max() > HEAVIEST:
            raise InputError(
                f"sample_weight must be at most {HEAVIEST:g}; got {weights.max()}. 1 is one example's weight."
            )
        return rows, labels, weights

    def _is_plain(self, X: Any) -> bool:
        """Whether X is what scikit-learn's checks, which take 0.3 ms a call, would let through as it is."""
        return (
            type(X) is np.ndarray
            and X.dtype == np.float64
            and X.ndim == 2
            and len(X) > 0
            and X.shape[1] == self.n_features_in_
            and not hasattr(self, "feature_names_in_")  # it warns where names are missing
            and bool(np.isfinite(X).all())
        )

    def _known(self, labels: NDArray[Any], classes: ArrayLike | None, *, first: bool) -> NDArray[Any]:
        """All classes."""
        given = None if classes is None else sorted_classes(np.asarray(classes))
        if not first:
            if given is not None:
                require_same(given, self.classes_)
            known: NDArray[Any] = self.classes_
            return known
        known = sorted_classes(labels) if given is None else given
        if len(known) < 2:
            came = f"one class, {known.tolist()[0]!r:.80}" if len(known) else "none"
            raise InputError(
                f"classes must be at least two; got {came}. Give examples of another, or name all that will "
                "ever come: partial_fit(X, y, classes=[…])."
            )
        return known

    def _begin(self, prototypes: list[BaseLearner], classes: NDArray[Any]) -> None:
        rng = np.random.default_rng(check_random_state(self.random_state).randint(1 << 31))
        width = self.n_features_in_
        self.selectors_ = [
            Selector([each.begin(width, len(classes), rng) for each in prototypes])
            for _ in range(self.n_estimators)
        ]
        named = getattr(self, "feature_names_in_", None)
        self._names: list[Any] = list(range(width)) if named is None else named.tolist()
        self._rng = rng
        self._total = 0.0
        self._estimator_given, self._choices = self.estimator, (self.updates, self.votes)
        self.classes_ = classes
        self.n_seen_ = 0

    # What it has learnt ----------------------------------------------------------------------------------

    @property
    @reads
    def members_(self) -> list[Any]:
        """The members that vote now."""
        return [selector.candidates[selector.chosen].model for selector in self._fitted()]

    @property
    @reads
    def errors_(self) -> NDArray[np.float64]:
        """The members' errors ε_m, smoothed; ½ of those that have seen nothing."""
        selectors, smoothing = self._fitted(), self._smoothing()
        return np.array([each.error(smoothing, self._total) for each in selectors])

    @property
    @reads
    def lambda_right_(self) -> NDArray[np.float64]:
        """λ_sc: the weight that each member answered rightly."""
        return np.array([each.right[each.chosen] for each in self._fitted()])

    @property
    @reads
    def lambda_wrong_(self) -> NDArray[np.float64]:
        """λ_sw: the weight that each member answered wrongly."""
        return np.array([each.wrong[each.chosen] for each in self._fitted()])

    @property
    @reads
    def alpha_(self) -> NDArray[np.float64]:
        """Half the members' votes."""
        selectors, smoothing = self._fitted(), self._smoothing()
        alpha = np.array([each.alpha(smoothing, self._total) for each in selectors])
        if len(self.classes_) > 2:
            alpha = np.maximum(alpha, 0.0)
            if not alpha.any():
                alpha[0] = ALONE
        return alpha

    def _fitted(self) -> list[Selector]:
        check_is_fitted(self, "selectors_")
        selectors: list[Selector] = self.selectors_
        return selectors

    # Answering -------------------------------------------------------------------------------------------

    @reads
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The votes.

        For two classes F(x) = ½ Σ_m log((1 - ε_m) / ε_m) h_m(x), (n,), h_m(x) being +1 for the second class
        and -1 for the first, or the difference of their probabilities; for more, what each class gets of
        ½ log((1 - ε_m) / ε_m), (n, K), all of it or its probability's share.
        """
        selectors = self._fitted()
        if self.votes != self._choices[1]:  # set since it learnt last
            require_votes([each for selector in selectors for each in selector.candidates], self.votes)
        if self._is_plain(X):
            rows = np.ascontiguousarray(X)
        else:
            rows = validate_data(self, X, reset=False, dtype=np.float64, order="C")
        alpha, K = self.alpha_, len(self.classes_)
        votes = np.zeros((len(rows), K))
        with sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
            for start in range(0, len(rows), PIECE):
                part = rows[start : start + PIECE]
                for weight, selector in zip(alpha.tolist(), selectors, strict=True):
                    if weight == 0.0:
                        continue
                    if self.votes == "probabilities":
                        shares = selector.probabilities(part, self._names, K)
                        votes[start : start + PIECE] += weight * shares
                    else:
                        codes = selector.answers(part, self._names)
                        some = np.flatnonzero(codes >= 0)
                        votes[start + some, codes[some]] += weight
        return votes[:, 1] - votes[:, 0] if K == 2 else votes

    @reads
    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the highest vote, of each row."""
        votes = self.decision_function(X)
        codes = (votes > 0.0).astype(np.int64) if votes.ndim == 1 else votes.argmax(axis=1)
        result: NDArray[Any] = self.classes_[codes]
        return result

    @reads
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The probability of each class, (n, K), by the logistic link."""
        return probabilities(self.decision_function(X))

    # Copies ----------------------------------------------------------------------------------------------

    def __copy__(self) -> Self:
        """A classifier of its own, members included: they learn."""
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__getstate__())
        other.__dict__.pop("_sklearn_version", None)
        return other

    @reads
    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = copy.deepcopy(super().__getstate__())
        return state  # of its own, as it is written later

    # What it says of itself ------------------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "selectors_")
