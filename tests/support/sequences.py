"""Models and what can be done to them, drawn at random: anything written must be read, and resume.

`follow` takes a model through a sequence of operations twice: as it is, and written to a file and read
again before every one of them. Both must have the same bytes all the way. Who draws is left open: hypothesis
for the tests, numpy for ``experiments/write_read.py``.
"""

from __future__ import annotations

import copy

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier

import ocboost
from ocboost import AdaptiveClassifier, Growth, Model, OCBClassifier, lineage
from ocboost._kernels.tail import CORRECTIONS
from ocboost.boosters import BOOSTERS
from ocboost.boosters.linear import LinearBooster
from ocboost.boosters.sketch.settings import least_memory
from ocboost.cascade import StageAdapter, WholeAdapter
from ocboost.deployment.adaptation import Adaptation
from ocboost.hypotheses import Stumps
from ocboost.offsets import LinearOffset, ScaledOffset, VotedOffset
from ocboost.streams import Batch
from tests.support.sequence_draws import (
    FACTORS,
    FORGETTING,
    SMOOTHING,
    WEIGHTS,
    Step,
    seeded,
    some_margins,
    some_size,
    some_weights,
)
from tests.support.sequences_of_adapters import OfAdapters, OfPictureAdapters


def learn(draw, J, heaviest=np.inf):
    n = some_size(draw)
    rows, weights = some_margins(draw, n, J), some_weights(draw, n, heaviest)
    if draw.whole(0, 2) == 0:
        return Step("update", lambda model: model.update(rows[0], sample_weight=weights[0]))
    batch = draw.one((1, 2, 5, 33, 1000))
    more = {"batch_size": batch, "sample_weight": weights}
    return Step(f"update_many({n}, batch_size={batch})", lambda model: model.update_many(rows, **more))


def read(model):
    assert np.isfinite(model.alpha).all()


# The sketch -------------------------------------------------------------------------------------------


