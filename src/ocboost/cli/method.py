"""What ``--method`` means for a model: the parameters of its classifier."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from ocboost.cli.options import UsageError
from ocboost.errors import InputError

if TYPE_CHECKING:
    from ocboost.boosters.registry import Registered
    from ocboost.estimators.classifier import OCBClassifier

GROWING = "growing"  # and what OCB of the same name remembers: growing-forgetting, growing-window-200, …


def of_method(method: str, settings: dict[str, Any], hypotheses: int) -> dict[str, Any]:
    """The parameters of a classifier: those of a method, and the settings that were given beside it."""
    registered, grows = booster_of(method)
    if not _is_sketch(registered):
        settings = _without_keep(settings)
    own: dict[str, Any] = {"booster": registered.name}
    others = sorted(set(settings) - {"grow"})
    if _is_sketch(registered):
        own = {"booster": "ocb", **registered.settings}
        if registered.settings and others:
            raise UsageError(
                f"--method {method} says what is remembered, and so do the options for {_options(others)}. "
                "Leave out one of them; --method ocb takes them all."
            )
    elif others:
        raise UsageError(
            f"the options for {_options(others)} are those of --method ocb, and have no meaning for --method "
            f"{method}. Leave them out."
        )
    if "grow" in settings and not registered.load().can_grow:
        raise UsageError(
            f"--grow has no meaning for --method {method}, which can take in no further hypotheses. Leave "
            "it out."
        )
    if grows and "grow" not in settings:
        own["grow"] = hypotheses * 3 // 2
    return {**own, **settings}


def going_on(method: str | None, settings: dict[str, Any], clf: OCBClassifier) -> dict[str, Any]:
    """The parameters that a model goes on with; another method than its own is an error."""
    from ocboost.boosters.registry import BY_CLASS
    from ocboost.boosters.sketch.sketch import BoostingSketch

    kind = clf.committee_.kind
    known = BY_CLASS[kind.kind].name
    if kind is not BoostingSketch:
        settings = _without_keep(settings)
    others = sorted(set(settings) - {"grow"})
    if method is None:
        if kind is not BoostingSketch and others:
            raise UsageError(
                f"the options for {_options(others)} are those of --method ocb, and the model's method is "
                f"{known}. Leave them out."
            )
        return settings
    registered, _ = booster_of(method)
    if registered.load() is not kind:
        raise InputError(
            f"--method must be the model's own, {known}, or be left out; got {method}. What one method has "
            "learnt another cannot go on with: fit a new model with --method."
        )
    most = max(booster.n_hypotheses for booster in clf.boosters_)
    wanted = of_method(method, settings, most)
    if kind is BoostingSketch:
        return {k: v for k, v in wanted.items() if k != "booster"}
    if kind(1, **registered.settings).chosen != clf.committee_.settings:
        raise InputError(
            f"--method {method} has other settings than the model, which cannot change: fit a new model, or "
            "leave --method out."
        )
    return settings


def booster_of(method: str) -> tuple[Registered, bool]:
    """The booster of a method, and whether its hypotheses come and go; any other name is an error."""
    from ocboost.boosters.registry import BOOSTERS
    from ocboost.evaluation.methods import METHODS

    if method in BOOSTERS:
        return BOOSTERS[method], False
    kept = method.removeprefix(GROWING)
    if method.startswith(GROWING) and f"ocb{kept}" in BOOSTERS:
        return BOOSTERS[f"ocb{kept}"], True
    known = [
        *BOOSTERS,
        *(f"{GROWING}{name.removeprefix('ocb')}" for name in BOOSTERS if name.startswith("ocb")),
    ]
    found = METHODS.get(method)
    if found is not None and found.deployable and found.kind == "features":
        raise UsageError(
            f"--method {method} finds hypotheses of its own, and is no model of the command line: it is "
            f"ocboost.lineage's, in Python. Models can have {', '.join(known)}."
        )
    if method == "static":
        raise UsageError("--method static is a model as it was fitted: fit one, and do not adapt it.")
    if found is not None:
        raise UsageError(
            f"--method {method} is for comparison only: it cannot be kept in a model's file, or is no model. "
            f"Models can have {', '.join(known)}."
        )
    close = get_close_matches(method.lower(), known, 1)
    hint = f" Did you mean {close[0]}?" if close else ""
    raise UsageError(f"--method must be one of {', '.join(known)}; got {method!r:.40}.{hint}")


def _is_sketch(registered: Registered) -> bool:
    return registered.place.endswith(":BoostingSketch")


def _without_keep(settings: dict[str, Any]) -> dict[str, Any]:
    """Without what --grow says of the examples that a sketch keeps: nothing else keeps any."""
    return {name: value for name, value in settings.items() if name != "keep" or value is not None}


def _options(names: list[str]) -> str:
    """Settings as the command line calls what sets them."""
    return ", ".join(names)
