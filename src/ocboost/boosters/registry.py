"""Every booster by its name, for classifiers, the command line, files and comparisons.

A new booster is a class that meets `ocboost.boosters.base.Booster`, and a line here.

>>> named("oza").load()
<class 'ocboost.boosters.oza_russell.OzaRussell'>
"""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from ocboost._core import kinds
from ocboost.boosters.base import Booster
from ocboost.errors import InputError


@dataclass(frozen=True)
class Registered:
    """A booster under a name."""

    name: str  # what parameters and options call it
    title: str  # what tables and figures call it
    place: str  # its module and class, with a colon between; files call the class what it is called there
    about: str  # one line: what it is, and when to choose it
    settings: dict[str, Any] = field(default_factory=dict)  # those that differ from the defaults of its class
    usual: bool = True  # whether comparisons include it by default

    def load(self) -> type[Booster]:
        """Its class, imported on first use."""
        found: type[Booster] = kinds.class_at(self.place)
        return found


_SKETCH = ".boosters.sketch:BoostingSketch"
_OZA = ".boosters.oza_russell:OzaRussell"

BOOSTERS: dict[str, Registered] = {
    each.name: each
    for each in (
        Registered(
            "ocb",
            "OCB, all history",
            _SKETCH,
            "weights that remember everything: closest to AdaBoost, for streams that do not change",
        ),
        Registered(
            "ocb-forgetting",
            "OCB, forgetting 0.995",
            _SKETCH,
            "the past fades, half in 139 examples: for drift; the first to try",
            {"forgetting": 0.995, "head": 500},
        ),
        Registered(
            "ocb-window-200",
            "OCB, window 200",
            _SKETCH,
            "the last 200 examples and nothing else: for drift that is faster",
            {"tail": False, "head": 200},
        ),
        Registered(
            "ocb-window-20",
            "OCB, window 20",
            _SKETCH,
            "the last 20: where labels come in runs, or the stream jumps",
            {"tail": False, "head": 20},
        ),
        Registered(
            "oza",
            "Oza-Russell",
            _OZA,
            "online AdaBoost over the same hypotheses: the cheapest update, no look at pairs",
        ),
        Registered(
            "oza-forgetting",
            "Oza-Russell, forgetting 0.995",
            _OZA,
            "online AdaBoost over the same hypotheses, with fading weights: a cheap way to follow drift",
            {"forgetting": 0.995},
        ),
        Registered(
            "winnow",
            "Winnow",
            ".boosters.winnow:Winnow",
            "multiplicative updates on mistakes: where few of many hypotheses matter",
        ),
        Registered(
            "eg",
            "EG±",
            ".boosters.exponentiated_gradient:EGPlusMinus",
            "exponentiated gradients of both signs: as Winnow, with a loss for every example",
        ),
        Registered(
            "logistic",
            "logistic regression",
            ".boosters.linear:OnlineLogistic",
            "by stochastic gradients over the answers: often hard to beat, if its rate fits",
        ),
        Registered(
            "perceptron",
            "perceptron",
            ".boosters.linear:Perceptron",
            "additive updates on mistakes: simple, and jumpy where classes overlap",
            usual=False,
        ),
        Registered(
            "pa",
            "passive-aggressive",
            ".boosters.linear:PassiveAggressive",
            "as little change as corrects each example: quick to follow, sensitive to noise",
        ),
        Registered(
            "huang",
            "Huang et al.",
            ".boosters.huang:HuangBooster",
            "the offline model and an online one combined: for a deployed model that must not stray far",
            usual=False,
        ),
    )
}


BY_CLASS: dict[str, Registered] = {}  # by what files call their class; of several names the first
for _each in BOOSTERS.values():
    BY_CLASS.setdefault(_each.place.split(":")[1], _each)
    kinds.register(kinds.Kind(_each.place.split(":")[1], kinds.BOOSTER, _each.place, _each.title))


def named(name: Any) -> Registered:
    """The booster of a name; an `InputError` lists those there are."""
    if isinstance(name, str) and name in BOOSTERS:
        return BOOSTERS[name]
    close = get_close_matches(str(name).lower(), BOOSTERS, 1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    raise InputError(
        f"booster must be the name of a booster, or an object of ocboost.boosters.Booster; got {name!r:.80}."
        f"{hint} There are {', '.join(BOOSTERS)}."
    )
