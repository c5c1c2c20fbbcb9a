"""FilterBoost for two classes: its filter, its test of an edge, and its rounds.

Bradley and Schapire, "FilterBoost: Regression and Classification on Large Datasets" (NIPS 2007).
"""

from __future__ import annotations

import copy
import math
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ocboost._core.checks import as_number
from ocboost.hypotheses import Ballot, Hypotheses, Stumps, join
from ocboost.learners import Learner
from ocboost.streams.rows import Rows, stack_matrices

CONFIDENCE_ADVICE = "It is the chance of being wrong that is accepted: 0.05 is one in twenty."
PRECISION_ADVICE = "It is how far the estimate may be off, relative to the edge; smaller takes more examples."


def acceptance(margins: NDArray[np.float64]) -> NDArray[np.float64]:
    """The chance that the filter lets an example through, ``q = 1 / (1 + exp(y F(x)))``.

    The weight that logistic loss gives it: near one where F is sure and wrong, near zero where it is sure
    and right.

    >>> acceptance(np.array([-1000.0, 0.0, 1000.0]))
    array([1. , 0.5, 0. ])
    """
    small = np.exp(-np.abs(margins))
    return np.where(margins > 0.0, small, 1.0) / (1.0 + small)


class EdgeTest:
    """Estimates a hypothesis' edge, the share of right answers less ½, from as few examples as possible.

    Nonmonotonic adaptive sampling (Watanabe; Domingo, Gavaldà and Watanabe), as FilterBoost uses it. After n
    examples, of which a share ½ + u was answered rightly, the sampling error is bounded by

        ρ_n = sqrt(log(n (n + 1) / δ) / (2 n))

    and the test ends when ``|u| >= ρ_n (1 + 1/τ)``. Then, with a chance of at least 1 - δ, the true edge γ
    lies within a relative τ of u: ``|u - γ| <= τ |γ|``, and ``u / (1 + τ)`` is an estimate that does not
    exceed it. An edge of γ ends it after about ``2 (1 + 1/τ)² log(1/(γδ)) / γ²`` examples; one of zero never
    does. ``n`` and ``right`` count the examples so far, and those answered rightly.

    Examples
    --------
    >>> test = EdgeTest()
    >>> while not test.decided:
    ...     test.add(True)
    >>> test.n, round(test.edge, 3)
    (254, 0.333)
    """

    def __init__(self, *, tau: float = 0.5, delta: float = 0.05) -> None:
        self.tau = as_number(tau, "tau", 0.0, 1.0, PRECISION_ADVICE, low_open=True)
        self.delta = as_number(delta, "delta", 0.0, 1.0, CONFIDENCE_ADVICE, low_open=True)
        self.n = self.right = 0

    def add(self, is_right: bool) -> None:
        """One more example, answered rightly or not."""
        self.n += 1
        self.right += bool(is_right)

    @property
    def excess(self) -> float:
        """u, the share of right answers less ½."""
        return self.right / self.n - 0.5 if self.n else 0.0

    @property
    def bound(self) -> float:
        """ρ_n, how far u may be off."""
        return math.sqrt(math.log(self.n * (self.n + 1) / self.delta) / (2 * self.n)) if self.n else math.inf

    @property
    def decided(self) -> bool:
        """Whether u is known well enough."""
        return abs(self.excess) >= self.bound * (1.0 + 1.0 / self.tau)

    @property
    def edge(self) -> float:
        """``u / (1 + τ)``; once decided, it does not exceed the true edge (by a chance of 1 - δ)."""
        return self.excess / (1.0 + self.tau)


