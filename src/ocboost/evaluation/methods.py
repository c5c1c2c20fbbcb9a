"""The methods that can be compared: what each is, when to choose it, and how it begins.

Those over answers are the boosters of `ocboost.boosters.registry`; one that is new there is a method here.

>>> METHODS["oza"].title
'Oza-Russell'
>>> [method.title for method in methods_named("ocb, winnow, ocb-window-50")]
['OCB, all history', 'Winnow', 'OCB, window 50']
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from importlib.util import find_spec
from inspect import signature
from typing import Any, Literal

from ocboost.boosters.registry import BOOSTERS, Registered
from ocboost.errors import InputError, MissingExtraError
from ocboost.evaluation import method_makers as makers
from ocboost.evaluation.contender import Contender, Role
from ocboost.evaluation.contenders import Majority, NoChange
from ocboost.evaluation.first_rows import Start
from ocboost.evaluation.method_makers import Maker

Kind = Literal["answers", "features", "baseline"]
MOST_FEATURES = 1_000  # beyond them, learners that look at each feature of each row are too slow


@dataclass(frozen=True)
class Method:
    """A method that takes part in a comparison.

    Parameters
    ----------
    name : str
        What it is called on the command line.
    title : str
        What it is called in tables and figures.
    about : str
        One line: what it is, and when to choose it.
    kind : {"answers", "features", "baseline"}
        Whether it weighs the answers of the hypotheses that all share, learns from features, or neither.
    make : callable
        Makes the contender, which has learnt the first rows, from a `Start` and the title.
    role : {"ocb", "static", "rival", "baseline"}
        As of `Contender`.
    deployable : bool
        False for what takes part for comparison only: what is no model, and what cannot be saved without
        pickle.
    package, extra : str, optional
        What it needs beyond ocboost itself.
    most_features : int, optional
        It is left out of streams with more.
    usual : bool
        Whether it takes part unless someone says otherwise.
    slow : bool
        Whether a row takes it a millisecond or so.
    """

    name: str
    title: str
    about: str
    kind: Kind
    make: Maker
    role: Role = "rival"
    deployable: bool = True
    package: str | None = None
    extra: str = ""
    most_features: int | None = None
    usual: bool = False
    slow: bool = False

    def require(self) -> None:
        """Raise `MissingExtraError` where a package is missing."""
        if self.package is not None and find_spec(self.package) is None:
            raise MissingExtraError(self.package, self.extra, f"The method {self.name!r}")

    def refuses(self, n_features: int) -> str | None:
        """Why it does not take part, in a few words; None if it does."""
        if self.package is not None and find_spec(self.package) is None:
            return f"needs the package {self.package!r}: pip install 'ocboost[{self.extra}]'"
        if self.most_features is not None and n_features > self.most_features:
            return f"too slow on {n_features:,} features"
        return None

    def begun(self, start: Start) -> Contender:
        """A contender that has learnt the first rows."""
        contender = self.make(start, self.title)
        contender.role, contender.deployable = self.role, self.deployable
        return contender


def methods_named(names: str | Sequence[str]) -> list[Method]:
    """Methods by their names, separated by commas; "usual", "fast" (all that are not slow) or "all".

    Some have a number behind their names, any in the place of the usual one: see `FAMILIES`.

    Raises
    ------
    InputError
        If there is no method of a name; it lists those there are.
    """
    words = names.split(",") if isinstance(names, str) else list(names)
    words = [word.strip() for word in words if word.strip()]
    chosen: dict[str, Method] = {}
    for word in words:
        if word == "all":
            chosen |= METHODS
        elif word == "usual":
            chosen |= {name: method for name, method in METHODS.items() if method.usual}
        elif word == "fast":
            chosen |= {name: method for name, method in METHODS.items() if not method.slow}
        elif word in METHODS:
            chosen[word] = METHODS[word]
        elif (other := _with_number(word)) is not None:
            chosen[other.name] = other
        else:
            close = get_close_matches(word.lower(), [*METHODS, "usual", "fast", "all"], 1)
            hint = f" Did you mean {close[0]}?" if close else ""
            raise InputError(
                f"methods must be names of methods, with commas between; got {word!r:.80}.{hint} There are "
                f"{', '.join(METHODS)}; or usual, fast, all. A number of your own may follow "
                f"{', '.join(f'{name}-' for name in FAMILIES)}."
            )
    if not chosen:
        raise InputError(f"methods must be some of {', '.join(METHODS)}; got none.")
    return list(chosen.values())


@dataclass(frozen=True)
class Family:
    """Boosters that differ in one setting.

    Parameters
    ----------
    like : str
        One of them by its name.
    setting : str
        What differs.
    title : str
        What each is called, with a place for the number.
    about : str
        One line on any of them.
    whole : bool
        Whether the number is a count; else it is between 0 and 1.
    """

    like: str
    setting: str
    title: str
    about: str
    whole: bool = False


FAMILIES = {
    "ocb-forgetting": Family(
        "ocb-forgetting",
        "forgetting",
        "OCB, forgetting {:g}",
        "the past fades at a rate of your own: for drift",
    ),
    "ocb-window": Family(
        "ocb-window-200", "head", "OCB, window {:g}", "so many last examples and nothing else", whole=True
    ),
    "oza-forgetting": Family(
        "oza-forgetting",
        "forgetting",
        "Oza-Russell, forgetting {:g}",
        "online AdaBoost over the same hypotheses, fading at a rate of your own",
    ),
    "logistic": Family(
        "logistic",
        "rate",
        "logistic regression, rate {:g}",
        "by stochastic gradients over the answers, at a rate of your own",
    ),
}


def method_of(family: str, number: float) -> Method:
    """The method of a family with this number.

    >>> method_of("ocb-window", 20).name, method_of("logistic", 0.1).name, method_of("logistic", 0.03).name
    ('ocb-window-20', 'logistic-0.1', 'logistic')
    """
    known = FAMILIES[family]
    like = BOOSTERS[known.like]
    settings = {**like.settings, known.setting: int(number) if known.whole else float(number)}
    defaults = {each.name: each.default for each in signature(like.load()).parameters.values()}
    for other in BOOSTERS.values():
        if other.place == like.place and {**defaults, **other.settings} == {**defaults, **settings}:
            return METHODS[other.name]
    name, words = f"{family}-{number:g}", {"title": known.title.format(number), "about": known.about}
    return _over_answers(replace(like, name=name, settings=settings, usual=False, **words))


def _with_number(word: str) -> Method | None:
    """A method of a family by a name with a number; None if it is none."""
    family, _, number = word.rpartition("-")
    if family not in FAMILIES:
        return None
    try:
        value = int(number) if FAMILIES[family].whole else float(number)
    except ValueError:
        return None
    fits = value >= 1 if FAMILIES[family].whole else 0.0 < value < 1.0
    return method_of(family, value) if fits else None


def _over_answers(booster: Registered) -> Method:
    """A booster over the hypotheses that all share."""
    own = booster.place == BOOSTERS["ocb"].place
    role: Role = "ocb" if own else "rival"
    make = makers.over_answers(booster)
    return Method(booster.name, booster.title, booster.about, "answers", make, role=role, usual=booster.usual)


def _growing(like: str, about: str, *, usual: bool = False) -> Method:
    """OCB with the memory of another, whose hypotheses come and go."""
    booster = BOOSTERS[like]
    name, title = like.replace("ocb", "growing", 1), booster.title.replace("OCB", "OCB growing", 1)
    return Method(name, title, about, "features", makers.growing(booster.settings), role="ocb", usual=usual)


_BOOSTERS = [_over_answers(each) for each in BOOSTERS.values()]
_ONLY: dict[str, Any] = {"deployable": False}
_RIVER: dict[str, Any] = {**_ONLY, "package": "river", "extra": "river", "most_features": MOST_FEATURES}
_FEATURES: dict[str, Any] = {"most_features": MOST_FEATURES}

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method(
            "static",
            "static",
            "the model as it was at the start: what not learning costs",
            "answers",
            makers.static,
            role="static",
            usual=True,
        ),
        *(each for each in _BOOSTERS if each.role == "ocb"),
        _growing("ocb", "learns new hypotheses and retires old ones: where those of the start do not last"),
        _growing(
            "ocb-forgetting",
            "learns new hypotheses while the past fades: for drift that also needs other hypotheses",
            usual=True,
        ),
        _growing(
            "ocb-window-200",
            "learns new hypotheses, with weights from the last 200 examples: for drift that is faster",
        ),
        _growing(
            "ocb-window-20",
            "learns new hypotheses, with weights from the last 20 examples: where labels come in runs",
        ),
        *(each for each in _BOOSTERS if each.role != "ocb"),
        Method(
            "oza-bayes",
            "Oza-Russell, naive Bayes",
            "online AdaBoost of naive Bayes, voting with probabilities: smooth classes, few features",
            "features",
            makers.oza_bayes,
            **_ONLY,
            **_FEATURES,
            slow=True,
        ),
        Method(
            "oza-trees",
            "Oza-Russell, Hoeffding trees",
            "online AdaBoost of river's Hoeffding trees, voting with probabilities: much data, time to spend",
            "features",
            makers.oza_trees,
            **_RIVER,
            slow=True,
        ),
        Method(
            "filterboost",
            "FilterBoost",
            "boosting on filtered examples (τ 0.9, δ 0.25): for endless streams that do not change",
            "features",
            makers.filterboost,
            slow=True,
        ),
        Method(
            "retrained",
            "AdaBoost, retrained",
            "stumps learnt anew every 1,000 rows from the last 2,000: what one would do by hand",
            "features",
            makers.retrained,
            **_ONLY,
            usual=True,
        ),
        Method(
            "river-adaboost",
            "AdaBoost of river",
            "river's online AdaBoost of ten Hoeffding trees",
            "features",
            makers.guest_of_river(makers.adaboost),
            **_RIVER,
            slow=True,
        ),
        Method(
            "forest",
            "adaptive random forest",
            "river's ARF, ten trees with drift detectors: often the most accurate, and the slowest",
            "features",
            makers.guest_of_river(makers.forest),
            **_RIVER,
            slow=True,
        ),
        Method(
            "hoeffding",
            "Hoeffding tree",
            "one tree that grows: much data, no drift",
            "features",
            makers.guest_of_river(makers.hoeffding),
            **_RIVER,
        ),
        Method(
            "hoeffding-adaptive",
            "adaptive Hoeffding tree",
            "one tree that replaces branches on drift: small, and can be read",
            "features",
            makers.guest_of_river(makers.hoeffding_adaptive),
            usual=True,
            **_RIVER,
        ),
        Method(
            "majority",
            "majority",
            "the most frequent class so far: what accuracy is worth here",
            "baseline",
            makers.baseline(Majority),
            role="baseline",
            **_ONLY,
            usual=True,
        ),
        Method(
            "no-change",
            "no change",
            "the last label: what runs of labels are worth",
            "baseline",
            makers.baseline(NoChange),
            role="baseline",
            **_ONLY,
            usual=True,
        ),
    )
}
