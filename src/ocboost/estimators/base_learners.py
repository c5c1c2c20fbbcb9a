"""Base learners for Oza and Russell's booster: they learn one example, and answer it.

Classifiers of scikit-learn (``partial_fit``, ``predict``) and of River (``learn_one``, ``predict_one``) are
adapted here, recognised by their methods, so neither library is imported. `NaiveBayes` is the default.
"""

from __future__ import annotations

import copy
import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ocboost._core.checks import as_number
from ocboost.errors import InputError
from ocboost.streams.rows import Rows

NO_ANSWER = -1  # what a member answers that has not learnt anything yet
_MORE_EXAMPLES = (
    "river's HoeffdingTreeClassifier, GaussianNB or LogisticRegression, or "
    "ocboost.estimators.base_learners.NaiveBayes."
)
_EXAMPLES = f"scikit-learn's SGDClassifier, Perceptron or GaussianNB would do, {_MORE_EXAMPLES}"


class BaseLearner(ABC):
    """Learns example by example; classes are numbered 0 to K - 1. Subclass it for members of one's own.

    The object given to the booster is a prototype that never learns; `begin` makes the members from it. An
    example is `ocboost.streams.rows.Rows` of one row: ``example.X`` has shape (1, n_features),
    ``example.dictionaries()[0]`` is the row as River wants it.
    """

    takes_weights = True  # whether `learn` uses its weight

    @abstractmethod
    def begin(self, n_features: int, n_classes: int, rng: np.random.Generator) -> Self:
        """A learner with the same settings that has learnt nothing."""

    @abstractmethod
    def learn(self, example: Rows, code: int, weight: float = 1.0) -> None:
        """Learn one example, of class ``code``, that counts ``weight`` times."""

    def repeat(self, example: Rows, code: int, times: int) -> None:
        """Learn one example so many times."""
        for _ in range(times):
            self.learn(example, code)

    @abstractmethod
    def answer(self, example: Rows) -> int:
        """The class of one example, or `NO_ANSWER`."""

    def answers(self, X: NDArray[Any], names: list[Any]) -> NDArray[np.int64]:
        """The class of each row."""
        rows = Rows(X, names=names)
        return np.fromiter((self.answer(rows[i : i + 1]) for i in range(len(X))), np.int64, len(X))

    def probabilities(self, X: NDArray[Any], names: list[Any]) -> NDArray[np.float64]:
        """Each class's probability in each row, (n, K); zeros where it has not learnt anything yet.

        Needed only for members that vote with them. A subclass has them if it defines this.
        """
        raise NotImplementedError(f"{type(self).__name__} gives no probabilities")

    @property
    def gives_probabilities(self) -> bool:
        """Whether there are `probabilities`."""
        return type(self).probabilities is not BaseLearner.probabilities

    @property
    def model(self) -> Any:
        """The model that has learnt, as it was given."""
        return self


class SklearnMember(BaseLearner):
    """A classifier with ``partial_fit`` and ``predict``, as a prototype whose copies learn.

    Where its ``random_state`` is None, each copy gets one of its own.
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator
        self.takes_weights = "sample_weight" in inspect.signature(estimator.partial_fit).parameters
        self._classes = np.arange(0)  # named in the first call of partial_fit
        self._fitted = False

    def begin(self, n_features: int, n_classes: int, rng: np.random.Generator) -> Self:
        """A learner of an unfitted copy."""
        other = type(self)(_unfitted(self.estimator, rng))
        other._classes = np.arange(n_classes)
        return other

    def learn(self, example: Rows, code: int, weight: float = 1.0) -> None:
        """One call of ``partial_fit``."""
        more = {} if weight == 1.0 else {"sample_weight": np.array([weight])}
        self._partial_fit(example.X, np.array([code]), more)

    def repeat(self, example: Rows, code: int, times: int) -> None:
        """One call of ``partial_fit`` with the row so many times."""
        if times > 0:
            self._partial_fit(np.repeat(example.X, times, axis=0), np.full(times, code), {})

    def _partial_fit(self, X: NDArray[Any], y: NDArray[np.int64], more: dict[str, Any]) -> None:
        if not self._fitted:
            more = {**more, "classes": self._classes}
        self.estimator.partial_fit(X, y, **more)
        self._fitted = True

    def answer(self, example: Rows) -> int:
        """What it predicts."""
        return int(self.estimator.predict(example.X)[0]) if self._fitted else NO_ANSWER

    def answers(self, X: NDArray[Any], names: list[Any]) -> NDArray[np.int64]:
        """What it predicts, in one call."""
        if not self._fitted:
            return np.full(len(X), NO_ANSWER)
        return np.asarray(self.estimator.predict(X)).astype(np.int64)

    def probabilities(self, X: NDArray[Any], names: list[Any]) -> NDArray[np.float64]:
        """What ``predict_proba`` says."""
        if not self._fitted:
            return np.zeros((len(X), len(self._classes)))
        return np.asarray(self.estimator.predict_proba(X), dtype=np.float64)

    @property
    def gives_probabilities(self) -> bool:
        """Whether there is a ``predict_proba``, which may depend on the estimator's settings."""
        return callable(getattr(self.estimator, "predict_proba", None))

    @property
    def model(self) -> Any:
        """The estimator."""
        return self.estimator


