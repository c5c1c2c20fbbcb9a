"""The results of a comparison over all seeds: means, spreads, ranks and curves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ocboost._core.metrics import METRIC_TABLE, METRICS
from ocboost.evaluation.contenders import Role

if TYPE_CHECKING:
    from ocboost.evaluation.comparison import Comparison
    from ocboost.evaluation.result import Result

MAX_BOARD_POINTS = 250  # of a curve
DRAWN_PER_SEED = "Each seed draws another stream."
LEVEL_ERRORS = 2.0  # a method is level with the best within so many standard errors
Numbers = list[float | None]


@dataclass(frozen=True)
class BoardEntry:
    """The results of one method, over all seeds.

    ``values`` and ``learn_us`` hold None where a number is not defined. Ranks are by accuracy, 1 the best;
    equals share the mean of theirs. ``nbytes`` is the most over the seeds. ``curves`` and ``bands`` are means
    and standard deviations of the windowed metrics. ``alarms`` are the rows of drift alarms, for each seed.
    ``confusion`` is summed over the seeds; ``thresholds`` are those of the first one (`Standing`), if kept.
    """

    name: str
    title: str
    role: Role
    values: dict[str, Numbers]
    ranks: list[float]
    predict_us: list[float]
    learn_us: Numbers
    nbytes: int | None
    curves: dict[str, Numbers]
    bands: dict[str, Numbers]
    deployable: bool = True
    alarms: list[list[int]] = field(default_factory=list)
    auc_bound: float | None = None
    pr_auc_bound: float | None = None
    confusion: list[list[int]] | None = None
    thresholds: dict[str, list[float]] | None = None

    def mean(self, metric: str) -> float | None:
        """The mean over the seeds; None where it is not defined for one of them."""
        return mean_of(self.values.get(metric, []))  # that older files do not have

    def spread(self, metric: str) -> float | None:
        """The standard deviation over the seeds; None with one seed."""
        return spread_of(self.values.get(metric, []))

    def recall(self, code: int) -> float | None:
        """The share of a class's rows that were predicted right; None where none came, or it is not known."""
        row: list[int] = [] if self.confusion is None else self.confusion[code]
        return row[code] / sum(row) if sum(row) else None

    @property
    def accuracy(self) -> float:
        """Its mean accuracy; 0 where nothing was scored."""
        return self.mean("accuracy") or 0.0

    @property
    def rank(self) -> float:
        """The mean of its ranks."""
        return math.fsum(self.ranks) / len(self.ranks)

    @property
    def us(self) -> float:
        """Microseconds to predict and learn a row, the mean over the seeds."""
        return (mean_of(self.predict_us) or 0.0) + (mean_of([x or 0.0 for x in self.learn_us]) or 0.0)


