"""A committee: hypotheses that answer, and for each class a booster that weighs some of their answers."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Self, cast

import numpy as np
from joblib import Parallel, delayed, parallel_config
from numpy.typing import NDArray

from ocboost._core.locks import Guard, reads, writes
from ocboost._ctrl_c import uninterrupted
from ocboost._kernels.answers import margins_of, tally_row, tally_rows
from ocboost.boosters.base import Booster, Settings
from ocboost.boosters.sketch.sketch import BoostingSketch
from ocboost.errors import InputError
from ocboost.estimators.deployed_weights import DeployedWeights
from ocboost.estimators.start_weights import StartWeights
from ocboost.hypotheses import Ballot, Hypotheses, join, join_tightly
from ocboost.learners import Learner, StumpLearner
from ocboost.offsets import Offset, require_range, reweighted, scores_of


def probabilities(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each class's probability, (n, K), from the votes F: (n,) for two classes, (n, K) for more.

    The minimiser of E exp(-y F) is half the log-odds, so two classes have P(+1) = 1 / (1 + exp(-2 F))
    (Friedman, Hastie and Tibshirani 2000). More classes, boosted one against the rest, share in proportion to
    exp(2 F_c), which keeps the order of their votes.

    >>> probabilities(np.array([0.0, 1.0])).round(3)
    array([[0.5  , 0.5  ],
           [0.119, 0.881]])
    >>> probabilities(np.array([[1.0, 1.0, 2.0]])).round(3)
    array([[0.107, 0.107, 0.787]])
    """
    if scores.ndim == 1:
        scores = np.stack([np.zeros_like(scores), scores], axis=1)
    twice = 2.0 * (scores - scores.max(axis=1, keepdims=True))
    share: NDArray[np.float64] = np.exp(twice)
    share /= share.sum(axis=1, keepdims=True)
    return share


MAX_ANSWERS_IN_MEMORY = 1 << 28  # when a committee is fitted
MIN_ANSWERS_FOR_JOBS = 1 << 20  # fewer are not worth the start of a job for each class
_ONE_SIGN = tuple(np.array([sign], np.int8) for sign in (-1, 1))


class CommitteeView(NamedTuple):
    """How a committee votes at one moment; it never changes, so any number of threads may vote with it."""

    hypotheses: Hypotheses
    columns: list[slice]
    alphas: list[NDArray[np.float64]]  # read-only
    offset: Offset | None
    deployed: tuple[NDArray[np.float64], float] | None  # α and its total, until the first new example
    start: StartWeights | None = None  # the α of the start

    def votes(self, X: Any) -> NDArray[np.float64]:
        """The votes Σ_j α_j h_j(x), on top of the offset F₀(x) if there is one; see `Committee.votes`."""
        votes = self.votes_each(X)
        return votes[:, 0] if len(self.columns) == 1 else votes

    def votes_each(self, X: Any) -> NDArray[np.float64]:
        """The same with a column for each booster."""
        ballots = [Ballot.of(alpha, c.start) for alpha, c in zip(self.alphas, self.columns, strict=True)]
        votes = self.hypotheses.votes(X, ballots)
        if self.offset is None:
            return votes
        return scores_of(self.offset, X, len(self.columns)) + votes

    def offset_scores(self, X: Any) -> NDArray[np.float64] | None:
        """The offset's scores with a column for each booster; None if there is no offset."""
        return None if self.offset is None else scores_of(self.offset, X, len(self.columns))

    def votes_of(self, answers: NDArray[np.int8], scores: NDArray[np.float64] | None) -> NDArray[np.float64]:
        """The same, from answers of the hypotheses, and the offset's scores where there is one."""
        votes = np.empty((len(self.columns), len(answers)))
        for total, alpha, c in zip(votes, self.alphas, self.columns, strict=True):
            tally_rows(answers, c.start, alpha, total)
        if scores is not None:
            votes = scores.T + votes
        return votes[0] if len(self.columns) == 1 else votes.T

    def votes_of_one(self, x: NDArray[Any]) -> NDArray[np.float64]:
        """The votes on one row that has been checked, (1,) or (1, K); see `votes`."""
        answers = self.hypotheses.answers(x)
        scores = None if self.offset is None else scores_of(self.offset, x, len(self.columns))
        return self.votes_of(answers, scores)

    def winner_of_one(self, x: NDArray[Any]) -> int:
        """The code of the class with the highest vote on one row that has been checked."""
        if self.offset is None and len(self.columns) == 1:
            return int(tally_row(self.hypotheses.answers(x), self.columns[0].start, self.alphas[0]) > 0.0)
        votes = self.votes_of_one(x)
        return int(votes[0] > 0.0) if votes.ndim == 1 else int(votes[0].argmax())

    def predict(self, X: Any) -> NDArray[np.intp]:
        """The code of the class with the highest vote, of each row."""
        if self.deployed is None or len(self.columns) == 1:
            return winners(self.votes(X))
        # By scikit-learn's own sum (SAMME's ±1 is 1, -1/(K-1)), so that near ties are decided as before.
        weights = 2.0 * self.deployed[0]
        less = -1 / (len(self.columns) - 1) * weights
        votes = self.hypotheses.votes(X, [Ballot(c.start, weights, less) for c in self.columns])
        return winners(votes / self.deployed[1])