class GaussianNBLearner(SklearnMember):
    """scikit-learn's GaussianNB, with a floor under its variances that holds for single rows too.

    scikit-learn takes the floor from the rows of the last call, and a single row has no variance: it would
    divide by zero until each class has shown two values of each feature. Here the floor is ``var_smoothing``
    times the largest variance of all that this member has learnt.
    """

    _floor = 0.0

    def _partial_fit(self, X: NDArray[Any], y: NDArray[np.int64], more: dict[str, Any]) -> None:
        nb = self.estimator
        if self._fitted:
            nb.var_ -= self._floor
        super()._partial_fit(X, y, more)
        share = nb.class_count_ / nb.class_count_.sum()
        spread = share @ (nb.var_ + nb.theta_**2) - (share @ nb.theta_) ** 2
        self._floor = nb.var_smoothing * (max(0.0, float(spread.max())) or 1.0)
        nb.var_ += self._floor

    @np.errstate(divide="ignore")  # log 0 of a class that has not come yet
    def answer(self, example: Rows) -> int:
        """What it predicts."""
        return super().answer(example)

    @np.errstate(divide="ignore")
    def answers(self, X: NDArray[Any], names: list[Any]) -> NDArray[np.int64]:
        """What it predicts, in one call."""
        return super().answers(X, names)

    def probabilities(self, X: NDArray[Any], names: list[Any]) -> NDArray[np.float64]:
        """What ``predict_proba`` says; NaN beyond the range of a double."""
        with np.errstate(all="ignore"):
            return super().probabilities(X, names)


class RiverLearner(BaseLearner):
    """A River classifier, or a pipeline that ends in one, as a prototype whose clones learn.

    Where its ``seed`` is None, each clone gets one of its own; a seed inside a pipeline is unchanged.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        self._last = getattr(model, "_last_step", model)  # of a pipeline, the classifier
        self.takes_weights = "w" in inspect.signature(self._last.learn_one).parameters and (
            self._last is model or _passes_weights(model)
        )
        self._n_classes = 0

    def begin(self, n_features: int, n_classes: int, rng: np.random.Generator) -> Self:
        """A learner of a clone."""
        if n_classes > 2 and getattr(self._last, "_multiclass", True) is False:
            raise InputError(
                f"estimator must know more than two classes, as there are {n_classes}; "
                f"{type(self._last).__name__} knows two. Wrap it in river.multiclass.OneVsRestClassifier."
            )
        seed = int(rng.integers(1 << 31))
        if not hasattr(self._model, "clone"):
            other = type(self)(copy.deepcopy(self._model))
        elif getattr(self._model, "seed", 0) is not None:
            other = type(self)(self._model.clone())
        else:
            other = type(self)(self._model.clone({"seed": seed}))
        other._n_classes = n_classes
        return other

    def learn(self, example: Rows, code: int, weight: float = 1.0) -> None:
        """One call of ``learn_one``."""
        if weight == 1.0:
            self._model.learn_one(example.dictionaries()[0], code)
        else:
            self._model.learn_one(example.dictionaries()[0], code, w=weight)

    def answer(self, example: Rows) -> int:
        """What ``predict_one`` says."""
        given = self._model.predict_one(example.dictionaries()[0])
        return NO_ANSWER if given is None else int(given)

    def probabilities(self, X: NDArray[Any], names: list[Any]) -> NDArray[np.float64]:
        """What ``predict_proba_one`` says, row by row."""
        result = np.zeros((len(X), self._n_classes))
        for i, features in enumerate(Rows(X, names=names).dictionaries()):
            given = self._model.predict_proba_one(features)
            result[i] = [given.get(code, 0.0) for code in range(self._n_classes)]
        return result

    @property
    def gives_probabilities(self) -> bool:
        """Whether there is a ``predict_proba_one`` of its own; that of River's base class only raises."""
        method = getattr(self._last, "predict_proba_one", None)
        return callable(method) and getattr(method, "__module__", None) != "river.base.classifier"

    @property
    def model(self) -> Any:
        """The River model."""
        return self._model


def _passes_weights(pipeline: Any) -> bool:
    """Whether a pipeline passes the weight of an example to its last step; River's does since 0.24."""
    if not type(pipeline).__module__.startswith("river."):
        return True
    major, minor = version("river").split(".")[:2]
    return (int(major), int(minor)) >= (0, 24)


