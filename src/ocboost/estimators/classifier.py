"""OCBClassifier: a scikit-learn classifier that keeps learning.

Hypotheses answer, a booster for each class weighs the answers, and the weighted votes decide.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from operator import is_, itemgetter
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ocboost._core.checks import MAX_SETTING, as_count
from ocboost._core.codec import read
from ocboost._core.interrupts import all_or_nothing, uninterrupted
from ocboost._core.labels import codes_of, require_same, scale_of, sorted_classes, weights_to_fit
from ocboost._core.locks import GuardedEstimator, reads, writes, written
from ocboost._core.storage import load, save
from ocboost.boosters.base import Booster, Settings
from ocboost.errors import InputError
from ocboost.estimators.booster_settings import SKETCH_DEFAULTS, booster_settings, require_kind
from ocboost.estimators.classifier_file import KIND, classifier_from_tree, classifier_tree
from ocboost.estimators.committee import Committee, learnt_pool, probabilities
from ocboost.estimators.growth import Grower, Growth, as_growth, learner_of
from ocboost.estimators.one_row import OneRow, as_one_row, as_one_weight
from ocboost.hypotheses import Hypotheses
from ocboost.hypotheses.learners import Learner, learner_for
from ocboost.offsets import Offset, as_offset, require_classes, require_range, scores_of
from ocboost.streams.rows import Rows

_followed = itemgetter("offset", "grow", "batch_size", "booster", *SKETCH_DEFAULTS)  # what may be set later
PIECE = 1 << 14  # rows learnt at once: their answers are held, and Ctrl-C is heard in between


class OCBClassifier(OneRow, GuardedEstimator, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A boosted classifier whose weights keep learning after it has been fitted.

    ``fit`` finds weak hypotheses by AdaBoost and weighs them; ``partial_fit`` keeps the hypotheses and
    follows the stream with their weights, by Online Coordinate Boosting. With more than two classes each has
    a booster of its own, one against the rest, and the highest vote wins.

    Parameters
    ----------
    estimator : None, "stump", "ball", "box", learner, hypotheses or scikit-learn classifier, default None
        Where the hypotheses come from. None and "stump" learn decision stumps, "ball" the paper's balls
        around examples, "box" box filters over square grey images given as rows of pixels. A learner of
        `ocboost.learners` is used as it is; a scikit-learn classifier is boosted. Hypotheses
        (`ocboost.hypotheses`) are taken as given, and all classes share them.
    n_hypotheses : int, default 100
        How many hypotheses to learn for each class (for both, if they are two); fewer where boosting ends.
    offset : None, function, fitted classifier or offset, default None
        A score F₀ to learn corrections on top of: an existing model's, whose training data are gone. An
        example begins with weight w·exp(-y F₀(x)) instead of w, and the answer is F₀(x) + Σ_j α_j h_j(x). A
        function takes rows X and gives (n,) scores for two classes, positive for the second, or (n, K)
        for more, each class against the rest. Of a fitted classifier the ``decision_function`` is taken as
        it is, but of an AdaBoostClassifier the votes before it divides them by the sum of its weights.
        F₀ is half the log-odds, and most scores are not: put them on that scale with
        `ocboost.offsets.fit_offset`. See Notes.
    booster : str or Booster, default "ocb"
        What weighs the hypotheses, by its name in ``ocboost compare``: "ocb" is Online Coordinate Boosting;
        "oza", "winnow", "eg", "logistic", "perceptron", "pa" and "huang" are the methods it is compared with
        (`ocboost.lineage`). Or an object of one of their classes that has learnt nothing, whose settings are
        taken: ``booster=EGPlusMinus(1, rate=0.001)``. The settings that follow here are those of "ocb", and
        an error with any other.
    order, head, tail, forgetting, correction
        As in `BoostingSketch`. By default everything is remembered, the examples that weigh exactly
        (``head="auto"``). To follow a stream that changes: ``forgetting=0.995``, or ``tail=False, head=200``
        for a window.
    memory : int, optional
        Bytes for the sums and examples of each booster, instead of ``head``.
    keep : {"heavy", "newest"}, optional
        Which examples the head keeps, as in `BoostingSketch`: those that weigh where that can be, by default,
        else the newest. With ``grow`` it keeps the newest.
    smoothing : float or "auto", default "auto"
        ε, as in `BoostingSketch`. "auto" is 1, and ten times the number of hypotheses where there is an
        offset. See Notes.
    grow : None, int or Growth, default None
        Lets the stream bring new hypotheses, where the ones there are find it hard (`ocboost.Growth`): the
        most there may be in all, for each class if they are more than two. ``partial_fit`` grows, ``fit``
        does not: it finds ``n_hypotheses`` to begin with. By default they stay as they are. ``order`` must
        be None then, and the rows of the head are kept with their features.
    batch_size : int, default 1
        Examples added to the sums at once. Up to the size of the head it changes nothing, and a stream then
        gives the same weights however it is cut into calls; with ``head=1`` larger batches are faster.
    n_jobs : int, optional
        Jobs for the classes beyond two, through joblib, whose backends (threads, Dask, Ray) all do. It
        changes nothing in the result.
    random_state : int, RandomState or None
        For learners that draw, and for the filter of ``grow``.

    Attributes
    ----------
    classes_ : array of shape (K,)
    committee_ : Committee
        The hypotheses and their weights, as they vote and learn.
    hypotheses_ : Hypotheses
    boosters_ : list of Booster
        One for two classes, otherwise one for each.
    alpha_ : list of arrays
        The weights each booster votes with, now.
    n_grown_, n_retired_ : int
        Hypotheses that have come and gone, with ``grow``.
    weight_scale_ : float
        What sample weights are multiplied by. 1, unless those of the first call summed to less than their
        number, as weights that sum to one do: then so that their mean is 1, the unit of ``smoothing``.
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

    With an offset, corrections of little smoothing follow the noise of the first few hundred examples and
    spoil what was right; hence the larger ε. Where the offset is known to be poor, less learns faster.
    `ocboost.offsets` says more. To learn, w·exp(-y F₀) must lie between 1e-299 and 1e299, and anything else
    is an error; to answer, F₀ must be below 1e100.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = OCBClassifier(n_hypotheses=50).fit(X[:300], y[:300])
    >>> for i in range(300, 500):
    ...     clf = clf.partial_fit(X[i : i + 1], y[i : i + 1])
    >>> bool(clf.score(X[500:], y[500:]) > 0.95)
    True

    A rule that was deployed long ago, and corrections on top of it:

    >>> from ocboost.offsets import fit_offset
    >>> offset = fit_offset(lambda X: 20 - X[:, 0], X[:200], y[:200])
    >>> clf = OCBClassifier(n_hypotheses=20, offset=offset).fit(X[:200], y[:200])
    >>> clf = clf.partial_fit(X[200:400], y[200:400])
    >>> bool(clf.score(X[400:], y[400:]) > np.mean((offset(X[400:]) > 0) == y[400:]))
    True
    """

    def __init__(
        self,
        estimator: Any = None,
        n_hypotheses: int = 100,
        *,
        offset: Any = None,
        booster: str | Booster = "ocb",
        order: int | None = None,
        head: int | str = "auto",
        memory: int | None = None,
        keep: str | None = None,
        tail: bool = True,
        smoothing: float | str = "auto",
        forgetting: float = 1.0,
        correction: str = "balanced",
        grow: int | Growth | None = None,
        batch_size: int = 1,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_hypotheses = n_hypotheses
        self.offset = offset
        self.booster = booster
        self.order = order
        self.head = head
        self.memory = memory
        self.keep = keep
        self.tail = tail
        self.smoothing = smoothing
        self.forgetting = forgetting
        self.correction = correction
        self.grow = grow
        self.batch_size = batch_size
        self.n_jobs = n_jobs
        self.random_state = random_state

    # Learning --------------------------------------------------------------------------------------------

    @writes
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Find hypotheses and weigh them, from the beginning."""
        with all_or_nothing(self) as draft:
            rows, labels, weights = draft._examples(X, y, sample_weight, reset=True)
            classes = sorted_classes(labels)
            draft._begin(rows, classes, codes_of(labels, classes), weights)
        return self

    @writes
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
        if hasattr(self, "committee_"):
            rows, labels, weights = self._examples(X, y, sample_weight, reset=False)
            if classes is not None:
                require_same(sorted_classes(np.asarray(classes)), self.classes_)
            self.learn_rows(Rows(rows, codes=codes_of(labels, self.classes_), weights=weights))
            return self
        with all_or_nothing(self) as draft:
            rows, labels, weights = draft._examples(X, y, sample_weight, reset=True)
            given = sorted_classes(labels if classes is None else np.asarray(classes))
            codes = codes_of(labels, given)
            if isinstance(self.estimator, Hypotheses):
                draft._set_up(rows, given, codes, weights, start=False)
                draft.learn_rows(Rows(rows, codes=codes, weights=weights))
            else:
                draft._begin(rows, given, codes, weights)
        return self

    @classmethod
    def from_offset(
        cls, offset: Any, hypotheses: Hypotheses, classes: ArrayLike | None = None, **parameters: Any
    ) -> Self:
        """Adopt any scorer, without a single example; until the first one it predicts exactly as that does.

        Parameters
        ----------
        offset : function, fitted classifier or offset
            As the parameter of the class.
        hypotheses : Hypotheses
            What corrections are made of: those of the scorer itself if it is an ensemble
            (`ocboost.hypotheses.from_sklearn`), or any others.
        classes : array, optional
            All classes; by default those that the scorer knows.
        **parameters
            Others of the class.

        Examples
        --------
        >>> from ocboost.hypotheses import Stumps
        >>> clf = OCBClassifier.from_offset(lambda X: X[:, 0] - 1, Stumps([0], [2.0], [1]), classes=[0, 1])
        >>> clf.decision_function([[0.0], [3.0]])
        array([-1.,  2.])
        >>> clf = clf.partial_fit([[1.5], [1.7]], [0, 0])
        """
        if not isinstance(hypotheses, Hypotheses):
            raise InputError(
                f"hypotheses must be of ocboost.hypotheses; got {hypotheses!r:.80}. To learn them from "
                "examples, use OCBClassifier(offset=offset).fit(X, y)."
            )
        clf = cls(hypotheses, len(hypotheses), offset=offset, **parameters)
        known = as_offset(offset).classes if classes is None else np.asarray(classes)
        if known is None:
            raise InputError("classes must name all classes where the offset does not know them; got None.")
        clf.n_features_in_ = hypotheses.n_features
        none = np.empty(0)
        clf._set_up(None, sorted_classes(known), none.astype(np.int64), none, start=False)
        return clf

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
        from ocboost.hypotheses.adopt import adopted

        if parameters.get("offset") is not None:
            raise InputError(
                "offset must be None for from_fitted, whose deployed weights fade. To keep them and learn on "
                "top of them, use from_offset(fitted, hypotheses)."
            )
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
        clf._set_up(rows, classes, codes_of(labels, classes), given, start=True, split=len(classes) > 2)
        clf.committee_.adopt(weights / 2.0, total, float(given.sum()) * clf.weight_scale_)
        if clf.grower_ is not None:
            clf.grower_.begin(clf.committee_)
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
            **_accepted(self._asked(learner_for(self.estimator) if reset else self._answering())),
        )
        check_classification_targets(labels)
        return rows, labels, weights_to_fit(sample_weight, rows)

    def _answering(self) -> Learner | Hypotheses:
        """The hypotheses, or what will find them."""
        return self.committee_.hypotheses if hasattr(self, "committee_") else learner_for(self.estimator)

    def _asked(self, answering: Learner | Hypotheses) -> list[Learner | Hypotheses]:
        """All that must accept X: what answers, and what learns further hypotheses."""
        growth = as_growth(self.grow)
        return [answering] if growth is None else [answering, learner_of(growth, self.estimator)]

    def _begin(
        self, X: Any, classes: NDArray[Any], codes: NDArray[np.int64], weights: NDArray[np.float64]
    ) -> None:
        """Find hypotheses, and start the boosters from the same examples."""
        counts = weights > 0.0
        if len(np.unique(codes[counts])) < 2:
            raise InputError(
                f"y must hold at least two classes to learn hypotheses from; got one class, "
                f"{classes[codes[:1]].tolist()[0]!r:.80}, in all {len(codes)} examples. Give a few hundred "
                "examples at first, of more than one class."
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
        self._batch, growth = self._batch_size(), as_growth(self.grow)
        offset = None if self.offset is None else as_offset(self.offset)
        require_classes(offset, classes)
        scale = scale_of(weights)
        scores = None if offset is None or not start else scores_of(offset, X, n_boosters)
        require_range(weights * scale, scores)
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
            pool, columns = self._found(X, codes, weights, scores, n_boosters)
        kind, settings = self._settings(columns, offset)
        committee = Committee(pool, columns, settings, offset, kind)
        if start:
            committee.start(X, codes, weights * scale, scores, n_jobs=self.n_jobs)
        self.classes_, self.committee_, self.weight_scale_ = classes, committee, scale
        self.grower_: Grower | None = None
        self._offset_given = self.offset
        self._settled = _followed(self.__dict__)
        if growth is not None:
            self.grower_ = self._grower(growth)
            if start:
                self.grower_.remember(Rows(X, codes=codes, weights=weights * scale))

    def _found(
        self,
        X: Any,
        codes: NDArray[np.int64],
        weights: NDArray[np.float64],
        scores: NDArray[np.float64] | None,
        n_boosters: int,
    ) -> tuple[Hypotheses, list[slice]]:
        """Hypotheses for each booster, as one set, and which of it are whose."""
        J = as_count(self.n_hypotheses, "n_hypotheses", 1, None, "It is how many to learn.")
        rng = np.random.default_rng(check_random_state(self.random_state).randint(1 << 31))
        learner = learner_for(self.estimator)
        assert isinstance(learner, Learner)
        growth = as_growth(self.grow)
        return learnt_pool(
            learner,
            X,
            codes,
            weights,
            scores,
            n_boosters=n_boosters,
            n_hypotheses=J,
            most=None if growth is None else growth.budget,
            rng=rng,
            n_jobs=self.n_jobs,
        )

    def _settings(self, columns: list[slice], offset: Offset | None) -> tuple[type[Booster], Settings]:
        given = {name: getattr(self, name) for name in SKETCH_DEFAULTS}
        most, growth = max(c.stop - c.start for c in columns), as_growth(self.grow)
        return booster_settings(self.booster, given, most=most, growth=growth, has_offset=offset is not None)

    def _grower(self, growth: Growth) -> Grower:
        seed = check_random_state(self.random_state).randint(1 << 31)
        return Grower(growth, learner_of(growth, self.estimator), self.committee_, seed)

    @writes
    def learn_rows(self, rows: Rows) -> None:
        """Learn from rows that have been checked and have codes: the way that every example comes in.

        Parameters
        ----------
        rows : Rows
            All of them labelled; what has been computed of them is not computed again.
        """
        written(self.committee_, partial(self._learn, rows))

    def _learn(self, rows: Rows) -> None:
        committee: Committee = self.committee_
        committee.spare_readers(len(rows), self._batch)
        if not self._is_settled():
            self.follow_settings()
        if self.grower_ is not None:
            self._learn_and_grow(self.grower_, rows)
            return
        piece = max(1, PIECE // self._batch) * self._batch
        if len(rows) <= piece:
            self._weigh(committee, rows)
            return
        require_range(self._scaled(rows), rows.scores(committee))  # of all, before the first is learnt from
        for start in range(0, len(rows), piece):
            if start:
                committee.refresh()
            self._weigh(committee, rows.apart(start, start + piece))

    def _weigh(self, committee: Committee, rows: Rows) -> None:
        """Let the weights of the hypotheses follow."""
        answers, scores = rows.answers(committee.hypotheses), rows.scores(committee)
        weights = self._scaled(rows)
        committee.learn(answers, rows.codes, weights, scores, batch_size=self._batch, n_jobs=self.n_jobs)

    def _scaled(self, rows: Rows) -> NDArray[np.float64]:
        scale: float = self.weight_scale_
        return rows.weights if scale == 1.0 else rows.weights * scale

    def _learn_and_grow(self, grower: Grower, rows: Rows) -> None:
        committee, start = self.committee_, 0
        committee.hypotheses.check(rows.X)  # all rows, before the first is learnt from
        require_range(self._scaled(rows), rows.scores(committee))
        while start < len(rows):
            part = rows[start : start + min(grower.due, PIECE)]
            answers = committee.hypotheses.answers(part.X)  # they do not last
            weights, scores = self._scaled(part), part.scores(committee)
            with uninterrupted():  # the rows of the head are those that it has learnt from
                committee.learn(
                    answers, part.codes, weights, scores, batch_size=self._batch, n_jobs=self.n_jobs
                )
                grower.take(committee, Rows(part.X, codes=part.codes, weights=weights))
            start += len(part)

    @writes
    def follow_settings(self) -> None:
        """Let ``set_params`` take effect on what has been fitted, where it can; learning does so too."""
        if self._is_settled():
            return
        if self.offset is not self._offset_given:
            raise InputError(
                "offset cannot change once the classifier has been fitted, as what was learnt rests on it. "
                "Fit anew with another one."
            )
        growth, committee = as_growth(self.grow), self.committee_
        kind, settings = self._settings(committee.columns, committee.offset)
        require_kind(kind, committee.kind)
        batch = self._batch_size()
        committee.follow(settings)
        if growth is None:
            self.grower_ = None
        elif self.grower_ is None:
            self.grower_ = self._grower(growth)
        elif self.grower_.growth != growth:
            self.grower_.follow(growth, learner_of(growth, self.estimator))
        self._settled, self._batch = _followed(self.__dict__), batch

    def weighed_by(self, booster: str | Booster, rows: Rows | None = None) -> Self:
        """A classifier of its own with the same hypotheses for the same classes, and another booster.

        Parameters
        ----------
        booster : str or Booster
            As of the class; settings of "ocb" are its defaults.
        rows : Rows, optional
            Checked rows with codes, to begin with as ``fit`` does; without them it has learnt nothing yet.
        """
        other: Self = self.__copy__().set_params(booster=booster, grow=None, **SKETCH_DEFAULTS)
        had: Committee = other.committee_
        kind, settings = other._settings(had.columns, had.offset)
        committee = Committee(had.hypotheses, had.columns, settings, had.offset, kind)
        if rows is not None:
            weights, scores = other._scaled(rows), rows.scores(committee)
            committee.start(rows.X, rows.codes, weights, scores, n_jobs=other.n_jobs)
        other.committee_, other.grower_ = committee, None
        other._settled = _followed(other.__dict__)
        return other

    def _is_settled(self) -> bool:
        """Whether what has been fitted follows the parameters as they are; of other objects it asks anew."""
        settled: tuple[Any, ...] | None = self._settled
        return settled is not None and all(map(is_, _followed(self.__dict__), settled))

    def _batch_size(self) -> int:
        return min(
            as_count(self.batch_size, "batch_size", 1, None, "1 adds example by example."), MAX_SETTING
        )

    # Answering -------------------------------------------------------------------------------------------

    @property
    def hypotheses_(self) -> Hypotheses:
        """The weak hypotheses."""
        committee: Committee = self.committee_
        return committee.hypotheses if self.grower_ is None else committee.view().hypotheses

    @property
    def boosters_(self) -> list[Booster]:
        """One booster for two classes, otherwise one for each."""
        return self.committee_.boosters

    @property
    def alpha_(self) -> list[NDArray[np.float64]]:
        """The weights each booster votes with, now."""
        check_is_fitted(self, "committee_")
        return self.committee_.alphas

    @property
    def n_grown_(self) -> int:
        """Hypotheses that the stream has brought."""
        return 0 if self.grower_ is None else self.grower_.n_grown

    @property
    def n_retired_(self) -> int:
        """Hypotheses that had to make room for them."""
        return 0 if self.grower_ is None else self.grower_.n_retired

    def votes_of(self, rows: Rows) -> NDArray[np.float64]:
        """The votes on rows that have been checked, see `decision_function`."""
        committee: Committee = self.committee_
        if self.grower_ is not None:  # answers would not last
            return committee.votes(rows.X)
        return committee.votes_of(rows.answers(committee.hypotheses), rows.scores(committee))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The votes Σ_j α_j h_j(x), on top of the offset F₀(x) if there is one.

        (n,) for two classes, positive for the second; (n, K) for more.
        """
        now = self._snapshot()
        rows = now._rows(X)
        committee: Committee = now.committee_
        return committee.votes(rows)

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the highest vote, of each row."""
        now = self._snapshot()
        rows = now._rows(X)
        result: NDArray[Any] = now.classes_[now.committee_.predict(rows)]
        return result

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The probability of each class, (n, K), by the logistic link."""
        return probabilities(self.decision_function(X))

    # One row ---------------------------------------------------------------------------------------------

    def predict_one(self, row: Sequence[float]) -> Any:
        """The class of one row, as `predict` finds it, without what scikit-learn's checks take.

        Parameters
        ----------
        row : sequence of n_features numbers
            A list, a tuple or an array; None and NaN are missing numbers.

        Examples
        --------
        >>> from ocboost.hypotheses import Stumps
        >>> clf = OCBClassifier(Stumps([0], [1.5], [-1])).fit([[1.0], [2.0]], ["no", "yes"])
        >>> clf.predict_one([3.0]), clf.learn_one([3.0], "no").predict_proba_one([3.0]).round(2)
        ('yes', array([0.4, 0.6]))
        """
        now = self._fitted_now()
        view, x = now["committee_"].view(), _one(now, row)
        code = int(view.predict(x)[0]) if view.deployed is not None else view.winner_of_one(x)
        return _labels_of(now)[0][code]

    def predict_proba_one(self, row: Sequence[float]) -> NDArray[np.float64]:
        """The probability of each class for one row, (K,), as `predict_proba` finds them."""
        now = self._fitted_now()
        committee: Committee = now["committee_"]
        shares: NDArray[np.float64] = probabilities(committee.view().votes_of_one(_one(now, row)))[0]
        return shares

    @writes
    def learn_one(self, row: Sequence[float], label: Any, sample_weight: float = 1.0) -> Self:
        """Learn one row, as `partial_fit` would; a weight of 0 counts as an example without weight.

        Parameters
        ----------
        row : sequence of n_features numbers
        label : object
            Its class, one of ``classes_``.
        sample_weight : float, default 1.0
            Not negative.
        """
        now = self._fitted_now()
        x = _one(now, row)
        try:
            code = _labels_of(now)[1][label]
        except (KeyError, TypeError):
            raise InputError(
                f"label must be one of the classes {self.classes_.tolist()!s:.80}; got {label!r:.80}. Leave "
                "such examples out, or fit anew with that class."
            ) from None
        weight = as_one_weight(sample_weight)
        weights = None if weight == 1.0 else np.array([weight])
        written(self.committee_, partial(self._learn, Rows.one(x, code, weights)))
        return self

    def _fitted_now(self) -> dict[str, Any]:
        """The attributes as they are now; fitting anew binds others all at once."""
        now = self.__dict__
        if "committee_" not in now:
            check_is_fitted(self, "committee_")
        return now

    def _rows(self, X: Any) -> Any:
        check_is_fitted(self, "committee_")
        return validate_data(
            self,
            X,
            reset=False,
            dtype=(np.float64, np.float32),
            order="C",
            **_accepted(self._asked(self._answering())),
        )

    @reads
    def __copy__(self) -> Self:
        """A classifier of its own with the same state; the hypotheses, which never change, are shared."""
        other = self._snapshot()
        other.__dict__.pop("_guard_kept", None)
        if hasattr(self, "committee_"):
            other.committee_ = copy.copy(self.committee_)
            other.grower_ = copy.copy(self.grower_)
        return other

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super(OCBClassifier, self.__copy__()).__getstate__()
        return state  # of its own, as it is written later

    # What it says of itself ------------------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "committee_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        with suppress(InputError):  # an estimator that is none: fit says so
            asked = self._asked(self._answering())
            tags.input_tags.allow_nan = all(each.accepts_missing for each in asked)
            tags.input_tags.sparse = all(each.accepts_sparse for each in asked)
        return tags

    def save(self, path: str | os.PathLike[str], *, without_offset: bool = False) -> None:
        """Save to a file, in ocboost's own format (no pickle); an old one stays until this one is whole.

        Parameters
        ----------
        path : path
        without_offset : bool, default False
            Leave the offset out of the file; it is given again to `load`. One that is a Python function, or
            a model of another library, can be saved in no other way; those of `ocboost.offsets` made of
            numbers are saved with the classifier.

        Raises
        ------
        NotSavableError
            If the hypotheses, the offset or what it grows by are Python code, which no file holds. Nothing
            is written then.
        """
        check_is_fitted(self, "committee_")
        # Of a copy, as others may learn while it is written.
        save(path, KIND, classifier_tree(self.__copy__(), without_offset=without_offset))

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, offset: Any = None) -> Self:
        """Load what `save` has written; it goes on exactly as the saved one would have.

        A model made by the command line is loaded without its schema.

        Parameters
        ----------
        path : path
        offset : function or fitted classifier, optional
            The offset it was made with, if it was saved without that.

        Raises
        ------
        ModelFileError
            If the file is damaged, of another version, or not a classifier. Nothing in a file is executed.
        """
        tree = load(path, KIND)
        alone = {key: value for key, value in tree.items() if key not in ("schema", "history")}
        clf: Self = read(alone, os.fspath(path), lambda fields: classifier_from_tree(fields, cls, offset))
        return clf


def _one(now: dict[str, Any], row: Any) -> NDArray[Any]:
    """One row, checked as the classifier of these attributes needs it."""
    hypotheses, grower = now["committee_"].hypotheses, now["grower_"]
    missing = hypotheses.accepts_missing and (grower is None or grower.learner.accepts_missing)
    return as_one_row(row, now["n_features_in_"], missing=missing)


def _labels_of(now: dict[str, Any]) -> tuple[list[Any], dict[Any, int]]:
    """The classes as Python's own values, and the place of each."""
    classes, kept = now["classes_"], now.get("_labels")
    if kept is None or kept[0] is not classes:
        labels = classes.tolist()
        kept = now["_labels"] = classes, labels, {label: code for code, label in enumerate(labels)}
    return kept[1], kept[2]


def _accepted(asked: list[Learner | Hypotheses]) -> dict[str, Any]:
    """What scikit-learn's check of X is to let through."""
    return {
        "accept_sparse": "csr" if all(each.accepts_sparse for each in asked) else False,
        "ensure_all_finite": "allow-nan" if all(each.accepts_missing for each in asked) else True,
    }
