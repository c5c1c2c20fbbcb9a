"""New hypotheses from the stream itself: FilterBoost's filter joined with Online Coordinate Boosting.

The paper names it as work for later. A stream that only weighs fixed hypotheses anew is lost where none of
them fits any more. Here a filter lets through the rows that the committee finds hard
(`ocboost.estimators.filter_rounds`),
hypotheses are learnt on a sample of those, and the ones that show an edge on the next rows to come through
are appended as further coordinates of the sketch, their sums begun from the head (`BoostingSketch.appended`).
A budget bounds their number: where it is reached, those that had the least weight lately are retired.

What lets a classifier grow, as a tree for a file, and back only if it makes sense.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ocboost._core.checks import MAX_SETTING, as_count, as_number
from ocboost._core.codec import Fields, Tree, generator_from, generator_tree, matrix_from, matrix_tree
from ocboost._core.kinds import HYPOTHESES, tree_within, within
from ocboost.boosters.sketch.state import automatic_head
from ocboost.errors import InputError, NotSavableError
from ocboost.estimators.committee import Committee, signs
from ocboost.estimators.filter_rounds import CONFIDENCE_ADVICE, acceptance
from ocboost.hypotheses import Hypotheses
from ocboost.hypotheses.adopt import LARGEST
from ocboost.hypotheses.learners import Learner, StumpLearner, learner_for
from ocboost.hypotheses.learners.choose import NAMED
from ocboost.streams.recent_rows import RecentRows
from ocboost.streams.rows import Rows, stacked

MOST_BUDGET = 100_000
FADE = 0.99  # how much of a hypothesis' worth is its weight before, each time α is read


@dataclass(frozen=True)
class Growth:
    """How `OCBClassifier(grow=…)` grows.

    A filter lets a row through with the chance ``1 / (1 + exp(y F(x)))``, F being the votes before it was
    learnt. On ``sample`` such rows hypotheses are learnt, on the next ``test`` they are tried, and those with
    an edge are appended, in the order in which boosting found them.

    Parameters
    ----------
    budget : int
        Most hypotheses, for each class if they are more than two.
    sample : int, default 50
        Hard rows that hypotheses are learnt on.
    candidates : int, default 5
        Hypotheses learnt on them, by boosting.
    test : int, default 25
        Further hard rows that the candidates are tried on.
    delta : float, default 1/3
        δ in (0, 1]: a candidate with a share of ½ + u right answers on the test is taken if
        ``u >= sqrt(log(1/δ) / (2 · test))``; by Hoeffding's inequality one without an edge passes with a
        chance of δ at most. It need not be small: a useless one gets next to no weight, and goes first.
    every : int, default 10
        Rows between two looks at α. The filter judges rows by the α before them.
    learner : None, "stump", "ball", "box", learner or scikit-learn classifier, default None
        What learns them; None takes the classifier's own, or stumps where its hypotheses were given.

    Notes
    -----
    Where the budget is reached, those of the least worth are retired: worth is |α|, averaged over the looks
    with 1 % for the last one, so that a hypothesis that rests for a while is not lost at once. F is half the
    log-odds here, and FilterBoost's filter takes it for the log-odds: it lets more of the right rows through
    than logistic loss would weigh them, and a sample is the sooner full.

    The rows of the head are kept with their features, ``head`` times as many numbers as a row has. With
    ``head="auto"`` that is 5,662 rows for a budget of 150, and 58,882 for 1,000. Where growing begins later
    than learning, the tail takes in the rows of the head that came before; a window must have passed them.

    The defaults were chosen by accuracy on the first 20,000 rows of nine streams (elec2, INSECTS, flights,
    Usenet, 300 words of SpamAssassin, and SEA, Agrawal, RandomRBFDrift and Hyperplane of river), among
    samples of 50 to 200, 1 to 10 candidates and δ from 0.05 to 0.9. Larger samples grow too slowly, and so
    does a smaller δ. A sketch with a tail wants a head of some hundred rows: newcomers begin with those.

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
            "budget": (1, MOST_BUDGET, "It is how many hypotheses there may be."),
            "sample": (2, MAX_SETTING, "50 hard rows are enough for a stump."),
            "candidates": (1, MAX_SETTING, "5 are learnt on one sample by default."),
            "test": (1, MAX_SETTING, "25 hard rows decide by default."),
            "every": (1, MAX_SETTING, "10 is a good cadence."),
        }
        for name, bounds in counts.items():  # as Python's own numbers, which a file can hold
            object.__setattr__(self, name, as_count(getattr(self, name), name, *bounds))
        delta = as_number(self.delta, "delta", 0.0, 1.0, CONFIDENCE_ADVICE, low_open=True)
        object.__setattr__(self, "delta", delta)
        if self.learner is not None and not _is_learner(self.learner):
            raise InputError(
                "learner must be 'stump', 'ball', 'box', a learner of ocboost.learners or a scikit-learn "
                f"classifier; got {self.learner!r:.80}. None takes that of the classifier."
            )

    @property
    def head(self) -> int:
        """What ``head="auto"`` means for as many hypotheses as the budget allows."""
        return automatic_head(self.budget, self.budget)