class Committee:
    """Hypotheses and their weights: they vote, and the weights learn.

    Two classes need one booster, whose votes are for the second; more have one each, against the rest.
    Booster k weighs the hypotheses in ``columns[k]``, ``settings`` and ``kind`` are those of the boosters,
    and the votes are added to the scores of the ``offset``. The hypotheses never change, except by
    `replace_hypotheses`. ``deployed_weights`` is what remains of the weights a model was deployed with,
    ``start_weights`` are the weights at the last `remember_start`.
    """

    def __init__(
        self,
        hypotheses: Hypotheses,
        columns: list[slice],
        settings: Settings,
        offset: Offset | None = None,
        kind: type[Booster] = BoostingSketch,
    ) -> None:
        self.hypotheses = hypotheses
        self.columns = columns
        self.settings = settings
        self.offset = offset
        self.kind = kind
        self.boosters: list[Booster] = [kind.create(c.stop - c.start, settings) for c in columns]
        self.deployed_weights: DeployedWeights | None = None
        self._guard: Guard[CommitteeView] = Guard()

    start_weights: StartWeights | None = None
    on_change: ClassVar[Callable[..., None] | None] = None  # set on one: called when hypotheses have changed

    # Learning --------------------------------------------------------------------------------------------

    @writes
    def learn(
        self,
        answers: NDArray[np.int8],
        codes: NDArray[np.int64],
        weights: NDArray[np.float64],
        scores: NDArray[np.float64] | None = None,
        *,
        batch_size: int = 1,
        n_jobs: int | None = None,
    ) -> None:
        """Learn from answers of the hypotheses and the codes of the classes; all boosters or none.

        ``scores`` are the offset's, where there is one, see `scores_of`.
        """
        self._require_scores(scores)
        require_range(weights, scores)
        with uninterrupted():
            if self._has_one_alpha:
                booster, first = self.boosters[0], self.columns[0].start
                with booster._guard.passing_on(self._guard, self._view_with):
                    _feed(booster, answers, first, *_target(codes, weights, scores, 0, 1), batch_size)
                return
            targets = codes, weights, scores
            self._feed_all(lambda c: (answers, c.start), targets, batch_size, answers.size, n_jobs)
            if self.deployed_weights is not None:
                self.deployed_weights.count_examples(weights, self.boosters[0].forgetting)

    @writes
    def fit(
        self,
        X: Any,
        codes: NDArray[np.int64],
        weights: NDArray[np.float64],
        scores: NDArray[np.float64] | None = None,
        *,
        n_jobs: int | None = None,
    ) -> None:
        """Start from these examples, all at once.

        If there are too many answers for the memory, it computes those of one booster at a time.
        """
        self._require_scores(scores)
        require_range(weights, scores)
        size = len(codes) * len(self.hypotheses)
        if len(self.boosters) == 1 or size <= MAX_ANSWERS_IN_MEMORY:
            answers = self.hypotheses.answers(X)
            self._feed_all(lambda c: (answers, c.start), (codes, weights, scores), None, size, n_jobs)
        else:
            self._feed_all(
                lambda c: (self.hypotheses[c].answers(X), 0), (codes, weights, scores), None, 0, n_jobs
            )

    def _feed_all(
        self,
        answers_of: Callable[[slice], tuple[NDArray[np.int8], int]],
        targets: tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64] | None],
        batch_size: int | None,
        size: int,
        n_jobs: int | None,
    ) -> None:
        """Let each booster learn; several at once where ``size``, the number of answers, is large."""
        n = len(self.boosters)
        work = (
            (booster, *answers_of(c), *_target(*targets, k, n), batch_size)
            for k, (booster, c) in enumerate(zip(self.boosters, self.columns, strict=True))
        )
        if n == 1 or size < MIN_ANSWERS_FOR_JOBS:
            for each in work:
                _feed(*each)
        else:
            self.boosters = Parallel(n_jobs=n_jobs, prefer="threads", max_nbytes=None)(
                delayed(_fed)(*each) for each in work
            )

    @writes
    def apply_settings(self, settings: Settings) -> None:
        """Continue with other settings, where that is possible (`Booster.with_settings`)."""
        known = self.settings
        if not any(isinstance(v, np.ndarray) or v != known[k] for k, v in settings.items()):
            return
        boosters = [booster.with_settings(settings, known) for booster in self.boosters]
        held, size = max(new.n_head for new in boosters), max(new.head for new in boosters)
        window = boosters[0].window_size is not None
        both = zip(boosters, self.boosters, strict=True)
        if window and any(new.n_head < min(new.head, old.n_head) for new, old in both):
            # The heavy examples were not the last ones: vote as before until the window has filled.
            self.deployed_weights = DeployedWeights(self.view().alphas, None, 1.0, None)
        self.boosters, self.settings = boosters, settings
        if self.deployed_weights is not None and window:
            self.deployed_weights.enter_window(size, held)
        elif self.deployed_weights is not None:
            self.deployed_weights.leave_window()

    @writes
    def adopt(self, deployed: NDArray[np.float64], total: float, weight: float) -> None:
        """Vote with the α that a model was deployed with, the same for every booster, until it has faded.

        ``total`` is what the model's votes are divided by, ``weight`` the Σw of the examples that the
        boosters were started from.
        """
        started = [booster.alpha for booster in self.boosters]
        self.deployed_weights = DeployedWeights([deployed] * len(started), started, weight, total)
        if self.boosters[0].window_size is not None:
            self.deployed_weights.enter_window(self.boosters[0].window_size, self.boosters[0].n_head)

    @writes
    def merge(self, boosters: Sequence[BoostingSketch], n: int, weight: float) -> None:
        """Take in what others have learnt over the same hypotheses, from n examples of this Σw."""
        mine = [cast(BoostingSketch, booster) for booster in self.boosters]  # the caller has seen to it
        merged: list[Booster] = [a.merge(b) for a, b in zip(mine, boosters, strict=True)]
        with uninterrupted():
            self.boosters = merged
            if self.deployed_weights is not None:
                self.deployed_weights.count_merged(n, weight)

    @writes
    def remember_start(self) -> None:
        """Let the present weights be those that the model is deployed with."""
        alphas = [booster.copy()._solved() for booster in self.boosters]  # of a copy: nothing is published
        before = self.deployed_weights
        if before is not None:
            alphas = [before.alpha(alpha, k) for k, alpha in enumerate(alphas)]
        self.start_weights = StartWeights.of(alphas)

    @writes
    def replace_hypotheses(
        self, k: int, keep: NDArray[np.intp], added: Hypotheses, X: Any, codes: NDArray[np.int64]
    ) -> None:
        """Keep some hypotheses of a booster, in order, and append others.

        A booster that shared its hypotheses has its own from then on. X and ``codes`` are the examples in
        its head, oldest first; X may be None where there are none.
        """
        booster, sets = self.boosters[k], [self.hypotheses[c] for c in self.columns]
        gone = np.setdiff1d(np.arange(booster.n_hypotheses), keep)
        if gone.size:
            booster = booster.without(gone)
        margins = np.empty((0, len(added)), np.int8)
        if len(codes):
            margins = added.answers(X) * signs(codes, k, len(self.boosters))[:, None]
        booster = booster.appended(margins)
        start, before = self.start_weights, sets[k]
        sets[k] = join_tightly([before[keep], added])
        hypotheses, columns = join_tightly(sets), self.columns
        if start is not None:
            start = start.replaced(k, keep, len(added), before)
        with uninterrupted():
            self.hypotheses, self.columns = hypotheses, spans(sets)
            self.boosters = [*self.boosters[:k], booster, *self.boosters[k + 1 :]]
            self.start_weights = start
            if self.deployed_weights is not None:
                self.deployed_weights.replace_hypotheses(k, keep, len(added))
            if self.on_change is not None:
                self.on_change(k, keep, len(added), _origin(columns, self.columns, k, keep))

    @writes
    def shorten_head(self, k: int, n: int) -> None:
        """Reduce the head of a booster to n examples for now; the older ones go to its tail."""
        booster = self.boosters[k]
        assert isinstance(booster, BoostingSketch)  # no other has a head and a tail
        short = booster.remade(head=max(1, n)).remade(head=booster.head)
        self.boosters = [*self.boosters[:k], short, *self.boosters[k + 1 :]]

    # Voting ----------------------------------------------------------------------------------------------

    def view(self) -> CommitteeView:
        """How it votes now."""
        return self._guard.view(self._make_view)

    def _make_view(self) -> CommitteeView:
        alphas, before = [booster._solved() for booster in self.boosters], self.deployed_weights
        deployed = None
        if before is not None:
            alphas = [before.alpha(alpha, k) for k, alpha in enumerate(alphas)]
            if before.untouched and before.total is not None:
                deployed = (before.deployed[0], before.total)
        return CommitteeView(self.hypotheses, self.columns, alphas, self.offset, deployed, self.start_weights)

    def _view_with(self, published: Any) -> CommitteeView:
        """How it votes with what its only booster has published."""
        alpha = self.kind._alpha_of(published)
        return CommitteeView(self.hypotheses, self.columns, [alpha], self.offset, None, self.start_weights)

    @property
    def _has_one_alpha(self) -> bool:
        """Whether what a booster publishes is all that it votes with."""
        return len(self.boosters) == 1 and self.deployed_weights is None

    def prepare_readers(self, n: int, batch_size: int) -> None:
        """At the beginning of a write of n examples: keep the present view, if the write may take long."""
        if not self._has_one_alpha and any(each.folds_long(n, batch_size) for each in self.boosters):
            self._guard.keep(self._make_view)

    def refresh_readers(self) -> None:
        """Within a long write: let readers, if there are any, see what has been learnt so far."""
        if self._guard.contended:
            self._guard.publish(self._make_view())

    @property
    def alphas(self) -> list[NDArray[np.float64]]:
        """The present weights of each booster."""
        return [alpha.copy() for alpha in self.view().alphas]

    def votes(self, X: Any) -> NDArray[np.float64]:
        """The votes Σ_j α_j h_j(x), on top of the offset F₀(x) if there is one.

        (n,) for two classes, positive for the second; (n, K) for more.
        """
        return self.view().votes(X)

    def votes_with(self, X: Any, alphas: list[NDArray[np.float64]]) -> NDArray[np.float64]:
        """The votes with these weights, a column for each booster; for a writer."""
        return CommitteeView(self.hypotheses, self.columns, alphas, self.offset, None).votes_each(X)

    def votes_of(
        self, answers: NDArray[np.int8], scores: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """The votes, from answers of the hypotheses, and the offset's scores where there is one."""
        self._require_scores(scores)
        return self.view().votes_of(answers, scores)

    def predict(self, X: Any) -> NDArray[np.intp]:
        """The code of the class with the highest vote, of each row."""
        return self.view().predict(X)

    def scores_of(self, X: Any) -> NDArray[np.float64] | None:
        """The offset's scores with a column for each booster; None if there is no offset."""
        return None if self.offset is None else scores_of(self.offset, X, len(self.boosters))

    def _require_scores(self, scores: NDArray[np.float64] | None) -> None:
        if (scores is None) != (self.offset is None):
            raise InputError(
                "scores must be those of the offset where there is one, and None elsewhere. Get them from "
                "scores_of(X)."
            )

    # Copies ----------------------------------------------------------------------------------------------

    @reads
    def emptied(self) -> Self:
        """A committee of the same hypotheses and sketches whose sketches have learnt nothing."""
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__, _guard=Guard(), deployed_weights=None)
        other.__dict__.pop("on_change", None)
        other.boosters = [cast(BoostingSketch, booster).emptied() for booster in self.boosters]
        return other

    @reads
    def __copy__(self) -> Self:
        """An independent copy; the hypotheses, which never change, are shared."""
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__, _guard=Guard())
        other.__dict__.pop("on_change", None)
        other.boosters = [booster.copy() for booster in self.boosters]
        other.deployed_weights = copy.copy(self.deployed_weights)
        return other

    def __getstate__(self) -> dict[str, Any]:
        return self.__copy__().__dict__  # of a copy, as it is written later

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        # joblib.load(mmap_mode="r") gives what cannot be written to.
        self.boosters = [_writable(booster) for booster in self.boosters]


