"""Where FilterBoost's examples come from: rows as they arrive, or rows drawn from a training set.

FilterBoost: boosting that asks a stream for examples, and keeps only those that it finds hard.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ocboost._core.checks import as_count, as_number
from ocboost._core.codec import Fields, read
from ocboost._core.interrupts import all_or_nothing
from ocboost._core.labels import codes_of, require_same, sorted_classes, weights_to_fit
from ocboost._core.locks import GuardedEstimator, writes
from ocboost._core.storage import load, save
from ocboost.errors import InputError
from ocboost.estimators.committee import probabilities, signs, winners
from ocboost.estimators.filter_rounds import CONFIDENCE_ADVICE, PRECISION_ADVICE, FilterRounds, FilterSettings
from ocboost.estimators.filterboost_file import KIND, filterboost_from_tree, filterboost_tree
from ocboost.estimators.one_row import OneRow
from ocboost.hypotheses import Hypotheses
from ocboost.hypotheses.learners import Learner, learner_for
from ocboost.streams.rows import Rows


def drawn(n: int, reach: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.intp]:
    """The places of so many rows of a training set, drawn with replacement.

    Parameters
    ----------
    n : int
    reach : array
        The sum of the weights of all rows up to each; a row is drawn in proportion to its weight.
    rng : Generator

    Examples
    --------
    >>> drawn(5, np.cumsum([1.0, 0.0, 2.0]), np.random.default_rng(0))
    array([2, 0, 0, 0, 2])
    """
    places = np.searchsorted(reach, rng.random(n) * reach[-1], side="right")
    result: NDArray[np.intp] = np.minimum(places, len(reach) - 1)
    return result


def labelled(batches: Iterable[Any]) -> Iterator[tuple[Any, NDArray[Any]]]:
    """The rows that have a label, and their labels, of each batch that has any."""
    try:
        several = iter(batches)
    except TypeError:
        raise InputError(
            f"batches must be something to go through, of pairs (X, y); got {batches!r:.80}. For one pair of "
            "arrays use fit(X, y)."
        ) from None
    for number, batch in enumerate(several):
        if hasattr(batch, "X") and hasattr(batch, "y"):
            X, y, known = batch.X, batch.y, getattr(batch, "known", None)
        elif isinstance(batch, tuple | list) and len(batch) == 2:
            X, y, known = batch[0], batch[1], None
        else:
            raise InputError(
                f"batches must be pairs (X, y), or batches of ocboost.streams; got {batch!r:.80} as number "
                f"{number}. For one pair of arrays use fit(X, y)."
            )
        if y is None:
            raise InputError(
                f"batches must have labels to learn from; got none in number {number}. Name the label column."
            )
        labels = np.asarray(y)
        if labels.ndim != 1:
            raise InputError(
                f"batches must have one label for each row; got labels of shape {labels.shape} in number "
                f"{number}. Flatten them: y.ravel()."
            )
        if known is not None and not np.all(known):
            X, labels = X[known], labels[known]
        if len(labels):
            yield X, labels


DRAWN = 1 << 13  # rows drawn at once from a training set
PIECE = 1 << 14  # rows taken at once from a stream
LEAST_DELTA = 1e-100


class FilterBoost(OneRow, GuardedEstimator, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Boosting by filtering, for more examples than can be kept: each is looked at and let go.

    Bradley and Schapire, "FilterBoost: Regression and Classification on Large Datasets" (NIPS 2007). Round t
    has the score ``F_t = Σ_{s<t} α_s h_s`` and the confidence ``δ_t = δ / (3 t (t + 1))``.

    - *Filter*: an example (x, y) is let through with the chance ``1 / (1 + exp(y F_t(x)))``. Where the r-th
      call of the round finds none in ``(2/ε) ln(r (r + 1) / δ_t)`` examples, boosting ends: the error of F_t
      is then below ε.
    - The weak learner learns h_t from ``sample`` examples that the filter has let through.
    - *getEdge*: more of them test h_t, as many as it takes (`ocboost.estimators.filter_rounds.EdgeTest` with
      τ and δ_t),
      which gives ``γ_t = u / (1 + τ)`` and ``α_t = ½ ln((½ + γ_t) / (½ - γ_t))``. Where h_t is worse than
      chance, γ_t and α_t are negative.

    ``fit`` draws rows of a training set, `fit_stream` and ``partial_fit`` take each example of a stream at
    most once. With more than two classes each has a FilterBoost of its own, one against the rest, which
    filters for itself.

    Parameters
    ----------
    estimator : None, "stump", "ball", "box", learner or scikit-learn classifier, default None
        What learns a hypothesis from a sample, as in `ocboost.OCBClassifier`.
    n_hypotheses : int, default 100
        Boosting ends with so many for each class (for both, if they are two).
    epsilon : float, default 0.05
        ε, the error that is good enough.
    delta : float, default 0.05
        δ, the chance that anything said of an error or an edge is wrong; from 1e-100 to 1, which promises
        nothing.
    tau : float, default 0.5
        τ, how far an edge may be off, relative to itself. Smaller needs more examples.
    sample : int, default 500
        m_t, examples for the weak learner in each round.
    most_examples : int, default 100_000
        A test of an edge that takes more is given up: an edge of zero would be tested for ever.
    random_state : int, RandomState or None
        For the filter, for the draws of ``fit``, and for learners that draw.

    Attributes
    ----------
    classes_ : array of shape (K,)
    hypotheses_ : list of Hypotheses
        One set for two classes, otherwise one for each; None where nothing has been found yet. Until then
        the score is the log-odds of the classes' shares among the examples looked at, the same for all rows.
    alpha_, edges_ : lists of arrays
        α_t and γ_t of those.
    rounds_ : list of int
        Rounds that were finished, with those of hypotheses that were dropped.
    n_seen_ : int
        Examples that were looked at; of several classes, by the one that looked at most.
    n_accepted_ : list of int
        How many of them each filter let through.
    stopped_ : str or None
        Why boosting has ended; None while it goes on.
    waiting_ : str or None
        What it cannot go on without, an example of a class that has not come yet.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Notes
    -----
    F is on the scale of logistic loss, the log-odds: P(+1) = 1 / (1 + exp(-F)). AdaBoost's F is half of them.
    So ``predict_proba`` is `ocboost.estimators.committee.probabilities` of F/2. As each γ_t is an estimate
    from below, so is
    |F|: the probabilities are not sure enough rather than too sure.

    It needs many examples: an edge of 0.2 is tested on a few thousand that the filter lets through, one of
    0.05 on about fifty thousand, and the better F is, the fewer it lets through.

    Where we depart from the paper: a hypothesis whose edge cannot be told from zero in ``most_examples`` is
    dropped, and a new sample is collected, in a round of its own, so that the confidences still sum to δ;
    after three in a row boosting ends. A sample has both classes. While only one has come it waits, keeping
    half of its places free; only where the other exists and the filter finds none in ``most_examples`` is
    the hypothesis the constant one.

    The examples of a stream have no weights; those of ``fit`` are drawn by theirs. The promises are for
    examples that are independent, all from the same source.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40_000, 3))
    >>> y = X @ [1, 2, 0] > 0
    >>> batches = ((X[i : i + 100], y[i : i + 100]) for i in range(0, len(X), 100))
    >>> clf = FilterBoost(sample=100, random_state=0).fit_stream(batches)
    >>> clf.stopped_
    'the stream ended after 40,000 examples'
    >>> bool(clf.score(X, y) > 0.85)
    True
    >>> clf = FilterBoost(n_hypotheses=20, random_state=0).fit(X[:1000], y[:1000])
    >>> clf.stopped_
    'n_hypotheses reached: there are 20'
    """

    classes_: NDArray[Any]
    machines_: list[FilterRounds]  # one for two classes, otherwise one for each
    _ended: str | None

    def __init__(
        self,
        estimator: Any = None,
        n_hypotheses: int = 100,
        *,
        epsilon: float = 0.05,
        delta: float = 0.05,
        tau: float = 0.5,
        sample: int = 500,
        most_examples: int = 100_000,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_hypotheses = n_hypotheses
        self.epsilon = epsilon
        self.delta = delta
        self.tau = tau
        self.sample = sample
        self.most_examples = most_examples
        self.random_state = random_state

    # Learning --------------------------------------------------------------------------------------------

    @writes
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Boost from the beginning, drawing rows with replacement, in proportion to their weights."""
        with all_or_nothing(self) as draft:
            settings, learner = self.settings(), self.learner()
            X, labels = draft._examples(X, y, reset=True)
            weights = weights_to_fit(sample_weight, X)
            counts = weights > 0.0
            if not counts.all():
                X, labels, weights = X[counts], labels[counts], weights[counts]
            classes = sorted_classes(labels)
            if len(classes) < 2:
                raise InputError(
                    f"y must hold at least two classes to learn from; got one class, "
                    f"{classes.tolist()[0]!r:.80}, in all {len(labels)} examples. Give some of another."
                )
            codes = codes_of(labels, classes)
            draft._begin(classes, shown=True)
            reach = np.cumsum(weights / weights.max())
            for k, machine in enumerate(draft.machines_):
                training = Rows(X, signs(codes, k, len(draft.machines_)))
                rng = np.random.default_rng([*machine.seed, 2])
                while machine.stopped(settings.n_hypotheses) is None:
                    machine.take(training[drawn(DRAWN, reach, rng)], settings, learner)
        return self

    @writes
    def partial_fit(self, X: Any, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Go on with the next examples of a stream, where the last call ended.

        How a stream is cut into calls changes nothing. Once boosting has ended (``stopped_``), examples are
        checked and nothing more.

        Parameters
        ----------
        X : array of shape (n, n_features)
        y : array of shape (n,)
        classes : array, optional
            All classes that will ever come; needed in the first call if that does not show them all.
        """
        first = not hasattr(self, "machines_")
        with all_or_nothing(self) as draft:
            settings, learner = self.settings(), self.learner()
            X, labels = draft._examples(X, y, reset=first)
            given = None if classes is None else sorted_classes(np.asarray(classes))
            if first:
                given = sorted_classes(labels) if given is None else given
                if len(given) < 2:
                    raise InputError(
                        f"classes must be at least two; got {given.tolist()!s:.80}. Name all that will ever "
                        "come, or begin with examples of more than one class."
                    )
            elif given is not None:
                require_same(given, self.classes_)
            codes = codes_of(labels, self.classes_ if given is None else given)
            if first:
                assert given is not None
                draft._begin(given, shown=False)
            machines = [copy.copy(machine) for machine in draft.machines_]
            for k, machine in enumerate(machines):
                own = signs(codes, k, len(machines))
                for at in range(0, len(own), PIECE):
                    machine.take(Rows(X[at : at + PIECE], own[at : at + PIECE]), settings, learner)
            draft.machines_, draft._ended = machines, None
        return self

    def _learn_one(self, x: NDArray[Any], label: NDArray[Any], weight: NDArray[np.float64] | None) -> None:
        if weight is not None:
            raise InputError(
                f"sample_weight must be 1 for FilterBoost, whose filter takes rows as they come; got "
                f"{weight[0]:g}. Leave it out."
            )
        self.partial_fit(x, label)

    @writes
    def fit_stream(self, batches: Iterable[Any], classes: ArrayLike | None = None) -> Self:
        """Boost from the beginning over a stream, each example of which is used at most once, in order.

        No more of it is read once boosting has ended. If the stream ends first, what has been finished
        stays, and ``partial_fit`` can go on with another one. An error in a batch leaves what was learnt from
        those before it.

        Parameters
        ----------
        batches : iterable
            Of pairs (X, y), or of batches as `ocboost.streams` gives them, whose rows without a label are
            left out.
        classes : array, optional
            All classes that will ever come. By default those of the first batches, as many as it takes until
            there are two; they are held back until then.
        """
        held: list[tuple[Any, NDArray[Any]]] = []
        shown: set[Any] = set()
        n = 0
        anew = self._snapshot()  # what was there stays until something has been learnt, and the end is known
        for name in ("machines_", "classes_", "n_features_in_", "feature_names_in_", "_ended"):
            anew.__dict__.pop(name, None)
        try:
            for X, y in labelled(batches):
                held.append((X, y))
                n += len(y)
                if len(shown) < 2:
                    shown.update(y.tolist())
                if classes is None and len(shown) < 2:
                    continue
                if not hasattr(anew, "machines_"):
                    known = np.concatenate([y for _, y in held]) if classes is None else classes
                for rows, labels in held:
                    anew.partial_fit(rows, labels, None if hasattr(anew, "machines_") else known)
                held = []
                if anew.stopped_ is not None:
                    return self
            if len(shown) < 2:
                anew.__dict__.pop("machines_", None)
                came = f"one class, {shown.pop()!r:.80}, in all {n:,} examples" if shown else "no example"
                raise InputError(
                    f"batches must hold at least two classes to learn from; got {came}. Is the stream "
                    "sorted, or was it read already?"
                )
            anew._ended = f"the stream ended after {n:,} examples"
        finally:
            if hasattr(anew, "machines_"):
                self.__dict__ = anew.__dict__
        return self

    def _examples(self, X: Any, y: ArrayLike, *, reset: bool) -> tuple[Any, NDArray[Any]]:
        """Check examples and their labels."""
        rows, labels = validate_data(self, X, y, reset=reset, **_accepted(self.learner()))
        check_classification_targets(labels)
        return rows, labels

    def _begin(self, classes: NDArray[Any], *, shown: bool) -> None:
        base = int(check_random_state(self.random_state).randint(1 << 31))
        n = 1 if len(classes) == 2 else len(classes)
        self.classes_ = classes
        self.machines_ = [FilterRounds((base, k), (shown, shown)) for k in range(n)]
        self._ended = None

    def settings(self) -> FilterSettings:
        """What was asked for, checked; changes take effect with the next call."""
        sample = as_count(self.sample, "sample", 2, 1 << 30, "One example shows one class only.")
        return FilterSettings(
            self._most(),
            as_number(self.epsilon, "epsilon", 0.0, 1.0, "0.05 is one error in twenty.", low_open=True),
            as_number(self.delta, "delta", LEAST_DELTA, 1.0, CONFIDENCE_ADVICE),
            as_number(self.tau, "tau", 0.0, 1.0, PRECISION_ADVICE, low_open=True),
            sample,
            as_count(
                self.most_examples,
                "most_examples",
                sample,
                None,
                "It must be enough for a sample and a test.",
            ),
        )

    def _most(self) -> int:
        return as_count(self.n_hypotheses, "n_hypotheses", 1, None, "It is how many to learn.")

    def learner(self) -> Learner:
        """What learns a hypothesis from a sample."""
        found = learner_for(self.estimator)
        if not isinstance(found, Learner):
            raise InputError(
                f"estimator must learn hypotheses from a sample; got {found!r:.80}, which are given. Weigh "
                "those with ocboost.OCBClassifier."
            )
        return found

    # Answering -------------------------------------------------------------------------------------------

    @property
    def hypotheses_(self) -> list[Hypotheses | None]:
        """The hypotheses found so far."""
        return [machine.voters.hypotheses for machine in self.machines_]

    @property
    def alpha_(self) -> list[NDArray[np.float64]]:
        """The weights α_t."""
        return [machine.voters.alpha for machine in self.machines_]

    @property
    def edges_(self) -> list[NDArray[np.float64]]:
        """The edges γ_t, as they were estimated."""
        return [np.array(machine.voters.edges) for machine in self.machines_]

    @property
    def rounds_(self) -> list[int]:
        """Rounds that were finished."""
        return [machine.round - 1 for machine in self.machines_]

    @property
    def n_seen_(self) -> int:
        """Examples that were looked at; of several classes, by the one that looked at most."""
        return max(machine.n_seen for machine in self.machines_)

    @property
    def n_accepted_(self) -> list[int]:
        """Examples that the filter let through."""
        return [machine.n_accepted for machine in self.machines_]

    @property
    def stopped_(self) -> str | None:
        """Why boosting has ended; None while it goes on."""
        n_hypotheses = self._most()
        reasons = [machine.stopped(n_hypotheses) for machine in self.machines_]
        if any(reason is None for reason in reasons):
            return self._ended  # by the stream, if at all
        if len(reasons) == 1:
            return reasons[0]
        named = zip(self.classes_.tolist(), reasons, strict=True)
        return "; ".join(f"{label!r:.40} against the rest: {reason}" for label, reason in named)

    @property
    def waiting_(self) -> str | None:
        """Of which class an example must come before boosting can go on; None if all that it needs have come.

        Where there are more than two classes, the others go on in the meantime.
        """
        n_hypotheses, missing = self._most(), set()
        for k, machine in enumerate(self.machines_):
            if machine.stopped(n_hypotheses) is None:
                sides = (0, 1) if len(self.machines_) == 1 else (None, k)  # of -1 and +1; many are the rest
                pairs = zip(sides, machine.shown, strict=True)
                missing |= {code for code, shown in pairs if code is not None and not shown}
        if not missing:
            return None
        labels = self.classes_[sorted(missing)].tolist()
        return f"for an example of {' and one of '.join(f'{label!r:.40}' for label in labels)}"

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The score Σ_t α_t h_t(x), on the scale of log-odds.

        Where nothing has been found yet it is the log-odds of the class among the examples looked at, so that
        the most frequent class is predicted.
        (n,) for two classes, positive for the second; (n, K) for more.
        """
        return self._snapshot()._scores(X)

    def _scores(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self, "machines_")
        X = validate_data(self, X, reset=False, **_accepted(self.learner()))
        scores = [machine.scores(X) for machine in self.machines_]
        return scores[0] if len(scores) == 1 else np.stack(scores, axis=1)

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the highest score, of each row; the most frequent one while nothing is found."""
        now = self._snapshot()
        scores = now._scores(X)
        result: NDArray[Any] = now.classes_[winners(scores)]
        return result

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The probability of each class, (n, K): 1 / (1 + exp(-F)), or shares of exp(F_c)."""
        return probabilities(self.decision_function(X) / 2.0)

    # What it says of itself ------------------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "machines_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        with suppress(InputError):  # an estimator that is none: fit says so
            what = self.learner()
            tags.input_tags.allow_nan, tags.input_tags.sparse = what.accepts_missing, what.accepts_sparse
        return tags

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save to a file, in ocboost's own format (no pickle); an old one stays until this one is whole.

        A learner or a classifier given as ``estimator`` is not in the file: it is given again to `load`.
        """
        check_is_fitted(self, "machines_")
        save(path, KIND, filterboost_tree(self._snapshot()))

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, estimator: Any = None) -> Self:
        """Load what `save` has written; it goes on exactly as the saved one would have.

        Parameters
        ----------
        path : path
        estimator : learner or scikit-learn classifier, optional
            What it was made with, if that was such an object, which no file holds.

        Raises
        ------
        ModelFileError
            If the file is damaged, of another version, or not a FilterBoost. Nothing in a file is executed.
        """
        return read(load(path, KIND), os.fspath(path), lambda fields: cls.from_tree(fields, estimator))

    @classmethod
    def from_tree(cls, fields: Fields, estimator: Any = None) -> Self:
        """One of what a file holds, and of an estimator that it does not hold."""
        clf: Self = filterboost_from_tree(fields, cls, estimator)
        return clf


def _accepted(learner: Learner) -> dict[str, Any]:
    """What scikit-learn's check of X is to let through."""
    return {
        "dtype": (np.float64, np.float32),
        "order": "C",
        "accept_sparse": "csr" if learner.accepts_sparse else False,
        "ensure_all_finite": "allow-nan" if learner.accepts_missing else True,
    }