def _is_learner(given: Any) -> bool:
    try:
        return isinstance(learner_for(given), Learner)
    except InputError:
        return False


def as_growth(grow: Any) -> Growth | None:
    """What ``grow`` means: None, a budget, or a `Growth`."""
    if grow is None or isinstance(grow, Growth):
        return grow
    if isinstance(grow, bool) or not isinstance(grow, int | np.integer):
        raise InputError(
            f"grow must be None, the most hypotheses there may be, or a Growth; got {grow!r:.80}. "
            "150 lets 100 hypotheses grow by half."
        )
    if not 1 <= grow <= MOST_BUDGET:
        raise InputError(
            f"grow must be at least 1 and at most {MOST_BUDGET:,}; got {grow}. It is how many hypotheses "
            "there may be."
        )
    return Growth(int(grow))


class Scout:
    """Looks for new hypotheses for one booster: collects hard rows, learns on them, tries what it learnt."""

    def __init__(self, n_hypotheses: int) -> None:
        self.sample: list[Any] = []  # hard rows, (1, F) each
        self.labels: list[int] = []  # ±1
        self.candidates: Hypotheses | None = None
        self.right = np.zeros(0, np.int64)  # of the candidates, on the test
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
            self.sample, self.labels = [], []  # should learning fail, another sample is tried
            if (y != y[0]).any():
                self.candidates = learner.learn(stacked(rows), y, n_hypotheses=growth.candidates, rng=rng)
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


