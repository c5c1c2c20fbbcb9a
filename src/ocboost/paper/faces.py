"""The paper's face experiment: 1,520 box filters, ten orders of the training windows.

AdaBoost with resampling chooses the filters from all two-, three- and four-rectangle shapes that fit a
window, on all training windows. (The paper takes those of an existing detector, which is not to be had.)
Then the training windows are put in a random order, ten times. Each time the online methods start from
AdaBoost on the first windows and go through the others; at each checkpoint their weights are compared with
those of AdaBoost retrained (figure 1c), and their votes rank the test windows (1 - AUC, figure 1d).

What the paper leaves open is chosen in `FacesSettings` and repeated in ``results.json`` under
``chosen_here``.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ocboost import approximation_error
from ocboost._core.metrics import one_minus_auc
from ocboost.datasets import Images, load_faces
from ocboost.hypotheses.learners import BoxLearner
from ocboost.paper.cache import Cache, pack_margins, unpack_margins
from ocboost.paper.online import (
    FEWEST_CHECKPOINTS,
    Floats,
    Kept,
    Method,
    Progress,
    checkpoints,
    follow_all,
    paper_methods,
    timed,
    used_of,
)

VOTED_AT_ONCE = 4096  # windows
# As the paper adds them, beside the same in batches.
ONE_BY_ONE = {
    "ocb-order-400-theorem-one-by-one": "ocb-order-400-theorem",
    "ocb-order-400-one-by-one": "ocb-order-400",
}


@dataclass(frozen=True)
class FacesSettings:
    """The sizes and choices of the experiment.

    Parameters
    ----------
    seed : int, default 0
        The filters are drawn from the seed pair (seed, 0), the order of permutation p, counted from one,
        from (seed, p).
    n_hypotheses : int, default 1520
        Box filters, as in the paper.
    n_sample, n_filters : int, default 2000
        Windows drawn, and filters tried on them, in each round of AdaBoost. Not in the paper.
    permutations : int, default 10
        Orders of the training windows, as in the paper.
    start : int, default 5000
        Windows that the online methods start from, by AdaBoost, as in the paper.
    every : int, default 10000
        Windows from one checkpoint to the next, as in the paper.
    batch_size : int, default 500
        Windows that OCB adds at once; the paper adds one.
    order : int, default 400
        The order of ``ocb-order-400``, as in the paper; at most the number of hypotheses.
    head : int, default 20000
        Windows that ``ocb-head`` and ``ocb-head-newest`` keep.
    smoothing : float, default 1.0
        Of every method and of AdaBoost.
    one_by_one : int, default 1
        Permutations on which order 400 is run as in the paper too, window by window; where batches are of
        one window there is no need.
    thinned : int, default 1
        Use only one of so many training and test windows.
    quick : bool, default False
        Marks a smaller experiment in everything that is written.
    """

    seed: int = 0
    n_hypotheses: int = 1520
    n_sample: int = 2000
    n_filters: int = 2000
    permutations: int = 10
    start: int = 5000
    every: int = 10_000
    batch_size: int = 500
    order: int = 400
    head: int = 20_000
    smoothing: float = 1.0
    one_by_one: int = 1
    thinned: int = 1
    quick: bool = False

    @classmethod
    def small(cls, *, seed: int = 0) -> FacesSettings:
        """A fifth of everything and three permutations: about a quarter of a minute."""
        return cls(
            seed=seed,
            n_hypotheses=300,
            permutations=3,
            start=1000,
            every=2000,
            batch_size=100,
            order=80,
            head=4000,
            thinned=5,
            quick=True,
        )

    def fitted_to(self, n: int) -> FacesSettings:
        """The same for fewer training windows than it was made for: start, checkpoints, head shrink alike.

        >>> FacesSettings().fitted_to(100_000) == FacesSettings(), FacesSettings().fitted_to(120).start
        (True, 6)
        """
        if len(checkpoints(n, start=self.start, every=self.every)) >= FEWEST_CHECKPOINTS:
            return self
        return replace(
            self,
            start=max(1, n // 20),
            every=max(1, n // 10),
            head=max(1, n // 5),
            batch_size=max(1, min(self.batch_size, n // 200)),
        )

    def methods(self) -> list[Method]:
        """All methods of the comparison: the paper's, and what happens without the total."""
        of, batch = min(self.order, self.n_hypotheses), self.batch_size
        methods = [
            *paper_methods(order=of, head=self.head, batch_size=batch),
            Method(
                "ocb-full-theorem",
                "OCB, full order, the paper's theorem",
                correction="theorem",
                batch_size=batch,
            ),
            Method(
                "ocb-order-400-own",
                f"OCB, order {of}, total not kept",
                order=of,
                correction="own",
                batch_size=batch,
            ),
            Method("ocb-full-own", "OCB, full order, total not kept", correction="own", batch_size=batch),
        ]
        if batch > 1 and self.one_by_one > 0:
            for key, correction in zip(ONE_BY_ONE, ("theorem", "balanced"), strict=True):
                label = f"order {of}, {correction}, one by one"
                methods.append(Method(key, label, order=of, correction=correction))
        return methods


