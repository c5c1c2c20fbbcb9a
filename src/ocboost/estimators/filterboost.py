"""FilterBoost: boosting that draws examples from a stream, and keeps only those that it finds hard."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ocboost._core.checks import as_count, as_number
from ocboost._core.codec import Fields, read
from ocboost._core.file_format import load, save
from ocboost._core.interrupts import all_or_nothing
from ocboost._core.labels import codes_of, weights_to_fit
from ocboost._core.locks import writes
from ocboost.errors import InputError
from ocboost.estimators.base import OnlineClassifier
from ocboost.estimators.binary_filterboost import (
    CONFIDENCE_ADVICE,
    PRECISION_ADVICE,
    BinaryFilterBoost,
    FilterSettings,
)
from ocboost.estimators.committee import probabilities, signs
from ocboost.estimators.filterboost_file import FILTERBOOST_KIND, filterboost_from_tree, filterboost_tree
from ocboost.hypotheses import Hypotheses
from ocboost.learners import Learner, learner_for
from ocboost.streams.rows import Rows

ROWS_DRAWN_AT_ONCE = 1 << 13  # from a training set
STREAM_ROWS_AT_ONCE = 1 << 14
MIN_DELTA = 1e-100


class FilterBoost(OnlineClassifier):
    """Boosting by filtering, for more examples than fit in memory: each is examined once and dropped.

    Bradley and Schapire, "FilterBoost: Regression and Classification on Large Datasets" (NIPS 2007). Round t
    has the score ``F_t = Σ_{s<t} α_s h_s`` and the confidence ``δ_t = δ / (3 t (t + 1))``.

    - *Filter*: an example (x, y) is let through with probability ``1 / (1 + exp(y F_t(x)))``. Where the r-th
      call of the round finds none in ``(2/ε) ln(r (r + 1) / δ_t)`` examples, boosting ends: the error of F_t
      is then below ε.
    - The weak learner learns h_t from ``sample`` examples that the filter has let through.
    - *getEdge*: more of them test h_t, as many as it takes
      (``ocboost.estimators.binary_filterboost.EdgeTest`` with τ and δ_t), which gives ``γ_t = u / (1 + τ)``
      and ``α_t = ½ ln((½ + γ_t) / (½ - γ_t))``. Where h_t is worse than chance, γ_t and α_t are negative.

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
        δ, the chance that any statement on an error or an edge is wrong; from 1e-100 to 1, which promises
        nothing.
    tau : float, default 0.5
        τ, how far an edge may be off, relative to itself. Smaller needs more examples.
    sample : int, default 500
        m_t, examples for the weak learner in each round.
    most_examples : int, default 100_000
        A test of an edge stops after so many: an edge of zero would be tested for ever.
    random_state : int, RandomState or None
        For the filter, for the draws of ``fit``, and for learners that draw.

    Attributes
    ----------
    classes_ : array of shape (K,)
        In order; the columns of probabilities have it too.
    hypotheses_ : list of Hypotheses
        One set for two classes, otherwise one for each; None where nothing has been found yet. Until then
        the score is the log-odds of the classes' shares among the examples examined, the same for all rows.
    alpha_, edges_ : lists of arrays
        α_t and γ_t of those.
    rounds_ : list of int
        Finished rounds, including those of hypotheses that were dropped.
    n_seen_ : int
        Examples examined; of several classes, by the one that examined most.
    n_accepted_ : list of int
        How many of them each filter let through.
    stopped_ : str or None
        Why boosting has ended; None while it continues.
    waiting_ : str or None
        What it needs to continue: an example of a class that has not come yet.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Notes
    -----
    F is on the scale of logistic loss, the log-odds: P(+1) = 1 / (1 + exp(-F)). AdaBoost's F is half of them.
    So ``predict_proba`` is ``ocboost.estimators.committee.probabilities`` of F/2. As each γ_t is an estimate
    from below, so is ``|F|``: the probabilities are not sure enough rather than too sure.

    It needs many examples: an edge of 0.2 is tested on a few thousand that the filter lets through, one of
    0.05 on about fifty thousand, and the better F is, the fewer it lets through.

    Where we depart from the paper: a hypothesis whose edge cannot be distinguished from zero in
    ``most_examples`` is dropped, and a new sample is collected, in a round of its own, so that the
    confidences still sum to δ; after three in a row boosting ends. A sample has both classes. While only one
    has come, boosting waits with half of the sample free; only where the other exists and the filter finds
    none in ``most_examples`` is the hypothesis the constant one.

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

    boosters_: list[BinaryFilterBoost]  # one for two classes, otherwise one for each
    _ended: str | None  # how the stream of fit_stream ended

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
        """Boost from the beginning, drawing rows with replacement, in proportion to their weights.

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
        FilterBoost
            This object.
        """
        with all_or_nothing(self) as draft:
            settings, learner = self.settings(), self.learner()
            X, labels = draft._checked_examples(X, y, reset=True)
            weights = weights_to_fit(sample_weight, X)
            counts = weights > 0.0
            if not counts.all():
                X, labels, weights = X[counts], labels[counts], weights[counts]
            classes = draft._all_classes(labels, first=True)
            codes = codes_of(labels, classes)
            draft._begin(classes, shown=True)
            cumulative = np.cumsum(weights / weights.max())
            for k, booster in enumerate(draft.boosters_):
                training = Rows(X, signs(codes, k, len(draft.boosters_)))
                rng = np.random.default_rng([*booster.seed, 2])
                while booster.stopped(settings.n_hypotheses) is None:
                    places = draw_places(ROWS_DRAWN_AT_ONCE, cumulative, rng)
                    booster.take(training[places], settings, learner)
        return self

    @writes
    def partial_fit(self, X: Any, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Continue with the next examples of a stream, where the last call ended.

        How a stream is cut into calls changes nothing. Once boosting has ended (``stopped_``), examples are
        checked and ignored.

        Parameters
        ----------
        X : array of shape (n, n_features)
            The rows.
        y : array of shape (n,)
            The class of each row.
        classes : array, optional
            All classes that will ever come; needed in the first call if that does not show them all.

        Returns
        -------
        FilterBoost
            This object.
        """
        first = not hasattr(self, "boosters_")
        with all_or_nothing(self) as draft:
            settings, learner = self.settings(), self.learner()
            X, labels = draft._checked_examples(X, y, reset=first)
            known = draft._all_classes(labels, classes, first=first)
            codes = codes_of(labels, known)
            if first:
                draft._begin(known, shown=False)
            boosters = [copy.copy(booster) for booster in draft.boosters_]
            for k, booster in enumerate(boosters):
                own, step = signs(codes, k, len(boosters)), STREAM_ROWS_AT_ONCE
                for at in range(0, len(own), step):
                    booster.take(Rows(X[at : at + step], own[at : at + step]), settings, learner)
            draft.boosters_, draft._ended = boosters, None
        return self

    def _learn_one(self, row: Sequence[float], label: Any, weight: float) -> None:
        if weight != 1.0:
            raise InputError(
                f"sample_weight must be 1 for FilterBoost, whose filter takes rows without weights; got "
                f"{weight:g}. Leave it out."
            )
        self.partial_fit(self._one_row(row), np.asarray([label]))

    @writes
    def fit_stream(self, batches: Iterable[Any], classes: ArrayLike | None = None) -> Self:
        """Boost from the beginning over a stream, each example of which is used at most once, in order.

        The stream is not read further once boosting has ended. If the stream ends first, finished rounds
        stay, and ``partial_fit`` can continue with another one. An error in a batch leaves what was learnt
        from those before it.

        Parameters
        ----------
        batches : iterable
            Of pairs (X, y), or of batches as `ocboost.streams` gives them, whose rows without a label are
            left out.
        classes : array, optional
            All classes that will ever come. By default those of the first batches, as many as it takes until
            there are two; they are held back until then.

        Returns
        -------
        FilterBoost
            This object.

        Raises
        ------
        InputError
            If a batch is no pair of rows and labels, or does not fit those before.
        """
        held: list[tuple[Any, NDArray[Any]]] = []
        shown: set[Any] = set()
        n = 0
        fresh = self._snapshot()  # replaces this one once something has been learnt
        for name in ("boosters_", "classes_", "n_features_in_", "feature_names_in_", "_ended"):
            fresh.__dict__.pop(name, None)
        try:
            for X, y in labelled(batches):
                held.append((X, y))
                n += len(y)
                if len(shown) < 2:
                    shown.update(y.tolist())
                if classes is None and len(shown) < 2:
                    continue
                if not hasattr(fresh, "boosters_"):
                    known = np.concatenate([y for _, y in held]) if classes is None else classes
                for rows, labels in held:
                    fresh.partial_fit(rows, labels, None if hasattr(fresh, "boosters_") else known)
                held = []
                if fresh.stopped_ is not None:
                    return self
            if len(shown) < 2:
                fresh.__dict__.pop("boosters_", None)
                found = f"one class, {shown.pop()!r:.80}, in all {n:,} examples" if shown else "no example"
                raise InputError(
                    f"batches must hold at least two classes to learn from; got {found}. Is the stream "
                    "sorted, or was it read already?"
                )
            fresh._ended = f"the stream ended after {n:,} examples"
        finally:
            if hasattr(fresh, "boosters_"):
                self.__dict__ = fresh.__dict__
        return self

    def _begin(self, classes: NDArray[Any], *, shown: bool) -> None:
        base, n = self._seed(), 1 if len(classes) == 2 else len(classes)
        self.classes_ = classes
        self.boosters_ = [BinaryFilterBoost((base, k), (shown, shown)) for k in range(n)]
        self._ended = None

    def settings(self) -> FilterSettings:
        """The parameters, checked; changes take effect with the next call.

        Returns
        -------
        FilterSettings
            By name.
        """
        sample = as_count(self.sample, "sample", 2, 1 << 30, "One example shows one class only.")
        most_examples = as_count(
            self.most_examples, "most_examples", sample, None, "It must be enough for a sample and a test."
        )
        return FilterSettings(
            self._checked_n_hypotheses(),
            as_number(self.epsilon, "epsilon", 0.0, 1.0, "0.05 is one error in twenty.", low_open=True),
            as_number(self.delta, "delta", MIN_DELTA, 1.0, CONFIDENCE_ADVICE),
            as_number(self.tau, "tau", 0.0, 1.0, PRECISION_ADVICE, low_open=True),
            sample,
            most_examples,
        )

    def _checked_n_hypotheses(self) -> int:
        return as_count(self.n_hypotheses, "n_hypotheses", 1, None, "It is how many to learn.")

    def learner(self) -> Learner:
        """What learns a hypothesis from a sample.

        Returns
        -------
        Learner
            Stumps by default.

        Raises
        ------
        InputError
            If ``estimator`` is nothing that learns.
        """
        found = learner_for(self.estimator)
        if not isinstance(found, Learner):
            raise InputError(
                f"estimator must learn hypotheses from a sample; got {found!r:.80}, which are given. Weigh "
                "those with ocboost.OCBClassifier."
            )
        return found

    def _input_readers(self, *, reset: bool) -> list[Learner | Hypotheses]:
        return [self.learner()]

    # Answers ---------------------------------------------------------------------------------------------

    @property
    def hypotheses_(self) -> list[Hypotheses | None]:
        """The hypotheses found so far."""
        return [booster.voters.hypotheses for booster in self.boosters_]

    @property
    def alpha_(self) -> list[NDArray[np.float64]]:
        """The weights α_t."""
        return [booster.voters.alpha for booster in self.boosters_]

    @property
    def edges_(self) -> list[NDArray[np.float64]]:
        """The estimated edges γ_t."""
        return [np.array(booster.voters.edges) for booster in self.boosters_]

    @property
    def rounds_(self) -> list[int]:
        """Finished rounds."""
        return [booster.round - 1 for booster in self.boosters_]

    @property
    def n_seen_(self) -> int:
        """Examples examined; of several classes, by the one that examined most."""
        return max(booster.n_seen for booster in self.boosters_)

    @property
    def n_accepted_(self) -> list[int]:
        """Examples that the filter let through."""
        return [booster.n_accepted for booster in self.boosters_]

    @property
    def stopped_(self) -> str | None:
        """Why boosting has ended; None while it continues."""
        n_hypotheses = self._checked_n_hypotheses()
        reasons = [booster.stopped(n_hypotheses) for booster in self.boosters_]
        if any(reason is None for reason in reasons):
            return self._ended  # by the stream, if at all
        if len(reasons) == 1:
            return reasons[0]
        named = zip(self.classes_.tolist(), reasons, strict=True)
        return "; ".join(f"{label!r:.40} against the rest: {reason}" for label, reason in named)

    @property
    def waiting_(self) -> str | None:
        """Of which class an example must come before boosting can continue; None if it need not wait.

        Where there are more than two classes, the others continue in the meantime.
        """
        n_hypotheses, missing = self._checked_n_hypotheses(), set()
        for k, booster in enumerate(self.boosters_):
            if booster.stopped(n_hypotheses) is None:
                sides = (0, 1) if len(self.boosters_) == 1 else (None, k)  # of -1 and +1; many are the rest
                pairs = zip(sides, booster.shown, strict=True)
                missing |= {code for code, shown in pairs if code is not None and not shown}
        if not missing:
            return None
        labels = self.classes_[sorted(missing)].tolist()
        return f"for an example of {' and one of '.join(f'{label!r:.40}' for label in labels)}"

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The score Σ_t α_t h_t(x), on the scale of log-odds.

        While there is no hypothesis it is the log-odds of the class among the examples examined, so that the
        most frequent class is predicted. (n,) for two classes, positive for the second; (n, K) for more.

        Parameters
        ----------
        X : array of shape (n, n_features)
            The rows.

        Returns
        -------
        array of shape (n,) for two classes, (n, K) for more
            For two classes positive for the second.
        """
        now = self._snapshot()
        rows = now._checked_rows(X)
        scores = [booster.scores(rows) for booster in now.boosters_]
        return scores[0] if len(scores) == 1 else np.stack(scores, axis=1)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The probability of each class: 1 / (1 + exp(-F)), or shares of exp(F_c).

        Parameters
        ----------
        X : array of shape (n, n_features)
            The rows.

        Returns
        -------
        array of shape (n, K)
            In the order of ``classes_``.
        """
        return probabilities(self.decision_function(X) / 2.0)

    # Files -----------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save to a file, in ocboost's own format (no pickle); an old file stays until this one is complete.

        A learner or a classifier given as ``estimator`` is not in the file: it is given again to `load`.

        Parameters
        ----------
        path : path
            The file.
        """
        check_is_fitted(self)
        save(path, FILTERBOOST_KIND, filterboost_tree(self._snapshot()))

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, estimator: Any = None) -> Self:
        """Load what `save` has written; it continues exactly as the saved one would have.

        Parameters
        ----------
        path : path
            The file.
        estimator : learner or scikit-learn classifier, optional
            What it was made with, if that was such an object, which no file holds.

        Returns
        -------
        FilterBoost
            It learns on.

        Raises
        ------
        ModelFileError
            If the file is damaged, of another version, or not a FilterBoost. Nothing in a file is executed.
        """
        tree = load(path, FILTERBOOST_KIND)
        return read(tree, os.fspath(path), lambda fields: cls.from_tree(fields, estimator))

    @classmethod
    def from_tree(cls, fields: Fields, estimator: Any = None) -> Self:
        """From what a file holds, and an estimator that it does not hold.

        Parameters
        ----------
        fields : mapping
            What the file holds.
        estimator : learner or scikit-learn classifier, optional
            What it was made with, if the file does not hold it.

        Returns
        -------
        FilterBoost
            It continues exactly as that one would have.
        """
        clf: Self = filterboost_from_tree(fields, cls, estimator)
        return clf


def draw_places(n: int, cumulative: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.intp]:
    """The places of n rows drawn with replacement, in proportion to weights whose running sums are given.

    >>> draw_places(5, np.cumsum([1.0, 0.0, 2.0]), np.random.default_rng(0))
    array([2, 0, 0, 0, 2])
    """
    places = np.searchsorted(cumulative, rng.random(n) * cumulative[-1], side="right")
    result: NDArray[np.intp] = np.minimum(places, len(cumulative) - 1)
    return result


def labelled(batches: Iterable[Any]) -> Iterator[tuple[Any, NDArray[Any]]]:
    """The rows that have a label, and their labels, of each batch that has any."""
    try:
        several = iter(batches)
    except TypeError:
        raise InputError(
            f"batches must be iterable, of pairs (X, y); got {batches!r:.80}. For one pair of "
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