class Grower:
    """Lets a committee grow: it keeps the rows of the head, and has a scout for each booster.

    What it does depends on the stream alone, not on how it is cut into calls.

    Parameters
    ----------
    growth : Growth
    learner : Learner
    committee : Committee
    seed : int

    Attributes
    ----------
    n_grown, n_retired : int
        Hypotheses that have come and gone.
    """

    def __init__(self, growth: Growth, learner: Learner, committee: Committee, seed: int) -> None:
        self.growth, self.learner = growth, learner
        self.recent = RecentRows(_capacity(committee, growth))
        self.scouts = [Scout(booster.n_hypotheses) for booster in committee.boosters]
        self.n_grown = self.n_retired = 0
        self._filter, self._luck = (np.random.Generator(np.random.PCG64([seed, k])) for k in range(2))
        self._since = 0  # rows since α was read
        self.begin(committee)

    def begin(self, committee: Committee) -> None:
        """Read the weights that the committee begins to vote with."""
        self._alphas = committee.alphas
        for scout, alpha in zip(self.scouts, self._alphas, strict=True):
            scout.worth = np.abs(alpha)

    def follow(self, growth: Growth, learner: Learner) -> None:
        """Go on with other settings; what has been collected for a sample or a test is dropped."""
        asks_more = (self.learner.accepts_missing and not learner.accepts_missing) or (
            self.learner.accepts_sparse and not learner.accepts_sparse
        )
        self.growth, self.learner = growth, learner
        self._since = min(self._since, growth.every - 1)
        if asks_more:  # the rows so far may be none for what it learns
            self.recent, self._since = RecentRows(self.recent.capacity), 0
        for k, scout in enumerate(self.scouts):
            self.scouts[k] = Scout(0)
            self.scouts[k].worth = scout.worth

    @property
    def due(self) -> int:
        """Rows until the next look at α."""
        return self.growth.every - self._since

    @property
    def nbytes(self) -> int:
        """Bytes of the rows it keeps."""
        return self.recent.nbytes

    def remember(self, rows: Rows) -> None:
        """Rows that the committee has begun with; nothing is looked for in them."""
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
            self._look(committee)
        finally:  # a learner may fail: what has come by then has weights like all others
            self._read(committee)

    def _read(self, committee: Committee) -> None:
        """Read α, and let the worth of each hypothesis follow it."""
        self._alphas = committee.alphas
        for scout, alpha in zip(self.scouts, self._alphas, strict=True):
            faded = FADE * scout.worth + (1.0 - FADE) * np.abs(alpha)
            scout.worth = np.where(np.isinf(scout.worth), np.abs(alpha), faded)

    def _look(self, committee: Committee) -> None:
        """Filter the last rows, and let the committee grow by what has been found."""
        rows = self.recent.last(self.growth.every)
        n, X, K = len(rows), rows.X, len(committee.boosters)
        labels = np.stack([signs(rows.codes, k, K) for k in range(K)], axis=1)
        votes = committee.votes_with(X, self._alphas)
        # A weight above one counts as one here, and none is never let through.
        chance = acceptance(labels * votes) * np.minimum(rows.weights, 1.0)[:, None]
        let_through = self._filter.random((n, K)) < chance
        for k, scout in enumerate(self.scouts):
            found = [
                scout.take(X[i : i + 1], int(labels[i, k]), self.growth, self.learner, self._luck)
                for i in np.flatnonzero(let_through[:, k])
            ]
            for new in found:
                if new is not None and self._knows_the_head(committee, k):
                    self._grow(committee, k, new)

    def _knows_the_head(self, committee: Committee, k: int) -> bool:
        """Whether the features of all rows in a head are here; they are not where growing began later.

        A tail takes in the rows of the head that came before. A window has none: it must pass them first.
        """
        n = len(self.recent)
        if n < committee.boosters[k].n_head and committee.boosters[k].last_only is None:
            committee.shorten_head(k, n)
        return n >= committee.boosters[k].n_head

    def _grow(self, committee: Committee, k: int, new: Hypotheses) -> None:
        scout, budget = self.scouts[k], self.growth.budget
        if budget == 1:  # one must stay
            return
        new = new[: budget - 1]
        n_gone = max(0, committee.boosters[k].n_hypotheses + len(new) - budget)
        keep = np.sort(np.argsort(scout.worth, kind="stable")[n_gone:])
        held = committee.boosters[k].n_head
        rows = self.recent.last(held) if held else None
        X, codes = (None, np.empty(0, np.int64)) if rows is None else (rows.X, rows.codes)
        committee.reshape(k, keep, new, X, codes)
        scout.worth = np.append(scout.worth[keep], np.full(len(new), np.inf))  # known once α is
        self.n_grown += len(new)
        self.n_retired += n_gone

    def __copy__(self) -> Self:
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.recent = copy.copy(self.recent)
        other.scouts = [copy.copy(scout) for scout in self.scouts]
        other._filter, other._luck = copy.deepcopy(self._filter), copy.deepcopy(self._luck)
        other._alphas = list(self._alphas)
        return other


def learner_of(growth: Growth, estimator: Any) -> Learner:
    """What learns new hypotheses: the growth's learner, the classifier's, or stumps where it has none."""
    learner = learner_for(estimator if growth.learner is None else growth.learner)
    return learner if isinstance(learner, Learner) else StumpLearner()


def _capacity(committee: Committee, growth: Growth) -> int:
    """Rows that a head may hold, and those that are filtered at once."""
    return max(growth.every, *(booster.head for booster in committee.boosters))


FIELDS = ("budget", "sample", "candidates", "test", "delta", "every", "learner")


def growth_tree(growth: Growth | None, estimator: Any) -> Tree | None:
    """A `Growth` as a file has it."""
    if growth is None:
        return None
    has_name = isinstance(growth.learner, str)
    if growth.learner is None:
        has_name = isinstance(estimator, str | Hypotheses | None)
    if not has_name:
        raise NotSavableError(
            "a classifier that grows can be saved if what learns its hypotheses has a name; this one is a "
            "Python object, which no file holds. Use grow=Growth(..., learner='stump'), or "
            "set_params(grow=None) first."
        )
    return {field: getattr(growth, field) for field in FIELDS}