@dataclass(frozen=True)
class Board:
    """A leaderboard: the results of several methods on one stream, over several seeds.

    ``skipped`` says by a method's name why it did not take part. ``start`` rows were learnt first; of those
    predicted after them ``n_scored`` had a label. ``settings`` are step, delay, window, every and drift.
    Each point of the curves was taken after its row of ``curve_rows``; they are ``full`` if they begin where
    the window is full. ``seconds`` are summed over processes, ``peak_bytes`` is the most of one process,
    ``answers_us`` the microseconds for each row to compute the weak answers that methods share. From
    ``least_probability`` on the second of two classes was predicted, if that was asked for.
    """

    stream: str
    entries: list[BoardEntry]
    skipped: dict[str, str]
    seeds: list[int]
    classes: list[Any]
    n_features: int | None
    start: int
    n_scored: int
    settings: dict[str, Any]
    curve_rows: list[int]
    seconds: float
    peak_bytes: int | None
    interrupted: bool = False
    notes: list[str] = field(default_factory=list)
    n_predicted: int = 0
    n_learnt: int = 0
    answers_us: float = 0.0
    full: bool = True
    least_probability: float | None = None

    def __getitem__(self, name: str) -> BoardEntry:
        for entry in self.entries:
            if entry.name == name:
                return entry
        raise KeyError(name)

    @property
    def standard_error(self) -> float | None:
        """How far chance alone moves an accuracy like the best, were other rows drawn; None without scores.

        That of a share of so many rows, each right or wrong on its own. Where each seed draws another stream
        the rows of all seeds count.
        """
        best = best_of([entry.mean("accuracy") for entry in self.entries], "accuracy")
        if best is None or self.n_scored == 0:
            return None
        n = self.n_scored * (len(self.seeds) if DRAWN_PER_SEED in self.notes else 1)
        return math.sqrt(max(best * (1.0 - best), 1.0 / n) / n)

    def best(self, role: str | None = None, *, deployable: bool = True) -> list[BoardEntry]:
        """The highest mean accuracy, of a role or of all; several where they are equal.

        With ``deployable`` only methods that can be deployed count.
        """
        entries = [entry for entry in self.entries if role in (None, entry.role)]
        entries = [entry for entry in entries if entry.deployable or not deployable]
        top = best_of([entry.mean("accuracy") for entry in entries], "accuracy")
        return [entry for entry in entries if top is not None and entry.mean("accuracy") == top]

    def ahead(self) -> list[BoardEntry]:
        """Who has the highest mean accuracy of all, if that is nobody who can be deployed."""
        best = self.best(deployable=False)
        return [] if any(entry.deployable for entry in best) else best

    def level(self) -> list[BoardEntry]:
        """Those behind the best that can be deployed by at most two standard errors, who can be too."""
        best, error = self.best(), self.standard_error
        top = best[0].mean("accuracy") if best else None
        if top is None or error is None:
            return []
        known = [(entry.mean("accuracy"), entry) for entry in self.entries if entry.deployable]
        near = [
            (value, p) for value, p in known if value is not None and 0 < top - value <= LEVEL_ERRORS * error
        ]
        return [entry for _, entry in sorted(near, key=lambda pair: -pair[0])]

    @classmethod
    def of(
        cls,
        stream: str,
        comparisons: Sequence[Comparison],
        notes: Sequence[str] = (),
        curves: Sequence[str] = ("accuracy",),
        *,
        thresholds: bool = False,
    ) -> Board:
        """The board of comparisons of the same methods on one stream, each with other seeds.

        ``notes`` come before those of the comparisons; ``curves`` are the metrics to keep curves of;
        ``thresholds`` keeps what other thresholds would give.
        """
        results = [comparison.result for comparison in comparisons]
        first = results[0]
        runs = [run for comparison in comparisons for run in comparison.runs]
        seeds = list(dict.fromkeys(run.seed for run in runs))
        ranks = {seed: _ranked([run for run in runs if run.seed == seed]) for seed in seeds}
        full = _full(first)
        shown = slice(full or 0, min(len(result.curve_rows) for result in results))
        per_point = -(-len(first.curve_rows[shown]) // MAX_BOARD_POINTS)
        entries = []
        for name in dict.fromkeys(run.method for run in runs):
            own = {run.seed: run for run in runs if run.method == name}
            standings = [own[seed].standing for seed in seeds]
            points = {
                metric: list(
                    zip(*(thinned(s.curve[metric][shown], per_point) for s in standings), strict=True)
                )
                for metric in curves
            }
            bounds = [standing.auc_bound for standing in standings if standing.auc_bound is not None]
            pr_bounds = [s.pr_auc_bound for s in standings if s.pr_auc_bound is not None]
            bytes_ = [standing.nbytes for standing in standings if standing.nbytes is not None]
            entries.append(
                BoardEntry(
                    name=name,
                    title=standings[0].name,
                    role=standings[0].role,
                    values={metric: [s.metrics[metric] for s in standings] for metric in METRICS},
                    ranks=[ranks[seed][name] for seed in seeds],
                    predict_us=[s.predict_us for s in standings],
                    learn_us=[s.learn_us for s in standings],
                    nbytes=max(bytes_, default=None),
                    curves={metric: [mean_of(each) for each in points[metric]] for metric in curves},
                    bands={metric: [spread_of(each) for each in points[metric]] for metric in curves},
                    deployable=standings[0].deployable,
                    alarms=[standing.alarms for standing in standings],
                    auc_bound=max(bounds, default=None),
                    pr_auc_bound=max(pr_bounds, default=None),
                    confusion=np.sum([s.confusion for s in standings], axis=0).tolist(),
                    thresholds=standings[0].thresholds if thresholds else None,
                )
            )
        peaks = [result.peak_bytes for result in results if result.peak_bytes is not None]
        return cls(
            stream=stream,
            entries=entries,
            skipped=dict(comparisons[0].skipped),
            seeds=seeds,
            classes=list(first.classes),
            n_features=comparisons[0].n_features,
            start=comparisons[0].start,
            n_scored=min(result.n_scored for result in results),
            settings={**first.settings, "every": per_point * first.settings["every"]},
            curve_rows=[round(x) for x in thinned(first.curve_rows[shown], per_point) if x is not None],
            seconds=math.fsum(result.seconds for result in results),
            peak_bytes=max(peaks, default=None),
            interrupted=any(result.interrupted for result in results),
            notes=list(dict.fromkeys([*notes, *(note for result in results for note in result.notes)])),
            n_predicted=min(result.n_predicted for result in results),
            n_learnt=min(result.n_learnt for result in results),
            answers_us=math.fsum(result.answers_us for result in results) / len(results),
            full=full is not None,
            least_probability=comparisons[0].least_probability,
        )

    def as_dict(self, *, curves: bool = True) -> dict[str, Any]:
        """Everything, for JSON: no NaN, undefined numbers are None. Entries are called places there."""
        content = asdict(self)
        content["places"] = content.pop("entries")
        content["classes"] = [c if isinstance(c, str | int | float | bool) else str(c) for c in self.classes]
        if not curves:
            del content["curve_rows"]
        for entry, one in zip(self.entries, content["places"], strict=True):
            for metric in METRICS:
                one[metric] = {"mean": entry.mean(metric), "sd": entry.spread(metric)}
            one["rank"], one["us"] = entry.rank, entry.us
            own, bands = one.pop("curves"), one.pop("bands")
            if curves:
                one["curve"], one["band"] = own.pop("accuracy"), bands.pop("accuracy")
                one["other_curves"], one["other_bands"] = own, bands
        return content

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Board:
        """The inverse of `as_dict`, with curves."""
        fields = set(BoardEntry.__dataclass_fields__)
        entries = []
        for one in content["places"]:
            curves = {"accuracy": one["curve"], **one["other_curves"]}
            bands = {"accuracy": one["band"], **one["other_bands"]}
            given = {key: value for key, value in one.items() if key in fields}
            entries.append(BoardEntry(**{**given, "curves": curves, "bands": bands}))
        others = {key: value for key, value in content.items() if key != "places"}
        return cls(**others, entries=entries)


def board_of(result: Result | Board) -> Board:
    """The board of contenders that `prequential` evaluated; a board is unchanged."""
    from ocboost.evaluation.comparison import Comparison

    return (
        result
        if isinstance(result, Board)
        else Board.of("", [Comparison.of(result)], curves=METRICS, thresholds=True)
    )


def _full(result: Result) -> int | None:
    """The first point of the curves whose window is full; None if that is so only late."""
    counts = result.curve_counts
    full = next((i for i, n in enumerate(counts) if n >= result.settings["window"]), len(counts))
    return full if full <= len(counts) // 2 and counts else None


def mean_of(values: Sequence[float | None]) -> float | None:
    """The mean; None where one is not known.

    >>> mean_of([1.0, 2.0]), mean_of([1.0, None])
    (1.5, None)
    """
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known and len(known) == len(values) else None


def spread_of(values: Sequence[float | None]) -> float | None:
    """The standard deviation of a sample; None where there is one value only, or one is not known.

    >>> round(spread_of([1.0, 2.0]), 4), spread_of([1.0])
    (0.7071, None)
    """
    middle = mean_of(values)
    if middle is None or len(values) < 2:
        return None
    squares = math.fsum((value - middle) ** 2 for value in values if value is not None)
    return math.sqrt(squares / (len(values) - 1))


def ranks_of(values: Sequence[float | None], *, less: bool = False) -> list[float]:
    """Ranks, 1 the highest, or the least; equals share the mean of theirs, what is not known comes last.

    >>> ranks_of([0.5, 0.9, 0.5, None])
    [2.5, 1.0, 2.5, 4.0]
    """
    from scipy.stats import rankdata

    worst = math.inf
    ranks: list[float] = rankdata([worst if v is None else (v if less else -v) for v in values]).tolist()
    return ranks


def thinned(values: Sequence[float | None], per_point: int) -> Numbers:
    """The mean of every so many values; None where none of them is known.

    >>> thinned([1.0, 2.0, 3.0, None, None], 2)
    [1.5, 3.0, None]
    """
    if per_point <= 1:
        return list(values)
    groups = [values[at : at + per_point] for at in range(0, len(values), per_point)]
    return [mean_of([v for v in group if v is not None]) for group in groups]


def _ranked(runs: Sequence[Any]) -> dict[str, float]:
    ranks = ranks_of([run.standing.metrics["accuracy"] for run in runs])
    return {run.method: rank for run, rank in zip(runs, ranks, strict=True)}


def best_of(values: Sequence[float | None], metric: str) -> float | None:
    """The best value of a metric."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    return max(known) if METRIC_TABLE[metric].larger_is_better else min(known)
