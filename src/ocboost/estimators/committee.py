"""From votes to probabilities: AdaBoost's logistic link.

A committee: hypotheses that answer, and for each class a booster that weighs some of their answers.

A committee as a tree for a file, and back only if it makes sense.

A pool of hypotheses for a committee: learnt for each class, and laid out one class after the other.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from contextlib import nullcontext
from typing import Any, NamedTuple, Self

import numpy as np
from joblib import Parallel, delayed, parallel_config
from numpy.typing import NDArray

from ocboost._core.codec import Fields, Tree, is_plain
from ocboost._core.interrupts import uninterrupted
from ocboost._core.kinds import BOOSTER, HYPOTHESES, is_known, known, tree_within, within
from ocboost._core.locks import Guard, reads, writes
from ocboost._kernels.answers import margins_of, tally_row, tally_rows
from ocboost.boosters.base import Booster, Settings
from ocboost.boosters.sketch.sketch import BoostingSketch
from ocboost.errors import InputError, NotSavableError
from ocboost.estimators.deployed_weights import Handover
from ocboost.hypotheses import Ballot, Hypotheses, join, join_tightly
from ocboost.hypotheses.learners import Learner, StumpLearner
from ocboost.offsets import Offset, require_range, reweighted, scores_of
from ocboost.offsets.base import offset_from, offset_tree


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


MOST_ANSWERS = 1 << 28  # answers held at once when a committee begins
WORTH_JOBS = 1 << 20  # answers from which on a job for each class is worth its start


_ONE_SIGN = tuple(np.array([sign], np.int8) for sign in (-1, 1))


class CommitteeView(NamedTuple):
    """How a committee votes at one moment; it never changes, so any number of threads may vote with it."""

    hypotheses: Hypotheses
    columns: list[slice]
    alphas: list[NDArray[np.float64]]  # read-only
    offset: Offset | None
    deployed: tuple[NDArray[np.float64], float] | None  # α and its total, as long as nothing has been learnt

    def ballots(self) -> list[Ballot]:
        """The weights of the answers."""
        return [Ballot.of(alpha, c.start) for alpha, c in zip(self.alphas, self.columns, strict=True)]

    def votes(self, X: Any) -> NDArray[np.float64]:
        """The votes Σ_j α_j h_j(x), on top of the offset F₀(x) if there is one; see `Committee.votes`."""
        votes = self.votes_each(X)
        return votes[:, 0] if len(self.columns) == 1 else votes

    def votes_each(self, X: Any) -> NDArray[np.float64]:
        """The same with a column for each booster."""
        votes = self.hypotheses.votes(X, self.ballots())
        if self.offset is None:
            return votes
        return scores_of(self.offset, X, len(self.columns)) + votes

    def votes_of(self, answers: NDArray[np.int8], scores: NDArray[np.float64] | None) -> NDArray[np.float64]:
        """The same, from answers the hypotheses have given, and the offset's scores where there is one."""
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
        # By scikit-learn's own sum (SAMME's ±1 is 1, -1/(K-1)), so that near ties fall as they did.
        weights = 2.0 * self.deployed[0]
        less = -1 / (len(self.columns) - 1) * weights
        votes = self.hypotheses.votes(X, [Ballot(c.start, weights, less) for c in self.columns])
        return winners(votes / self.deployed[1])


