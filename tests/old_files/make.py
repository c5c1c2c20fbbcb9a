"""A small file of everything that ocboost saves, as it wrote them in format version 1.

The files of ``version_1/`` and ``version_1/after.json`` were written at revision 95c68f7, whose files are the
last of version 1::

    git worktree add /tmp/before 95c68f7
    PYTHONPATH=/tmp/before/src python tests/old_files/make.py

`MODELS` makes them, `after` says what becomes of one that goes on: the tests ask the files that they load.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier

from ocboost import BoostingSketch, Growth, Model, OCBClassifier, OzaRussell, lineage
from ocboost._core import file_format
from ocboost.deployment.adaptation import Adaptation
from ocboost.hypotheses import Balls, Boxes, CascadeStumps, Joined, Stumps, Trees
from ocboost.lineage import FilterBoost
from ocboost.offsets import LinearOffset, ScaledOffset, VotedOffset
from ocboost.streams import Batch, Column, Schema

HERE = Path(__file__).parent
FOLDER = HERE / "version_1"
with np.load(HERE / "rows.npz") as _rows:
    MARGINS, X, CODES = _rows["margins"], _rows["X"], _rows["y"]
TWO, THREE = np.minimum(CODES, 1), CODES
NAMES = np.array(["no", "perhaps", "yes — ähem"])
BEGIN, MORE = slice(0, 90), slice(90, 200)
QUICK = {"budget": 7, "sample": 9, "candidates": 3, "test": 6, "delta": 0.6, "every": 4}

STUMPS = Stumps([0, 1, 3], [0.0, 0.3, np.inf], [1, -1, 1], [1, 1, -1], n_features=4)
BALLS = Balls(np.eye(4)[:2], [1.0, 0.8], [1, -1])
TREES = Trees(
    root=[0, 3],
    feature=[0, -1, -1, 2, -1, -1],
    threshold=[0.1, 0.0, 0.0, -0.4, 0.0, 0.0],
    left=[1, -1, -1, 4, -1, -1],
    right=[2, -1, -1, 5, -1, -1],
    answer=[1, 1, -1, 1, -1, 1],
    missing_left=[1, 0, 0, 0, 0, 0],
    n_features=4,
)
RECTS = [
    [[0, 0, 1, 2], [1, 0, 1, 2], [0, 0, 0, 0], [0, 0, 0, 0]],
    [[0, 0, 2, 1], [0, 1, 2, 1]] + [[0] * 4] * 2,
]
BOXES = Boxes(RECTS, [[1, -1, 0, 0], [1, -2, 0, 0]], [0.0, 0.2], [1, -1], side=2)


def learnt(booster, n=150):
    """A booster that has taken in the first margins."""
    booster.update_many(MARGINS[:n], sample_weight=np.linspace(0.5, 2.0, n), batch_size=4)
    return booster


def sketch(**given):
    return learnt(BoostingSketch(12, **given))


def decayed():
    booster = BoostingSketch(12, head=9, keep="newest")
    booster.decay(0.3)
    return booster


def classifier(y=TWO, *, rows=X, estimator=None, **given):
    clf = OCBClassifier(estimator, **{"n_hypotheses": 5, "random_state": 0, **given})
    return clf.fit(rows[:60], y[:60]).partial_fit(rows[60:90], y[60:90])


def grown(y=TWO, *, rows=X, until="sampled", **given):
    """One that grows, at the first point after row 200 where it collects rows or tests candidates."""
    given = {"head": 20, "forgetting": 0.97, **given}
    clf = classifier(y, rows=rows, grow=Growth(**QUICK, learner=given.pop("learner", None)), **given)
    for i in range(90, 400):
        clf.partial_fit(rows[i : i + 1], y[i : i + 1])
        tested = any(scout.n_tested for scout in clf.grower_.searches)
        sampled = not tested and all(scout.labels for scout in clf.grower_.searches)
        if i > 200 and clf.n_grown_ and {"sampled": sampled, "tested": tested}[until]:
            return clf
    raise AssertionError(until)


def waiting(**settings):
    return classifier().set_params(**settings)


def without_growth():
    clf = grown()
    clf.set_params(grow=None)
    return clf


def deployed(y, **given):
    model = AdaBoostClassifier(n_estimators=4, random_state=0).fit(X[:60], y[:60])
    clf = OCBClassifier.from_fitted(model, X[:60], y[:60], **{"head": 20, **given})
    return clf.partial_fit(X[60:90], y[60:90])


def into_a_window():
    """Heavy examples first, then a window: it fills while the weights before fade."""
    clf = classifier(head=30, keep="heavy")
    clf.partial_fit(X[90:150], TWO[90:150]).set_params(tail=False, head=15, keep="newest")
    return clf.partial_fit(X[150:155], TWO[150:155])


def on_top(offset, y=TWO, **given):
    clf = OCBClassifier.from_offset(offset, STUMPS, classes=np.unique(y), **{"head": 20, **given})
    return clf.partial_fit(X[BEGIN], y[BEGIN])


LINEAR = LinearOffset([0.4, -0.2, 0.0, 0.1], 0.05)
LINEAR_3 = LinearOffset(
    [[0.4, -0.2, 0.0, 0.1], [0.0, 0.1, 0.2, 0.0], [-0.1, 0.0, 0.0, 0.3]], [0.1, 0.0, -0.1]
)
VOTED = VotedOffset(Joined([STUMPS, BALLS]), [0.3, -0.1, 0.2, 0.1, 0.05], 0.1)


def given_offset(rows):
    return 0.3 * rows[:, 0]


def frame(rows):
    import pandas

    return pandas.DataFrame(rows, columns=["a", "b", "c", "ü"])


def named():
    clf = OCBClassifier(n_hypotheses=5, random_state=0, batch_size=3, n_jobs=2, order=2, keep="newest")
    return clf.fit(frame(X[:60]), NAMES[THREE[:60]])


SCHEMA = Schema((Column("a"), Column("kind", "category", ("x", "y ü")), Column("d")), "label", "integer")
HISTORY = [
    {"event": "fit", "stream": "train.csv", "rows": 60},
    {"event": "adapt", "rows": 30, "accuracy": 0.5},
]


def model(**given):
    return Model(classifier(**given), SCHEMA, HISTORY)


def adaptation(**given):
    made = Adaptation(
        model(**given), {"model": "m", "stream": {"bytes": 3}, "settings": {"head": 5}}, first=7
    )
    made.take(Batch(X[90:130], TWO[90:130], np.arange(40) % 5 != 0, 7), 4)
    return made


def finished():
    made = adaptation()
    made.finish("s.csv", {"end": 47, "coverage": {"bytes": 9}, "place": "s.csv", "before": None})
    return made


def filterboost(stage, y=TWO, *, rows=X, estimator=None, **given):
    """A FilterBoost at this point of its way; the classes are the sign of the first feature, nearly."""
    clf = FilterBoost(estimator, **{"sample": 12, "tau": 1.0, "random_state": 0, **given})
    for i in range(0, 900, 3):
        clf.partial_fit(rows[i : i + 3], y[i : i + 3], np.unique(y))
        machine = clf.boosters_[0]
        if {
            "first": i > 3,
            "collecting": len(machine.voters) == 1 and len(machine.rows) > 1,
            "testing": len(machine.voters) == 1 and machine.test is not None and machine.test.n > 5,
            "ended": clf.stopped_ is not None,
        }[stage]:
            return clf
    raise AssertionError(stage)


EASY = (X[:, 0] > 0.0).astype(np.int64)
EASY_3 = np.digitize(X[:, 0], [-0.5, 0.5])
SPARSE = csr_matrix(np.where(np.abs(X) < 0.6, 0.0, X))

HYPOTHESES = {
    "stumps": lambda: STUMPS,
    "single stumps": lambda: Stumps([0, 1], [0.25, 0.5], [1, -1], precision="single"),
    "trees": lambda: TREES,
    "balls": lambda: BALLS,
    "boxes": lambda: BOXES,
    "cascade stumps": lambda: CascadeStumps(
        np.array([[[0, 0, 4, 2], [1, 0, 2, 2], [0, 0, 0, 0]]], np.int32),
        np.array([[-1.0, 2.0, 0.0]], np.float32),
        np.array([0.125], np.float32),
        np.array([False]),
        width=5,
        height=5,
    ),
    "joined": lambda: Joined([STUMPS, TREES, BALLS]),
}
BOOSTERS = {
    "sketch paper": lambda: sketch(head=1, keep="newest"),
    "sketch newest": lambda: sketch(head=40, keep="newest", forgetting=0.99, smoothing=0.2),
    "sketch window": lambda: sketch(head=30, tail=False, keep="newest"),
    "sketch band": lambda: sketch(head=5, order=3, correction="theorem", keep="newest"),
    "sketch decayed": decayed,
    "sketch heavy": lambda: sketch(head=40, keep="heavy", forgetting=0.999),
    "sketch heavy memory": lambda: sketch(memory=1_500, keep="heavy"),
    "sketch heavy unfolded": lambda: sketch(head=500, keep="heavy"),
    "sketch without": lambda: sketch(head=20, keep="newest").without([0, 3]),
    "oza": lambda: learnt(OzaRussell(12, smoothing=0.5, forgetting=0.99)),
    "winnow": lambda: learnt(lineage.Winnow(12, rate=0.2)),
    "eg": lambda: learnt(lineage.EGPlusMinus(12, norm=5.0)),
    "logistic": lambda: learnt(lineage.OnlineLogistic(12)),
    "perceptron": lambda: learnt(lineage.Perceptron(12)),
    "pa": lambda: learnt(lineage.PassiveAggressive(12, C=0.5)),
    "huang": lambda: learnt(lineage.HuangBooster(12, window=40, every=7)),
    "huang alpha": lambda: lineage.HuangBooster.from_alpha(np.linspace(-0.5, 0.5, 12), worth=50.0, window=10),
}
CLASSIFIERS = {
    "classifier": classifier,
    "classifier heavy": lambda: classifier(head=30, keep="heavy"),
    "classifier memory": lambda: classifier(memory=2_000),
    "classifier newest": lambda: classifier(head=20, keep="newest", forgetting=0.98, correction="theorem"),
    "classifier window": lambda: classifier(THREE, head=20, tail=False),
    "classifier three": lambda: classifier(THREE, estimator="stump"),
    "classifier named": named,
    "classifier balls": lambda: classifier(NAMES.astype(object)[TWO], estimator="ball"),
    "classifier trees": lambda: classifier(TWO == 1, estimator=DecisionTreeClassifier(max_depth=2)),
    "classifier joined": lambda: classifier(estimator=Joined([STUMPS, BALLS])),
    "classifier sparse": lambda: classifier(rows=SPARSE),
    "classifier waiting": lambda: waiting(forgetting=0.9, head=9, keep="newest"),
    "deployed": lambda: deployed(TWO),
    "deployed three": lambda: deployed(THREE),
    "deployed untouched": lambda: OCBClassifier.from_fitted(
        AdaBoostClassifier(n_estimators=3, random_state=0).fit(X[:60], TWO[:60]), X[:60], TWO[:60], head=9
    ),
    "deployed window": lambda: deployed(TWO, tail=False),
    "into a window": into_a_window,
    "offset linear": lambda: on_top(LINEAR),
    "offset linear three": lambda: on_top(LINEAR_3, THREE),
    "offset voted": lambda: on_top(VOTED),
    "offset scaled linear": lambda: on_top(ScaledOffset(LINEAR, 1.5, -0.1)),
    "offset scaled voted": lambda: on_top(ScaledOffset(VOTED, 0.5, 0.2)),
    "offset given": lambda: on_top(given_offset),
    "grown": grown,
    "grown tested": lambda: grown(until="tested"),
    "grown sparse": lambda: grown(rows=SPARSE),
    "grown three": lambda: grown(THREE, until="tested"),
    "grown balls": lambda: grown(learner="ball", until="tested"),
    "grown missing": lambda: grown(rows=np.where(np.abs(X) < 0.3, np.nan, X).astype(np.float32)),
    "grown logistic": lambda: grown(booster="logistic", head="auto", forgetting=1.0),
    "grown deployed": lambda: deployed(TWO, grow=Growth(**QUICK), random_state=0),
    "grown before": without_growth,
    "booster oza": lambda: classifier(booster="oza"),
    "booster oza-forgetting": lambda: classifier(THREE, booster="oza-forgetting"),
    "booster winnow": lambda: classifier(booster="winnow"),
    "booster eg": lambda: classifier(booster="eg"),
    "booster logistic": lambda: classifier(booster="logistic"),
    "booster perceptron": lambda: classifier(booster="perceptron"),
    "booster pa": lambda: classifier(booster="pa"),
    "booster huang": lambda: classifier(booster=lineage.HuangBooster(1, window=20)),
    "booster ocb-window": lambda: classifier(booster="ocb-window-20"),
    "booster object": lambda: classifier(booster=lineage.Winnow(1, rate=0.3)),
}
OTHERS = {
    "model": model,
    "checkpoint": adaptation,
    "checkpoint finished": finished,
    "filterboost first": lambda: filterboost("first", EASY),
    "filterboost collecting": lambda: filterboost("collecting", EASY),
    "filterboost sparse": lambda: filterboost("collecting", EASY, rows=SPARSE),
    "filterboost testing": lambda: filterboost("testing", EASY),
    "filterboost ended": lambda: filterboost("ended", EASY, n_hypotheses=2),
    "filterboost three": lambda: filterboost("testing", NAMES[EASY_3]),
    "filterboost stream": lambda: FilterBoost(random_state=0).fit_stream([(X[:20], EASY[:20])]),
    "filterboost estimator": lambda: filterboost(
        "testing", EASY, estimator=DecisionTreeClassifier(max_depth=2)
    ),
}
ENTRY, ENTRY_OF = "0" * 64, ({"n": 2, "words": ["a"]}, {"squares": np.arange(3.0) ** 2, "n": np.arange(2)})
MODELS = {**HYPOTHESES, **BOOSTERS, **CLASSIFIERS, **OTHERS}


def after(thing):
    """What becomes of a thing that is shown more, in numbers."""
    if hasattr(thing, "take"):
        thing.take(Batch(X[130:200], TWO[130:200], np.ones(70, np.bool_), thing.rows), 3)
        return [[thing.rows, thing.learnt, *thing.confusion.ravel().tolist()], *after(thing.model)]
    if isinstance(thing, Model):
        return after(thing.classifier)
    if isinstance(thing, FilterBoost):
        y = thing.classes_[EASY if len(thing.classes_) == 2 else EASY_3]
        thing.partial_fit(X[300:700], y[300:700])
        return [list(edges) for edges in thing.edges_]
    if hasattr(thing, "answers"):
        rows = X[:40, : thing.n_features]
        if thing.n_features == 25:
            rows = np.round(100 + 20 * X[:200]).reshape(32, 25)
        return ((thing.answers(rows) > 0) @ (1 << np.arange(len(thing)))).tolist()
    if hasattr(thing, "update_many"):
        given = MARGINS[200:, : thing.n_hypotheses]
        thing.update_many(given, sample_weight=np.linspace(2.0, 0.5, 200), batch_size=3)
        return thing.alpha.tolist()
    y = thing.classes_[TWO if len(thing.classes_) == 2 else THREE]
    named = list(getattr(thing, "feature_names_in_", [])) == list(frame(X[:0]).columns)
    rows = frame(X[MORE]) if named else X[MORE]
    thing.partial_fit(rows, y[MORE])
    return [*(alpha.tolist() for alpha in thing.alpha_), thing.decision_function(rows[:5]).ravel().tolist()]


def place(name, folder=FOLDER):
    """Where the file of a name lies."""
    return folder / f"{name.replace(' ', '-')}.ocb"


def save(name, thing, path):
    """Save a thing of `MODELS`; an offset that is a function stays out of the file."""
    thing.save(path, **({"without_offset": True} if name == "offset given" else {}))


def load(name, kind, path):
    """Load what `save` has written; what is not in the file is given again."""
    left_out = {
        "offset given": {"offset": given_offset},
        "filterboost estimator": {"estimator": DecisionTreeClassifier(max_depth=2)},
    }
    return kind.load(path, **left_out.get(name, {}))


def save_entry(path):
    """A result of the cache that earlier versions had, in a file of its own."""
    file_format.save(path, "CacheEntry", {"key": ENTRY, "parameters": ENTRY_OF[0], "arrays": ENTRY_OF[1]})


def main():
    answers = {}
    for name, make in MODELS.items():
        made = make()
        save(name, made, place(name))
        answers[name] = after(made)
    save_entry(place(ENTRY))
    (FOLDER / "after.json").write_text(json.dumps(answers) + "\n")


if __name__ == "__main__":
    main()
