"""The methods that can be compared: what each is, when to choose it, and how it begins.

>>> METHODS["oza"].title
'Oza-Russell'
>>> [method.name for method in methods_named("ocb, winnow")]
['ocb', 'winnow']
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.util import find_spec
from typing import Any, Literal

from ..errors import InputError, MissingExtraError
from . import method_makers as makers
from .baselines import Majority, NoChange
from .learner import Contender
from .method_makers import Maker
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
        return self.make(start, self.title)


def methods_named(names: str | Sequence[str]) -> list[Method]:
    """Methods by their names, separated by commas; "usual", "fast" (all that are not slow) or "all".

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
        else:
            close = get_close_matches(word.lower(), [*METHODS, "usual", "fast", "all"], 1)
            hint = f" Did you mean {close[0]}?" if close else ""
            raise InputError(
                f"methods must be names of methods, with commas between; got {word!r:.80}.{hint} There are "
                f"{', '.join(METHODS)}; or usual, fast, all."
            )
    if not chosen:
        raise InputError(f"methods must be some of {', '.join(METHODS)}; got none.")
    return list(chosen.values())


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
            makers.static,
            usual=True,
        ),
        Method(
            "ocb",
            "OCB, all history",
            "weights that remember everything: closest to AdaBoost, for streams that do not change",
            "answers",
            makers.ocb(makers.ALL),
            usual=True,
        ),
        Method(
            "ocb-forgetting",
            "OCB, forgetting 0.995",
            "the past fades, half in 139 examples: for drift; the first to try",
            "answers",
            makers.ocb(makers.FORGETTING),
            usual=True,
        ),
        Method(
            "ocb-window-200",
            "OCB, window 200",
            "the last 200 examples and nothing else: for drift that is faster",
            "answers",
            makers.ocb(makers.WINDOW_200),
            usual=True,
        ),
        Method(
            "ocb-window-20",
            "OCB, window 20",
            "the last 20: where labels come in runs, or the stream jumps",
            "answers",
            makers.ocb(makers.WINDOW_20),
            usual=True,
        ),
        Method(
            "growing",
            "OCB growing, all history",
            "learns new hypotheses and retires old ones: where those of the start do not last",
            "features",
            makers.growing(makers.ALL),
        ),
        Method(
            "growing-forgetting",
            "OCB growing, forgetting 0.995",
            "learns new hypotheses while the past fades: for drift that also needs other hypotheses",
            "features",
            makers.growing(makers.FORGETTING),
            usual=True,
        ),
        Method(
            "growing-window-200",
            "OCB growing, window 200",
            "learns new hypotheses, with weights from the last 200 examples: for drift that is faster",
            "features",
            makers.growing(makers.WINDOW_200),
        ),
        Method(
            "growing-window-20",
            "OCB growing, window 20",
            "learns new hypotheses, with weights from the last 20 examples: where labels come in runs",
            "features",
            makers.growing(makers.WINDOW_20),
        ),
        Method(
            "oza",
            "Oza-Russell",
            "online AdaBoost over the same hypotheses: the cheapest update, no look at pairs",
            "answers",
            makers.oza_russell(),
            usual=True,
        ),
        Method(
            "oza-forgetting",
            "Oza-Russell, forgetting 0.995",
            "online AdaBoost over the same hypotheses, with fading weights: a cheap way to follow drift",
            "answers",
            makers.oza_russell(forgetting=0.995),
            usual=True,
        ),
        Method(
            "winnow",
            "Winnow",
            "multiplicative updates on mistakes: where few of many hypotheses matter",
            "answers",
            makers.booster("Winnow"),
            usual=True,
        ),
        Method(
            "eg",
            "EG±",
            "exponentiated gradients of both signs: as Winnow, with a loss for every example",
            "answers",
            makers.booster("EGPlusMinus"),
            usual=True,
        ),
        Method(
            "logistic",
            "logistic regression",
            "by stochastic gradients over the answers: often hard to beat, if its rate fits",
            "answers",
            makers.booster("OnlineLogistic"),
            usual=True,
        ),
        Method(
            "perceptron",
            "perceptron",
            "additive updates on mistakes: simple, and jumpy where classes overlap",
            "answers",
            makers.booster("Perceptron"),
        ),
        Method(
            "pa",
            "passive-aggressive",
            "as little change as corrects each example: quick to follow, sensitive to noise",
            "answers",
            makers.booster("PassiveAggressive"),
            usual=True,
        ),
        Method(
            "huang",
            "Huang et al.",
            "the offline model and an online one combined: for a deployed model that must not stray far",
            "answers",
            makers.huang,
        ),
        Method(
            "oza-bayes",
            "Oza-Russell, naive Bayes",
            "online AdaBoost of naive Bayes, voting with probabilities: smooth classes, few features",
            "features",
            makers.oza_bayes,
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
            usual=True,
        ),
        Method(
            "no-change",
            "no change",
            "the last label: what runs of labels are worth",
            "baseline",
            makers.baseline(NoChange),
            usual=True,
        ),
    )
}