def as_base_learner(prototype: Any) -> BaseLearner:
    """A base learner from a prototype of any kind.

    >>> from sklearn.linear_model import Perceptron
    >>> as_base_learner(Perceptron()).takes_weights
    True
    """
    if isinstance(prototype, BaseLearner):
        return prototype
    if isinstance(prototype, type):
        raise InputError(
            f"estimator must be a classifier, not its class; got {prototype.__name__}. "
            f"Call it: {prototype.__name__}()."
        )
    for learn, answer, kind in (
        ("learn_one", "predict_one", RiverLearner),
        ("partial_fit", "predict", SklearnMember),
    ):
        if not callable(getattr(prototype, learn, None)):
            continue
        if not callable(getattr(prototype, answer, None)):
            raise InputError(
                f"estimator must answer too; {type(prototype).__name__} has {learn} but no {answer}. "
                f"{_EXAMPLES}"
            )
        _require_classifier(prototype)
        learner: type[BaseLearner] = GaussianNBLearner if _is_gaussian_nb(prototype) else kind
        return learner(prototype)  # type: ignore[call-arg]
    raise InputError(
        f"estimator must learn example by example; {prototype!r:.80} has neither partial_fit nor learn_one. "
        f"{_EXAMPLES}"
    )


def _require_classifier(prototype: Any) -> None:
    """Refuse regressors and the like, which learn as classifiers do."""
    last = getattr(prototype, "_last_step", prototype)
    if hasattr(prototype, "learn_one"):
        # River's classifiers, and nothing else of it, have this method.
        wrong = type(last).__module__.startswith("river.") and not hasattr(last, "predict_proba_one")
    else:
        tags = getattr(last, "__sklearn_tags__", None)
        wrong = tags is not None and tags().estimator_type not in ("classifier", None)
    if wrong:
        raise InputError(f"estimator must be a classifier; got {type(last).__name__}. {_EXAMPLES}")


def _is_gaussian_nb(prototype: Any) -> bool:
    kinds = type(prototype).__mro__
    return any(kind.__name__ == "GaussianNB" and kind.__module__.startswith("sklearn.") for kind in kinds)


def _unfitted(estimator: Any, rng: np.random.Generator) -> Any:
    """An unfitted copy of a scikit-learn estimator, with a seed of its own where it has none."""
    from sklearn.base import clone

    if not hasattr(estimator, "get_params"):
        return copy.deepcopy(estimator)
    fresh = clone(estimator)
    given = fresh.get_params()
    seeds = {
        key: int(rng.integers(1 << 31))
        for key in sorted(given)
        if (key == "random_state" or key.endswith("__random_state")) and given[key] is None
    }
    return fresh.set_params(**seeds) if seeds else fresh


