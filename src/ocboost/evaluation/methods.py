"""The methods that can be compared: what each is, when to choose it, and how it begins.

>>> METHODS["oza"].title
'Oza-Russell'
>>> [method.name for method in methods_named("ocb, winnow")]
['ocb', 'winnow']
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any, Literal

from ..errors import InputError, MissingExtraError
from .arena_contenders import Filled, Growing, Retrained, WithLabels
from .baselines import Majority, NoChange
from .contenders import OCB, Fixed, OverAnswers
from .guests import RiverContender, SklearnContender
from .learner import Contender, Role
from .start import Start

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
        How it is drawn.
    package, extra : str, optional
        What it needs beyond ocboost itself.
    most_features : int, optional
        It is left out of streams with more.
    usual : bool
        Whether it takes part unless someone says otherwise.
    """

    name: str
    title: str
    about: str
    kind: Kind
    make: Callable[[Start, str], Contender]
    role: Role = "rival"
    package: str | None = None
    extra: str = ""
    most_features: int | None = None
    usual: bool = False

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
        return self.make(start, self.title)


def methods_named(names: str | Sequence[str]) -> list[Method]:
    """Methods by their names, separated by commas, or "all", or "usual".

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
        elif word in METHODS:
            chosen[word] = METHODS[word]
        else:
            raise InputError(
                f"methods must be some of {', '.join(METHODS)}, or usual, or all, with commas between them; "
                f"got {word!r:.80}."
            )
    if not chosen:
        raise InputError(f"methods must be some of {', '.join(METHODS)}; got none.")
    return list(chosen.values())


# How they begin -------------------------------------------------------------------------------------------

_ALL: dict[str, Any] = {"forgetting": 1.0, "tail": True, "head": "auto"}
_FORGETTING: dict[str, Any] = {"forgetting": 0.995, "tail": True, "head": 200}
_WINDOW_200: dict[str, Any] = {"forgetting": 1.0, "tail": False, "head": 200}
_WINDOW_20: dict[str, Any] = {"forgetting": 1.0, "tail": False, "head": 20}


def _static(start: Start, title: str) -> Contender:
    return Fixed(copy.copy(start.classifier), title)


def _ocb(settings: dict[str, Any], start: Start, title: str) -> Contender:
    return OCB(copy.copy(start.classifier).set_params(**settings), title)


def _growing(settings: dict[str, Any], start: Start, title: str) -> Contender:
    return Growing(start.fitted(grow=True, **settings), title)


def _taught(contender: Contender, start: Start) -> Contender:
    contender.begin(start.classes)
    contender.learn(start.view)
    return contender


def _over_answers(find: Callable[[], Callable[..., Any]], start: Start, title: str, **settings: Any) -> Contender:
    booster = partial(find(), **settings) if settings else find()
    return _taught(OverAnswers.beside(start.classifier, booster, name=title), start)


def _oza_russell() -> Callable[..., Any]:
    from ..oza_russell import OzaRussell

    return OzaRussell


def _lineage(name: str) -> Callable[[], Callable[..., Any]]:
    def find() -> Callable[..., Any]:
        from .. import lineage

        made: Callable[..., Any] = getattr(lineage, name)
        return made

    return find


def _huang(start: Start, title: str) -> Contender:
    from ..lineage import HuangBooster

    return WithLabels(start, HuangBooster.from_margins, name=title)


def _oza_bayes(start: Start, title: str) -> Contender:
    from sklearn.naive_bayes import GaussianNB

    from ..lineage import OzaRussellClassifier

    estimator = OzaRussellClassifier(GaussianNB(), random_state=start.seed)
    return _taught(Filled(SklearnContender(estimator, title), start.means), start)


def _oza_trees(start: Start, title: str) -> Contender:
    from river.tree import HoeffdingTreeClassifier

    from ..lineage import OzaRussellClassifier

    estimator = OzaRussellClassifier(HoeffdingTreeClassifier(), random_state=start.seed)
    return _taught(Filled(SklearnContender(estimator, title), start.means), start)


def _filterboost(start: Start, title: str) -> Contender:
    from ..lineage import FilterBoost

    estimator = FilterBoost(random_state=start.seed)
    return _taught(SklearnContender(estimator, title), start)


def _retrained(start: Start, title: str) -> Contender:
    return Retrained(start, name=title)


def _river(make: Callable[[int], Any], start: Start, title: str) -> Contender:
    return _taught(RiverContender(make(start.seed), title), start)


def _hoeffding(seed: int) -> Any:
    from river.tree import HoeffdingTreeClassifier

    return HoeffdingTreeClassifier()


def _hoeffding_adaptive(seed: int) -> Any:
    from river.tree import HoeffdingAdaptiveTreeClassifier

    return HoeffdingAdaptiveTreeClassifier(seed=seed)


def _river_adaboost(seed: int) -> Any:
    from river.ensemble import AdaBoostClassifier

    return AdaBoostClassifier(_hoeffding(seed), n_models=10, seed=seed)


def _forest(seed: int) -> Any:
    from river.forest import ARFClassifier

    return ARFClassifier(n_models=10, seed=seed)


def _baseline(kind: Callable[[str], Contender], start: Start, title: str) -> Contender:
    return _taught(kind(title), start)


_RIVER: dict[str, Any] = {"package": "river", "extra": "river", "most_features": MOST_FEATURES}
_FEATURES: dict[str, Any] = {"most_features": MOST_FEATURES}

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method(
            "static",
            "static",
            "the model as it was at the start: what not learning costs",
            "answers",
            _static,
            "static",
            usual=True,
        ),
        Method(
            "ocb",
            "OCB, all history",
            "weights that remember everything: closest to AdaBoost, for streams that do not change",
            "answers",
            partial(_ocb, _ALL),
            "ocb",
            usual=True,
        ),
        Method(
            "ocb-forgetting",
            "OCB, forgetting 0.995",
            "the past fades, half in 139 examples: for drift; the first to try",
            "answers",
            partial(_ocb, _FORGETTING),
            "ocb",
            usual=True,
        ),
        Method(
            "ocb-window-200",
            "OCB, window 200",
            "the last 200 examples and nothing else: for drift that is faster",
            "answers",
            partial(_ocb, _WINDOW_200),
            "ocb",
            usual=True,
        ),
        Method(
            "ocb-window-20",
            "OCB, window 20",
            "the last 20: where labels come in runs, or the stream jumps",
            "answers",
            partial(_ocb, _WINDOW_20),
            "ocb",
            usual=True,
        ),
        Method(
            "growing",
            "OCB growing, all history",
            "learns new hypotheses and retires old ones: where those of the start do not last",
            "features",
            partial(_growing, _ALL),
            "ocb",
        ),
        Method(
            "growing-forgetting",
            "OCB growing, forgetting 0.995",
            "the same with fading weights: for drift that also needs other hypotheses",
            "features",
            partial(_growing, _FORGETTING),
            "ocb",
            usual=True,
        ),
        Method(
            "growing-window-200",
            "OCB growing, window 200",
            "the same over the last 200 examples",
            "features",
            partial(_growing, _WINDOW_200),
            "ocb",
        ),
        Method(
            "growing-window-20",
            "OCB growing, window 20",
            "the same over the last 20",
            "features",
            partial(_growing, _WINDOW_20),
            "ocb",
        ),
        Method(
            "oza",
            "Oza-Russell",
            "online AdaBoost over the same hypotheses: the cheapest update, no look at pairs",
            "answers",
            partial(_over_answers, _oza_russell),
            usual=True,
        ),
        Method(
            "oza-forgetting",
            "Oza-Russell, forgetting 0.995",
            "the same with fading weights: a cheap way to follow drift",
            "answers",
            partial(_over_answers, _oza_russell, forgetting=0.995),
            usual=True,
        ),
        Method(
            "winnow",
            "Winnow",
            "multiplicative updates on mistakes: where few of many hypotheses matter",
            "answers",
            partial(_over_answers, _lineage("Winnow")),
        ),
        Method(
            "eg",
            "EG±",
            "exponentiated gradients of both signs: as Winnow, with a loss for every example",
            "answers",
            partial(_over_answers, _lineage("EGPlusMinus")),
            usual=True,
        ),
        Method(
            "logistic",
            "logistic regression",
            "by stochastic gradients over the answers: often hard to beat, if its rate fits",
            "answers",
            partial(_over_answers, _lineage("OnlineLogistic")),
            usual=True,
        ),
        Method(
            "perceptron",
            "perceptron",
            "additive updates on mistakes: simple, and jumpy where classes overlap",
            "answers",
            partial(_over_answers, _lineage("Perceptron")),
        ),
        Method(
            "pa",
            "passive-aggressive",
            "as little change as corrects each example: quick to follow, sensitive to noise",
            "answers",
            partial(_over_answers, _lineage("PassiveAggressive")),
        ),
        Method(
            "huang",
            "Huang et al.",
            "the offline model and an online one combined: for a deployed model that must not stray far",
            "answers",
            _huang,
        ),
        Method(
            "oza-bayes",
            "Oza-Russell, naive Bayes",
            "online AdaBoost whose members learn, naive Bayes: smooth classes, few features",
            "features",
            _oza_bayes,
            **_FEATURES,
        ),
        Method(
            "oza-trees",
            "Oza-Russell, Hoeffding trees",
            "online AdaBoost of river's Hoeffding trees: much data, time to spend",
            "features",
            _oza_trees,
            **_RIVER,
        ),
        Method(
            "filterboost",
            "FilterBoost",
            "boosting on filtered examples: for endless streams that do not change",
            "features",
            _filterboost,
        ),
        Method(
            "retrained",
            "AdaBoost, retrained",
            "stumps learnt anew every 1,000 rows from the last 2,000: what one would do by hand",
            "features",
            _retrained,
            usual=True,
        ),
        Method(
            "river-adaboost",
            "AdaBoost of river",
            "river's online AdaBoost of ten Hoeffding trees",
            "features",
            partial(_river, _river_adaboost),
            **_RIVER,
        ),
        Method(
            "forest",
            "adaptive random forest",
            "river's ARF, ten trees with drift detectors: often the most accurate, and the slowest",
            "features",
            partial(_river, _forest),
            **_RIVER,
        ),
        Method(
            "hoeffding",
            "Hoeffding tree",
            "one tree that grows: much data, no drift",
            "features",
            partial(_river, _hoeffding),
            **_RIVER,
        ),
        Method(
            "hoeffding-adaptive",
            "adaptive Hoeffding tree",
            "one tree that replaces branches on drift: small, and can be read",
            "features",
            partial(_river, _hoeffding_adaptive),
            usual=True,
            **_RIVER,
        ),
        Method(
            "majority",
            "majority",
            "the most frequent class so far: what accuracy is worth here",
            "baseline",
            partial(_baseline, Majority),
            "baseline",
            usual=True,
        ),
        Method(
            "no-change",
            "no change",
            "the last label: what runs of labels are worth",
            "baseline",
            partial(_baseline, NoChange),
            "baseline",
            usual=True,
        ),
    )
}
