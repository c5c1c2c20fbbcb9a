"""Who takes part in an evaluation, unless someone says otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ocboost.boosters.registry import BOOSTERS, BY_CLASS
from ocboost.evaluation import method_makers as makers
from ocboost.evaluation.contender import Contender
from ocboost.evaluation.first_rows import Start
from ocboost.evaluation.methods import METHODS, Method, method_of
from ocboost.streams.rows import Rows

if TYPE_CHECKING:
    from ocboost.estimators.classifier import OCBClassifier


def methods_for(
    windows: Sequence[int] = (20, 200),
    forgetting: Sequence[float] = (0.995,),
    rates: Sequence[float] = (0.03,),
    deployed: OCBClassifier | None = None,
) -> list[Method]:
    """The methods of `lineup`, and that of a deployed model."""
    logistic = [replace(method_of("logistic", rate), title=f"logistic SGD, rate {rate:g}") for rate in rates]
    chosen = [
        METHODS["static"],
        METHODS["ocb"],
        *(method_of("ocb-forgetting", rate) for rate in forgetting),
        *(method_of("ocb-window", size) for size in windows),
        METHODS["oza"],
        *(method_of("oza-forgetting", rate) for rate in forgetting),
        *logistic,
        *([] if deployed is None else _going_on(deployed)),
        METHODS["majority"],
        METHODS["no-change"],
    ]
    found: dict[str, Method] = {}
    for method in chosen:
        found.setdefault(method.name, method)
    return list(found.values())


def _going_on(classifier: OCBClassifier) -> list[Method]:
    """The method of a model that is not OCB, going on from what it knows."""
    kind, settings = classifier.committee_.kind, classifier.boosters_[0].chosen
    known = METHODS[BY_CLASS[kind.kind].name]
    if known.role == "ocb":
        return []
    for each in BOOSTERS.values():
        if each.load() is kind and kind(1, **each.settings).made_with(settings):
            return [METHODS[each.name]]
    title = f"{known.title}, as deployed"
    return [replace(known, name="deployed", title=title, make=makers.going_on, usual=False)]


def lineup(
    classifier: OCBClassifier,
    start: Rows | None = None,
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
    start : Rows, optional
        The examples it was fitted on, for those that start from nothing else: Oza and Russell's boosting and
        logistic regression.
    windows, forgetting : sequences
        OCB is there with the whole history, with each of these windows and with each of these rates. Oza and
        Russell's boosting has the same rates.
    rates : sequence of float
        Learning rates of the logistic regression.
    seed : int
    """
    begin = Start.of(classifier, start, seed=seed)
    return [method.begun(begin) for method in methods_for(windows, forgetting, rates, classifier)]