class Committee:
    """Hypotheses and their weights: they vote, and the weights learn.

    Two classes need one booster, whose votes are for the second; more have one each, against the rest.

    Parameters
    ----------
    hypotheses : Hypotheses
        They stay, unless `reshape` changes them.
    columns : list of slice
        Which of them each booster weighs.
    settings : dict
        Those of the boosters, by name.
    offset : Offset, optional
        A score that their votes are added to, see `ocboost.offsets`.
    kind : type, default BoostingSketch
        What the boosters are.

    Attributes
    ----------
    boosters : list of Booster
    handover : Handover or None
        What is left of the weights a model was deployed with.
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
        self.boosters: list[Booster] = [kind.made(c.stop - c.start, settings) for c in columns]
        self.handover: Handover | None = None
        self._guard: Guard[CommitteeView] = Guard()

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
        """Learn from answers the hypotheses have given and the codes of the classes; all boosters or none.

        ``scores`` are the offset's, where there is one, see `scores_of`.
        """
        self._require(scores)
        require_range(weights, scores)
        n = len(self.boosters)
        with uninterrupted():
            if n == 1 and self.handover is None:  # what the booster publishes is all that it votes with
                booster, first = self.boosters[0], self.columns[0].start
                with booster._guard.passing_on(self._guard, self._with):
                    _feed(booster, answers, first, *_share(codes, weights, scores, 0, 1), batch_size)
                return
            work = (
                (booster, answers, c.start, *_share(codes, weights, scores, k, n), batch_size)
                for k, (booster, c) in enumerate(zip(self.boosters, self.columns, strict=True))
            )
            self._feed_all(work, answers.size, n_jobs)
            if self.handover is not None:
                self.handover.take(weights, self.boosters[0].forgetting)

    def _feed_all(self, work: Iterable[tuple[Any, ...]], size: int, n_jobs: int | None) -> None:
        """Let each booster learn its share; several at once where there are many answers."""
        if len(self.boosters) == 1 or size < WORTH_JOBS:
            for each in work:
                _feed(*each)
        else:
            self.boosters = Parallel(n_jobs=n_jobs, prefer="threads", max_nbytes=None)(
                delayed(_fed)(*each) for each in work
            )

    @writes
    def start(
        self,
        X: Any,
        codes: NDArray[np.int64],
        weights: NDArray[np.float64],
        scores: NDArray[np.float64] | None = None,
        *,
        n_jobs: int | None = None,
    ) -> None:
        """Begin with these examples, all at once.

        The answers of many hypotheses to many rows are held for one booster at a time.
        """
        self._require(scores)
        require_range(weights, scores)
        n, size = len(self.boosters), len(codes) * len(self.hypotheses)
        held = self.hypotheses.answers(X) if n == 1 or size <= MOST_ANSWERS else None
        work = (
            (
                booster,
                *((self.hypotheses[c].answers(X), 0) if held is None else (held, c.start)),
                *_share(codes, weights, scores, k, n),
                None,
            )
            for k, (booster, c) in enumerate(zip(self.boosters, self.columns, strict=True))
        )
        self._feed_all(work, size if held is not None else 0, n_jobs)

    @writes
    def follow(self, settings: Settings) -> None:
        """Go on with other settings, where that can be (`Booster.followed`)."""
        known = self.settings
        if not any(isinstance(v, np.ndarray) or v != known[k] for k, v in settings.items()):
            return
        boosters = [booster.followed(settings, known) for booster in self.boosters]
        held, size = max(new.n_head for new in boosters), max(new.head for new in boosters)
        window = boosters[0].last_only is not None
        both = zip(boosters, self.boosters, strict=True)
        if window and any(new.n_head < min(new.head, old.n_head) for new, old in both):
            # The heavy examples were not the last ones: vote as before until the window has filled.
            self.handover = Handover(self.view().alphas, None, 1.0, None)
        self.boosters, self.settings = boosters, settings
        if self.handover is not None and window:
            self.handover.enter_window(size, held)
        elif self.handover is not None:
            self.handover.leave_window()

    @writes
    def adopt(self, deployed: NDArray[np.float64], total: float, weight: float) -> None:
        """Vote with the weights a model was deployed with, until they have faded.

        Parameters
        ----------
        deployed : array of shape (J,)
            Its α, the same for every booster.
        total : float
            What its votes are divided by.
        weight : float
            Σw of the examples that the boosters were started from.
        """
        started = [booster.alpha for booster in self.boosters]
        self.handover = Handover([deployed] * len(started), started, weight, total)
        if self.boosters[0].last_only is not None:
            self.handover.enter_window(self.boosters[0].last_only, self.boosters[0].n_head)

    @writes
    def reshape(
        self, k: int, keep: NDArray[np.intp], newcomers: Hypotheses, X: Any, codes: NDArray[np.int64]
    ) -> None:
        """Let a booster go on with some of its hypotheses, and others behind them.

        Parameters
        ----------
        k : int
            Which booster. One that shared its hypotheses has its own from then on.
        keep : array of int
            Those of its hypotheses that stay, in order.
        newcomers : Hypotheses
        X, codes : arrays
            The examples in its head, oldest first; X may be None where there are none.
        """
        booster, sets = self.boosters[k], [self.hypotheses[c] for c in self.columns]
        gone = np.setdiff1d(np.arange(booster.n_hypotheses), keep)
        if gone.size:
            booster = booster.without(gone)
        margins = np.empty((0, len(newcomers)), np.int8)
        if len(codes):
            margins = newcomers.answers(X) * signs(codes, k, len(self.boosters))[:, None]
        booster = booster.appended(margins)
        sets[k] = join_tightly([sets[k][keep], newcomers])
        pool = join_tightly(sets)
        ends = np.cumsum([len(each) for each in sets]).tolist()
        with uninterrupted():
            self.hypotheses, self.boosters = pool, [*self.boosters[:k], booster, *self.boosters[k + 1 :]]
            self.columns = [slice(a, b) for a, b in zip([0, *ends], ends, strict=False)]
            if self.handover is not None:
                self.handover.reshape(k, keep, len(newcomers))

    @writes
    def shorten_head(self, k: int, n: int) -> None:
        """Let the head of a booster hold at most n examples for now; the older ones go to its tail."""
        booster = self.boosters[k]
        assert isinstance(booster, BoostingSketch)  # no other has a head and a tail
        short = booster.remade(head=max(1, n)).remade(head=booster.head)
        self.boosters = [*self.boosters[:k], short, *self.boosters[k + 1 :]]

    # Voting ----------------------------------------------------------------------------------------------

    def view(self) -> CommitteeView:
        """How it votes now."""
        return self._guard.view(self._look)

    def _look(self) -> CommitteeView:
        own, handover = [booster._solved() for booster in self.boosters], self.handover
        alphas = own if handover is None else [handover.alpha(alpha, k) for k, alpha in enumerate(own)]
        deployed = None
        if handover is not None and handover.untouched and handover.total is not None:
            deployed = (handover.deployed[0], handover.total)
        return CommitteeView(self.hypotheses, self.columns, alphas, self.offset, deployed)

    def _with(self, published: Any) -> CommitteeView:
        """How it votes with what its only booster has published."""
        alpha = self.kind._alpha_of(published)
        return CommitteeView(self.hypotheses, self.columns, [alpha], self.offset, None)

    @property
    def _has_one_alpha(self) -> bool:
        """Whether what a booster publishes is all that it votes with."""
        return len(self.boosters) == 1 and self.handover is None

    def spare_readers(self, n: int, batch_size: int) -> None:
        """At the beginning of a write of n examples: keep how it votes now, if that may take long."""
        if not self._has_one_alpha and any(each.folds_long(n, batch_size) for each in self.boosters):
            self._guard.keep(self._look)

    def refresh(self) -> None:
        """Within a long write: let readers see what has been learnt so far, if there are any."""
        if self._guard.contended:
            self._guard.publish(self._look())

    @property
    def alphas(self) -> list[NDArray[np.float64]]:
        """The weights each booster votes with, now."""
        return [alpha.copy() for alpha in self.view().alphas]

    def votes(self, X: Any) -> NDArray[np.float64]:
        """The votes Σ_j α_j h_j(x), on top of the offset F₀(x) if there is one.

        (n,) for two classes, positive for the second; (n, K) for more.
        """
        return self.view().votes(X)

    def votes_with(self, X: Any, alphas: list[NDArray[np.float64]]) -> NDArray[np.float64]:
        """The votes with these weights, a column for each booster; for whoever is changing it."""
        return CommitteeView(self.hypotheses, self.columns, alphas, self.offset, None).votes_each(X)

    def scores_of(self, X: Any) -> NDArray[np.float64] | None:
        """The offset's scores with a column for each booster; None if there is no offset."""
        return None if self.offset is None else scores_of(self.offset, X, len(self.boosters))

    def _answers_to_offset(self) -> bool:
        """Whether the offset has scores for rows of these features and for these classes."""
        try:
            return self.scores_of(np.zeros((1, self.hypotheses.n_features))) is not None
        except InputError:
            return False

    def _require(self, scores: NDArray[np.float64] | None) -> None:
        if (scores is None) != (self.offset is None):
            raise InputError(
                "scores must be those of the offset where there is one, and None elsewhere. Get them from "
                "scores_of(X)."
            )

    def votes_of(
        self, answers: NDArray[np.int8], scores: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """The same, from answers the hypotheses have given, and the offset's scores where there is one."""
        self._require(scores)
        return self.view().votes_of(answers, scores)

    def predict(self, X: Any) -> NDArray[np.intp]:
        """The code of the class with the highest vote, of each row."""
        return self.view().predict(X)

    # Copies and files ------------------------------------------------------------------------------------

    @reads
    def __copy__(self) -> Self:
        """A committee of its own with the same state; the hypotheses, which never change, are shared."""
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__, _guard=Guard())
        other.boosters = [booster.copy() for booster in self.boosters]
        other.handover = copy.copy(self.handover)
        return other

    def __getstate__(self) -> dict[str, Any]:
        return self.__copy__().__dict__  # of its own, as it is written later

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        # joblib.load(mmap_mode="r") gives what cannot be written to.
        self.boosters = [_writable(booster) for booster in self.boosters]


