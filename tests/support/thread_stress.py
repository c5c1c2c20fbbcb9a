"""Readers and a writer on one object: what the readers may see, and whether the writer is disturbed.

A `Subject` is an object, the steps in which it learns, and the ways to read it. `expected` goes through the
steps alone and notes what each way of reading gives after each of them. `trial` lets threads read all the
time while one goes through the steps: every read must be one of those values, and the end the same to the
last bit.
A sketch may also show an α that a long fold published; the run alone notes those as well.
"""

from __future__ import annotations

import copy
import hashlib
import pickle
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import ocboost
from ocboost.boosters.sketch import fold as folding

with suppress(ImportError):  # versions before it had none: they fail otherwise
    from ocboost._core import locks as guard


@dataclass
class Subject:
    """An object, how it learns, and how it can be read."""

    name: str
    make: Callable[[], Any]
    steps: list[Callable[[Any], Any]]
    reads: dict[str, Callable[[Any], Any]]
    state: Callable[[Any], bytes]  # all of it
    folds: Callable[[Any], dict[str, Any]] = lambda view: {}  # what reads give of a view that was published


@dataclass
class Expected:
    """What a run alone shows."""

    values: dict[str, set[bytes]] = field(default_factory=dict)
    end: bytes = b""


def digest(value: Any) -> bytes:
    """What was read, as few bytes that tell it from anything else."""
    if isinstance(value, bytes):
        return hashlib.blake2b(value, digest_size=16).digest()
    if isinstance(value, list | tuple):
        return hashlib.blake2b(b"".join(digest(each) for each in value), digest_size=16).digest()
    if isinstance(value, np.ndarray):
        return digest(str((value.shape, value.dtype)).encode() + value.tobytes())
    return digest(repr(value).encode())


@contextmanager
def published(found: list[Any]) -> Iterator[None]:
    """Note every view that is published."""
    if "guard" not in globals():
        yield
        return
    original = guard.Guard.publish

    def noting(self: Any, view: Any) -> None:
        found.append(view)
        original(self, view)

    guard.Guard.publish = noting  # type: ignore[method-assign]
    try:
        yield
    finally:
        guard.Guard.publish = original  # type: ignore[method-assign]


def expected(subject: Subject) -> Expected:
    """Go through the steps alone."""
    thing, result, views = subject.make(), Expected(), []
    values = {name: {digest(read(thing))} for name, read in subject.reads.items()}
    for step in subject.steps:
        with published(views):
            step(thing)
        for name, read in subject.reads.items():
            values[name].add(digest(read(thing)))
    for view in views:
        for name, value in subject.folds(view).items():
            values[name].add(digest(value))
    result.values, result.end = values, subject.state(thing)
    # Reading changes nothing: without it the end is the same.
    unread = subject.make()
    for step in subject.steps:
        step(unread)
    assert subject.state(unread) == result.end
    return result


def trial(subject: Subject, alone: Expected, *, n_readers: int = 3, seed: int = 0) -> list[str]:
    """One run with readers; what was wrong, if anything."""
    thing, faults, done = subject.make(), [], threading.Event()
    begun = threading.Barrier(n_readers + 1)

    def reader(number: int) -> None:
        rng, names = np.random.default_rng([seed, number]), list(subject.reads)
        begun.wait()
        n, last = 0, False
        while not last:
            last = done.is_set() and n >= 3
            name = names[rng.integers(len(names))]
            try:
                if digest(subject.reads[name](thing)) not in alone.values[name]:
                    faults.append(f"{subject.name}: {name} is of no state")
            except Exception as error:
                faults.append(f"{subject.name}: {name} raised {error!r:.200}")
            n += 1

    threads = [threading.Thread(target=reader, args=(k,)) for k in range(n_readers)]
    for thread in threads:
        thread.start()
    begun.wait()
    try:
        for step in subject.steps:
            step(thing)
    except Exception as error:
        faults.append(f"{subject.name}: learning raised {error!r:.200}")
    finally:
        done.set()
    for thread in threads:
        thread.join()
    if subject.state(thing) != alone.end:
        faults.append(f"{subject.name}: learnt something else than alone")
    return faults