def signs(codes: NDArray[np.int64], booster: int, n_boosters: int) -> NDArray[np.int8]:
    """±1 for one booster: the second of two classes, or one against the rest."""
    own = 1 if n_boosters == 1 else booster
    if len(codes) == 1:  # from a table: NumPy takes microseconds
        return _ONE_SIGN[1 if codes[0] == own else 0]
    return np.where(codes == own, np.int8(1), np.int8(-1))


def winners(votes: NDArray[np.float64]) -> NDArray[np.intp]:
    """The codes of the classes with the highest votes.

    >>> winners(np.array([-0.5, 0.0, 2.0])), winners(np.array([[0.1, 0.3, 0.2]]))
    (array([0, 0, 1]), array([1]))
    """
    return (votes > 0.0).astype(np.intp) if votes.ndim == 1 else votes.argmax(axis=1)


def _target(
    codes: NDArray[np.int64],
    weights: NDArray[np.float64],
    scores: NDArray[np.float64] | None,
    booster: int,
    n_boosters: int,
) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
    """The labels, and the weights that the examples begin with, for one booster."""
    labels = signs(codes, booster, n_boosters)
    return labels, weights if scores is None else reweighted(weights, labels, scores[:, booster])


def _feed(
    booster: Booster,
    answers: NDArray[np.int8],
    first: int,
    labels: NDArray[np.int8],
    weights: NDArray[np.float64],
    batch_size: int | None,
) -> None:
    """Let a booster learn checked examples, or start from them if ``batch_size`` is None."""
    margins = np.empty((len(answers), booster.n_hypotheses), np.int8)
    margins_of(answers, first, labels, margins)
    if not weights.flags.writeable:
        weights = weights.copy()
    if batch_size is None:
        booster._begin(margins, weights, labels)
    else:
        booster._take(margins, weights, labels, batch_size)