class Voters:
    """F = Σ α_t h_t with ``α_t = ½ ln((½ + γ_t) / (½ - γ_t))`` for edges γ_t between -½ and ½; immutable.

    Without hypotheses F is zero.

    Examples
    --------
    >>> from ocboost.hypotheses import Stumps
    >>> voters = Voters().with_one_more(Stumps([0], [1.0], [1]), 0.25)
    >>> voters.alpha.round(3)
    array([0.549])
    >>> voters.scores_of(np.array([[0.0], [2.0]])).ravel().round(3)
    array([ 0.549, -0.549])
    """

    def __init__(self, hypotheses: Hypotheses | None = None, edges: tuple[float, ...] = ()) -> None:
        self.hypotheses = hypotheses
        self.edges = edges
        self.alpha = np.array([0.5 * math.log((0.5 + edge) / (0.5 - edge)) for edge in edges])

    def __len__(self) -> int:
        return len(self.edges)

    def with_one_more(self, hypothesis: Hypotheses, edge: float) -> Self:
        """The same with one hypothesis more at the end."""
        sets = [hypothesis] if self.hypotheses is None else [self.hypotheses, hypothesis]
        return type(self)(join(sets), (*self.edges, edge))

    def scores_of(self, X: Any) -> NDArray[np.float64]:
        """F of each row, (n, 1), added up in the order of t."""
        if self.hypotheses is None:
            return np.zeros((X.shape[0], 1))
        return self.hypotheses.votes(X, [Ballot.of(self.alpha)])


MAX_FAILED_TESTS = 3  # hypotheses in a row whose edge is not distinguishable from zero, before boosting ends
MAX_DRAWS = 1 << 60  # more than there will ever be
_NEAR_THRESHOLD = 1.0 - 1e-9  # of the test's threshold: from there on the test itself decides


class FilterSettings(NamedTuple):
    """The checked parameters of `FilterBoost`."""

    n_hypotheses: int
    epsilon: float
    delta: float
    tau: float
    sample: int
    most_examples: int


