"""Who takes part in an evaluation, unless someone says otherwise."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ..boosters.oza_russell import OzaRussell
from .baselines import Majority, NoChange
from .contenders import OCB, Fixed, LogisticSGD, OverAnswers
from .learner import Contender
from .view import View

if TYPE_CHECKING:
    from ..classifier import OCBClassifier


def lineup(
    classifier: OCBClassifier,
    start: View | None = None,
    *,
    windows: Sequence[int] = (20, 200),
    forgetting: Sequence[float] = (0.995,),
    rates: Sequence[float] = (0.03,),
    seed: int = 0,
) -> list[Contender]:
    """A deployed classifier as it is, and what could follow the stream in its place, all over its hypotheses.

    Parameters
    ----------
    classifier : OCBClassifier
        A fitted one; each contender has a copy of its own.
    start : View, optional
        The examples it was fitted on, for those that start from nothing else: Oza and Russell's boosting and
        logistic regression.
    windows, forgetting : sequences
        OCB is there with the whole history, with each of these windows and with each of these rates. Oza and
        Russell's boosting has the same rates.
    rates : sequence of float
        Learning rates of the logistic regression.
    seed : int
    """
    contenders: list[Contender] = [Fixed(copy.copy(classifier), "static")]
    settings: dict[str, dict[str, Any]] = {
        "OCB, all history": {"forgetting": 1.0, "tail": True, "head": "auto"}
    }
    for rate in forgetting:
        settings[f"OCB, forgetting {rate:g}"] = {"forgetting": float(rate), "tail": True, "head": 200}
    for size in windows:
        settings[f"OCB, window {size}"] = {"forgetting": 1.0, "tail": False, "head": int(size)}
    for name, changes in settings.items():
        contenders.append(OCB(copy.copy(classifier).set_params(**changes), name))
    make = partial(OverAnswers.beside, classifier)
    rivals: list[Contender] = [make(OzaRussell, name="Oza-Russell")]
    for rate in forgetting:
        booster = partial(OzaRussell, forgetting=float(rate))
        rivals.append(make(booster, name=f"Oza-Russell, forgetting {rate:g}"))
    for rate in rates:
        name = f"logistic SGD, rate {rate:g}"
        rivals.append(LogisticSGD(classifier.hypotheses_, learning_rate=rate, random_state=seed, name=name))
    if start is not None:
        for rival in rivals:
            rival.begin(classifier.classes_.tolist())
            rival.learn(start)
    return [*contenders, *rivals, Majority(), NoChange()]
