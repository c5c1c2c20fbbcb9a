"""What a classifier's parameters mean for its boosters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .committee import SETTINGS, Settings
from .errors import InputError
from .growth import Growth
from .keeping import HEAVY, NEWEST, what_is_kept

CAUTION = 10.0  # examples' worth of smoothing for each hypothesis, where there is an offset


def booster_settings(
    given: Mapping[str, Any], *, most: int, growth: Growth | None, has_offset: bool
) -> Settings:
    """The settings of a committee whose largest booster has ``most`` hypotheses.

    ``given`` has them by name, and "auto" where that is allowed. With ``memory`` the automatic head, which
    is the default, means nothing.
    """
    settings = {name: given[name] for name in SETTINGS}
    if settings["memory"] is not None:
        if not _is_auto(settings["head"]):
            raise InputError(
                f"head and memory exclude each other; got head={settings['head']!r:.40} and "
                f"memory={settings['memory']!r:.40}. Leave out one of them; head is 'auto' then."
            )
        settings["head"] = 1
    if _is_auto(settings["smoothing"]):
        settings["smoothing"] = CAUTION * (most if growth is None else growth.budget) if has_offset else 1.0
    return settings if growth is None else _growing(settings, most, growth)


def _growing(settings: Settings, most: int, growth: Growth) -> Settings:
    """Of as many hypotheses as the budget allows, so that they stay the same while it grows."""
    if settings["order"] is not None:
        raise InputError(
            f"order must be None where hypotheses come and go (grow); got {settings['order']!r:.80}. Full "
            "order costs little up to a few hundred hypotheses."
        )
    if most > growth.budget:
        raise InputError(
            f"grow must be at least the {most} hypotheses there are, as it is the most there may be in "
            f"all; got {growth.budget}. Try {most + (most + 1) // 2}."
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
        kept = what_is_kept(growth.budget, **{name: settings[name] for name in wanted})
        settings["head"], settings["memory"] = kept.head, None
    return settings


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"
