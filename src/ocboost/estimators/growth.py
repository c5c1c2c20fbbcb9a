"""New hypotheses from the stream itself: FilterBoost's filter joined with Online Coordinate Boosting.

The paper names it as future work. A stream that only reweighs fixed hypotheses is lost where none of them
fits any more. Here a filter lets through the rows that the committee finds hard
(`ocboost.estimators.binary_filterboost`), hypotheses are learnt on a sample of those, and the ones that show
an edge on the next rows to come through are appended as further coordinates of the sketch, their sums begun
from the head (`BoostingSketch.appended`). A budget bounds their number: where it is reached, those that had
the least weight lately are retired.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ocboost._core.checks import MAX_SETTING, as_count, as_number
from ocboost.boosters.sketch.settings import automatic_head
from ocboost.errors import InputError
from ocboost.estimators.binary_filterboost import CONFIDENCE_ADVICE, acceptance
from ocboost.estimators.committee import Committee, signs
from ocboost.hypotheses import Hypotheses
from ocboost.learners import Learner, StumpLearner, learner_for
from ocboost.streams.recent_rows import RecentRows
from ocboost.streams.rows import Rows, stack_matrices

MAX_BUDGET = 100_000
WORTH_DECAY = 0.99  # the share of the past in a hypothesis' worth, each time α is read


@dataclass(frozen=True)
class Growth:
    """How ``OCBClassifier(grow=…)`` grows.

    A filter lets a row through with the chance ``1 / (1 + exp(y F(x)))``, F being the votes before it was
    learnt. On ``sample`` such rows hypotheses are learnt, on the next ``test`` they are tested, and those
    with an edge are appended, in the order in which boosting found them.

    Parameters
    ----------
    budget : int
        Most hypotheses, for each class if they are more than two.
    sample : int, default 50
        Hard rows that hypotheses are learnt on.
    candidates : int, default 5
        Hypotheses learnt on them, by boosting.
    test : int, default 25
        Further hard rows that the candidates are tested on.
    delta : float, default 1/3
        δ in (0, 1]: a candidate with a share of ½ + u right answers on the test is taken if
        ``u >= sqrt(log(1/δ) / (2 · test))``; by Hoeffding's inequality one without an edge passes with a
        chance of δ at most. It need not be small: a useless one gets next to no weight, and goes first.
    every : int, default 10
        α is read every so many rows. The filter judges rows by the α before them.
    learner : None, "stump", "ball", "box", learner or scikit-learn classifier, default None
        What learns them; None takes the classifier's own, or stumps where its hypotheses were given.

    Notes
    -----
    Where the budget is reached, those of the least worth are retired: worth is ``|α|``, averaged over the
    readings with 1 % for the last one, so that a hypothesis without weight for a while is not lost at once. F
    is half the log-odds here, and FilterBoost's filter takes it for the log-odds: it lets more of the right
    rows through than logistic loss would weigh them, and a sample is full sooner.

    The rows of the head are kept with their features, ``head`` times as many numbers as a row has. With
    ``head="auto"`` that is 5,662 rows for a budget of 150, and 58,882 for 1,000. Where growing begins later
    than learning, the tail takes in the rows of the head that came before; a window must have passed them.

    The defaults were chosen by accuracy on the first 20,000 rows of nine streams (elec2, INSECTS, flights,
    Usenet, 300 words of SpamAssassin, and SEA, Agrawal, RandomRBFDrift and Hyperplane of river), among
    samples of 50 to 200, 1 to 10 candidates and δ from 0.05 to 0.9. Larger samples grow too slowly, and so
    does a smaller δ. A sketch with a tail wants a head of some hundred rows: new hypotheses start from those.

    Examples
    --------
    >>> Growth(budget=200, candidates=3)
    Growth(budget=200, sample=50, candidates=3, test=25, delta=0.333..., every=10, learner=None)
    """

    budget: int
    sample: int = 50
    candidates: int = 5
    test: int = 25
    delta: float = 1.0 / 3.0
    every: int = 10
    learner: Any = None

    def __post_init__(self) -> None:
        counts = {
            "budget": (1, MAX_BUDGET, "It is how many hypotheses there may be."),
            "sample": (2, MAX_SETTING, "50 hard rows are enough for a stump."),
            "candidates": (1, MAX_BUDGET, "5 are learnt on one sample by default."),
            "test": (1, MAX_SETTING, "25 hard rows decide by default."),
            "every": (1, MAX_SETTING, "10 is the default."),
        }
        for name, bounds in counts.items():  # as Python's own numbers, which a file can hold
            object.__setattr__(self, name, as_count(getattr(self, name), name, *bounds))
        delta = as_number(self.delta, "delta", 0.0, 1.0, CONFIDENCE_ADVICE, low_open=True)
        object.__setattr__(self, "delta", delta)
        try:
            fits = self.learner is None or isinstance(learner_for(self.learner), Learner)
        except InputError:
            fits = False
        if not fits:
            raise InputError(
                "learner must be 'stump', 'ball', 'box', a learner of ocboost.learners or a scikit-learn "
                f"classifier; got {self.learner!r:.80}. None takes that of the classifier."
            )

    @property
    def head(self) -> int:
        """What ``head="auto"`` means for as many hypotheses as the budget allows."""
        return automatic_head(self.budget, self.budget)


def as_growth(grow: Any) -> Growth | None:
    """What ``grow`` means: None, a budget, or a `Growth`."""
    if grow is None or isinstance(grow, Growth):
        return grow
    if isinstance(grow, bool) or not isinstance(grow, int | np.integer):
        raise InputError(
            f"grow must be None, the most hypotheses there may be, or a Growth; got {grow!r:.80}. "
            "150 lets 100 hypotheses grow by half."
        )
    if not 1 <= grow <= MAX_BUDGET:
        raise InputError(
            f"grow must be at least 1 and at most {MAX_BUDGET:,}; got {grow}. It is how many hypotheses "
            "there may be."
        )
    return Growth(int(grow))


class CandidateSearch:
    """Finds new hypotheses for one booster: collects hard rows, learns candidates on them, tests these."""

    def __init__(self, n_hypotheses: int) -> None:
        self.sample: list[Any] = []  # hard rows, (1, F) each
        self.labels: list[int] = []  # ±1
        self.candidates: Hypotheses | None = None
        self.right = np.zeros(0, np.int64)  # right answers of each candidate on the test
        self.n_tested = 0
        self.worth = np.zeros(n_hypotheses)

    def take(
        self, x: Any, label: int, growth: Growth, learner: Learner, rng: np.random.Generator
    ) -> Hypotheses | None:
        """One hard row; gives the candidates that have passed their test, if it ends with this row."""
        found = None
        if self.candidates is not None:
            self.right = self.right + (self.candidates.answers(x)[0] == label)
            self.n_tested += 1
            if self.n_tested == growth.test:
                found = self._passed(growth)
        self.sample.append(x)
        self.labels.append(label)
        if len(self.labels) >= growth.sample and self.candidates is None:
            rows, y = self.sample, np.array(self.labels, np.int8)
            self.sample, self.labels = [], []  # should learning fail, another sample is collected
            if (y != y[0]).any():
                self.candidates = learner.learn(
                    stack_matrices(rows), y, n_hypotheses=growth.candidates, rng=rng
                )
                self.right, self.n_tested = np.zeros(len(self.candidates), np.int64), 0
        return found

    def _passed(self, growth: Growth) -> Hypotheses | None:
        assert self.candidates is not None
        enough = math.sqrt(math.log(1.0 / growth.delta) / (2 * growth.test))
        good = np.flatnonzero(self.right / growth.test - 0.5 >= enough)
        found = self.candidates[good] if good.size else None
        self.candidates, self.right, self.n_tested = None, np.zeros(0, np.int64), 0
        return found

    def __copy__(self) -> Self:
        other = type(self)(0)
        other.__dict__.update(self.__dict__)
        other.sample, other.labels = list(self.sample), list(self.labels)
        other.right, other.worth = self.right.copy(), self.worth.copy()
        return other


class HypothesisGrower:
    """Lets a committee grow: it keeps the rows of the head, and has a search for each booster.

    What it does depends on the stream alone, not on how it is cut into calls. ``n_grown`` and ``n_retired``
    count the hypotheses added and removed.
    """

    def __init__(self, growth: Growth, learner: Learner, committee: Committee, seed: int) -> None:
        self.growth, self.learner = growth, learner
        self.recent = RecentRows(_capacity(committee, growth))
        self.searches = [CandidateSearch(booster.n_hypotheses) for booster in committee.boosters]
        self.n_grown = self.n_retired = 0
        self._filter_rng, self._learner_rng = (
            np.random.Generator(np.random.PCG64([seed, k])) for k in range(2)
        )
        self._since = 0  # rows since α was read
        self.begin(committee)

    def begin(self, committee: Committee) -> None:
        """Read the weights that the committee votes with at first."""
        self._alphas = committee.alphas
        for search, alpha in zip(self.searches, self._alphas, strict=True):
            search.worth = np.abs(alpha)

    def apply_settings(self, growth: Growth, learner: Learner) -> None:
        """Continue with other settings; a sample or a test that is not complete is dropped."""
        accepts_less = (self.learner.accepts_missing and not learner.accepts_missing) or (
            self.learner.accepts_sparse and not learner.accepts_sparse
        )
        self.growth, self.learner = growth, learner
        self._since = min(self._since, growth.every - 1)
        if accepts_less:  # the rows so far may be unsuitable for the hypotheses that it learns
            self.recent, self._since = RecentRows(self.recent.capacity), 0
        for k, search in enumerate(self.searches):
            self.searches[k] = CandidateSearch(0)
            self.searches[k].worth = search.worth

    @property
    def due(self) -> int:
        """Rows until α is read again."""
        return self.growth.every - self._since

    @property
    def nbytes(self) -> int:
        """Bytes of the rows it keeps."""
        return self.recent.nbytes

    def keep_rows(self, rows: Rows) -> None:
        """Keep rows that the committee was fitted on, without a search in them."""
        self.recent.take(rows)

    def take(self, committee: Committee, rows: Rows) -> None:
        """Rows that the committee has just learnt from, not more than are `due`."""
        self.recent.resize(_capacity(committee, self.growth))
        self.recent.take(rows)
        self._since += len(rows)
        if self._since < self.growth.every:
            return
        self._since = 0
        try:
            self._search(committee)
        finally:  # a learner may fail: hypotheses added before that need their weights too
            self._read_weights(committee)

    def _read_weights(self, committee: Committee) -> None:
        """Read α, and update the worth of each hypothesis."""
        self._alphas = committee.alphas
        for search, alpha in zip(self.searches, self._alphas, strict=True):
            faded = WORTH_DECAY * search.worth + (1.0 - WORTH_DECAY) * np.abs(alpha)
            search.worth = np.where(np.isinf(search.worth), np.abs(alpha), faded)

    def _search(self, committee: Committee) -> None:
        """Filter the last rows, and add to the committee what has been found."""
        rows = self.recent.last(self.growth.every)
        n, X, K = len(rows), rows.X, len(committee.boosters)
        labels = np.stack([signs(rows.codes, k, K) for k in range(K)], axis=1)
        votes = committee.votes_with(X, self._alphas)
        # A weight above one counts as one here, and a row without weight is never let through.
        chance = acceptance(labels * votes) * np.minimum(rows.weights, 1.0)[:, None]
        let_through = self._filter_rng.random((n, K)) < chance
        for k, search in enumerate(self.searches):
            found = [
                search.take(X[i : i + 1], int(labels[i, k]), self.growth, self.learner, self._learner_rng)
                for i in np.flatnonzero(let_through[:, k])
            ]
            for new in found:
                if new is not None and self._has_rows_of_head(committee, k):
                    self._add(committee, k, new)

    def _has_rows_of_head(self, committee: Committee, k: int) -> bool:
        """Whether the features of all rows in a head are here; they are not where growing began later.

        A tail takes in the earlier rows of the head. A window has no tail: it must pass them first.
        """
        n = len(self.recent)
        if n < committee.boosters[k].n_head and committee.boosters[k].window_size is None:
            committee.shorten_head(k, n)
        return n >= committee.boosters[k].n_head

    def _add(self, committee: Committee, k: int, new: Hypotheses) -> None:
        search, budget = self.searches[k], self.growth.budget
        if budget == 1:  # one must stay
            return
        new = new[: budget - 1]
        n_gone = max(0, committee.boosters[k].n_hypotheses + len(new) - budget)
        keep = np.sort(np.argsort(search.worth, kind="stable")[n_gone:])
        held = committee.boosters[k].n_head
        rows = self.recent.last(held) if held else None
        X, codes = (None, np.empty(0, np.int64)) if rows is None else (rows.X, rows.codes)
        committee.replace_hypotheses(k, keep, new, X, codes)
        search.worth = np.append(search.worth[keep], np.full(len(new), np.inf))  # known once α is read
        self.n_grown += len(new)
        self.n_retired += n_gone

    def __copy__(self) -> Self:
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.recent = copy.copy(self.recent)
        other.searches = [copy.copy(search) for search in self.searches]
        other._filter_rng = copy.deepcopy(self._filter_rng)
        other._learner_rng = copy.deepcopy(self._learner_rng)
        other._alphas = list(self._alphas)
        return other


def learner_of(growth: Growth, estimator: Any) -> Learner:
    """What learns new hypotheses: the growth's learner, the classifier's, or stumps where it has none."""
    learner = learner_for(estimator if growth.learner is None else growth.learner)
    return learner if isinstance(learner, Learner) else StumpLearner()


def _capacity(committee: Committee, growth: Growth) -> int:
    """Rows that a head may hold, and those that are filtered at once."""
    return max(growth.every, *(booster.head for booster in committee.boosters))