def _fed(booster: Booster, *examples: Any) -> Booster:
    """The same for a job of its own: a booster that cannot be written to is copied first."""
    booster = _writable(booster)
    _feed(booster, *examples)
    return booster


def _writable(booster: Booster) -> Booster:
    """The booster, or a copy if its memory is read-only: in Ray's store, or in a mapped file."""
    return booster if all(array.flags.writeable for array in booster._arrays) else booster.copy()


def spans(sets: Sequence[Hypotheses]) -> list[slice]:
    """Where each set begins and ends when they are joined."""
    ends = np.cumsum([len(each) for each in sets]).tolist()
    return [slice(a, b) for a, b in pairwise([0, *ends])]


def _origin(old: list[slice], new: list[slice], booster: int, keep: NDArray[np.intp]) -> NDArray[np.int64]:
    """The place among the old hypotheses of each new one, -1 where it was added."""
    origin = np.full(new[-1].stop, -1, np.int64)
    for k, (before, after) in enumerate(zip(old, new, strict=True)):
        held = keep if k == booster else np.arange(before.stop - before.start)
        origin[after.start : after.start + len(held)] = before.start + held
    return origin


def equal_parts(n: int, n_boosters: int) -> list[slice]:
    """Each booster's part of n hypotheses, if all have as many.

    >>> equal_parts(6, 3)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 6, None)]
    """
    own = n // n_boosters
    return [slice(k * own, (k + 1) * own) for k in range(n_boosters)]


