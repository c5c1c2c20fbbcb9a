"""The boosters' settings, from a classifier's parameters."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from typing import Any

import numpy as np

from ocboost.boosters.base import Booster, Settings
from ocboost.boosters.registry import named
from ocboost.boosters.sketch.settings import HEAVY, NEWEST, plan_head
from ocboost.boosters.sketch.sketch import BoostingSketch
from ocboost.errors import InputError
from ocboost.estimators.growth import Growth

SMOOTHING_PER_HYPOTHESIS = 10.0  # in examples, where there is an offset
_SIGNATURE = signature(BoostingSketch).parameters
SKETCH_DEFAULTS: Settings = {  # of a classifier's parameters
    **{name: _SIGNATURE[name].default for name in BoostingSketch.settings},
    "head": "auto",
    "smoothing": "auto",
}


def booster_settings(
    booster: Any, given: Mapping[str, Any], *, most: int, growth: Growth | None, has_offset: bool
) -> tuple[type[Booster], Settings]:
    """The class of a committee's boosters, the largest of which has ``most`` hypotheses, and their settings.

    ``booster`` is a name or an object whose settings are taken; ``given`` has the settings of sketches by
    name, and "auto" where that is allowed. With ``memory`` the automatic head, the default, is ignored.
    """
    own = {name: given[name] for name in SKETCH_DEFAULTS}
    kind, settings = _kind_and_settings(booster)
    if booster != "ocb":
        _refuse_sketch_settings(booster, own)
    if kind is BoostingSketch:
        settings = _sketch_settings({**own, **settings}, most=most, growth=growth, has_offset=has_offset)
    if growth is not None and most > growth.budget:
        raise InputError(
            f"grow must be at least the {most} hypotheses there are, as it is the most there may be in "
            f"all; got {growth.budget}. Try {most + (most + 1) // 2}."
        )
    if growth is not None and not kind.can_grow:
        raise InputError(
            f"grow must be None with the booster {_name(booster)}, which cannot add hypotheses. "
            "Use 'ocb', 'eg', 'winnow' or a linear rule."
        )
    if has_offset and not kind.can_correct:
        raise InputError(
            f"offset must be None with the booster {_name(booster)}: only exponential loss has weights that "
            "stand for it. Use 'ocb' or 'oza'."
        )
    return kind, settings


def require_kind(kind: type[Booster], fitted: type[Booster]) -> None:
    """Refuse a booster of another kind than the classifier has been fitted with."""
    if kind is not fitted:
        raise InputError(
            f"booster cannot change once the classifier has been fitted; it has {fitted.__name__}, and got "
            f"{kind.__name__}. Fit again."
        )


def _kind_and_settings(booster: Any) -> tuple[type[Booster], Settings]:
    """The class and the settings of a booster given by name or as an object."""
    if not isinstance(booster, Booster):
        registered = named(booster)
        kind = registered.load()
        if kind is BoostingSketch:  # its defaults are those of the classifier
            return kind, dict(registered.settings)
        return kind, kind(1, **registered.settings).given_settings
    if booster.n_seen:
        raise InputError(
            f"booster must be one that has learnt nothing, as its settings are all that is taken of it; got "
            f"one that has seen {booster.n_seen:,} examples. Make a new one."
        )
    settings = booster.given_settings
    if settings.get("memory") is not None:
        settings["head"] = "auto"
    return type(booster), settings


def _refuse_sketch_settings(booster: Any, own: Settings) -> None:
    """Refuse settings of a sketch beside another booster."""
    other = [name for name, default in SKETCH_DEFAULTS.items() if not _same(own[name], default)]
    if other:
        raise InputError(
            f"{', '.join(other)} must be left out with the booster {_name(booster)}, being for the booster "
            "'ocb'. Give a booster's own settings to it: booster=OzaRussell(1, forgetting=0.995)."
        )


def _same(value: Any, default: Any) -> bool:
    return value is default or (not isinstance(value, np.ndarray) and bool(value == default))


def _name(booster: Any) -> str:
    return repr(booster) if isinstance(booster, str) else type(booster).__name__


def _sketch_settings(settings: Settings, *, most: int, growth: Growth | None, has_offset: bool) -> Settings:
    if settings["memory"] is not None:
        if not _is_auto(settings["head"]):
            raise InputError(
                f"head and memory exclude each other; got head={settings['head']!r:.40} and "
                f"memory={settings['memory']!r:.40}. Leave out one of them; head is 'auto' then."
            )
        settings["head"] = 1
    if _is_auto(settings["smoothing"]):
        settings["smoothing"] = (
            SMOOTHING_PER_HYPOTHESIS * (most if growth is None else growth.budget) if has_offset else 1.0
        )
    return settings if growth is None else _growing_settings(settings, most, growth)


def _growing_settings(settings: Settings, most: int, growth: Growth) -> Settings:
    """Settings for as many hypotheses as the budget allows, so that they stay the same while it grows."""
    if settings["order"] is not None:
        raise InputError(
            f"order must be None where hypotheses come and go (grow); got {settings['order']!r:.80}. Full "
            "order costs little up to a few hundred hypotheses."
        )
    if settings["keep"] == HEAVY:
        raise InputError(
            "keep must be 'newest' where hypotheses come and go (grow), which need the features of the "
            "examples in the head; got 'heavy'. Leave it out."
        )
    if settings["keep"] is None:
        settings["keep"] = NEWEST
    if settings["memory"] is not None or _is_auto(settings["head"]):
        wanted = ("keep", "memory", "head", "order", "tail", "correction")
        plan = plan_head(growth.budget, **{name: settings[name] for name in wanted})
        settings["head"], settings["memory"] = plan.head, None
    return settings


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"