@dataclass(frozen=True)
class FacesResult:
    """What the experiment found.

    Attributes
    ----------
    settings : FacesSettings
        As they were used: fitted to the number of windows.
    source : str
        Where the windows came from.
    fallback : bool
        Whether these are other windows than those of the paper's size.
    n_found, n_train, n_test : int
        Filters found; training and test windows.
    examples : list of int
        The checkpoints.
    approximation_error, one_minus_auc : dict of str to ndarray of shape (permutations, checkpoints)
        For each method's key. A method that went through fewer permutations has fewer rows.
    seconds : dict of str to float
    notes : list of str
    """

    settings: FacesSettings
    source: str
    fallback: bool
    n_found: int
    n_train: int
    n_test: int
    examples: list[int]
    approximation_error: dict[str, Floats]
    one_minus_auc: dict[str, Floats]
    seconds: dict[str, float] = field(compare=False)
    notes: list[str] = field(default_factory=list)

    @property
    def labels(self) -> dict[str, str]:
        """Each method's name for readers."""
        return {
            method.key: method.label for method in self.settings.methods() if method.key in self.one_minus_auc
        }

    @property
    def name(self) -> str:
        """What the windows are, for headings."""
        return "Faces, a small set" if self.fallback else "Faces"

    def as_dict(self) -> dict[str, Any]:
        """The result as plain numbers, lists and dictionaries, ready for JSON."""
        settings = self.settings
        return {
            "experiment": "faces",
            "quick": settings.quick,
            "source": self.source,
            "fallback": self.fallback,
            "settings": asdict(settings),
            "chosen_here": self.chosen(),
            "seeds": {
                "hypotheses": [settings.seed, 0],
                "permutations": [[settings.seed, p + 1] for p in range(settings.permutations)],
            },
            "methods": {m.key: asdict(m) for m in settings.methods() if m.key in self.one_minus_auc},
            "hypotheses_found": self.n_found,
            "training_windows": self.n_train,
            "test_windows": self.n_test,
            "examples": self.examples,
            "approximation_error": {k: e.mean(axis=0).tolist() for k, e in self.approximation_error.items()},
            "approximation_error_std": {k: _spread(e) for k, e in self.approximation_error.items()},
            "one_minus_auc": {k: e.mean(axis=0).tolist() for k, e in self.one_minus_auc.items()},
            "one_minus_auc_std": {k: _spread(e) for k, e in self.one_minus_auc.items()},
            "permutations": {
                "approximation_error": {k: e.tolist() for k, e in self.approximation_error.items()},
                "one_minus_auc": {k: e.tolist() for k, e in self.one_minus_auc.items()},
            },
            "seconds": self.seconds,
            "notes": self.notes,
        }

    def chosen(self) -> dict[str, str]:
        """What was chosen where the paper is silent or could not be followed."""
        s = self.settings
        return {
            "hypotheses": (
                f"{self.n_found:,} box filters, chosen by AdaBoost with resampling on the training windows "
                "themselves; the paper uses those of an existing detector"
            ),
            "resampling": f"{s.n_sample:,} windows and {s.n_filters:,} filters a round; not in the paper",
            "windows": "variance-normalised; other pictures than the paper's, which were never published",
            "ocb-order-400-theorem": "the paper's own update, by its theorem: the listing's sign is mended",
            "ocb": "our balanced correction; not in the paper",
            "batches": _batches(s),
            "ocb-head": (
                f"{s.head:,} windows are kept: those that weigh exactly, the others as a weighted sample; "
                "not in the paper"
            ),
            "ocb-head-newest": f"the last {s.head:,} windows are kept exactly; not in the paper",
            "oza-russell": "started from AdaBoost like the others; the paper found that this changes little",
            "smoothing": f"{s.smoothing:g}, worth so many windows of average weight, the same for every "
            "method and for AdaBoost; the paper does not say",
        }


