"""OCBClassifier: a scikit-learn classifier that keeps learning.

Hypotheses answer, a booster for each class weighs the answers, and the weighted votes decide.
"""

from __future__ import annotations

import copy
import os
from contextlib import nullcontext, suppress
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed, parallel_config
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from .classifier_file import BOOSTER, KIND, booster_for, classifier_from_parts, classifier_parts
from .errors import InputError
from .handover import Handover
from .hypotheses import Ballot, Hypotheses, join
from .interrupts import uninterrupted
from .kernels.answers import margins_of, rows_to_block, tally
from .learners import Learner, StumpLearner, learner_for
from .link import probabilities
from .margins import MANY, as_count
from .sketch import BoostingSketch
from .storage import load, save

BATCH_ADVICE = "1 adds example by example."
WORTH_JOBS = 1 << 20  # answers from which on a job for each class is worth its start
PIECE = 1 << 14  # rows learnt at once: their answers are held, and Ctrl-C is heard in between


class OCBClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A boosted classifier whose weights keep learning after it has been fitted.

    ``fit`` finds weak hypotheses by AdaBoost and weighs them; ``partial_fit`` keeps the hypotheses and
    follows the stream with their weights, by Online Coordinate Boosting. With more than two classes each has
    a booster of its own, one against the rest, and the highest vote wins.

    Parameters
    ----------
    estimator : None, "stump", "ball", learner, hypotheses or scikit-learn classifier, default None
        Where the hypotheses come from. None and "stump" learn decision stumps, "ball" the paper's balls
        around examples. A learner of `ocboost.learners` is used as it is; a scikit-learn classifier is
        boosted. Hypotheses (`ocboost.hypotheses`) are taken as given, and all classes share them.
    n_hypotheses : int, default 100
        How many hypotheses to learn for each class (for both, if they are two); fewer where boosting ends.
    order, head, tail, smoothing, forgetting, correction
        As in `BoostingSketch`. By default everything is remembered, the last examples exactly
        (``head="auto"``). To follow a stream that changes: ``forgetting=0.995``, or ``tail=False, head=200``
        for a window.
    batch_size : int, default 1
        Examples added to the sums at once. Up to the size of the head it changes nothing, and a stream then
        gives the same weights however it is cut into calls; with ``head=1`` larger batches are faster.
    n_jobs : int, optional
        Jobs for the classes beyond two, through joblib, whose backends (threads, Dask, Ray) all do. It
        changes nothing in the result.
    random_state : int, RandomState or None
        For learners that draw.

    Attributes
    ----------
    classes_ : array of shape (K,)
    hypotheses_ : Hypotheses
    boosters_ : list of BoostingSketch
        One for two classes, otherwise one for each.
    alpha_ : list of arrays
        The weights each booster votes with, now.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Notes
    -----
    Missing values (NaN) are accepted where the hypotheses accept them, as stumps and trees do, and sparse
    matrices likewise.

    Probabilities come from AdaBoost's logistic link, 1 / (1 + exp(-2F)). They are a little too sure,
    by two or three points in a hundred with two classes and by seven with ten: ``experiments/calibration.py``
    measures it. Where the log-loss matters, try ``sklearn.calibration.CalibratedClassifierCV`` around it; on
    a stream that changes that can be worse.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = OCBClassifier(n_hypotheses=50).fit(X[:300], y[:300])
    >>> for i in range(300, 500):
    ...     clf = clf.partial_fit(X[i : i + 1], y[i : i + 1])
    >>> bool(clf.score(X[500:], y[500:]) > 0.95)
    True
    """

    def __init__(
        self,
        estimator: Any = None,
        n_hypotheses: int = 100,
        *,
        order: int | None = None,
        head: int | str = "auto",
        tail: bool = True,
        smoothing: float = 1.0,
        forgetting: float = 1.0,
        correction: str = "balanced",
        batch_size: int = 1,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_hypotheses = n_hypotheses
        self.order = order
        self.head = head
        self.tail = tail
        self.smoothing = smoothing
        self.forgetting = forgetting
        self.correction = correction
        self.batch_size = batch_size
        self.n_jobs = n_jobs
        self.random_state = random_state

    # Learning --------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Find hypotheses and weigh them, from the beginning."""
        X, y, weights = self._examples(X, y, sample_weight, reset=True)
        classes, codes = np.unique(y, return_inverse=True)
        self._begin(X, classes, codes, weights)
        return self

    def partial_fit(
        self,
        X: Any,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from more examples: the hypotheses stay, their weights follow.

        Where nothing has been fitted yet, the first call finds the hypotheses, so its examples should be a
        few hundred at least and of more than one class.

        Parameters
        ----------
        X : array of shape (n, n_features)
        y : array of shape (n,)
        classes : array, optional
            All classes that will ever come; needed in the first call if that does not show them all. A class
            of which the first call has no example is told apart by the hypotheses of all others.
        sample_weight : array of shape (n,), optional
        """
        first = not hasattr(self, "boosters_")
        X, y, weights = self._examples(X, y, sample_weight, reset=first)
        if classes is not None:
            given = np.unique(np.asarray(classes))
            if not first and not np.array_equal(given, self.classes_):
                raise InputError(
                    f"classes must be those of the first call, {self.classes_.tolist()!s:.80}; got "
                    f"{given.tolist()!s:.80}. Leave it out, or fit anew."
                )
        if not first:
            self._learn(X, self._codes(y, self.classes_), weights)
            return self
        if classes is None:
            given = np.unique(y)
        codes = self._codes(y, given)
        if isinstance(self.estimator, Hypotheses):
            self._set_up(X, given, codes, weights, start=False)
            self._learn(X, codes, weights)
        else:
            self._begin(X, given, codes, weights)
        return self

    @classmethod
    def from_fitted(
        cls, fitted: Any, X: Any, y: ArrayLike, *, sample_weight: ArrayLike | None = None, **parameters: Any
    ) -> Self:
        """Adopt a deployed AdaBoostClassifier; until the first new example it predicts exactly as that did.

        Parameters
        ----------
        fitted : sklearn.ensemble.AdaBoostClassifier
        X, y : arrays
            What to start the sums from: the training data, or a part of them, or a few hundred labelled rows
            like them. The deployed weights fade as these examples do, see `Handover`.
        sample_weight : array of shape (n,), optional
        **parameters
            Those of the class.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from sklearn.ensemble import AdaBoostClassifier
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> deployed = AdaBoostClassifier(random_state=0).fit(X[:300], y[:300])
        >>> clf = OCBClassifier.from_fitted(deployed, X[:300], y[:300])
        >>> bool((clf.predict(X) == deployed.predict(X)).all())
        True
        >>> clf = clf.partial_fit(X[300:], y[300:])
        """
        from .adoption import adopted

        pool, classes, weights, total = adopted(fitted)
        clf = cls(pool, len(weights), **parameters)
        if X is None or y is None:
            raise InputError(
                "X and y must be examples to start from; got None. Give the training data, or a few hundred "
                "labelled rows like them."
            )
        names = getattr(fitted, "feature_names_in_", None)
        if names is not None and hasattr(X, "columns"):  # scikit-learn compares the names
            clf.n_features_in_, clf.feature_names_in_ = fitted.n_features_in_, names
        rows, labels, given = clf._examples(X, y, sample_weight, reset=not hasattr(clf, "feature_names_in_"))
        if names is not None:
            clf.feature_names_in_ = names
        clf._set_up(rows, classes, clf._codes(labels, classes), given, start=True, split=len(classes) > 2)
        started = [booster.alpha for booster in clf.boosters_]
        clf._handover = Handover([weights / 2.0] * len(started), started, float(given.sum()), total)
        if not clf.tail:
            clf._handover.enter_window(clf.boosters_[0].head, clf.boosters_[0].n_head)
        return clf

    def _examples(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None, *, reset: bool
    ) -> tuple[Any, NDArray[Any], NDArray[np.float64]]:
        """Check examples and their labels and weights."""
        rows, labels = validate_data(
            self,
            X,
            y,
            reset=reset,
            dtype=(np.float64, np.float32),
            order="C",
            **_accepted(learner_for(self.estimator) if reset else self._answering()),
        )
        check_classification_targets(labels)
        # Weights that do not count at all leave nothing to learn from; scikit-learn's check says so.
        weights = _check_sample_weight(sample_weight, rows, dtype=np.float64, ensure_non_negative=True)
        return rows, labels, weights

    def _answering(self) -> Learner | Hypotheses:
        """The hypotheses, or what will find them."""
        return getattr(self, "hypotheses_", None) or learner_for(self.estimator)

    def _codes(self, y: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.int64]:
        codes = np.searchsorted(classes, y) if classes.dtype.kind == y.dtype.kind else _looked_up(y, classes)
        codes = np.minimum(codes, len(classes) - 1)
        strange = classes[codes] != y
        if np.any(strange):
            raise InputError(
                f"y must hold the classes {classes.tolist()!s:.80}; got {y[np.argmax(strange)]!r:.80} in row "
                f"{int(np.argmax(strange))}. Leave such examples out, or fit anew with that class."
            )
        return codes.astype(np.int64)

    def _begin(
        self, X: Any, classes: NDArray[Any], codes: NDArray[np.int64], weights: NDArray[np.float64]
    ) -> None:
        """Find hypotheses, and start the boosters from the same examples."""
        counts = weights > 0.0
        if len(np.unique(codes[counts])) < 2:
            raise InputError(
                f"y must hold at least two classes to learn hypotheses from; got one class, "
                f"{classes[codes[0]]!r:.80}, in all {len(codes)} examples. Give more examples at first."
            )
        if not counts.all():  # an example without weight is none: not for the thresholds either
            X, codes, weights = X[counts], codes[counts], weights[counts]
        self._set_up(X, classes, codes, weights, start=True)

    def _set_up(
        self,
        X: Any,
        classes: NDArray[Any],
        codes: NDArray[np.int64],
        weights: NDArray[np.float64],
        *,
        start: bool,
        split: bool = False,
    ) -> None:
        if len(classes) < 2:
            raise InputError(
                f"classes must be at least two; got {classes.tolist()!s:.80}. Name all that will ever come."
            )
        n_boosters = 1 if len(classes) == 2 else len(classes)
        as_count(self.batch_size, "batch_size", 1, None, BATCH_ADVICE)
        if isinstance(self.estimator, Hypotheses):
            pool = self.estimator
            if pool.n_features != self.n_features_in_:
                raise InputError(
                    f"X must have the {pool.n_features} features of the hypotheses; got "
                    f"{self.n_features_in_}."
                )
            step = pool.n_hypotheses // n_boosters
            columns = [
                slice(c * step, (c + 1) * step) if split else slice(0, len(pool)) for c in range(n_boosters)
            ]
        else:
            pool, columns = self._found(X, codes, weights, n_boosters)
        boosters = [booster_for(c.stop - c.start, self._booster_parameters()) for c in columns]
        if start:
            boosters = self._all_fed(boosters, columns, pool.answers(X), codes, weights, len(codes))
        self.classes_, self.hypotheses_, self._columns, self.boosters_ = classes, pool, columns, boosters
        self._handover: Handover | None = None
        self._settings = self._booster_parameters()

    def _found(
        self, X: Any, codes: NDArray[np.int64], weights: NDArray[np.float64], n_boosters: int
    ) -> tuple[Hypotheses, list[slice]]:
        """Hypotheses for each booster, as one set, and which of it are whose."""
        J = as_count(self.n_hypotheses, "n_hypotheses", 1, None, "It is how many to learn.")
        rng = np.random.default_rng(check_random_state(self.random_state).randint(1 << 31))
        learner = learner_for(self.estimator)
        assert isinstance(learner, Learner)
        shown = [c for c in range(n_boosters) if n_boosters == 1 or (codes == c).any()]
        targets = [_signs(codes, c, n_boosters) for c in shown]
        # Stumps are found by threads that share the binned features: those do not travel to other machines.
        where = parallel_config("threading") if isinstance(learner, StumpLearner) else nullcontext()
        with where:
            sets = learner.learn_each(
                X, targets, n_hypotheses=J, sample_weight=weights, rng=rng, n_jobs=self.n_jobs
            )
        ends = np.cumsum([len(each) for each in sets]).tolist()
        own = {c: slice(a, b) for c, a, b in zip(shown, [0, *ends], ends, strict=False)}
        # A class without an example has nothing to learn from: it weighs the hypotheses of all others.
        return join(sets), [own.get(c, slice(0, ends[-1])) for c in range(n_boosters)]

    def _booster_parameters(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in BOOSTER}

    def _learn(self, X: Any, codes: NDArray[np.int64], weights: NDArray[np.float64]) -> None:
        batch_size = min(as_count(self.batch_size, "batch_size", 1, None, BATCH_ADVICE), MANY)
        piece = max(1, PIECE // batch_size) * batch_size
        for start in range(0, len(codes), piece):
            part = slice(start, start + piece)
            self._learn_from(self.hypotheses_.answers(X[part]), codes[part], weights[part])

    def _learn_from(
        self, answers: NDArray[np.int8], codes: NDArray[np.int64], weights: NDArray[np.float64]
    ) -> None:
        """Learn from answers the hypotheses have given; all boosters do, or none."""
        self._follow_settings()
        batch_size = min(as_count(self.batch_size, "batch_size", 1, None, BATCH_ADVICE), MANY)
        with uninterrupted():
            self.boosters_ = self._all_fed(self.boosters_, self._columns, answers, codes, weights, batch_size)
            if self._handover is not None:
                self._handover.take(weights, self.forgetting)

    def _all_fed(
        self,
        boosters: list[BoostingSketch],
        columns: list[slice],
        answers: NDArray[np.int8],
        codes: NDArray[np.int64],
        weights: NDArray[np.float64],
        batch_size: int,
    ) -> list[BoostingSketch]:
        n = len(boosters)
        work = [
            (booster, answers[:, c], _signs(codes, k, n), weights, batch_size)
            for k, (booster, c) in enumerate(zip(boosters, columns, strict=True))
        ]
        if n == 1 or answers.size < WORTH_JOBS:
            return [_fed(*each) for each in work]
        fed: list[BoostingSketch] = Parallel(n_jobs=self.n_jobs, prefer="threads", max_nbytes=None)(
            delayed(_fed)(*each) for each in work
        )
        return fed

    def _follow_settings(self) -> None:
        """Let ``set_params`` take effect on what has been fitted, where it can."""
        given = self._booster_parameters()
        if given == self._settings:
            return
        changes = {name: value for name, value in given.items() if value != self._settings[name]}
        self.boosters_ = [booster.remade(**changes) for booster in self.boosters_]
        self._settings = given
        if self._handover is not None and not self.tail:
            self._handover.enter_window(self.boosters_[0].head, self.boosters_[0].n_head)
        elif self._handover is not None:
            self._handover.leave_window()

    # Answering -------------------------------------------------------------------------------------------

    @property
    def alpha_(self) -> list[NDArray[np.float64]]:
        """The weights each booster votes with, now."""
        check_is_fitted(self, "boosters_")
        return self._alphas()

    def _alphas(self) -> list[NDArray[np.float64]]:
        own = [booster.alpha for booster in self.boosters_]
        if self._handover is None:
            return own
        return [self._handover.alpha(alpha, k) for k, alpha in enumerate(own)]

    def _ballots(self) -> list[Ballot]:
        return [Ballot.of(alpha, c.start) for alpha, c in zip(self._alphas(), self._columns, strict=True)]

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The votes Σ_j α_j h_j(x): (n,) for two classes, positive for the second; (n, K) for more."""
        X = self._rows(X)
        votes = self.hypotheses_.votes(X, self._ballots())
        return votes[:, 0] if len(self.boosters_) == 1 else votes

    def _scores_of(self, answers: NDArray[np.int8]) -> NDArray[np.float64]:
        """The votes, from answers the hypotheses have given."""
        block = np.empty(answers.shape[::-1], np.int8)
        rows_to_block(answers, block)
        votes = np.zeros((len(self.boosters_), len(answers)))
        for total, ballot in zip(votes, self._ballots(), strict=True):
            tally(block[ballot.first :], ballot.up, ballot.down, total)
        return votes[0] if len(self.boosters_) == 1 else votes.T

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the highest vote, of each row."""
        X = self._rows(X)
        if self._handover is not None and self._handover.untouched and len(self.boosters_) > 1:
            codes = self._deployed_codes(X)
        else:
            votes = self.hypotheses_.votes(X, self._ballots())
            codes = (votes[:, 0] > 0.0).astype(np.intp) if votes.shape[1] == 1 else votes.argmax(axis=1)
        result: NDArray[Any] = self.classes_[codes]
        return result

    def _deployed_codes(self, X: Any) -> NDArray[np.intp]:
        """The classes by scikit-learn's own sum (SAMME's ±1 is 1, -1/(K-1)): near ties fall as they did."""
        assert self._handover is not None
        weights = 2.0 * self._handover.deployed[0]
        less = -1 / (len(self.classes_) - 1) * weights
        votes = self.hypotheses_.votes(X, [Ballot(c.start, weights, less) for c in self._columns])
        codes: NDArray[np.intp] = (votes / self._handover.total).argmax(axis=1)
        return codes

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The probability of each class, (n, K), by the logistic link."""
        return self._probabilities(self.decision_function(X))

    def _probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        return probabilities(scores)

    def _rows(self, X: Any) -> Any:
        check_is_fitted(self, "boosters_")
        return validate_data(
            self, X, reset=False, dtype=(np.float64, np.float32), order="C", **_accepted(self._answering())
        )

    def __copy__(self) -> Self:
        """A classifier of its own with the same state; the hypotheses, which never change, are shared."""
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        if hasattr(self, "boosters_"):
            other.boosters_ = [booster.copy() for booster in self.boosters_]
            other._handover = copy.copy(self._handover)
        return other

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if hasattr(self, "boosters_"):  # joblib.load(mmap_mode="r") gives what cannot be written to
            self.boosters_ = [_writable(booster) for booster in self.boosters_]

    # What it says of itself ------------------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "boosters_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        with suppress(InputError):  # an estimator that is none: fit says so
            what = self._answering()
            tags.input_tags.allow_nan, tags.input_tags.sparse = what.accepts_missing, what.accepts_sparse
        return tags

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save to a file, in ocboost's own format (no pickle); an old one stays until this one is whole."""
        check_is_fitted(self, "boosters_")
        save(path, KIND, *classifier_parts(self))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Load what `save` has written; it goes on exactly as the saved one would have.

        A model made by the command line is loaded without its schema.

        Raises
        ------
        ModelFileError
            If the file is damaged, of another version, or not a classifier. Nothing in a file is executed.
        """
        parameters, arrays = load(path, KIND)
        described = {key: value for key, value in parameters.items() if key not in ("schema", "history")}
        clf: Self = classifier_from_parts(described, arrays, os.fspath(path), cls)
        return clf


def _signs(codes: NDArray[np.int64], booster: int, n_boosters: int) -> NDArray[np.int8]:
    """±1 for one booster: the second of two classes, or one against the rest."""
    return np.where(codes == (1 if n_boosters == 1 else booster), np.int8(1), np.int8(-1))


def _margins(answers: NDArray[np.int8], signs: NDArray[np.int8]) -> NDArray[np.int8]:
    margins = np.empty(answers.shape, np.int8)
    margins_of(np.ascontiguousarray(answers), signs, margins)
    return margins


def _fed(
    booster: BoostingSketch,
    answers: NDArray[np.int8],
    signs: NDArray[np.int8],
    weights: NDArray[np.float64],
    batch_size: int,
) -> BoostingSketch:
    booster = _writable(booster)
    weights = np.require(weights, requirements="W")
    booster._take(_margins(answers, signs), weights, batch_size)  # what it gets has been checked
    return booster


def _writable(booster: BoostingSketch) -> BoostingSketch:
    """The booster, or a copy where it came from where others read too: Ray's store, or a mapped file."""
    state = booster._state
    arrays = (*state.tail, *state.head, state.counters, state.now)
    return booster if all(array.flags.writeable for array in arrays) else booster.copy()


def _accepted(what: Learner | Hypotheses) -> dict[str, Any]:
    """What scikit-learn's check of X is to let through."""
    return {
        "accept_sparse": "csr" if what.accepts_sparse else False,
        "ensure_all_finite": "allow-nan" if what.accepts_missing else True,
    }


def _looked_up(y: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.int64]:
    """Codes of labels whose type is another than the classes' (1.0 for 1); strange ones get 0."""
    place = {label: code for code, label in enumerate(classes.tolist())}
    return np.array([place.get(label, 0) for label in y.tolist()], dtype=np.int64)
