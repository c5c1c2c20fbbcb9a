"""Oza and Russell's online boosting in full: members that learn, from features."""

from __future__ import annotations

import copy
from typing import Any, Self

import numpy as np
import sklearn
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ocboost._core.checks import as_count, as_number, as_weights
from ocboost._core.interrupts import all_or_nothing
from ocboost._core.labels import codes_of, weights_to_fit
from ocboost._core.locks import reads, writes
from ocboost.errors import InputError
from ocboost.estimators.base import OnlineClassifier
from ocboost.estimators.base_learners import BaseLearner, prototypes_of, require_votes
from ocboost.estimators.selector import Selector
from ocboost.streams.rows import Rows

ALPHA_OF_LAST_RESORT = 1e-6  # of the first member where no member has a vote: only its sign matters
MAX_SAMPLE_WEIGHT = 1e100  # keeps sums of sample weights within a double's range
ROWS_PREDICTED_AT_ONCE = 1 << 12


class OzaRussellClassifier(OnlineClassifier):
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
        River classifier or a pipeline that ends in one, or a ``BaseLearner`` of one's own. Of a list, each
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
        In order; the columns of probabilities have it too.
    members_ : list
        The members that vote now, as given: scikit-learn's or River's. Their classes are places in
        ``classes_``.
    selectors_ : list of Selector
        The positions: ``candidates``, ``chosen``, and the sums ``right`` and ``wrong`` of each candidate.
    alpha_ : array of shape (n_estimators,)
        Half the members' votes, ½ log((1 - ε_m) / ε_m), as elsewhere in this package.
    errors_ : array of shape (n_estimators,)
        ε_m, smoothed.
    lambda_right_, lambda_wrong_ : arrays of shape (n_estimators,)
        λ_sc and λ_sw.
    n_seen_ : int
        How many rows were learnt.
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
      are the probabilities. With more classes there is no vote, as AdaBoost.M1 asks for ε_m < ½. If that
      leaves no vote at all, the first member, whose examples are not reweighted, decides alone.
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

    The sums are never corrected: a position keeps what it counted while earlier ones were worse, or had
    chosen otherwise. Members that converge soon come close to batch AdaBoost; those chosen from a list
    converge late.

    Examples are taken one by one, so it makes no difference how they are cut into calls. In a Poisson draw λ
    counts for at most 1,000: a member that was right a million times and then errs would otherwise have the
    next one learn that example half a million times.

    There is no ``save``: a file of plain arrays cannot hold arbitrary members. pickle and skops can, and
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
    selectors_: list[Selector]
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

        Parameters
        ----------
        X : array of shape (n, n_features)
            The rows.
        y : array of shape (n,)
            The class of each row.
        sample_weight : array of shape (n,), optional
            1 each if left out.

        Returns
        -------
        OzaRussellClassifier
            This object.
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
            The rows.
        y : array of shape (n,)
            The class of each row.
        classes : array, optional
            All classes that will ever come; needed in the first call if that does not show them all.
        sample_weight : array of shape (n,), optional
            What λ begins with; at most 1e100.

        Returns
        -------
        OzaRussellClassifier
            This object.
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
            settings = self._checked_smoothing(), self._checked_forgetting()
            as_count(self.n_estimators, "n_estimators", 1, None, "It is how many members there are.")
            rows, labels = draft._checked_examples(X, y, reset=first)
            # A stream may bring an example without weight; data to fit are not all such.
            if streaming:
                weights = as_weights(sample_weight, len(rows))
            else:
                weights = weights_to_fit(sample_weight, rows)
            if weights.max() > MAX_SAMPLE_WEIGHT:
                raise InputError(
                    f"sample_weight must be at most {MAX_SAMPLE_WEIGHT:g}; got {weights.max()}. 1 is one "
                    "example's weight."
                )
            known = draft._all_classes(labels, classes, first=first)
            codes = codes_of(labels, known)
            choices = self.updates, self.votes
            if first:
                draft._begin(prototypes_of(self.estimator, *choices), known)
            elif self.n_estimators != len(self.selectors_) or self.estimator is not self._estimator_given:
                raise InputError(
                    "estimator and n_estimators cannot change once the classifier has been fitted. Fit again."
                )
            elif choices != self._choices:
                prototypes_of(self.estimator, *choices)
                draft._choices = choices
            if first:  # the draft's own members learn, so that nothing is lost if one of them fails
                draft._take_all(rows, codes, weights, *settings)
        if not first:
            self._take_all(rows, codes, weights, *settings)
        return self

    def _take_all(
        self,
        X: NDArray[np.float64],
        codes: NDArray[np.int64],
        weights: NDArray[np.float64],
        smoothing: float,
        forgetting: float,
    ) -> None:
        """Learn examples one by one."""
        rows, rng = Rows(X, names=self._names), self._rng if self.updates == "poisson" else None
        # Every row has been checked already: members need not do so again and again.
        with sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
            for i, (code, weight) in enumerate(zip(codes.tolist(), weights.tolist(), strict=True)):
                self._total = forgetting * self._total + weight
                if forgetting != 1.0:
                    for selector in self.selectors_:
                        selector.decay(forgetting)
                for selector in self.selectors_:
                    if weight == 0.0:  # nothing to learn, or less than a floating-point number can say
                        break
                    weight = selector.take(rows[i : i + 1], code, weight, rng, smoothing, self._total)
                self.n_seen_ += 1

    def _checked_forgetting(self) -> float:
        advice = "1.0 forgets nothing, 0.999 slowly."
        return as_number(self.forgetting, "forgetting", 0.0, 1.0, advice, low_open=True)

    def _checked_smoothing(self) -> float:
        return as_number(self.smoothing, "smoothing", 0.0, np.inf, "1.0 is the default.")

    def _input_checks(self, *, reset: bool = False) -> dict[str, Any]:
        return {"dtype": np.float64, "order": "C"}

    def _checked_rows(self, X: Any) -> Any:
        return np.ascontiguousarray(X) if self._is_checked(X) else super()._checked_rows(X)

    def _checked_examples(self, X: Any, y: ArrayLike, *, reset: bool) -> tuple[Any, NDArray[Any]]:
        if not reset and self._is_checked(X) and type(y) is np.ndarray and y.shape == (len(X),):
            return np.ascontiguousarray(X), y  # codes_of refuses what is not a class
        return super()._checked_examples(X, y, reset=reset)

    def _is_checked(self, X: Any) -> bool:
        """Whether scikit-learn's checks, which take 0.3 ms a call, would return X unchanged."""
        return (
            type(X) is np.ndarray
            and X.dtype == np.float64
            and X.ndim == 2
            and len(X) > 0
            and X.shape[1] == self.n_features_in_
            and not hasattr(self, "feature_names_in_")  # it warns where names are missing
            and bool(np.isfinite(X).all())
        )

    def _begin(self, prototypes: list[BaseLearner], classes: NDArray[Any]) -> None:
        rng, width = np.random.default_rng(self._seed()), self.n_features_in_
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
        return [selector.candidates[selector.chosen].model for selector in self._fitted_selectors()]

    @property
    @reads
    def errors_(self) -> NDArray[np.float64]:
        """The members' errors ε_m, smoothed; ½ of those that have seen nothing."""
        selectors, smoothing = self._fitted_selectors(), self._checked_smoothing()
        return np.array([each.error(smoothing, self._total) for each in selectors])

    @property
    @reads
    def lambda_right_(self) -> NDArray[np.float64]:
        """The weight λ_sc that each member answered rightly."""
        return np.array([each.right[each.chosen] for each in self._fitted_selectors()])

    @property
    @reads
    def lambda_wrong_(self) -> NDArray[np.float64]:
        """The weight λ_sw that each member answered wrongly."""
        return np.array([each.wrong[each.chosen] for each in self._fitted_selectors()])

    @property
    @reads
    def alpha_(self) -> NDArray[np.float64]:
        """Half the members' votes."""
        selectors, smoothing = self._fitted_selectors(), self._checked_smoothing()
        alpha = np.array([each.alpha(smoothing, self._total) for each in selectors])
        if len(self.classes_) > 2:
            alpha = np.maximum(alpha, 0.0)
            if not alpha.any():
                alpha[0] = ALPHA_OF_LAST_RESORT
        return alpha

    def _fitted_selectors(self) -> list[Selector]:
        check_is_fitted(self)
        return self.selectors_

    # Answers ---------------------------------------------------------------------------------------------

    @reads
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The votes on each row.

        For two classes F(x) = ½ Σ_m log((1 - ε_m) / ε_m) h_m(x), (n,), h_m(x) being +1 for the second class
        and -1 for the first, or the difference of their probabilities; for more, what each class gets of
        ½ log((1 - ε_m) / ε_m), (n, K), all of it or its probability's share.

        Parameters
        ----------
        X : array of shape (n, n_features)
            The rows.

        Returns
        -------
        array of shape (n,) for two classes, (n, K) for more
            For two classes positive for the second.
        """
        selectors = self._fitted_selectors()
        if self.votes != self._choices[1]:  # changed since it learnt last
            require_votes([each for selector in selectors for each in selector.candidates], self.votes)
        rows = self._checked_rows(X)
        alpha, K, size = self.alpha_, len(self.classes_), ROWS_PREDICTED_AT_ONCE
        votes = np.zeros((len(rows), K))
        with sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
            for start in range(0, len(rows), size):
                part = rows[start : start + size]
                for weight, selector in zip(alpha.tolist(), selectors, strict=True):
                    if weight == 0.0:
                        continue
                    if self.votes == "probabilities":
                        shares = selector.probabilities(part, self._names, K)
                        votes[start : start + size] += weight * shares
                    else:
                        codes = selector.answers(part, self._names)
                        answered = np.flatnonzero(codes >= 0)
                        votes[start + answered, codes[answered]] += weight
        return votes[:, 1] - votes[:, 0] if K == 2 else votes

    # Copies ----------------------------------------------------------------------------------------------

    def __copy__(self) -> Self:
        """An independent copy, members included: they learn."""
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__getstate__())
        other.__dict__.pop("_sklearn_version", None)
        return other

    @reads
    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = copy.deepcopy(super().__getstate__())
        return state  # a copy, as it is written later
