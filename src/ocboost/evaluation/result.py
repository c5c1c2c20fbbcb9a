"""What an evaluation found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ocboost._core.metrics import Values
from ocboost.evaluation.contenders import Role


@dataclass(frozen=True)
class Standing:
    """One contender's result.

    Attributes
    ----------
    name : str
        The contender's, as in tables.
    role : str
        As of `Contender`.
    metrics : dict
        Over the whole stream; None where a metric is not defined.
    auc_bound, pr_auc_bound : float or None
        How far AUC and PR-AUC may be off, being taken from a histogram.
    confusion : list of lists
        How often each class (row) was predicted as each (column).
    curve : dict
        Each metric over the window, beside ``Result.curve_rows``.
    alarms : list of int
        The rows at which ADWIN found that its rate of error had changed.
    predict_us, learn_us : float
        Microseconds for each row predicted, and for each row learnt; without the weak answers.
    nbytes : int or None
        Bytes of its state at the end.
    deployable : bool
        As of `Contender`: False for what takes part for comparison only.
    thresholds : dict or None
        Of two classes: recall of the second and of the first (``recall_of_others``), precision of the second
        and accuracy, were the second predicted from each ``threshold`` on.
    alarm_rates : list of pairs
        The rates of error before and after each alarm.
    """

    name: str
    role: Role
    metrics: Values
    auc_bound: float | None
    confusion: list[list[int]]
    curve: dict[str, list[float | None]]
    alarms: list[int]
    predict_us: float
    learn_us: float | None
    nbytes: int | None
    deployable: bool = True
    pr_auc_bound: float | None = None
    thresholds: dict[str, list[float]] | None = None
    alarm_rates: list[tuple[float, float]] = field(default_factory=list)


@dataclass(frozen=True)
class Result:
    """The results of several contenders on one stream.

    Attributes
    ----------
    classes : list
        The labels, in the order of their codes.
    first_row, last_row : int
        The rows of the stream that were predicted.
    n_predicted, n_scored, n_learnt : int
        Rows predicted, those of them that had a label, and those whose label arrived in time to be learnt.
    settings : dict
        step, delay, window, every and drift, as they were used.
    standings : list of Standing
        One for each contender, in their order.
    curve_rows, curve_counts : list of int
        The row after which each point of the curves was taken, and the examples that were in the window.
    seconds : float
        How long it all took.
    answers_us : float
        Microseconds for each row to compute the weak answers that contenders share.
    peak_bytes : int or None
        The most memory the process ever had.
    interrupted : bool
        Whether Ctrl-C ended it early; everything is then about the rows before that.
    notes : list of str
        What a reader should know.
    """

    classes: list[Any]
    first_row: int | None
    last_row: int | None
    n_predicted: int
    n_scored: int
    n_learnt: int
    settings: dict[str, Any]
    standings: list[Standing]
    curve_rows: list[int]
    curve_counts: list[int]
    seconds: float
    answers_us: float
    peak_bytes: int | None
    interrupted: bool = False
    notes: list[str] = field(default_factory=list)

    def __getitem__(self, name: str) -> Standing:
        for standing in self.standings:
            if standing.name == name:
                return standing
        raise KeyError(name)

    def as_dict(self) -> dict[str, Any]:
        """Everything, for JSON: what is not defined is None.

        Returns
        -------
        dict
            As ``results.json`` has it.
        """
        return {
            "classes": self.classes,
            "rows": {
                "first": self.first_row,
                "last": self.last_row,
                "predicted": self.n_predicted,
                "scored": self.n_scored,
                "learnt": self.n_learnt,
            },
            "settings": dict(self.settings),
            "interrupted": self.interrupted,
            "notes": list(self.notes),
            "seconds": self.seconds,
            "answers_us": self.answers_us,
            "peak_bytes": self.peak_bytes,
            "contenders": {
                standing.name: {
                    "role": standing.role,
                    "deployable": standing.deployable,
                    **standing.metrics,
                    "auc_bound": standing.auc_bound,
                    "pr_auc_bound": standing.pr_auc_bound,
                    "thresholds": standing.thresholds,
                    "confusion": standing.confusion,
                    "alarms": standing.alarms,
                    "predict_us": standing.predict_us,
                    "learn_us": standing.learn_us,
                    "nbytes": standing.nbytes,
                    "windowed": standing.curve,
                }
                for standing in self.standings
            },
            "windowed_rows": self.curve_rows,
            "windowed_counts": self.curve_counts,
        }
