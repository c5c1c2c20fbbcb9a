"""What lets a classifier grow, as parameters and arrays for a file, and back only if they make sense."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .committee import Committee
from .committee_file import pair
from .errors import InputError, NotSavableError
from .growth import Grower, Growth, Scout, learner_of
from .handover import LARGEST
from .hypotheses import Hypotheses, hypotheses_from_parts, hypotheses_parts
from .learners.choose import NAMED
from .recent_rows import RecentRows, matrix_from_parts, matrix_parts
from .rows import stacked
from .storage import Arrays, require

FIELDS = ("budget", "sample", "candidates", "test", "delta", "every", "learner")
COUNTS = ("since", "n_grown", "n_retired")


def growth_settings(growth: Growth | None, estimator: Any) -> list[Any] | None:
    """A `Growth` as a file has it."""
    if growth is None:
        return None
    if growth.learner is not None and not isinstance(growth.learner, str):
        raise _no_name()
    if growth.learner is None and not isinstance(estimator, str | Hypotheses | None):
        raise _no_name()
    return [getattr(growth, field) for field in FIELDS]


def _no_name() -> NotSavableError:
    return NotSavableError(
        "a classifier that grows can be saved if what learns its hypotheses has a name; this one is a Python "
        "object, which no file holds. Use grow=Growth(..., learner='stump'), or set_params(grow=None) first."
    )


def growth_from_settings(value: Any, name: str) -> Growth | None:
    """A `Growth` of what `growth_settings` gave."""
    if value is None:
        return None
    require(isinstance(value, list) and len(value) == len(FIELDS), name, "its growth is not known")
    settings = dict(zip(FIELDS, value, strict=True))
    learner = settings["learner"]
    require(
        learner is None or (isinstance(learner, str) and learner in NAMED), name, "its growth is not known"
    )
    numbers = all(type(settings[field]) in (int, float) for field in FIELDS[:-1])
    require(numbers, name, "its growth is not known")
    try:
        return Growth(**settings)
    except InputError as error:
        require(False, name, f"its growth makes no sense: {error}")
        raise


def grower_parts(grower: Grower) -> tuple[dict[str, Any], Arrays]:
    """What a file holds of a `Grower`, its settings aside."""
    arrays: Arrays = {}

    def put(prefix: str, given: Arrays) -> None:
        arrays.update({f"{prefix}/{key}": array for key, array in given.items()})

    recent, rows = grower.recent.parts()
    put("recent", rows)
    scouts = []
    for k, scout in enumerate(grower.scouts):
        own: Arrays = {"worth": scout.worth, "alpha": grower._alphas[k], "right": scout.right}
        if scout.sample:
            own.update(matrix_parts(stacked(scout.sample)))
        own["labels"] = np.array(scout.labels, np.int8)
        put(f"scout/{k}", own)
        described = None
        if scout.candidates is not None:
            described, members = hypotheses_parts(scout.candidates)
            put(f"candidates/{k}", members)
        scouts.append([scout.n_tested, described])
    parameters = {
        "recent": recent,
        "scouts": scouts,
        "counts": [grower._since, grower.n_grown, grower.n_retired],
        "luck": [_state_of(rng) for rng in (grower._filter, grower._luck)],
    }
    return parameters, arrays


def grower_from_parts(
    parameters: Any,
    arrays: Arrays,
    growth: Growth,
    estimator: Any,
    committee: Committee,
    name: str,
    n_classes: int,
) -> Grower:
    """A grower of what `grower_parts` gave; it goes on exactly as the saved one would have."""
    known = isinstance(parameters, dict) and set(parameters) == {"recent", "scouts", "counts", "luck"}
    require(known, name, "its growth is not known")
    n_features = committee.hypotheses.n_features
    groups: dict[str, Arrays] = {}
    for key, array in arrays.items():
        words = key.split("/")
        depth = 1 if words[0] == "recent" else 2
        groups.setdefault("/".join(words[:depth]), {})["/".join(words[depth:])] = array
    grower = Grower(growth, learner_of(growth, estimator), committee, 0)
    recent = RecentRows.from_parts(
        parameters["recent"], groups.pop("recent", {}), n_features, n_classes, name
    )
    if len(recent):
        _require_accepted(committee.hypotheses, recent.last(len(recent)).X, name)
    grower.recent = recent
    counts, luck, scouts = (parameters[key] for key in ("counts", "luck", "scouts"))
    fits = isinstance(counts, list) and len(counts) == len(COUNTS)
    require(fits and all(type(c) is int and 0 <= c < 1 << 60 for c in counts), name, "its counts do not fit")
    grower._since, grower.n_grown, grower.n_retired = counts
    enough = grower._since < growth.every and grower._since <= len(grower.recent)
    require(enough, name, "its counts do not fit")
    require(isinstance(luck, list) and len(luck) == 2, name, "its random state is not known")
    grower._filter, grower._luck = (_generator(one, name) for one in luck)
    n = len(committee.boosters)
    require(isinstance(scouts, list) and len(scouts) == n, name, "its scouts do not fit its classes")
    grower._alphas = []
    for k, (one, booster) in enumerate(zip(scouts, committee.boosters, strict=True)):
        fits = isinstance(one, list) and len(one) == 2 and type(one[0]) is int
        require(fits, name, "a scout is not known")
        own = groups.pop(f"scout/{k}", {})
        scout, alpha = _scout(
            one, own, groups.pop(f"candidates/{k}", {}), booster.n_hypotheses, n_features, name
        )
        require(0 <= scout.n_tested < growth.test, name, "a scout does not fit its growth")
        if scout.sample:
            _require_accepted(committee.hypotheses, stacked(scout.sample), name)
        grower.scouts[k] = scout
        grower._alphas.append(alpha)
    require(not groups, name, f"it holds unknown arrays: {', '.join(groups)!s:.80}")
    return grower


def _scout(
    described: list[Any], own: Arrays, members: Arrays, J: int, n_features: int, name: str
) -> tuple[Scout, NDArray[np.float64]]:
    scout = Scout(J)
    for key in ("worth", "alpha"):
        fits = key in own and own[key].dtype == np.float64 and own[key].shape == (J,)
        require(fits and bool((np.abs(own[key]) < LARGEST).all()), name, f"a scout's {key} does not fit")
    scout.worth, alpha = own.pop("worth"), own.pop("alpha")
    require(bool((scout.worth >= 0.0).all()), name, "a scout's worth does not fit")
    labels, right = own.pop("labels", np.empty(0)), own.pop("right", np.empty(0))
    fits = labels.dtype == np.int8 and labels.ndim == 1 and bool(np.isin(labels, (-1, 1)).all())
    require(fits, name, "a scout's labels do not fit")
    scout.labels = labels.tolist()
    if scout.labels:
        X = matrix_from_parts(own, len(scout.labels), n_features, name)
        scout.sample = [X[i : i + 1] for i in range(len(scout.labels))]
    else:
        require(not own, name, "a scout's rows do not fit")
    scout.n_tested, candidates = described
    if candidates is None:
        require(not members, name, "a scout's candidates are not known")
    else:
        kind, parameters = pair(candidates, name, "candidates")
        require(isinstance(kind, str) and isinstance(parameters, dict), name, "its candidates are not known")
        scout.candidates = hypotheses_from_parts(kind, parameters, members, name)
        require(scout.candidates.n_features == n_features, name, "a scout's candidates do not fit")
    size = 0 if scout.candidates is None else len(scout.candidates)
    fits = right.dtype == np.int64 and right.shape == (size,) and (size > 0 or scout.n_tested == 0)
    fits = fits and bool(((right >= 0) & (right <= scout.n_tested)).all())
    require(fits, name, "a scout's test does not fit")
    scout.right = right
    return scout, alpha


def _require_accepted(hypotheses: Hypotheses, rows: Any, name: str) -> None:
    try:
        hypotheses.check(rows)
    except InputError as error:
        require(False, name, f"its rows are not for its hypotheses: {error}")


def _state_of(rng: np.random.Generator) -> list[Any]:
    state: dict[str, Any] = dict(rng.bit_generator.state)
    inner = state["state"]
    return [f"{inner['state']:x}", f"{inner['inc']:x}", int(state["has_uint32"]), int(state["uinteger"])]


def _generator(value: Any, name: str) -> np.random.Generator:
    what = "its random state is not known"
    require(isinstance(value, list) and len(value) == 4, name, what)
    words, numbers = value[:2], value[2:]
    fits = all(isinstance(w, str) and 0 < len(w) <= 32 and set(w) <= set("0123456789abcdef") for w in words)
    fits = (
        fits and all(type(n) is int for n in numbers) and numbers[0] in (0, 1) and 0 <= numbers[1] < 1 << 32
    )
    require(fits, name, what)
    bits = np.random.PCG64()
    bits.state = {
        "bit_generator": "PCG64",
        "state": {"state": int(words[0], 16), "inc": int(words[1], 16) | 1},
        "has_uint32": numbers[0],
        "uinteger": numbers[1],
    }
    return np.random.Generator(bits)