def signs(codes: NDArray[np.int64], booster: int, n_boosters: int) -> NDArray[np.int8]:
    """±1 for one booster: the second of two classes, or one against the rest."""
    own = 1 if n_boosters == 1 else booster
    if len(codes) == 1:  # as a table: NumPy takes microseconds
        return _ONE_SIGN[1 if codes[0] == own else 0]
    return np.where(codes == own, np.int8(1), np.int8(-1))


def winners(votes: NDArray[np.float64]) -> NDArray[np.intp]:
    """The codes of the classes with the highest votes.

    >>> winners(np.array([-0.5, 0.0, 2.0])), winners(np.array([[0.1, 0.3, 0.2]]))
    (array([0, 0, 1]), array([1]))
    """
    return (votes > 0.0).astype(np.intp) if votes.ndim == 1 else votes.argmax(axis=1)


def _share(
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
    """Let a booster learn, or begin if no size of a batch is given; it has all been checked."""
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
    """The booster, or a copy where it came from where others read too: Ray's store, or a mapped file."""
    return booster if all(array.flags.writeable for array in booster._arrays) else booster.copy()


def committee_tree(committee: Committee, *, without_offset: bool = False) -> Tree:
    """What a file holds; an offset that is left out is given again when it is loaded."""
    if not all(is_known(booster, BOOSTER) for booster in committee.boosters):
        raise NotSavableError(
            f"booster must be one of ocboost's own to be saved; got {committee.kind.__name__}, which is "
            "Python code that no file holds. Save its weights, clf.alpha_."
        )
    return {
        "booster": committee.kind.kind,
        "settings": {name: plain(value) for name, value in committee.settings.items()},
        "hypotheses": tree_within(committee.hypotheses, HYPOTHESES),
        "columns": [[c.start, c.stop] for c in committee.columns],
        "boosters": [booster.tree() for booster in committee.boosters],
        "handover": None if committee.handover is None else committee.handover.tree(),
        "offset": offset_tree(committee.offset, without=without_offset),
    }


def committee_from_tree(fields: Fields, n_classes: int, offset: Offset | None = None) -> Committee:
    """A committee of what `committee_tree` gave; whatever makes no sense is a `ModelFileError`.

    ``offset`` is one that the file does not hold.
    """
    committee = Committee.__new__(Committee)
    committee._guard = Guard()
    committee.hypotheses = fields.read("hypotheses", within(HYPOTHESES))
    n = 1 if n_classes == 2 else n_classes
    columns = fields.items("columns", n)
    fields.require(all(_is_span(c, len(committee.hypotheses)) for c in columns), "its columns do not fit")
    committee.columns = [slice(*c) for c in columns]
    committee.kind = known(fields.text("booster"), BOOSTER, fields.name).load()
    committee.settings = fields.read("settings", Fields.rest)
    committee.boosters = fields.read_all("boosters", committee.kind.from_tree, n)
    for booster, (start, stop) in zip(committee.boosters, columns, strict=True):
        fields.require(booster.n_hypotheses == stop - start, "a booster does not fit its hypotheses")
        fields.require(booster.made_with(committee.settings), "a booster does not fit its settings")
    sizes = [booster.n_hypotheses for booster in committee.boosters]
    committee.handover = fields.read_any("handover", lambda one: Handover.from_tree(one, sizes))
    committee.offset = offset_from(fields, "offset", offset)
    if committee.offset is not None:
        fields.require(committee.handover is None, "it has a handover and an offset")
        fits = offset is not None or committee._answers_to_offset()
        fields.require(fits, "its offset does not fit its classes or features")
    return committee


def plain(value: Any) -> Any:
    """A setting as a file has it; what has no such form becomes None."""
    if isinstance(value, np.generic):
        value = value.item()
    return value if is_plain(value) else None


def _is_span(value: Any, J: int) -> bool:
    """Whether it is where some of J hypotheses begin and end."""
    fits = isinstance(value, list) and len(value) == 2 and all(type(place) is int for place in value)
    return fits and 0 <= value[0] < value[1] <= J


def learnt_pool(
    learner: Learner,
    X: Any,
    codes: NDArray[np.int64],
    weights: NDArray[np.float64],
    scores: NDArray[np.float64] | None,
    *,
    n_boosters: int,
    n_hypotheses: int,
    most: int | None,
    rng: np.random.Generator,
    n_jobs: int | None,
) -> tuple[Hypotheses, list[slice]]:
    """Hypotheses for each booster, as one set, and which of it are whose.

    Parameters
    ----------
    learner : Learner
    X, codes, weights : arrays
        Examples, the codes of their classes, and their weights.
    scores : array of shape (n, n_boosters), optional
        Those of an offset, where there is one.
    n_boosters : int
        1 for two classes, otherwise one for each.
    n_hypotheses : int
        So many for each booster.
    most : int, optional
        A booster weighs at most so many.
    rng : numpy.random.Generator
    n_jobs : int, optional
    """
    shown = [c for c in range(n_boosters) if n_boosters == 1 or (codes == c).any()]
    targets = [signs(codes, c, n_boosters) for c in shown]
    if scores is not None:  # good where the offset is wrong; as heavy together as without it
        own_weights = [reweighted(weights, y, scores[:, c]) for c, y in zip(shown, targets, strict=True)]
        own_weights = [own * (weights.sum() / own.sum()) for own in own_weights]
        weights = own_weights[0] if len(shown) == 1 else np.stack(own_weights)
    # Stumps are found by threads that share the binned features: those do not travel to other machines.
    where = parallel_config("threading") if isinstance(learner, StumpLearner) else nullcontext()
    with where:
        sets = learner.learn_each(
            X, targets, n_hypotheses=n_hypotheses, sample_weight=weights, rng=rng, n_jobs=n_jobs
        )
    ends = np.cumsum([len(each) for each in sets]).tolist()
    own = {c: slice(a, b) for c, a, b in zip(shown, [0, *ends], ends, strict=False)}
    # A class without an example has nothing to learn from: it weighs the hypotheses of all others.
    all_others = slice(0, ends[-1] if most is None else min(ends[-1], most))
    return join(sets), [own.get(c, all_others) for c in range(n_boosters)]