@contextmanager
def switching(interval: float | None) -> Iterator[None]:
    """Let threads take turns so often."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(before if interval is None else interval)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


@contextmanager
def short_folds_are_long() -> Iterator[None]:
    """Treat every fold of more than one example as a long one."""
    name = "LONG" if hasattr(folding, "LONG") else "WORTH_SHARING"
    before = getattr(folding, name)
    setattr(folding, name, 0)
    try:
        yield
    finally:
        setattr(folding, name, before)


# What can be read ------------------------------------------------------------------------------------------


def saved(thing: Any) -> bytes:
    """The bytes of its file."""
    with tempfile.TemporaryDirectory() as folder:
        thing.save(Path(folder) / "state")
        return (Path(folder) / "state").read_bytes()


def of_booster(booster: Any) -> dict[str, Callable[[Any], Any]]:
    """Every way to read a booster."""
    reads: dict[str, Callable[[Any], Any]] = {
        "alpha": lambda b: b.alpha,
        "repr": repr,
        "copy": lambda b: copy.copy(b).alpha,
        "deepcopy": lambda b: copy.deepcopy(b).alpha,
        "pickle": lambda b: pickle.loads(pickle.dumps(b)).alpha,
    }
    if hasattr(booster, "save"):
        reads["save"] = saved
    if hasattr(booster, "nbytes"):
        reads["nbytes"] = lambda b: b.nbytes
    if hasattr(booster, "head_margins"):
        reads["head_margins"] = lambda b: b.head_margins
    if getattr(booster, "keep", None) == "heavy":
        reads["remade"] = lambda b: b.remade(keep="newest", head=9).alpha
        reads["without"] = lambda b: b.without([1]).alpha
    return reads


def of_classifier(X: Any, *, saves: bool = True, explains: bool = True) -> dict[str, Callable[[Any], Any]]:
    """Every way to read a classifier."""
    reads: dict[str, Callable[[Any], Any]] = {
        "predict": lambda c: c.predict(X),
        "predict_proba": lambda c: c.predict_proba(X),
        "decision_function": lambda c: c.decision_function(X),
        "predict_one": lambda c: c.predict_one(X[0]),
        "predict_proba_one": lambda c: c.predict_proba_one(X[0]),
        "alpha_": lambda c: c.alpha_,
        "repr": repr,
        "copy": lambda c: copy.copy(c).decision_function(X),
        "deepcopy": lambda c: copy.deepcopy(c).decision_function(X),
        "pickle": lambda c: pickle.loads(pickle.dumps(c)).decision_function(X),
    }
    if saves:
        reads["save"] = saved
    if explains:
        reads["explain"] = lambda c: c.explain(X[:2], 3)
        reads["weight_changes"] = lambda c: c.weight_changes(5)
        reads["feature_importances_"] = lambda c: c.feature_importances_
    return reads


# The subjects ----------------------------------------------------------------------------------------------


@cache
def margins(J: int, n: int, seed: int = 0) -> Any:
    """Independent columns of margins."""
    rng = np.random.default_rng([seed, J])
    return np.where(rng.random((n, J)) < rng.uniform(0.4, 0.8, J), 1, -1).astype(np.int8)


def booster_subject(
    name: str, make: Callable[[], Any], J: int, *, n: int = 240, size: int = 8, batch_size: int = 1
) -> Subject:
    """A booster that takes rows a few at a time."""
    rows = margins(J, n)
    given = {} if batch_size == 1 else {"batch_size": batch_size}
    steps = [(lambda b, part=rows[at : at + size]: b.update_many(part, **given)) for at in range(0, n, size)]
    made = make()
    state = saved if hasattr(made, "save") else lambda b: pickle.dumps(b.alpha)
    return Subject(name, make, steps, of_booster(made), state, alpha_of)


def alpha_of(view: Any) -> dict[str, Any]:
    """What a sketch shows while it folds."""
    return {"alpha": view[0]}


def votes_of(X: Any, classes: Any) -> Callable[[Any], dict[str, Any]]:
    """What a classifier shows while its only sketch folds."""
    from ocboost.estimators.committee import probabilities
    from tests.support.explained_views import explained_with

    def shown(view: Any) -> dict[str, Any]:
        if not hasattr(view, "votes"):
            return {}
        votes = view.votes(X)
        return {
            "decision_function": votes,
            "predict_proba": probabilities(votes),
            "predict": classes[view.predict(X)],
            "predict_one": classes[view.predict(X)].tolist()[0],
            "predict_proba_one": probabilities(votes)[0],
            "alpha_": view.alphas,
            **explained_with(view, X, classes),
        }

    return shown


@cache
def rows(n: int, K: int, seed: int = 0) -> Any:
    """Features and labels of K classes, which turn half-way."""
    rng = np.random.default_rng([seed, K])
    X = rng.normal(size=(n, 4)).round(2)
    score = np.where(np.arange(n) < n // 2, X[:, 0] + 0.5 * X[:, 1], X[:, 1] - X[:, 2])
    score += 0.3 * rng.normal(size=n)
    return X, np.digitize(score, np.quantile(score, np.arange(1, K) / K))


def classifier_subject(name: str, make: Callable[[], Any], K: int = 2, **options: Any) -> Subject:
    """A classifier that has been fitted on 60 rows and takes a few at a time."""
    X, y = rows(180, K)
    steps = [(lambda c, i=i: c.partial_fit(X[i : i + 6], y[i : i + 6])) for i in range(60, 180, 6)]
    if options.pop("one_by_one", False):
        steps = [(lambda c, i=i: c.learn_one(X[i].tolist(), y[i].item(), 0.5)) for i in range(60, 120)]
    if options.pop("refit", True):
        steps.insert(10, lambda c: c.fit(X[40:100], y[40:100]))
    saves, explains = options.pop("saves", True), options.pop("explains", True)
    state = saved if saves else lambda c: pickle.dumps([c.decision_function(X), c.alpha_])
    folds = votes_of(X[:9], np.arange(K))
    return Subject(name, make, steps, of_classifier(X[:9], saves=saves, explains=explains), state, folds)


def sketches() -> Iterator[Subject]:
    """Boosting sketches of every kind."""
    for name, J, options in (
        ("head 1", 20, {}),
        ("head 20", 20, {"head": 20}),
        ("head 100, forgetting", 24, {"head": 100, "forgetting": 0.99}),
        ("order 3, own", 16, {"head": 30, "order": 3, "correction": "own"}),
        ("window", 20, {"head": 50, "tail": False}),
        ("automatic head", 30, {"head": "auto"}),
        ("heavy", 20, {"head": 50, "keep": "heavy"}),
        ("heavy, no pairs", 30, {"memory": 4000, "keep": "heavy", "forgetting": 0.99}),
    ):
        yield booster_subject(f"sketch, {name}", lambda J=J, o=options: ocboost.BoostingSketch(J, **o), J)


def boosters() -> Iterator[Subject]:
    """All other boosters."""
    from ocboost import lineage

    J = 15
    yield booster_subject("OzaRussell", lambda: ocboost.OzaRussell(J), J)
    yield booster_subject("IncrementalAdaBoost", lambda: ocboost.IncrementalAdaBoost(J), J)
    yield booster_subject("Winnow", lambda: lineage.Winnow(J), J)
    yield booster_subject("EGPlusMinus", lambda: lineage.EGPlusMinus(J), J)
    yield booster_subject("HuangBooster", lambda: lineage.HuangBooster(J, window=40), J)
    yield booster_subject("OnlineLogistic", lambda: lineage.OnlineLogistic(J), J, n=64)
    yield booster_subject("Perceptron", lambda: lineage.Perceptron(J), J, n=64)
    yield booster_subject("PassiveAggressive", lambda: lineage.PassiveAggressive(J), J, n=64)


def classifiers() -> Iterator[Subject]:
    """Classifiers, the model around one, and River's twin."""
    from sklearn.ensemble import AdaBoostClassifier

    from ocboost import Model, OCBClassifier
    from ocboost.lineage import FilterBoost, OzaRussellClassifier

    def fitted(K: int = 2, **options: Any) -> Any:
        X, y = rows(180, K)
        return OCBClassifier(n_hypotheses=12, random_state=0, **options).fit(X[:60], y[:60])

    def adopted(K: int) -> Any:
        X, y = rows(180, K)
        deployed = AdaBoostClassifier(n_estimators=8, random_state=0).fit(X[:60], y[:60])
        return OCBClassifier.from_fitted(deployed, X[:60], y[:60])

    yield classifier_subject("classifier", lambda: fitted(head=20))
    yield classifier_subject("classifier, 3 classes", lambda: fitted(3, head=20, forgetting=0.99), 3)
    yield classifier_subject("classifier, window", lambda: fitted(head=30, tail=False))
    yield classifier_subject("classifier, growing", lambda: fitted(grow=16, head=40), refit=False)
    yield classifier_subject("classifier, growing, 3 classes", lambda: fitted(3, grow=14, head=40), 3)
    yield classifier_subject("classifier, adopted", lambda: adopted(2), refit=False)
    yield classifier_subject("classifier, adopted, 3 classes", lambda: adopted(3), 3, refit=False)
    for name, K in (("oza", 3), ("winnow", 2), ("logistic", 3), ("huang", 2)):
        yield classifier_subject(
            f"classifier, {name}, {K} classes", lambda n=name, K=K: fitted(K, booster=n), K, one_by_one=K == 2
        )
    yield classifier_subject("classifier, one by one", lambda: fitted(head=20), one_by_one=True)
    offset = ocboost.offsets.LinearOffset([0.5, 0.1, 0.0, 0.0], 0.1)
    yield classifier_subject("classifier, offset", lambda: fitted(offset=offset, head=20))

    X, y = rows(180, 2)
    yield Subject(
        "Model",
        lambda: Model(fitted(head=20)),
        [(lambda m, i=i: m.classifier.partial_fit(X[i : i + 6], y[i : i + 6])) for i in range(60, 180, 6)],
        {"repr": repr, "save": saved, "predict": lambda m: m.classifier.predict(X[:9])},
        saved,
        lambda view: {"predict": view.predict(X[:9])} if hasattr(view, "votes") else {},
    )
    oza = OzaRussellClassifier(n_estimators=3, random_state=0)
    yield classifier_subject(
        "OzaRussellClassifier",
        lambda: copy.deepcopy(oza).fit(X[:60], y[:60]),
        saves=False,
        explains=False,
    )
    boost = FilterBoost(n_hypotheses=5, sample=20, tau=0.9, delta=0.5, random_state=0)
    yield classifier_subject(
        "FilterBoost", lambda: copy.deepcopy(boost).partial_fit(X[:60], y[:60]), explains=False
    )


