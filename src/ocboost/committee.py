"""A committee: hypotheses that answer, and for each class a booster that weighs some of their answers."""

from __future__ import annotations

import copy
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from .errors import InputError
from .guard import Guard, reads, writes
from .handover import Handover
from .hypotheses import Ballot, Hypotheses, hypotheses_from_parts, hypotheses_parts, join_tightly
from .interrupts import uninterrupted
from .keeping import HEAVY, NEWEST, what_is_kept
from .kernels.answers import margins_of, rows_to_block, tally
from .margins import as_count
from .offsets import Offset, offset_in, offset_parts, require_range, reweighted, scores_of
from .sketch import BoostingSketch
from .storage import Arrays, require

SETTINGS = ("order", "head", "memory", "keep", "tail", "smoothing", "forgetting", "correction")
MOST_ANSWERS = 1 << 28  # answers held at once when a committee begins
WORTH_JOBS = 1 << 20  # answers from which on a job for each class is worth its start

Settings = dict[str, Any]


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
        block = np.empty(answers.shape[::-1], np.int8)
        rows_to_block(answers, block)
        votes = np.zeros((len(self.columns), len(answers)))
        for total, ballot in zip(votes, self.ballots(), strict=True):
            tally(block[ballot.first :], ballot.up, ballot.down, total)
        if scores is not None:
            votes = scores.T + votes
        return votes[0] if len(self.columns) == 1 else votes.T

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
        order, head, memory, keep, tail, smoothing, forgetting and correction, as in `BoostingSketch`.
    offset : Offset, optional
        A score that their votes are added to, see `ocboost.offsets`.

    Attributes
    ----------
    boosters : list of BoostingSketch
    handover : Handover or None
        What is left of the weights a model was deployed with.
    """

    def __init__(
        self,
        hypotheses: Hypotheses,
        columns: list[slice],
        settings: Settings,
        offset: Offset | None = None,
    ) -> None:
        self.hypotheses = hypotheses
        self.columns = columns
        self.settings = settings
        self.offset = offset
        self.boosters = [booster_for(c.stop - c.start, settings) for c in columns]
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
        passing_on: AbstractContextManager[None] = nullcontext()
        if self._has_one_alpha:
            passing_on = self.boosters[0]._guard.passing_on(self._guard, self._with)
        with uninterrupted(), passing_on:
            work = [
                (booster, answers[:, c], *_started(weights, signs(codes, k, n), scores, k), batch_size)
                for k, (booster, c) in enumerate(zip(self.boosters, self.columns, strict=True))
            ]
            if n == 1 or answers.size < WORTH_JOBS:
                self.boosters = [_fed(*each) for each in work]
            else:
                self.boosters = Parallel(n_jobs=n_jobs, prefer="threads", max_nbytes=None)(
                    delayed(_fed)(*each) for each in work
                )
            if self.handover is not None:
                self.handover.take(weights, self.settings["forgetting"])

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
        n, J = len(codes), len(self.hypotheses)
        if n * J <= MOST_ANSWERS or len(self.boosters) == 1:
            self.learn(self.hypotheses.answers(X), codes, weights, scores, batch_size=n, n_jobs=n_jobs)
            return
        for k, c in enumerate(self.columns):
            answers, labels = self.hypotheses[c].answers(X), signs(codes, k, len(self.boosters))
            self.boosters[k] = _fed(self.boosters[k], answers, *_started(weights, labels, scores, k), n)

    @writes
    def follow(self, settings: Settings) -> None:
        """Go on with other settings, where that can be (`BoostingSketch.remade`)."""
        known = self.settings
        changes = {k: v for k, v in settings.items() if isinstance(v, np.ndarray) or v != known[k]}
        if not changes:
            return
        for booster in self.boosters:
            check_settings(settings, booster.n_hypotheses)  # all of them together, as where they begin
        # What these mean depends on each other and on the rest.
        changes |= {"head": settings["head"], "memory": settings["memory"]}
        boosters = [booster.remade(**changes) for booster in self.boosters]
        held, size = max(new.n_head for new in boosters), max(new.head for new in boosters)
        both = zip(boosters, self.boosters, strict=True)
        if not settings["tail"] and any(new.n_head < min(new.head, old.n_head) for new, old in both):
            # The heavy examples were not the last ones: vote as before until the window has filled.
            self.handover = Handover(self.view().alphas, None, 1.0, None)
        self.boosters, self.settings = boosters, settings
        if self.handover is not None and not settings["tail"]:
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
        if not self.settings["tail"]:
            self.handover.enter_window(self.boosters[0].head, self.boosters[0].n_head)

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
        short = booster.remade(head=max(1, n)).remade(head=booster.head)
        self.boosters = [*self.boosters[:k], short, *self.boosters[k + 1 :]]

    # Voting ----------------------------------------------------------------------------------------------

    def view(self) -> CommitteeView:
        """How it votes now."""
        return self._guard.view(self._look)

    def _look(self) -> CommitteeView:
        own, handover = [booster.alpha for booster in self.boosters], self.handover
        alphas = own if handover is None else [handover.alpha(alpha, k) for k, alpha in enumerate(own)]
        deployed = None
        if handover is not None and handover.untouched and handover.total is not None:
            deployed = (handover.deployed[0], handover.total)
        return CommitteeView(self.hypotheses, self.columns, alphas, self.offset, deployed)

    def _with(self, solved: tuple[NDArray[np.float64], bool]) -> CommitteeView:
        """How it votes with what its only booster has published."""
        return CommitteeView(self.hypotheses, self.columns, [solved[0]], self.offset, None)

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

    @reads
    def parts(self, *, without_offset: bool = False) -> tuple[dict[str, Any], Arrays]:
        """What a file holds; an offset that is left out is given again when it is loaded."""
        arrays: Arrays = {}

        def put(prefix: str, parts: tuple[Any, Arrays]) -> Any:
            arrays.update({f"{prefix}/{key}": array for key, array in parts[1].items()})
            return parts[0]

        parameters = {
            "settings": {name: plain(value) for name, value in self.settings.items()},
            "hypotheses": put("hypotheses", hypotheses_parts(self.hypotheses)),
            "columns": [[c.start, c.stop] for c in self.columns],
            "boosters": [put(f"booster/{k}", booster.parts()) for k, booster in enumerate(self.boosters)],
            "handover": None if self.handover is None else put("handover", self.handover.parts()),
        }
        if self.offset is not None:
            parameters["offset"] = put("offset", offset_parts(self.offset, without=without_offset))
        return parameters, arrays

    @classmethod
    def from_parts(
        cls,
        parameters: dict[str, Any],
        arrays: Arrays,
        n_classes: int,
        name: str,
        offset: Offset | None = None,
    ) -> Self:
        """A committee of what `parts` gave; whatever makes no sense is a `ModelFileError`.

        ``offset`` is one that the file does not hold.
        """
        known = {"settings", "hypotheses", "columns", "boosters", "handover"}
        require(
            set(parameters) - {"offset"} == known,
            name,
            f"a committee has the entries {', '.join(sorted(known))}",
        )
        groups = _grouped(arrays)
        kind, described = pair(parameters["hypotheses"], name, "hypotheses")
        require(isinstance(kind, str) and isinstance(described, dict), name, "its hypotheses are not known")
        committee = cls.__new__(cls)
        committee._guard = Guard()
        committee.hypotheses = hypotheses_from_parts(kind, described, groups.pop("hypotheses", {}), name)
        n = 1 if n_classes == 2 else n_classes
        committee.columns = _columns_in(parameters["columns"], n, len(committee.hypotheses), name)
        settings = parameters["settings"]
        require(isinstance(settings, dict), name, "its settings are missing")
        committee.settings = with_keep(settings)
        described = parameters["boosters"]
        require(isinstance(described, list) and len(described) == n, name, "its boosters are missing")
        committee.boosters = []
        for k, (one, c) in enumerate(zip(described, committee.columns, strict=True)):
            require(isinstance(one, dict), name, "a booster must have parameters")
            booster = BoostingSketch.from_parts(one, groups.pop(f"booster/{k}", {}), name)
            require(booster.n_hypotheses == c.stop - c.start, name, "a booster does not fit its hypotheses")
            require(_made_with(booster, committee.settings), name, "a booster does not fit its settings")
            committee.boosters.append(booster)
        committee.handover = None
        if parameters["handover"] is not None:
            require(isinstance(parameters["handover"], dict), name, "its handover is not known")
            sizes = [booster.n_hypotheses for booster in committee.boosters]
            held = groups.pop("handover", {})
            committee.handover = Handover.from_parts(parameters["handover"], held, sizes, name)
        committee.offset = offset_in(parameters.get("offset"), groups.pop("offset", {}), name, offset)
        if committee.offset is not None:
            require(committee.handover is None, name, "it has a handover and an offset")
            if offset is None:
                require(
                    committee._answers_to_offset(), name, "its offset does not fit its classes or features"
                )
        require(not groups, name, f"it holds unknown arrays: {', '.join(groups)!s:.80}")
        return committee


def booster_for(n_hypotheses: int, settings: Settings) -> BoostingSketch:
    """An empty booster; a class with fewer hypotheses than ``order`` looks back to all of them."""
    order = _order_for(n_hypotheses, settings["order"])
    return BoostingSketch(n_hypotheses, **{**settings, "order": order})


def _order_for(n_hypotheses: int, order: Any) -> int | None:
    if order is None:
        return None
    return min(as_count(order, "order", 1, None, "None takes every earlier coordinate."), n_hypotheses)


def signs(codes: NDArray[np.int64], booster: int, n_boosters: int) -> NDArray[np.int8]:
    """±1 for one booster: the second of two classes, or one against the rest."""
    return np.where(codes == (1 if n_boosters == 1 else booster), np.int8(1), np.int8(-1))


def winners(votes: NDArray[np.float64]) -> NDArray[np.intp]:
    """The codes of the classes with the highest votes.

    >>> winners(np.array([-0.5, 0.0, 2.0])), winners(np.array([[0.1, 0.3, 0.2]]))
    (array([0, 0, 1]), array([1]))
    """
    return (votes > 0.0).astype(np.intp) if votes.ndim == 1 else votes.argmax(axis=1)


def plain(value: Any) -> Any:
    """A setting as JSON has it; what has no such form becomes None."""
    if isinstance(value, np.generic):
        value = value.item()
    return value if is_plain(value) else None


def is_plain(value: Any) -> bool:
    """Whether JSON has a form for it that is no list and no object."""
    return value is None or isinstance(value, bool | int | float | str)


def pair(value: Any, name: str, what: str) -> tuple[Any, Any]:
    """Two things that a file holds as a list."""
    require(isinstance(value, list) and len(value) == 2, name, f"its {what} are not known")
    return value[0], value[1]


def _started(
    weights: NDArray[np.float64], labels: NDArray[np.int8], scores: NDArray[np.float64] | None, booster: int
) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
    """The labels, and the weights that the examples begin with for one booster."""
    return labels, weights if scores is None else reweighted(weights, labels, scores[:, booster])


def _fed(
    booster: BoostingSketch,
    answers: NDArray[np.int8],
    labels: NDArray[np.int8],
    weights: NDArray[np.float64],
    batch_size: int,
) -> BoostingSketch:
    booster = _writable(booster)
    margins = np.empty(answers.shape, np.int8)
    margins_of(np.ascontiguousarray(answers), labels, margins)
    booster._take(
        margins, np.require(weights, requirements="W"), labels, batch_size
    )  # it has all been checked
    return booster


def _writable(booster: BoostingSketch) -> BoostingSketch:
    """The booster, or a copy where it came from where others read too: Ray's store, or a mapped file."""
    return booster if all(array.flags.writeable for array in booster._arrays) else booster.copy()


