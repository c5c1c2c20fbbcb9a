"""What Oza and Russell's booster asks of its members: to learn one example, and to answer it.

Classifiers of scikit-learn (``partial_fit``, ``predict``) and of River (``learn_one``, ``predict_one``) are
adapted here. Neither library is imported for it: what is given shows by its methods what it is.
"""

from __future__ import annotations

import copy
import inspect
from abc import ABC, abstractmethod
from importlib.metadata import version
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..rows import Rows

NO_ANSWER = -1  # what a member answers that has not learnt anything yet
_EXAMPLES = (
    "scikit-learn's SGDClassifier, Perceptron or GaussianNB would do, river's HoeffdingTreeClassifier, "
    "GaussianNB or LogisticRegression, or ocboost.lineage.naive_bayes.NaiveBayes."
)


class BaseLearner(ABC):
    """Learns example by example; classes are numbered 0 to K - 1.

    A subclass is a kind of member of one's own. The object given to the booster is a prototype that never
    learns; `begin` makes the members of it. An example is `ocboost.rows.Rows` of one row: ``example.X`` has
    shape (1, n_features), ``example.dictionaries()[0]`` is the row as River wants it.
    """

    takes_weights = True  # whether `learn` heeds its weight

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

        Needed only of members that vote with them. A kind of one's own has them if it defines this.
        """
        raise NotImplementedError(f"{type(self).__name__} gives no probabilities")

    @property
    def gives_probabilities(self) -> bool:
        """Whether there are `probabilities`."""
        return type(self).probabilities is not BaseLearner.probabilities

    @property
    def model(self) -> Any:
        """What has learnt, as its user knows it."""
        return self


class SklearnMember(BaseLearner):
    """A classifier with ``partial_fit`` and ``predict``.

    Parameters
    ----------
    estimator : classifier
        A prototype; copies of it learn. Where its ``random_state`` is None, each copy gets one of its own.
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

    def answer(self, example: Rows) -> int:
        """What it predicts."""
        with np.errstate(divide="ignore"):  # log 0 of a class that has not come yet
            return super().answer(example)

    def answers(self, X: NDArray[Any], names: list[Any]) -> NDArray[np.int64]:
        """What it predicts, in one call."""
        with np.errstate(divide="ignore"):
            return super().answers(X, names)

    def probabilities(self, X: NDArray[Any], names: list[Any]) -> NDArray[np.float64]:
        """What ``predict_proba`` says; NaN beyond the range of a double."""
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            return super().probabilities(X, names)


class RiverLearner(BaseLearner):
    """A River classifier, or a pipeline that ends in one.

    Parameters
    ----------
    model : river.base.Classifier
        A prototype; clones of it learn. Where its ``seed`` is None, each clone gets one of its own; a seed
        inside a pipeline is left as it is.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        self._last = getattr(model, "_last_step", model)  # a pipeline is what its last step is
        self.takes_weights = "w" in inspect.signature(self._last.learn_one).parameters and (
            self._last is model or _hands_weights_on(model)
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
        """Whether there is a ``predict_proba_one``; that which River's classifiers begin with only raises."""
        method = getattr(self._last, "predict_proba_one", None)
        return callable(method) and getattr(method, "__module__", None) != "river.base.classifier"

    @property
    def model(self) -> Any:
        """The River model."""
        return self._model


def _hands_weights_on(pipeline: Any) -> bool:
    """Whether a pipeline gives its last step the weight of an example; River's dropped it before 0.24."""
    if not type(pipeline).__module__.startswith("river."):
        return True
    major, minor = version("river").split(".")[:2]
    return (int(major), int(minor)) >= (0, 24)


def as_base_learner(prototype: Any) -> BaseLearner:
    """A prototype of any kind, as a base learner.

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
    """A copy of a scikit-learn estimator that has learnt nothing; a seed of its own where it has none."""
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