class OfSketches:
    """`BoostingSketch`, of both rules, with every correction and extreme settings."""

    load = ocboost.BoostingSketch.load

    @staticmethod
    def start(draw):
        J = draw.whole(1, 12)
        settings = {
            "order": draw.one((None, None, 1, 1 + J // 2)),
            "head": draw.one((1, 1, 2, 5, 64, "auto")),
            "tail": draw.one((True, True, True, False)),
            "smoothing": draw.one(SMOOTHING),
            "forgetting": draw.one(FORGETTING),
            "correction": draw.one(tuple(CORRECTIONS)),
            "keep": "newest",
        }
        if draw.whole(0, 1):
            size = draw.one(({"head": 2}, {"head": 9}, {"head": 64}, {"head": "auto"}, {"memory": 1_500}))
            settings = {name: settings[name] for name in ("smoothing", "forgetting")}
            settings |= {"keep": "heavy", **size}
        if draw.whole(0, 1):
            return ocboost.BoostingSketch(J, **settings)
        n = some_size(draw)
        rows, weights = some_margins(draw, n, J), some_weights(draw, n)
        return ocboost.BoostingSketch.from_margins(rows, sample_weight=weights, **settings)

    @staticmethod
    def step(draw, model):
        what = draw.one(("learn",) * 6 + ("decay", "merge", "remade", "appended", "without", "copy", "read"))
        J = model.n_hypotheses
        if what == "decay":
            factor = draw.one(FACTORS)
            return Step(f"decay({factor})", lambda model: model.decay(factor))
        if what == "merge":
            if draw.whole(0, 3) == 0:
                return Step("merged with itself", lambda model: model.merge(model))
            names = ["smoothing", "forgetting", "keep", "head" if model.memory is None else "memory"]
            if model.keep == "newest":
                names += ["order", "tail", "correction"]
            other = ocboost.BoostingSketch(J, **{name: getattr(model, name) for name in names})
            for _ in range(draw.whole(0, 2)):
                learn(draw, J)(other)
            return Step("merge", lambda model: model.merge(other))
        if what == "remade":
            changes = OfSketches.changes(draw, model)
            return Step(f"remade({changes})", lambda model: model.remade(**changes))
        if what == "appended" and J < 16 and (model.memory is None or model.memory >= least_memory(J + 3)):
            rows = some_margins(draw, model.n_head, draw.whole(1, 3))
            return Step("appended", lambda model: model.appended(rows))
        if what == "without" and J > 1 and (model.order == J or not model.tail):
            size = draw.whole(1, J - 1)
            gone = np.arange(size) if draw.whole(0, 1) else seeded(draw).permutation(J)[:size]
            return Step(f"without({sorted(gone.tolist())})", lambda model: model.without(gone))
        if what == "copy":
            return Step("copy", lambda model: model.copy())
        if what == "read":
            return Step("read", read)
        return learn(draw, J)

    @staticmethod
    def changes(draw, model):
        """What a sketch can continue with: not all of it goes with heavy examples."""
        whole = model.n_head == model.n_seen  # nothing has been folded
        changes = {"smoothing": draw.one(SMOOTHING), "forgetting": draw.one(FORGETTING)}
        if model.keep == "heavy":
            changes["head"] = draw.one((3, 30))
            if draw.whole(0, 1):
                changes |= {"keep": "newest", "head": draw.one((1, 3, 30))}
            elif draw.whole(0, 1):
                changes["memory"] = draw.one((1_200, 3_000))
                del changes["head"]
            elif whole:
                changes["tail"] = draw.one((True, False))
        else:
            changes |= {"head": draw.one((1, 3, 30)), "tail": draw.one((True, True, False))}
            plain = model.tail and model.order == model.n_hypotheses and model.correction == "balanced"
            if whole and plain and draw.whole(0, 1):
                return {"keep": "heavy", "head": draw.one((2, 30)), "tail": True}
        return {name: value for name, value in changes.items() if name == "keep" or draw.whole(0, 1)}


# The other boosters -----------------------------------------------------------------------------------


class OfBoosters:
    """Another booster over margins, and the settings it may have."""

    def __init__(self, kind, heaviest=np.inf, **settings):
        self.kind, self.heaviest, self.settings = kind, heaviest, settings
        self.load = kind.load

    def _made(self, draw, J):
        return self.kind(J, **{name: draw.one(options) for name, options in self.settings.items()})

    def start(self, draw):
        return self._made(draw, draw.whole(1, 12))

    def step(self, draw, model):
        what = draw.one(("learn",) * 4 + ("decay", "merge", "copy", "read"))
        if what == "copy":
            return Step("copy", lambda model: model.copy())
        if what == "read":
            return Step("read", read)
        if what == "decay" and hasattr(model, "decay"):
            factor = draw.one(FACTORS)
            return Step(f"decay({factor})", lambda model: model.decay(factor))
        if what == "merge" and hasattr(model, "merge"):
            return Step("merged with itself", lambda model: model.merge(model))
        return learn(draw, model.n_hypotheses, self.heaviest)


# Classifiers ------------------------------------------------------------------------------------------


def some_examples(draw, n, K):
    """Rows of three features, and labels with all K classes among the first ones."""
    rng = seeded(draw)
    X = np.round(rng.normal(size=(n, 3)), 1)
    y = np.digitize(X[:, draw.whole(0, 2)] + 0.3 * rng.normal(size=n), [0.0] if K == 2 else [-0.5, 0.5])
    if n >= K:
        y[:K] = np.arange(K)
    return X, y


def some_offset(draw, K):
    coef = np.round(seeded(draw).normal(size=3 if K == 2 else (K, 3)), 2)
    pool = Stumps([0, 1, 2], [0.0, 0.3, -0.2], [1, -1, 1], n_features=3)
    linear = LinearOffset(coef, 0.1 if K == 2 else np.arange(K) / 10)
    return draw.one((linear, VotedOffset(pool, coef), ScaledOffset(linear, 0.3, -0.2)))


class OfClassifiers:
    """`OCBClassifier`: two classes or three, offsets of numbers, growth, and deployed AdaBoosts."""

    load = OCBClassifier.load

    @staticmethod
    def start(draw):
        K = draw.one((2, 3))
        X, y = some_examples(draw, draw.one((30, 90)), K)
        grow = draw.one((None, Growth(budget=7, sample=9, candidates=3, test=6, delta=0.6, every=4)))
        settings = {
            **draw.one(({"head": 1}, {"head": 8}, {"head": 40}, {}, {"memory": 3000})),
            "keep": draw.one((None, None, "newest")),
            "tail": draw.one((True, True, False)),
            "forgetting": draw.one((1.0, 0.9, 1e-5, 1e-300)),
            "smoothing": draw.one(("auto", 1.0, 0.0, 1e-300)),
            "correction": draw.one(tuple(CORRECTIONS)),
            "batch_size": draw.one((1, 1, 9)),
            "grow": grow,
            "random_state": 0,
        }
        how = draw.one(("stump", "stumps", "trees", "offset", "deployed", "boosted"))
        if how == "boosted":
            return OfClassifiers.boosted(draw, X, y, grow, settings)
        if how == "deployed":
            deployed = AdaBoostClassifier(n_estimators=4, random_state=0).fit(X, y)
            return OCBClassifier.from_fitted(deployed, X, y, **settings)
        if how == "stumps":
            pool = Stumps([0, 1, 2], [0.0, 0.3, -0.2], [1, -1, 1], n_features=3)
            return OCBClassifier(pool, **settings).fit(X, y)
        if how == "trees" and grow is None:
            return OCBClassifier(DecisionTreeClassifier(max_depth=2), 3, **settings).fit(X, y)
        offset = some_offset(draw, K) if how == "offset" else None
        order = draw.one((None, 2)) if grow is None else None
        return OCBClassifier("stump", 4, offset=offset, order=order, **settings).fit(X, y)

    @staticmethod
    def boosted(draw, X, y, grow, settings):
        """With another booster than the sketch, of its own settings."""
        name = draw.one([name for name in BOOSTERS if name != "ocb"])
        growing = {"grow": grow} if BOOSTERS[name].load().can_grow else {}
        own = {"booster": name, "batch_size": settings["batch_size"], "random_state": 0, **growing}
        if draw.whole(0, 1):
            deployed = AdaBoostClassifier(n_estimators=4, random_state=0).fit(X, y)
            return OCBClassifier.from_fitted(deployed, X, y, **own)
        return OCBClassifier("stump", 4, **own).fit(X, y)

    @staticmethod
    def step(draw, model):
        what = draw.one(("learn",) * 5 + ("learn_one", "set", "copy", "read"))
        K = len(model.classes_)
        heaviest = 1e100 if issubclass(model.committee_.kind, LinearBooster) else np.inf
        if what == "copy":
            return Step("copy", copy.copy)
        X, y = some_examples(draw, draw.one((1, 3, 20, 60)), K)
        if what == "read":
            return Step("predict", lambda model: _answers(model, X))
        if what == "learn_one":
            weight = draw.one((1.0, 0.5, 2.0, 0.0))
            row, label = X[0].tolist(), int(y[0])
            return Step(f"learn_one({label}, {weight})", lambda model: model.learn_one(row, label, weight))
        if what == "set" and model.booster == "ocb":
            changes = {
                "tail": draw.one((True, False)),
                "forgetting": draw.one((1.0, 0.95, 1e-300)),
                "smoothing": draw.one(("auto", 0.0, 2.0)),
                "keep": draw.one((None, "newest")),
            }
            changes = {name: value for name, value in changes.items() if draw.whole(0, 1)}
            head, memory = draw.one(((1, None), (9, None), (25, None), ("auto", None), ("auto", 3000)))
            if draw.whole(0, 1):
                changes |= {"head": head, "memory": memory}
            return Step(f"set_params({changes})", lambda model: model.set_params(**changes))
        # On top of an offset a weight must lie between 1e-299 and 1e299 with it.
        possible = [w for w in WEIGHTS if any(w) and (model.offset is None or not {1e300, 1e-300} & {*w})]
        weights = seeded(draw).choice(draw.one(possible), len(y))
        weights = np.minimum(weights, heaviest / max(1.0, model.weight_scale_))
        weights[0] = max(weights[0], 1e-250)  # scikit-learn wants one that counts
        return Step(f"partial_fit({len(y)})", lambda model: model.partial_fit(X, y, sample_weight=weights))


def _answers(model, X):
    assert np.isfinite(model.predict_proba(X)).all()
    assert model.predict_one(X[0]) == model.predict(X[:1])[0]


class OfModels:
    """`Model`, which is a classifier with a history."""

    load = Model.load

    @staticmethod
    def start(draw):
        return Model(OfClassifiers.start(draw), history=[{"event": "fit", "rows": 30}])

    @staticmethod
    def step(draw, model):
        inner = OfClassifiers.step(draw, model.classifier)
        return Step(
            inner.name, lambda model: Model(inner(model.classifier), model.schema, [*model.history, {}])
        )


class OfAdaptations:
    """`Adaptation`, a model on its way through a stream."""

    load = Adaptation.load

    @staticmethod
    def start(draw):
        return Adaptation(Model(OfClassifiers.start(draw)), {"model": "m", "stream": "s", "settings": {}})

    @staticmethod
    def step(draw, model):
        X, y = some_examples(draw, draw.one((1, 3, 20)), len(model.model.classifier.classes_))
        known, size = seeded(draw).random(len(y)) < 0.9, draw.one((1, 4))
        if draw.whole(0, 9) == 0:
            return Step("finish", lambda model: model.finish("a stream"))
        return Step("take", lambda model: model.take(Batch(X, y, known, model.rows), size))


class OfFilterBoosts:
    """`FilterBoost`, wherever it is on its way."""

    load = lineage.FilterBoost.load

    @staticmethod
    def start(draw):
        K = draw.one((2, 3))
        clf = lineage.FilterBoost(
            draw.one((None, "stump", "ball")), 3, sample=12, tau=draw.one((0.3, 1.0)), random_state=0
        )
        return clf.partial_fit(*some_examples(draw, 10, K), classes=range(K))

    @staticmethod
    def step(draw, model):
        X, y = some_examples(draw, draw.one((1, 7, 60, 200)), len(model.classes_))
        if draw.whole(0, 4) == 0:
            return Step("predict", lambda model: _answers(model, X))
        return Step(f"partial_fit({len(y)})", lambda model: model.partial_fit(X, y))


class OfAdaptives:
    """`AdaptiveClassifier`: from nothing or fitted, labels on time, late, twice and never."""

    load = AdaptiveClassifier.load

    @staticmethod
    def start(draw):
        K = draw.one((2, 3))
        X, y = some_examples(draw, draw.one((30, 90, 210)), K)
        clf = AdaptiveClassifier(
            n_hypotheses=draw.one((1, 4)),
            extra=draw.one(((), ("winnow",))),
            without=draw.one(((), ("forests",), ("neighbours", "eg"), ("labels", "features"))),
            random_state=0,
        )
        how = draw.one(("fit", "one", "some", "sparse", "adopted"))
        if how == "fit":
            return clf.fit(X, y)
        if how == "adopted":
            model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
            rows = (X, y) if len(X) > 200 else ()
            return AdaptiveClassifier.from_fitted(model, *rows, **clf.get_params())
        n = 1 if how == "one" else len(X)
        X = csr_matrix(X) if how == "sparse" else X
        return clf.partial_fit(X[:n], y[:n], classes=range(K))

    @staticmethod
    def step(draw, model):
        what = draw.one(
            ("learn", "learn", "learn_one", "issue", "issue", "late", "late", "copy", "read", "set")
        )
        K = len(model.classes_)
        X, y = some_examples(draw, draw.one((1, 3, 20, 110)), K)
        if what == "copy":
            return Step("copy", copy.copy)
        if what == "set":
            changes = {"without": draw.one(((), ["pa"])), "n_hypotheses": draw.whole(1, 9)}
            return Step(f"set_params({changes})", lambda model: model.set_params(**changes))
        if what == "read":
            return Step("read", lambda model: _sound(model, X, issue=False))
        first = draw.whole(0, 30)
        ids = draw.one((None, range(first, first + len(y))))
        if what == "issue":
            return Step(f"predict({len(y)})", lambda model: _sound(model, X, ids=ids))
        if what == "late":
            order = seeded(draw).permutation(len(y))[: draw.one((1, 30, 110))]
            named = None if ids is None else [ids[i] for i in order]

            def late(model):
                _sound(model, X, ids=ids)
                return model.partial_fit(X[order], y[order], ids=named)

            return Step(f"predict({len(y)}), labels of {len(order)}", late)
        weights = seeded(draw).choice(draw.one(((1.0,), (0.0, 1.0), (1e-300, 1e90, 1.0), (0.5, 2.0))), len(y))
        weights[0] = max(weights[0], 1e-200)
        weights = np.minimum(weights, 1e90 / max(1.0, model.weight_scale_))
        if what == "learn_one":
            row, label, weight = X[0].tolist(), int(y[0]), float(weights[0])
            return Step(f"learn_one({weight})", lambda model: model.learn_one(row, label, weight))
        return Step(
            f"partial_fit({len(y)})",
            lambda model: model.partial_fit(X, y, sample_weight=weights, ids=ids),
        )


def _sound(model, X, **how):
    p = model.predict_proba(X, **how)
    assert np.isfinite(p).all()
    assert (p >= 0.0).all()
    assert np.abs(p.sum(axis=1) - 1.0).max() < 1e-9


LINEAR = {"heaviest": 1e100}
KINDS = {
    "BoostingSketch": OfSketches,
    "OzaRussell": OfBoosters(ocboost.OzaRussell, smoothing=SMOOTHING, forgetting=FORGETTING),
    "Winnow": OfBoosters(lineage.Winnow, rate=(0.1, 1e6, 1e-300), margin=(0.0, 0.1, 0.99)),
    "EGPlusMinus": OfBoosters(
        lineage.EGPlusMinus,
        rate=("auto", 1e6, 1e-300),
        norm=(10.0, 1e6, 1e-150),
        loss=("logistic", "square"),
    ),
    "HuangBooster": OfBoosters(
        lineage.HuangBooster,
        share=(0.8, 0.0, 1.0),
        window=(1, 5, 100),
        absorb=(True, False),
        every=(1, 10),
        smoothing=SMOOTHING,
        forgetting=FORGETTING,
    ),
    "OnlineLogistic": OfBoosters(lineage.OnlineLogistic, **LINEAR, rate=(0.03, 1e6, 1e-300)),
    "Perceptron": OfBoosters(lineage.Perceptron, **LINEAR),
    "PassiveAggressive": OfBoosters(lineage.PassiveAggressive, **LINEAR, C=(1.0, 1e6, 1e-300)),
    "OCBClassifier": OfClassifiers,
    "AdaptiveClassifier": OfAdaptives,
    "Model": OfModels,
    "Adaptation": OfAdaptations,
    "FilterBoost": OfFilterBoosts,
    "WholeAdapter": OfAdapters(
        WholeAdapter, order=(None, None, 3), head=(1, 20, "auto"), calibrate_on=(40, 90)
    ),
    "StageAdapter": OfAdapters(StageAdapter, pass_rate=(0.9, 0.998), least_others=(20, 60)),
    "PictureAdapter": OfPictureAdapters,
}


def follow(draw, kind, n_steps, path):
    """Take a model of a kind through so many steps, and another that is read from a file before each."""
    of = KINDS[kind]
    model = other = of.start(draw)
    done = [repr(model)]

    def written(each):
        each.save(path)
        return path.read_bytes()

    try:
        for number in range(n_steps + 1):
            as_it_was = written(other)
            other = of.load(path)
            assert written(other) == as_it_was, "what was read is not what was written"
            assert written(model) == as_it_was, "the one that was read went another way"
            if number < n_steps:
                step = of.step(draw, model)
                done.append(step.name)
                model, other = step(model), step(other)
    except Exception as error:
        error.add_note(f"{kind}: {'; '.join(done)}")
        raise
    return len(done)
