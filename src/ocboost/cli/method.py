"""What ``--method`` means for a model: its class, and the parameters of its classifier."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from ocboost.cli.options import UsageError
from ocboost.errors import InputError

if TYPE_CHECKING:
    from ocboost.boosters.registry import Registered
    from ocboost.cli.options import MethodOptions
    from ocboost.estimators.classifier import OCBClassifier

ADAPTIVE = "adaptive"  # the default of fit
GROWING = "growing"  # as in growing-forgetting: like ocb-forgetting, with hypotheses that come and go


def makes_adaptive(options: MethodOptions, learner: str = "stump") -> bool:
    """Whether these options make an AdaptiveClassifier, and not an OCBClassifier."""
    given = options.words()
    others = [*given, *(["--learner ball"] if learner == "ball" else [])]
    if options.method is None:
        return not others
    if options.method == ADAPTIVE and others:
        raise UsageError(
            f"--method {ADAPTIVE} chooses for itself, and does not go with {', '.join(others)}. Leave that "
            "out, or give --method ocb."
        )
    return options.method == ADAPTIVE


def parameters_to_fit(method: str, settings: dict[str, Any], hypotheses: int) -> dict[str, Any]:
    """The parameters of a new classifier: those of a method, and the settings that were given with it."""
    from ocboost.boosters.registry import BOOSTERS
    from ocboost.boosters.sketch.sketch import BoostingSketch

    registered, grows = booster_of(method)
    kind = registered.load()
    if kind is not BoostingSketch:
        settings = _require_no_sketch_settings(
            settings, f"are those of --method ocb, and have no meaning for --method {method}"
        )
        own = registered.name in BOOSTERS
        parameters: dict[str, Any] = {"booster": registered.name if own else kind(1, **registered.settings)}
    else:
        parameters = {"booster": "ocb", **registered.settings}
        others = _sketch_settings(settings)
        if registered.settings and others:
            raise UsageError(
                f"--method {method} says what is remembered, and so do the options for {others}. "
                "Leave out one of them; --method ocb takes them all."
            )
    if "grow" in settings and not kind.can_grow:
        raise UsageError(
            f"--grow has no meaning for --method {method}, which cannot take in new hypotheses. Leave it out."
        )
    if grows and "grow" not in settings:
        parameters["grow"] = hypotheses * 3 // 2
    return {**parameters, **settings}


def parameters_to_adapt(method: str | None, settings: dict[str, Any], clf: OCBClassifier) -> dict[str, Any]:
    """The parameters to change in a fitted classifier; a method other than its own is an error."""
    from ocboost.boosters.registry import BY_CLASS
    from ocboost.boosters.sketch.sketch import BoostingSketch

    kind = clf.committee_.kind
    own_method = BY_CLASS[kind.kind].name
    if method is None:
        if kind is not BoostingSketch:
            settings = _require_no_sketch_settings(
                settings, f"are those of --method ocb, and the model's method is {own_method}"
            )
        return settings
    registered = None if method == ADAPTIVE else booster_of(method)[0]
    if registered is None or registered.load() is not kind:
        raise InputError(
            f"--method must be the model's own, {own_method}, or be left out; got {method}. One method "
            "cannot continue what another has learnt: fit a new model with --method."
        )
    largest = max(booster.n_hypotheses for booster in clf.boosters_)
    parameters = parameters_to_fit(method, settings, largest)
    del parameters["booster"]
    if (
        kind is not BoostingSketch
        and kind(1, **registered.settings).given_settings != clf.committee_.settings
    ):
        raise InputError(
            f"--method {method} has other settings than the model, which cannot change: fit a new model, or "
            "leave --method out."
        )
    return parameters


def booster_of(method: str) -> tuple[Registered, bool]:
    """The booster of a method, and whether its hypotheses come and go; any other name is an error."""
    from ocboost.boosters.registry import BOOSTERS
    from ocboost.evaluation.methods import METHODS, booster_named

    growing = {f"{GROWING}{name.removeprefix('ocb')}": name for name in BOOSTERS if name.startswith("ocb")}
    booster = booster_named(growing.get(method, method))
    if booster is not None:
        return booster, method in growing
    names = [ADAPTIVE, *BOOSTERS, *growing]
    found = METHODS.get(method)
    if found is not None and found.deployable and found.kind == "features":
        raise UsageError(
            f"--method {method} finds hypotheses of its own, and is no model of the command line: it is "
            f"ocboost.lineage's, in Python. Models can have {', '.join(names)}."
        )
    if method == "static":
        raise UsageError("--method static is a model as it was fitted: fit one, and do not adapt it.")
    if found is not None:
        raise UsageError(
            f"--method {method} is for comparison only: it cannot be kept in a model's file, or is no model. "
            f"Models can have {', '.join(names)}."
        )
    close = get_close_matches(method.lower(), names, 1)
    hint = f" Did you mean {close[0]}?" if close else ""
    raise UsageError(f"--method must be one of {', '.join(names)}; got {method!r:.40}.{hint}")


def _sketch_settings(settings: dict[str, Any]) -> str:
    """The names of the settings that only ocb has."""
    return ", ".join(sorted(set(settings) - {"grow"}))


def _require_no_sketch_settings(settings: dict[str, Any], why: str) -> dict[str, Any]:
    """Refuse settings that only ocb has, and drop what --grow says of the examples that it keeps."""
    settings = {name: value for name, value in settings.items() if name != "keep" or value is not None}
    others = _sketch_settings(settings)
    if others:
        raise UsageError(f"the options for {others} {why}. Leave them out.")
    return settings