def river_twin() -> Iterator[Subject]:
    """River's classifier; labels that come late among what it learns."""
    from ocboost.river import OCBClassifier

    X, y = rows(180, 3)
    examples = [(dict(enumerate(x)), int(label)) for x, label in zip(X.tolist(), y.tolist(), strict=True)]
    first = [(x, label) for x, label in examples if label < 2]
    stream = first[:60] + examples[60:140]
    asked = [x for x, _ in examples[:3]]

    def answers(model: Any) -> Any:
        return [sorted(model.predict_proba_one(x).items()) for x in asked]

    def shown(view: Any) -> Any:
        stand_in = OCBClassifier()
        stand_in._guard._present = view
        return answers(stand_in)[0]

    yield Subject(
        "River's twin",
        lambda: OCBClassifier(n_hypotheses=8, grace_period=30, head=20, seed=0),
        [(lambda m, x=x, label=label: m.learn_one(x, label)) for x, label in stream],
        {
            "predict_proba_one": lambda m: answers(m)[0],
            "deepcopy": lambda m: answers(copy.deepcopy(m)),
            "pickle": lambda m: answers(pickle.loads(pickle.dumps(m))),
        },
        lambda m: digest(answers(m)),
        lambda view: {"predict_proba_one": shown(view)} if hasattr(view, "frequencies") else {},
    )