class BinaryFilterBoost:
    """One FilterBoost in progress, as a state machine that takes examples as they arrive.

    A round collects a sample for the weak learner from what the filter lets through, then tests the edge of
    the hypothesis learnt on it. Wherever the examples end, the next ones continue from there, so nothing
    depends on how a stream is cut into calls.

    The filter draws from ``seed``, and so does the learner, which has a generator of its own in each round.
    """

    def __init__(self, seed: tuple[int, int], shown: tuple[bool, bool] = (False, False)) -> None:
        self.seed = seed
        self.rng = np.random.default_rng([*seed, 0])
        self.shown = shown  # whether examples of -1 and of +1 exist; updated as they come
        self.voters = Voters()  # the hypotheses found so far
        self.candidate: Hypotheses | None = None  # the one that is tested; None while a sample is collected
        self.test: EdgeTest | None = None
        self.rows: list[Any] = []  # the sample so far, in pieces
        self.labels: list[NDArray[np.int8]] = []
        self.round = 1  # t; a hypothesis that is dropped has had its round too, and has used up its δ_t
        self.calls = 0  # examples that the filter let through in this round, r - 1
        self.waited = 0  # examples that it has held back since the last one
        self.taken = 0  # examples that it let through for the present sample or test
        self.tries = 0  # hypotheses dropped in a row
        self.n_seen = self.n_positive = self.n_accepted = 0  # examined, of them +1, and let through
        self.reason: str | None = None  # why boosting has ended

    def __copy__(self) -> Self:
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.rng, other.test = np.random.default_rng(0), copy.copy(self.test)
        other.rng.bit_generator.state = self.rng.bit_generator.state
        other.rows, other.labels = list(self.rows), list(self.labels)
        return other

    def stopped(self, n_hypotheses: int) -> str | None:
        """Why it takes no more examples; None while it takes more."""
        if self.reason is None and len(self.voters) >= n_hypotheses:
            return f"n_hypotheses reached: there are {len(self.voters)}"
        return self.reason

    def scores(self, X: Any) -> NDArray[np.float64]:
        """F of each row; while there is no hypothesis, the log-odds of +1 among the examples examined.

        Each side counts one example more, as one of them may not have come yet.
        """
        if len(self.voters):
            return self.voters.scores_of(X)[:, 0]
        rest = self.n_seen - self.n_positive
        return np.full(X.shape[0], math.log((self.n_positive + 1) / (rest + 1)))

    def take(self, examples: Rows, settings: FilterSettings, learner: Learner) -> None:
        """Continue with some examples, labelled ±1, until they or boosting end."""
        n, at, y = len(examples), 0, examples.y
        assert y is not None
        if self.stopped(settings.n_hypotheses) is not None:
            return
        before = self.rng.bit_generator.state
        draws = self.rng.random(n)  # one for each example, used or not
        while at < n and self.stopped(settings.n_hypotheses) is None:
            scores = examples[at:].scores(self.voters)
            assert scores is not None
            passed = at + np.flatnonzero(draws[at:] < acceptance(y[at:] * scores[:, 0]))
            at = self._continue_round(examples, y, at, passed, settings, learner)
        self.n_seen += at
        self.n_positive += int((y[:at] > 0).sum())
        if at < n:  # the examples after the end draw nothing
            self.rng.bit_generator.state = before
            self.rng.random(at)

    def _continue_round(
        self,
        examples: Rows,
        y: NDArray[np.int8],
        at: int,
        passed: NDArray[np.intp],
        settings: FilterSettings,
        learner: Learner,
    ) -> int:
        """Take the examples from ``at`` on until the round or they end; gives the place after the last."""
        n, failed = self._first_failed_call(at, passed, len(y), settings)
        passed = passed[: np.searchsorted(passed, n)]
        number = self.round
        while self.round == number:
            if self.test is None:
                used, complete = self._collect(examples, y, at, n, passed, settings)
            else:
                used, complete = self._test_candidate(examples, y, passed, settings)
            self.calls, self.taken = self.calls + used, self.taken + used
            self.n_accepted += used
            end = int(passed[used - 1]) + 1 if complete else n
            self._note_classes(y[at:end])
            if not complete:
                self.waited = n - (int(passed[-1]) + 1 if used else at - self.waited)
                if failed:
                    self.reason = (
                        f"the filter let no example through in {self.waited:,} draws: the error is below "
                        f"epsilon = {settings.epsilon:g}, with a confidence of 1 - delta = "
                        f"{1 - settings.delta:g}"
                    )
                return n
            at, passed = end, passed[used:]
            self.waited = self.taken = 0
            if self.test is None:
                self._learn(settings, learner)
            else:
                self._finish_round(settings)
        return at

    # The filter ------------------------------------------------------------------------------------------

    def _limit(self, call: int, settings: FilterSettings) -> int:
        """Draws that a call of the filter may take, ``(2/ε) ln(1/δ'_t)`` with ``δ'_t = δ_t / (r (r+1))``."""
        t = self.round
        log = math.log(3 * t * (t + 1) * call * (call + 1)) - math.log(settings.delta)
        return math.ceil(min(2.0 / settings.epsilon * log, MAX_DRAWS))

    def _first_failed_call(
        self, at: int, passed: NDArray[np.intp], n: int, settings: FilterSettings
    ) -> tuple[int, bool]:
        """The place where a call of the filter ends without an example, or n; and whether one does."""
        begun = np.concatenate([[at - self.waited], passed + 1])
        misses = np.concatenate([passed, [n]]) - begun
        for k in np.flatnonzero(misses >= self._limit(self.calls + 1, settings)).tolist():
            limit = self._limit(self.calls + 1 + k, settings)  # no less than the first one's
            if misses[k] >= limit:
                return max(at, int(begun[k]) + limit), True
        return n, False

    # The sample ------------------------------------------------------------------------------------------

    def _collect(
        self,
        examples: Rows,
        y: NDArray[np.int8],
        at: int,
        n: int,
        passed: NDArray[np.intp],
        settings: FilterSettings,
    ) -> tuple[int, bool]:
        """Put examples into the sample; gives how many of those passed were used, and whether it is complete.

        Examples of one class alone fill half of the sample at most; more of them are dropped.
        """
        held = sum(map(len, self.labels))
        labels = y[passed]
        if not len(passed):
            return 0, False
        one = int(self.labels[0][0] if held else labels[0])
        mixed = any((piece != one).any() for piece in self.labels)
        other = 0 if mixed else _first(labels != one, 0)  # from here on both are there
        shown_at = at if self.shown[one < 0] else _first(y[:n] == -one, at)
        enough = max(settings.most_examples - self.taken - 1, int(np.searchsorted(passed, shown_at)))
        alone = min(other, enough + 1)
        room = max(0, settings.sample // 2 - held)
        self._add_to_sample(examples, y, passed[:alone][:room])
        if enough < other:  # the other class exists, but the filter does not find it
            return alone, True
        needed = max(1, settings.sample - held - min(alone, room))
        self._add_to_sample(examples, y, passed[other : other + needed])
        return min(other + needed, len(passed)), other + needed <= len(passed)

    def _add_to_sample(self, examples: Rows, y: NDArray[np.int8], places: NDArray[np.intp]) -> None:
        if len(places):
            self.rows.append(examples[places].X)
            self.labels.append(y[places])

    def _note_classes(self, labels: NDArray[np.int8]) -> None:
        if not all(self.shown):
            self.shown = (
                self.shown[0] or bool((labels < 0).any()),
                self.shown[1] or bool((labels > 0).any()),
            )

    def _learn(self, settings: FilterSettings, learner: Learner) -> None:
        """A hypothesis from the sample, and the test of its edge."""
        X, y = stack_matrices(self.rows), np.concatenate(self.labels)
        if (y == y[0]).all():
            self.candidate = Stumps([0], [np.inf], y[:1], y[:1], n_features=X.shape[1])
        else:
            rng = np.random.default_rng([*self.seed, 1, self.round])
            found = learner.learn(X, y, n_hypotheses=1, rng=rng)
            self.candidate = found if len(found) == 1 else found[[0]]
        t = self.round
        self.test = EdgeTest(tau=settings.tau, delta=settings.delta / (3 * t * (t + 1)))
        self.rows, self.labels = [], []

    # The test --------------------------------------------------------------------------------------------

    def _test_candidate(
        self, examples: Rows, y: NDArray[np.int8], passed: NDArray[np.intp], settings: FilterSettings
    ) -> tuple[int, bool]:
        """Test the candidate; gives how many of those passed were used, and whether the test has ended."""
        assert self.candidate is not None
        assert self.test is not None
        left = max(1, settings.most_examples - self.taken)
        places = passed[:left]
        if not len(places):
            return 0, False
        answers = self.candidate.answers(examples[places].X)[:, 0]  # to those that passed only
        used = add_until_decided(self.test, answers == y[places])
        return used, self.test.decided or used == left

    def _finish_round(self, settings: FilterSettings) -> None:
        """Accept the candidate or drop it, and begin the next round."""
        assert self.candidate is not None
        assert self.test is not None
        if self.test.decided:
            self.voters = self.voters.with_one_more(self.candidate, self.test.edge)
            self.tries = 0
        else:
            self.tries += 1
            if self.tries == MAX_FAILED_TESTS:
                self.reason = (
                    f"the edge could not be distinguished from zero in {settings.most_examples:,} examples, "
                    f"of {MAX_FAILED_TESTS} hypotheses in a row"
                )
        self.candidate = self.test = None
        self.round += 1
        self.calls = 0


def add_until_decided(test: EdgeTest, right: NDArray[np.bool_]) -> int:
    """Add examples to a test one after the other until it is decided; gives how many it took.

    >>> test = EdgeTest()
    >>> add_until_decided(test, np.ones(1000, bool)), test.n
    (254, 254)
    """
    n = test.n + np.arange(1, len(right) + 1)
    sums = test.right + np.cumsum(right)
    bound = np.sqrt(np.log(n * (n + 1.0) / test.delta) / (2 * n))
    close = np.abs(sums / n - 0.5) >= bound * ((1.0 + 1.0 / test.tau) * _NEAR_THRESHOLD)
    for k in (*np.flatnonzero(close).tolist(), len(right) - 1):  # the test itself decides
        test.n, test.right = int(n[k]), int(sums[k])
        if test.decided:
            return int(k) + 1
    return len(right)


def _first(wanted: NDArray[np.bool_], at: int) -> int:
    """The first place from ``at`` on, or one after the end."""
    places = np.flatnonzero(wanted[at:])
    return at + int(places[0]) if len(places) else len(wanted)