class NaiveBayes(BaseLearner):
    """Each class has a Gaussian for each feature, whose mean and variance follow by West's updates (1979).

    An example of weight k is k examples, and their order does not matter, so online it is the same as in
    batch. scikit-learn's GaussianNB is the same, but takes about 0.6 ms to learn and answer one row; this
    takes a twentieth of that.

    Parameters
    ----------
    var_smoothing : float, default 1e-9
        What is added to all variances, as a share of the largest variance of a feature.
    """

    def __init__(self, var_smoothing: float = 1e-9) -> None:
        self.var_smoothing = as_number(
            var_smoothing, "var_smoothing", 0.0, np.inf, "1e-9 is the default.", low_open=True
        )
        self.count = np.zeros(0)  # (K,): the weight of each class
        self._sums = np.zeros((0, 0, 0))

    def __repr__(self) -> str:
        return f"NaiveBayes(var_smoothing={self.var_smoothing!r})"

    @property
    def mean(self) -> NDArray[np.float64]:
        """The mean of each feature in each class, (K, n_features)."""
        return self._sums[:-1, 0]

    @property
    def variance(self) -> NDArray[np.float64]:
        """The variance of each feature in each class, (K, n_features), not smoothed."""
        result: NDArray[np.float64] = self._sums[:-1, 1] / np.maximum(self.count, 1e-300)[:, None]
        return result

    def begin(self, n_features: int, n_classes: int, rng: np.random.Generator) -> Self:
        """One that has seen nothing."""
        other = type(self)(self.var_smoothing)
        other.count = np.zeros(n_classes)
        # For each class, and last for all together: means, and weighted squares of the distances from them.
        other._sums = np.zeros((n_classes + 1, 2, n_features))
        return other

    def learn(self, example: Rows, code: int, weight: float = 1.0) -> None:
        """Add an example to its class."""
        x = example.X[0]
        self.count[code] += weight
        with np.errstate(over="ignore", invalid="ignore"):
            for which, total in ((code, self.count[code]), (-1, self.count.sum())):
                mean, squares = self._sums[which]
                off = x - mean
                mean += off * (weight / total)
                squares += weight * off * (x - mean)

    def repeat(self, example: Rows, code: int, times: int) -> None:
        """Add it with that weight, which is the same."""
        if times > 0:
            self.learn(example, code, float(times))

    def answer(self, example: Rows) -> int:
        """The class with the highest posterior."""
        return int(self.answers(example.X, [])[0])

    def answers(self, X: NDArray[np.float64], names: list[object]) -> NDArray[np.int64]:
        """The class with the highest posterior, of each row."""
        seen = np.flatnonzero(self.count)
        if len(seen) < 2:
            return np.full(len(X), seen[0] if len(seen) else NO_ANSWER)
        result: NDArray[np.int64] = seen[self._log_posteriors(X, seen).argmax(axis=1)]
        return result

    def probabilities(self, X: NDArray[np.float64], names: list[object]) -> NDArray[np.float64]:
        """The posteriors of the classes, (n, K); zero of those that have not come."""
        seen = np.flatnonzero(self.count)
        result = np.zeros((len(X), len(self.count)))
        if len(seen) < 2:
            result[:, seen] = 1.0
            return result
        posterior = self._log_posteriors(X, seen)
        share = np.exp(posterior - posterior.max(axis=1, keepdims=True))
        result[:, seen] = share / share.sum(axis=1, keepdims=True)
        return result

    def _log_posteriors(self, X: NDArray[np.float64], seen: NDArray[np.int64]) -> NDArray[np.float64]:
        """The logarithms of the posteriors of the classes seen, (n, classes), but for a constant of each row.

        Where the features exceed the range of a double, only the classes' shares count.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            spread = float(self._sums[-1, 1].max()) / float(self.count.sum())
            floor = self.var_smoothing * (spread if spread > 0.0 and math.isfinite(spread) else 1.0)
            count = self.count[seen]
            variance = self._sums[seen, 1] / count[:, None] + floor
            height = np.log(count) - 0.5 * np.log(variance).sum(axis=1)
            off = X[:, None, :] - self._sums[seen, 0]
            posterior = height - 0.5 * (off * off / variance).sum(axis=2)
        result: NDArray[np.float64] = np.where(np.isfinite(posterior), posterior, -np.inf)
        result[np.isneginf(result).all(axis=1)] = np.log(count)
        return result


UPDATES = ("poisson", "weighted")
VOTES = ("answers", "probabilities")


def prototypes_of(estimator: Any, updates: str, votes: str) -> list[BaseLearner]:
    """The base learners to copy; naive Bayes where None is given.

    >>> prototypes_of(None, "poisson", "answers")
    [NaiveBayes(var_smoothing=1e-09)]
    """
    given = NaiveBayes() if estimator is None else estimator
    several: Sequence[Any] = given if isinstance(given, list | tuple) else [given]
    if not several:
        raise InputError("estimator must be a classifier or a list of at least one; got an empty list.")
    prototypes = [as_base_learner(each) for each in several]
    if updates not in UPDATES:
        raise InputError(
            f'updates must be "poisson" or "weighted"; got {updates!r:.80}. The paper has "poisson".'
        )
    if updates == "weighted":
        for each in prototypes:
            require_weights(each)
    require_votes(prototypes, votes)
    return prototypes


def require_weights(learner: BaseLearner) -> None:
    """Refuse a base learner that cannot learn a weighted example."""
    if not learner.takes_weights:
        called = type(learner.model).__name__
        what = (
            "w in its learn_one" if isinstance(learner, RiverLearner) else "sample_weight in its partial_fit"
        )
        raise InputError(
            f'updates must be "poisson" for an estimator that takes no weights; got "weighted", and {called} '
            f'has no {what}. With updates="poisson" it learns an example several times instead.'
        )


def require_votes(learners: Sequence[BaseLearner], votes: str) -> None:
    """Refuse an unknown way to vote, or one that a base learner cannot do."""
    if votes not in VOTES:
        raise InputError(
            f'votes must be "answers" or "probabilities"; got {votes!r:.80}. The paper has "answers".'
        )
    for learner in learners:
        if votes == "answers" or learner.gives_probabilities:
            continue
        if isinstance(learner, RiverLearner):
            what = "predict_proba_one"
        else:
            what = "predict_proba" if isinstance(learner, SklearnMember) else "method probabilities"
        called = type(learner.model).__name__
        raise InputError(
            'votes must be "answers" for an estimator that gives no probabilities; got "probabilities", and '
            f"{called} has no {what}. scikit-learn's SGDClassifier with loss='log_loss' or GaussianNB would "
            f"do, {_MORE_EXAMPLES}"
        )