def with_keep(settings: Settings) -> Settings:
    """Settings of a file: those that say nothing of ``keep`` and ``memory`` mean the newest."""
    return {**settings, **{"memory": settings.get("memory"), "keep": settings.get("keep", NEWEST)}}


def check_settings(settings: Settings, n_hypotheses: int = 1) -> BoostingSketch:
    """Check that there are boosters of these settings, others among them aside; gives one that takes no room.

    One that keeps the newest examples is given as a window.
    """
    given = {key: settings[key] for key in SETTINGS}
    given["order"] = _order_for(n_hypotheses, given["order"])
    if type(given["tail"]) is not bool:
        raise InputError(f"tail must be True or False; got {given['tail']!r:.80}. False makes a window.")
    kept = what_is_kept(
        n_hypotheses, **{key: value for key, value in given.items() if key not in ("smoothing", "forgetting")}
    )
    if kept.keep == HEAVY:
        return BoostingSketch(n_hypotheses, **given)
    as_window = {"tail": False, "keep": NEWEST, "memory": None, "head": kept.head}
    return BoostingSketch(n_hypotheses, **{**given, **as_window})


def _made_with(booster: BoostingSketch, settings: Settings) -> bool:
    """Whether a booster is one of these settings; without ``keep`` it has kept to what it was."""
    if set(settings) != set(SETTINGS) or type(settings["tail"]) is not bool:
        return False
    try:
        keep = booster.keep if settings["keep"] is None else settings["keep"]
        expected = check_settings({**settings, "keep": keep}, booster.n_hypotheses)
    except InputError:
        return False
    names = ("keep", "order", "memory", "smoothing", "forgetting", "correction")
    return (
        settings["tail"] == booster.tail
        and (
            expected.kept.room == booster.kept.room
            if booster.keep == HEAVY
            else expected.head == booster.head
        )
        and all(getattr(expected, name) == getattr(booster, name) for name in names)
    )


def _grouped(arrays: Arrays) -> dict[str, Arrays]:
    """Arrays by what they belong to: ``hypotheses``, ``booster/0``, …, ``handover``."""
    groups: dict[str, Arrays] = {}
    for key, array in arrays.items():
        words = key.split("/")
        depth = 2 if words[0] == "booster" else 1
        groups.setdefault("/".join(words[:depth]), {})["/".join(words[depth:])] = array
    return groups


def _columns_in(value: Any, n: int, J: int, name: str) -> list[slice]:
    require(isinstance(value, list) and len(value) == n, name, "its columns do not fit its classes")
    columns = []
    for one in value:
        start, stop = pair(one, name, "columns")
        inside = type(start) is int and type(stop) is int and 0 <= start < stop <= J
        require(inside, name, "its columns do not fit its hypotheses")
        columns.append(slice(start, stop))
    return columns