def run_faces(
    settings: FacesSettings | None = None,
    data: Path | None = None,
    *,
    cache: Cache | None = None,
    progress: Progress | None = None,
) -> FacesResult:
    """Run the experiment.

    Parameters
    ----------
    settings : FacesSettings, optional
    data : path, optional
        The folder that holds ``faces/``; without it a small set has to do, see `load_faces`.
    cache : Cache, optional
        Keeps the filters' answers and the online methods' weights from one run to the next.
    progress : callable, optional
        Called as ``progress(what, done, total)``.
    """
    settings = FacesSettings() if settings is None else settings
    told = progress or (lambda what, done, total: None)
    began = time.perf_counter()
    whole = load_faces(data)
    images = _thinned(whole, settings.thinned)
    n = len(images.train_y)
    source = used_of(
        whole.source, (len(whole.train_y), len(whole.test_y)), (n, len(images.test_y)), "windows"
    )
    notes = [whole.unusual] if whole.unusual else []
    fitted = settings.fitted_to(n)
    if fitted != settings:
        notes.append(
            f"There are only {n:,} training windows: started from {fitted.start}, checkpoints every "
            f"{fitted.every}, a head of {fitted.head}."
        )
        settings = fitted
    steps = _Steps(settings, told)
    seconds = dict.fromkeys(["choosing filters", *(m.key for m in settings.methods()), "ranking"], 0.0)
    steps.begin(f"choosing {settings.n_hypotheses:,} filters")
    with timed(seconds, "choosing filters"):
        answers, tested = _answers(settings, images, cache)
    answers *= images.train_y[:, None]  # margins from here on
    steps.done()
    points = checkpoints(n, start=settings.start, every=settings.every)
    kept = Kept(cache, answers)
    errors: dict[str, list[list[float]]] = {method.key: [] for method in settings.methods()}
    areas: dict[str, list[list[float]]] = {method.key: [] for method in settings.methods()}
    for p in range(settings.permutations):
        order = np.random.default_rng([settings.seed, p + 1]).permutation(n)
        methods = [m for m in settings.methods() if m.key not in ONE_BY_ONE or p < settings.one_by_one]
        steps.begin(f"permutation {p + 1} of {settings.permutations}")
        alphas = follow_all(
            methods,
            answers,
            points,
            start=settings.start,
            smoothing=settings.smoothing,
            seconds=seconds,
            told=steps.done,
            kept=kept,
            order=order,
        )
        with timed(seconds, "ranking"):
            found = _areas(tested, images.test_y == 1, np.concatenate(list(alphas.values())))
        for method, area in zip(methods, found.reshape(len(methods), -1), strict=True):
            areas[method.key].append(area.tolist())
            pairs = zip(alphas["adaboost"], alphas[method.key], strict=True)
            errors[method.key].append([approximation_error(exact, alpha) for exact, alpha in pairs])
    seconds["total"] = time.perf_counter() - began
    if cache is not None and cache.note is not None:
        notes.append(cache.note)
    return FacesResult(
        settings,
        source,
        images.fallback,
        answers.shape[1],
        n,
        len(images.test_y),
        points,
        {key: np.array(rows) for key, rows in errors.items() if rows},
        {key: np.array(rows) for key, rows in areas.items() if rows},
        seconds,
        notes,
    )