def growth_from_tree(fields: Fields) -> Growth:
    """A `Growth` of what `growth_tree` gave."""
    settings = {field: fields.plain(field) for field in FIELDS}
    fields.require(settings["learner"] is None or settings["learner"] in NAMED, "its learner is not known")
    numbers = all(type(settings[field]) in (int, float) for field in FIELDS[:-1])
    fields.require(numbers, "its settings must be numbers")
    return fields.make(Growth, **settings)


def grower_tree(grower: Grower) -> Tree:
    """What a file holds of a `Grower`, its settings aside."""
    return {
        "since": grower._since,
        "n_grown": grower.n_grown,
        "n_retired": grower.n_retired,
        "luck": [generator_tree(rng) for rng in (grower._filter, grower._luck)],
        "recent": grower.recent.tree(),
        "scouts": [
            {
                "n_tested": scout.n_tested,
                "sample": matrix_tree(stacked(scout.sample)) if scout.sample else None,
                "candidates": None if scout.candidates is None else tree_within(scout.candidates, HYPOTHESES),
                "worth": scout.worth,
                "alpha": alpha,
                "right": scout.right,
                "labels": np.array(scout.labels, np.int8),
            }
            for scout, alpha in zip(grower.scouts, grower._alphas, strict=True)
        ],
    }


def grower_from_tree(
    fields: Fields, growth: Growth, estimator: Any, committee: Committee, n_classes: int
) -> Grower:
    """A grower of what `grower_tree` gave; it goes on exactly as the saved one would have."""
    hypotheses, boosters = committee.hypotheses, committee.boosters
    grower = Grower(growth, learner_of(growth, estimator), committee, 0)
    grower.recent = fields.read(
        "recent", lambda recent: RecentRows.from_tree(recent, hypotheses.n_features, n_classes)
    )
    if len(grower.recent):
        fields.make(hypotheses.check, grower.recent.last(len(grower.recent)).X)
    grower._since = fields.count("since", 0, min(growth.every - 1, len(grower.recent)))
    grower.n_grown, grower.n_retired = fields.count("n_grown"), fields.count("n_retired")
    grower._filter, grower._luck = fields.read_all("luck", generator_from, 2)
    sizes = iter([booster.n_hypotheses for booster in boosters])
    found = fields.read_all(
        "scouts", lambda scout: _scout(scout, next(sizes), growth, hypotheses), len(boosters)
    )
    grower.scouts = [scout for scout, _ in found]
    grower._alphas = [alpha for _, alpha in found]
    return grower


def _scout(
    fields: Fields, J: int, growth: Growth, hypotheses: Hypotheses
) -> tuple[Scout, NDArray[np.float64]]:
    scout = Scout(J)
    scout.worth, alpha = (fields.array(key, np.float64, (J,)) for key in ("worth", "alpha"))
    fits = ((scout.worth >= 0.0) & (scout.worth < LARGEST) & (np.abs(alpha) < LARGEST)).all()
    fields.require(fits, "worth and alpha must be finite")
    labels = fields.array("labels", np.int8, (None,))
    fields.require(np.isin(labels, (-1, 1)).all(), "labels must be -1 and +1")
    scout.labels = labels.tolist()
    if scout.labels:
        X = matrix_from(fields, "sample", len(labels), hypotheses.n_features)
        fields.make(hypotheses.check, X)
        scout.sample = [X[i : i + 1] for i in range(len(labels))]
    else:
        fields.require(fields.takes("sample", None), "its sample has no labels")
    scout.candidates = fields.read_any("candidates", within(HYPOTHESES))
    size = 0
    if scout.candidates is not None:
        size = len(scout.candidates)
        fits = scout.candidates.n_features == hypotheses.n_features
        fields.require(fits, "its candidates are over other features")
    scout.n_tested = fields.count("n_tested", 0, growth.test - 1 if size else 0)
    scout.right = fields.array("right", np.int64, (size,))
    inside = ((scout.right >= 0) & (scout.right <= scout.n_tested)).all()
    fields.require(inside, "right must be numbers of the rows that were tested")
    return scout, alpha