def subjects() -> Iterator[Subject]:
    """Every public object that learns."""
    from tests.support.adaptive_threads import adaptive
    from tests.support.cascade_threads import cascades

    yield from sketches()
    yield from boosters()
    yield from classifiers()
    yield from adaptive()
    yield from river_twin()
    yield from cascades()


def freshly_loaded() -> Subject:
    """A sketch that was just read from a file: nobody has solved for α yet, and nobody learns."""
    J = 30

    @cache  # not made before it is needed, as whatever is made while tests are collected
    def data() -> bytes:
        sketch = ocboost.BoostingSketch(J, head=200)
        sketch.update_many(margins(J, 1000))
        return saved(sketch)

    def load() -> Any:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "state").write_bytes(data())
            return ocboost.BoostingSketch.load(Path(folder) / "state")

    return Subject("sketch, freshly loaded", load, [], of_booster(ocboost.BoostingSketch(J, head=200)), saved)


def really_long_folds() -> Iterator[Subject]:
    """Folds that take milliseconds, in rows of one call and one by one."""
    J = 200
    yield booster_subject(
        "sketch, long folds",
        lambda: ocboost.BoostingSketch(J, head=12_000),
        J,
        n=36_000,
        size=1_500,
    )
    yield booster_subject(
        "sketch, large batches", lambda: ocboost.BoostingSketch(J), J, n=12_000, size=3_000, batch_size=3_000
    )