def learn_hypotheses(
    learner: Learner,
    X: Any,
    codes: NDArray[np.int64],
    weights: NDArray[np.float64],
    scores: NDArray[np.float64] | None,
    *,
    n_boosters: int,
    n_hypotheses: int,
    budget: int | None,
    rng: np.random.Generator,
    n_jobs: int | None,
) -> tuple[Hypotheses, list[slice]]:
    """Learn hypotheses for each booster; returns all as one set, and the columns of each booster.

    Each booster gets ``n_hypotheses``, but none weighs more than ``budget``. ``scores`` are those of an
    offset, where there is one, (n, n_boosters).
    """
    shown = [c for c in range(n_boosters) if n_boosters == 1 or (codes == c).any()]
    targets = [signs(codes, c, n_boosters) for c in shown]
    if scores is not None:  # good where the offset is wrong; the total weight is the same as without it
        own_weights = [reweighted(weights, y, scores[:, c]) for c, y in zip(shown, targets, strict=True)]
        own_weights = [own * (weights.sum() / own.sum()) for own in own_weights]
        weights = own_weights[0] if len(shown) == 1 else np.stack(own_weights)
    # Stumps are found by threads that share the binned features, which do not travel to other machines.
    where = parallel_config("threading") if isinstance(learner, StumpLearner) else nullcontext()
    with where:
        sets = learner.learn_each(
            X, targets, n_hypotheses=n_hypotheses, sample_weight=weights, rng=rng, n_jobs=n_jobs
        )
    found = spans(sets)
    own = dict(zip(shown, found, strict=True))
    # A class without an example has nothing to learn from: it weighs the hypotheses of all others.
    n = found[-1].stop
    all_others = slice(0, n if budget is None else min(n, budget))
    return join(sets), [own.get(c, all_others) for c in range(n_boosters)]
