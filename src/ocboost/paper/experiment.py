"""What the three experiments share: settings, methods, the comparison with AdaBoost, and results.

An experiment has rounds: runs on other data, digits, or orders of the same examples. In each round every
online method starts from the first examples and learns the others one after the other; at each checkpoint
its weights are compared with those of AdaBoost retrained on everything seen so far.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar, Literal, Self, TypeVar

import numpy as np
import numpy.typing as npt

from ocboost import BoostingSketch, OzaRussell, adaboost_weights
from ocboost.datasets import Images
from ocboost.errors import InputError

Floats = npt.NDArray[np.float64]
Margins = npt.NDArray[np.int8]
Progress = Callable[[str, int, int], None]

ADABOOST, OZA_RUSSELL, THEOREM = "adaboost", "oza-russell", "ocb-order-400-theorem"
BALANCED, FULL, HEAD, NEWEST = "ocb-order-400", "ocb-full", "ocb-head", "ocb-head-newest"
ONLINE = (OZA_RUSSELL, THEOREM, BALANCED, FULL, HEAD, NEWEST)
SIZES = {
    "start": "a start from",
    "every": "checkpoints every",
    "head": "a head of",
    "batch_size": "batches of",
}
MIN_CHECKPOINTS = 6  # with fewer, an experiment's sizes are fitted to its data


class StoppedError(Exception):
    """Another thread failed or Ctrl-C was pressed: there is no result."""


@dataclass(frozen=True)
class OnlineMethod:
    """One line of a comparison: AdaBoost retrained at each checkpoint, or a method that learns online."""

    key: str  # its name in ``results.json``
    label: str  # its name for readers
    kind: Literal["adaboost", "oza-russell", "ocb"] = "ocb"
    order: int | None = None  # of the sketch, as what follows; None uses every earlier coordinate
    head: int | Literal["auto"] = 1
    keep: Literal["heavy", "newest"] | None = None
    correction: str = "balanced"
    batch_size: int = 1  # examples added at once; Oza and Russell's method takes them one by one
    warm: bool = (
        True  # starts from AdaBoost's sums on the first examples, instead of learning these one by one
    )

    def follow(
        self,
        margins: Margins,
        start: int,
        points: Sequence[int],
        smoothing: float,
        going: Callable[[], bool] = lambda: True,
    ) -> tuple[Floats, bool]:
        """Its weights at each checkpoint, a row each, and whether they have diverged.

        Raises `StoppedError` if `going`, which is called before each checkpoint, returns False.
        """
        alphas = np.empty((len(points), margins.shape[1]))
        booster = None if self.kind == "adaboost" else self._begin(margins[:start], smoothing)
        for c, (seen, n) in enumerate(zip([start, *points[:-1]], points, strict=True)):
            if not going():
                raise StoppedError
            if booster is None:
                alphas[c] = adaboost_weights(margins[:n], smoothing=smoothing)
            else:
                booster.update_many(margins[seen:n], batch_size=self.batch_size)
                alphas[c] = booster.alpha
        return alphas, isinstance(booster, BoostingSketch) and booster.diverged

    def _begin(self, first: Margins, smoothing: float) -> BoostingSketch | OzaRussell:
        if self.kind == "oza-russell":
            return OzaRussell.from_margins(first, smoothing=smoothing)
        J = first.shape[1]
        settings: dict[str, Any] = {"head": self.head, "keep": self.keep, "correction": self.correction}
        settings |= {"order": None if self.order is None else min(self.order, J), "smoothing": smoothing}
        if self.warm:
            return BoostingSketch.from_margins(first, **settings)
        sketch = BoostingSketch(J, **settings)
        sketch.update_many(first)
        return sketch


ADABOOST_RETRAINED = OnlineMethod(ADABOOST, "AdaBoost, retrained", "adaboost")
OZA_AND_RUSSELL = OnlineMethod(OZA_RUSSELL, "Oza and Russell", "oza-russell")


def paper_methods(*, order: int, head: int | Literal["auto"], batch_size: int) -> list[OnlineMethod]:
    """The methods that both experiments with images compare, AdaBoost first.

    ``ocb-order-400-theorem`` is the paper's own update with its sign corrected; the others have our balanced
    correction. ``ocb-head`` keeps the heaviest examples, ``ocb-head-newest`` the newest ones.

    >>> [method.label for method in paper_methods(order=400, head=20_000, batch_size=64)][2:4]
    ["OCB, order 400, the paper's theorem", 'OCB, order 400, balanced']
    >>> [method.label for method in paper_methods(order=400, head=20_000, batch_size=64)][4:]
    ['OCB, full order, balanced', 'OCB, head of 20,000', 'OCB, head of 20,000, the newest']
    """
    with_head = "OCB, automatic head" if head == "auto" else f"OCB, head of {head:,}"
    sketch = functools.partial(OnlineMethod, batch_size=batch_size)
    return [
        ADABOOST_RETRAINED,
        OZA_AND_RUSSELL,
        sketch(THEOREM, f"OCB, order {order}, the paper's theorem", order=order, correction="theorem"),
        sketch(BALANCED, f"OCB, order {order}, balanced", order=order),
        sketch(FULL, "OCB, full order, balanced"),
        sketch(HEAD, with_head, head=head),
        sketch(NEWEST, f"{with_head}, the newest", head=head, keep="newest"),
    ]


@dataclass(frozen=True, kw_only=True)
class ExperimentSettings:
    """The sizes and choices of an experiment."""

    MINIMA: ClassVar[Mapping[str, int]] = {"seed": 0, "n_hypotheses": 1, "start": 1, "every": 1}

    seed: int = 0
    n_hypotheses: int
    start: int  # examples that the online methods start from, by AdaBoost
    every: int  # examples between two checkpoints
    smoothing: float = 1.0  # of every method and of AdaBoost, in examples of average weight
    quick: bool = False  # marks a smaller experiment in everything that is written

    def __post_init__(self) -> None:
        for name, minimum in self.MINIMA.items():
            if getattr(self, name) < minimum:
                raise InputError(
                    f"{name} must be at least {minimum}; got {getattr(self, name)}. Give a larger number."
                )

    def methods(self) -> list[OnlineMethod]:
        """All methods of the comparison, AdaBoost among them."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class ImageSettings(ExperimentSettings):
    """What the experiments with images have in common; `DIVISORS` say how sizes shrink with the data."""

    MINIMA: ClassVar[Mapping[str, int]] = {**ExperimentSettings.MINIMA, "n_sample": 1, "batch_size": 1}
    NOUN: ClassVar[str]
    DIVISORS: ClassVar[Mapping[str, int]]

    n_sample: int  # examples drawn in each round of AdaBoost that looks for hypotheses; not in the paper
    start: int = 5000
    batch_size: int = 500  # examples that OCB adds at once; the paper adds one
    order: int = 400  # of ``ocb-order-400``, as in the paper; at most the number of hypotheses

    @property
    def used_order(self) -> int:
        """The order that ``ocb-order-400`` has with these hypotheses."""
        return min(self.order, self.n_hypotheses)

    def fitted_to(self, n: int) -> Self:
        """The same for n training examples: sizes shrink where there would be too few checkpoints."""
        if len(checkpoints(n, start=self.start, every=self.every)) >= MIN_CHECKPOINTS:
            return self
        sizes: dict[str, Any] = {name: max(1, n // divisor) for name, divisor in self.DIVISORS.items()}
        sizes["batch_size"] = min(self.batch_size, sizes["batch_size"])
        return replace(self, **sizes)


def checkpoints(n: int, *, start: int, every: int) -> list[int]:
    """Numbers of examples at which errors are taken: multiples of `every` after the start, and all n.

    >>> checkpoints(100_000, start=5000, every=10_000)[:2], checkpoints(7000, start=5000, every=5000)
    ([10000, 20000], [7000])
    """
    points = [m for m in range(every, n + 1, every) if m > start]
    return points if points and points[-1] == n else [*points, n]


@dataclass(frozen=True, kw_only=True)
class ExperimentResult:
    """What an experiment has found."""

    NAME: ClassVar[str]  # in ``results.json``
    TITLES: ClassVar[tuple[str, str]]  # what the paper's data are called, and other data in their place

    settings: Any  # as they were used: fitted to the number of examples
    examples: list[int]  # the checkpoints
    approximation_error: dict[str, Floats]  # for each method's key, of shape (rounds, checkpoints)
    seconds: dict[str, float] = field(compare=False)  # the time of each step, and the ``total``
    source: str = "The margins are drawn."  # where the data came from
    fallback: bool = False  # whether these are not the paper's data
    notes: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """What the data are called in headings."""
        return self.TITLES[self.fallback]

    @property
    def methods(self) -> dict[str, OnlineMethod]:
        """The methods that were run, by key."""
        methods = self.settings.methods()
        return {method.key: method for method in methods if method.key in self.approximation_error}

    @property
    def labels(self) -> dict[str, str]:
        """Each method's name for readers."""
        return {key: method.label for key, method in self.methods.items()}

    def chosen(self) -> dict[str, str]:
        """What was chosen where the paper is silent or not followed."""
        raise NotImplementedError

    def numbers(self) -> dict[str, Any]:
        """What else goes into ``results.json``: seeds, sizes and errors."""
        raise NotImplementedError

    def as_dict(self) -> dict[str, Any]:
        """The result as plain numbers, lists and dictionaries, ready for JSON."""
        return {
            "experiment": self.NAME,
            "quick": self.settings.quick,
            "source": self.source,
            "fallback": self.fallback,
            "settings": asdict(self.settings),
            "chosen_here": self.chosen(),
            "methods": {key: asdict(method) for key, method in self.methods.items()},
            "examples": self.examples,
            **self.numbers(),
            "seconds": self.seconds,
            "notes": self.notes,
        }


def as_lists(errors: Mapping[str, Floats]) -> dict[str, Any]:
    """Arrays of errors as lists, ready for JSON."""
    return {key: rows.tolist() for key, rows in errors.items()}


def spread(values: Floats) -> Any:
    """Sample standard deviation over the rounds, as a number or a list; None for a single round."""
    return values.std(axis=0, ddof=1).tolist() if len(values) > 1 else None


def chosen_for_images(settings: ImageSettings) -> dict[str, str]:
    """What both experiments with images choose."""
    return {
        THEOREM: "the paper's own update, by its theorem: the listing's sign is corrected",
        "ocb": "our balanced correction; not in the paper",
        "smoothing": f"{settings.smoothing:g}, in {settings.NOUN} of average weight, the same for every "
        "method and for AdaBoost; the paper does not say",
    }


def subset(images: Images, rows: slice) -> Images:
    """The same with only some of the training and of the test images."""
    names = ("train_X", "train_y", "test_X", "test_y")
    return replace(images, **{name: getattr(images, name)[rows] for name in names})


Fitted = TypeVar("Fitted", bound=ImageSettings)


def fit_to_data(settings: Fitted, images: Images, used: Images) -> tuple[Fitted, dict[str, Any]]:
    """Settings for the images that are used, and what a result says of them: source, fallback and notes."""
    notes = [images.unusual] if images.unusual else []
    source, noun = images.source, settings.NOUN
    n, n_test = len(used.train_y), len(used.test_y)
    if (n, n_test) != (len(images.train_y), len(images.test_y)):
        source = f"{source.removesuffix('.')}; of these {n:,} training and {n_test:,} test {noun} were used."
    fitted = settings.fitted_to(n)
    if fitted != settings:
        sizes = ", ".join(f"{SIZES[name]} {getattr(fitted, name):,}" for name in settings.DIVISORS)
        notes.append(f"There are only {n:,} training {noun}, so the sizes were reduced: {sizes}.")
    return fitted, {"source": source, "fallback": images.fallback, "notes": notes}