class _Steps:
    """How far the experiment is: one step for the filters, one for each method in each permutation."""

    def __init__(self, settings: FacesSettings, told: Progress) -> None:
        p = settings.permutations
        times = [min(settings.one_by_one, p) if m.key in ONE_BY_ONE else p for m in settings.methods()]
        self._total = 1 + sum(times)
        self._told, self._what, self._n = told, "", 0

    def begin(self, what: str) -> None:
        self._what = what
        self._told(what, self._n, self._total)

    def done(self, label: str = "") -> None:
        self._n += 1
        self._told(self._what, self._n, self._total)


def _thinned(images: Images, step: int) -> Images:
    """One of so many windows, of faces and others alike; of a small set, all."""
    if len(images.train_y) < 1000 * step:
        return images
    return replace(
        images,
        train_X=images.train_X[::step],
        train_y=images.train_y[::step],
        test_X=images.test_X[::step],
        test_y=images.test_y[::step],
    )


def _answers(
    settings: FacesSettings, images: Images, cache: Cache | None
) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.int8]]:
    """What the filters answer to the training and the test windows; chosen, or taken from the cache."""
    train, test = (X.reshape(len(X), -1) for X in (images.train_X, images.test_X))

    def make() -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        learner = BoxLearner(n_sample=settings.n_sample, n_filters=settings.n_filters)
        rng = np.random.default_rng([settings.seed, 0])
        boxes = learner.learn(train, images.train_y, n_hypotheses=settings.n_hypotheses, rng=rng)
        found = {"train": pack_margins(boxes.answers(train)), "test": pack_margins(boxes.answers(test))}
        return {"n": len(boxes)}, found

    what = {
        "seed": settings.seed,
        "n_hypotheses": settings.n_hypotheses,
        "n_sample": settings.n_sample,
        "n_filters": settings.n_filters,
        "train": train,
        "signs": images.train_y,
        "test": test,
    }
    parameters, arrays = make() if cache is None else cache.fetch("faces-answers", what, make)
    J = parameters["n"]
    return unpack_margins(arrays["train"], J), unpack_margins(arrays["test"], J)


def _areas(tested: npt.NDArray[np.int8], positive: npt.NDArray[np.bool_], alphas: Floats) -> Floats:
    """1 - AUC of each row of weights over the hypotheses' answers to the test windows."""
    votes = np.empty((len(alphas), len(tested)))
    for at in range(0, len(tested), VOTED_AT_ONCE):
        some = slice(at, at + VOTED_AT_ONCE)
        votes[:, some] = alphas @ tested[some].T.astype(np.float64)
    # Where all hypotheses answer alike the votes are equal, but a matrix product may sum in another order.
    votes = np.round(votes / np.abs(alphas).sum(axis=1, keepdims=True).clip(min=1e-300), 12)
    return np.array([one_minus_auc(row, positive) for row in votes])


def _spread(values: Floats) -> list[float] | None:
    """Sample standard deviation over the permutations; one has none."""
    return values.std(axis=0, ddof=1).tolist() if len(values) > 1 else None


def _batches(settings: FacesSettings) -> str:
    if settings.batch_size == 1:
        return "OCB adds one window at a time, as in the paper"
    n = settings.one_by_one
    times = "one permutation" if n == 1 else f"{n} permutations"
    on = f", as both corrections of order {settings.order} do on {times} too" if n else ""
    return f"OCB adds {settings.batch_size} windows at once; the paper adds one{on}"
