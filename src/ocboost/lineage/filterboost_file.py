"""A FilterBoost as parameters and arrays for a file, and back only if they make sense."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..classifier_file import classes_in, classes_out
from ..committee_file import is_plain, pair, plain
from ..errors import InputError
from ..filtering import EdgeTest
from ..hypotheses import Hypotheses, hypotheses_from_parts, hypotheses_parts
from ..learners.choose import NAMED
from ..rows import stacked
from ..storage import Arrays, require
from .filter_rounds import FOR_EVER, TRIES, FilterRounds
from .voters import Voters

KIND = "FilterBoost"
SETTINGS = ("n_hypotheses", "epsilon", "delta", "tau", "sample", "most_examples", "random_state")
_COUNTS = ("round", "calls", "waited", "taken", "tries", "n_seen", "n_positive", "n_accepted")
_MACHINE = {*_COUNTS, "seed", "rng", "shown", "reason", "hypotheses", "candidate", "test", "sample"}
MOST_TEXT = 1000
_SPARSE = ("data", "indices", "indptr")


def filterboost_parts(clf: Any) -> tuple[dict[str, Any], Arrays]:
    """What a file holds of a fitted FilterBoost."""
    clf.learner(), clf.settings()  # what `set_params` may have set must be something that can be loaded
    settings = {name: plain(getattr(clf, name)) for name in SETTINGS}
    if isinstance(clf.estimator, str) or clf.estimator is None:
        settings["estimator"] = clf.estimator
    names = getattr(clf, "feature_names_in_", None)
    arrays: Arrays = {}
    parameters = {
        "settings": settings,
        "classes": classes_out(clf.classes_),
        "features": [clf.n_features_in_, None if names is None else [str(name) for name in names]],
        "machines": [_machine_out(machine, f"{k}", arrays) for k, machine in enumerate(clf.machines_)],
        "ended": clf._ended,
    }
    return parameters, arrays


def filterboost_from_parts(
    parameters: dict[str, Any], arrays: Arrays, name: str, make: Any, estimator: Any = None
) -> Any:
    """A FilterBoost of what `filterboost_parts` gave; ``make`` is its class.

    ``estimator`` is one that the file does not hold.
    """
    known = {"settings", "classes", "features", "machines", "ended"}
    require(set(parameters) == known, name, f"a FilterBoost has the entries {', '.join(sorted(known))}")
    settings = parameters["settings"]
    fits = isinstance(settings, dict) and set(settings) - {"estimator"} == set(SETTINGS)
    require(fits and all(map(is_plain, settings.values())), name, "its settings are not known")
    if "estimator" in settings:
        own = settings["estimator"]
        require(own is None or own in NAMED, name, "its estimator is not known")
        estimator = own if estimator is None else estimator
    elif estimator is None:
        raise InputError(
            f"estimator must be given: {name} was made with one that is a Python object, which no file "
            "holds. Use FilterBoost.load(path, estimator=...)."
        )
    clf = make(estimator, **{key: settings[key] for key in SETTINGS})
    learner = clf.learner()
    try:
        clf.settings()
    except InputError:
        require(False, name, "its settings make no sense")
    classes = classes_in(parameters["classes"], name)
    n_features, names = pair(parameters["features"], name, "features")
    require(type(n_features) is int and 0 < n_features < 1 << 31, name, "its features are not known")
    if names is not None:
        usable = isinstance(names, list) and len(names) == n_features
        require(usable and all(isinstance(n, str) for n in names), name, "its feature names make no sense")
    described = parameters["machines"]
    n = 1 if len(classes) == 2 else len(classes)
    require(isinstance(described, list) and len(described) == n, name, "its state is missing")
    require(_is_text(parameters["ended"]), name, "its end is not known")
    arrays = dict(arrays)
    machines = [_machine_in(one, f"{k}", arrays, n_features, name) for k, one in enumerate(described)]
    require(not arrays, name, f"it holds unknown arrays: {', '.join(arrays)!s:.80}")
    for machine in machines:
        finite = all(learner.accepts_missing or not np.isnan(_values(X)).any() for X in machine.rows)
        require(finite, name, "its sample must be finite")
    clf.classes_, clf.machines_, clf._ended = classes, machines, parameters["ended"]
    clf.n_features_in_ = n_features
    if names is not None:
        clf.feature_names_in_ = np.array(names, dtype=object)
    return clf


def _machine_out(machine: FilterRounds, prefix: str, arrays: Arrays) -> dict[str, Any]:
    def put(what: str, own: Hypotheses | None) -> list[Any] | None:
        if own is None:
            return None
        described, held = hypotheses_parts(own)
        arrays.update({f"{prefix}/{what}/{key}": array for key, array in held.items()})
        return described

    state = machine.rng.bit_generator.state
    test, form = machine.test, None
    arrays[f"{prefix}/edges"] = np.array(machine.voters.edges, dtype=np.float64)
    if machine.rows:
        X = stacked(machine.rows)
        form = "dense" if isinstance(X, np.ndarray) else "sparse"
        own = {"X": X} if form == "dense" else {"data": X.data, "indices": X.indices, "indptr": X.indptr}
        arrays.update({f"{prefix}/sample/{key}": array for key, array in own.items()})
        arrays[f"{prefix}/labels"] = np.concatenate(machine.labels)
    return {
        **{key: getattr(machine, key) for key in _COUNTS},
        "seed": list(machine.seed),
        "rng": [state["state"]["state"], state["state"]["inc"], state["has_uint32"], state["uinteger"]],
        "shown": list(machine.shown),
        "reason": machine.reason,
        "hypotheses": put("hypotheses", machine.voters.hypotheses),
        "candidate": put("candidate", machine.candidate),
        "test": None if test is None else [test.n, test.right, test.tau, test.delta],
        "sample": form,
    }


def _machine_in(state: Any, prefix: str, arrays: Arrays, n_features: int, name: str) -> FilterRounds:
    require(isinstance(state, dict) and set(state) == _MACHINE, name, "its state is not known")

    def group(what: str) -> Arrays:
        start = f"{prefix}/{what}/"
        return {key[len(start) :]: arrays.pop(key) for key in list(arrays) if key.startswith(start)}

    def hypotheses(what: str) -> Hypotheses | None:
        if state[what] is None:
            return None
        kind, described = pair(state[what], name, what)
        require(isinstance(kind, str) and isinstance(described, dict), name, f"its {what} are not known")
        found = hypotheses_from_parts(kind, described, group(what), name)
        require(found.n_features == n_features, name, f"its {what} do not fit its features")
        return found

    counts = [state[key] for key in _COUNTS]
    require(all(type(c) is int and 0 <= c < FOR_EVER for c in counts), name, "its counts make no sense")
    possible = state["round"] >= 1 and state["n_accepted"] + state["waited"] <= state["n_seen"]
    possible = possible and state["taken"] <= state["calls"] <= state["n_accepted"]
    possible = possible and state["n_positive"] <= state["n_seen"]
    require(possible and state["tries"] <= TRIES, name, "its counts make no sense")
    seed, shown = pair(state["seed"], name, "seed"), pair(state["shown"], name, "classes shown")
    require(all(type(s) is int and 0 <= s < 1 << 31 for s in seed), name, "its seed makes no sense")
    require(all(type(flag) is bool for flag in shown), name, "its classes shown make no sense")
    require(_is_text(state["reason"]), name, "its end is not known")
    machine = FilterRounds(seed, shown)
    for key, count in zip(_COUNTS, counts, strict=True):
        setattr(machine, key, count)
    machine.reason = state["reason"]
    _set_generator(machine.rng, state["rng"], name)
    edges = arrays.pop(f"{prefix}/edges", np.empty((0, 0)))
    usable = edges.dtype == np.float64 and edges.ndim == 1 and bool((np.abs(edges) < 0.5).all())
    require(usable, name, "its edges must lie between -0.5 and 0.5")
    found = hypotheses("hypotheses")
    require(len(edges) == (0 if found is None else len(found)), name, "its edges do not fit its hypotheses")
    require(len(edges) < state["round"], name, "its rounds do not fit its hypotheses")
    machine.voters = Voters(found, tuple(edges.tolist()))
    machine.candidate = hypotheses("candidate")
    machine.test = _test_in(state["test"], name)
    both = (machine.candidate is None) == (machine.test is None)
    require(both, name, "a candidate and its test belong together")
    require(machine.candidate is None or len(machine.candidate) == 1, name, "there is one candidate at most")
    if machine.test is not None:
        require(machine.test.n == machine.taken, name, "its test does not fit its counts")
    if state["sample"] is not None:
        require(machine.test is None, name, "a sample must be gone when its hypothesis is tested")
        labels = arrays.pop(f"{prefix}/labels", np.empty((0, 0)))
        fits = labels.dtype == np.int8 and labels.ndim == 1 and bool(np.isin(labels, (-1, 1)).all())
        require(fits and 0 < len(labels) <= machine.taken, name, "its sample's labels must be -1 and +1")
        machine.labels = [labels]
        machine.rows = [_sample_in(state["sample"], group("sample"), len(labels), n_features, name)]
    return machine


def _sample_in(form: Any, arrays: Arrays, n: int, n_features: int, name: str) -> Any:
    keys = ("X",) if form == "dense" else _SPARSE
    require(form in ("dense", "sparse") and set(arrays) == set(keys), name, "its sample is not known")
    values = arrays[keys[0]]
    finite = values.dtype in (np.float32, np.float64) and not np.isinf(values).any()
    require(finite, name, "its sample must be finite")
    if form == "dense":
        require(values.shape == (n, n_features), name, "its sample does not fit its labels and features")
        return values
    from scipy.sparse import csr_matrix

    indices, indptr = arrays["indices"], arrays["indptr"]
    whole = all(array.dtype.kind == "i" and array.ndim == 1 for array in (indices, indptr))
    fits = whole and values.ndim == 1 and len(indices) == len(values) and len(indptr) == n + 1
    fits = fits and indptr[0] == 0 and indptr[-1] == len(values) and bool((np.diff(indptr) >= 0).all())
    fits = fits and bool(((indices >= 0) & (indices < n_features)).all())
    require(bool(fits), name, "its sample does not fit its labels and features")
    return csr_matrix((values, indices, indptr), shape=(n, n_features))


def _test_in(value: Any, name: str) -> EdgeTest | None:
    if value is None:
        return None
    fits = isinstance(value, list) and len(value) == 4
    fits = fits and all(type(count) is int and 0 <= count < FOR_EVER for count in value[:2])
    fits = fits and value[1] <= value[0] and all(type(number) is float for number in value[2:])
    require(fits, name, "its test is not known")
    try:
        test = EdgeTest(tau=value[2], delta=value[3])
    except InputError:
        require(False, name, "its test makes no sense")
    test.n, test.right = value[:2]
    require(not test.decided, name, "its test must not have ended")
    return test


def _set_generator(rng: np.random.Generator, value: Any, name: str) -> None:
    fits = isinstance(value, list) and len(value) == 4 and all(type(part) is int for part in value)
    fits = fits and all(0 <= part < 1 << bits for part, bits in zip(value, (128, 128, 1, 32), strict=True))
    require(fits and value[1] % 2 == 1, name, "its random numbers are not known")
    rng.bit_generator.state = {
        "bit_generator": "PCG64",
        "state": {"state": value[0], "inc": value[1]},
        "has_uint32": value[2],
        "uinteger": value[3],
    }


def _is_text(value: Any) -> bool:
    return value is None or (isinstance(value, str) and len(value) <= MOST_TEXT)


def _values(X: Any) -> Any:
    return X if isinstance(X, np.ndarray) else X.data
