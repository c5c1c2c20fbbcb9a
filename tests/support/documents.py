"""Documents as the page shows them, made up: a model in service, a finished run, a comparison of methods."""

from __future__ import annotations

from typing import Any

import numpy as np

START = 1_763_330_000.0  # seconds since 1970
BUCKETS = 160
BUCKET = 125  # labels


def series(levels: dict[str, list[float]], n_buckets: int = BUCKETS, *, timed: bool = True) -> dict[str, Any]:
    """Curves around levels that change at even distances, with the noise that so few labels have."""
    rng = np.random.default_rng(0)
    curves = {name: np.repeat(at, -(-n_buckets // len(at)))[:n_buckets] for name, at in levels.items()}
    accuracy = {name: rng.binomial(BUCKET, at) / BUCKET for name, at in curves.items()}
    return {
        "labels": [BUCKET * (i + 1) for i in range(n_buckets)],
        "times": [START + 40.0 * i for i in range(n_buckets)] if timed else None,
        "counts": [BUCKET] * n_buckets,
        "accuracy": {name: at.tolist() for name, at in accuracy.items()},
        "log_loss": {name: (1.4 * (1.0 - at) + 0.08).tolist() for name, at in accuracy.items()},
    }


def happening(number: int, kind: str, label: int, text: str, **more: Any) -> dict[str, Any]:
    """An event of the document."""
    time = START + 40.0 * label / BUCKET
    return {
        "number": number,
        "kind": kind,
        "label": label,
        "time": time,
        "of": None,
        "better": None,
        "text": text,
        **more,
    }


def mistake(number: int, label: int) -> dict[str, Any]:
    """A row that was answered wrongly."""
    return {
        "number": number,
        "label": label,
        "time": START + 40.0 * label / BUCKET,
        "said": "stays",
        "probability": 0.87,
        "truth": "leaves",
        "truth_probability": 0.13,
        "row": [["age", "41"], ["plan", "basic"], ["visits", "3"], ["calls to support", "5"]],
        "now": None
        if number % 2
        else {
            "prediction": "leaves",
            "probability": 0.61,
            "labels_later": 1210,
            "hypotheses": [{"words": "calls to support > 3.5", "contribution": 0.61}],
            "features": [
                {"name": "calls to support", "value": "5", "contribution": 0.83},
                {"name": "visits", "value": "3", "contribution": -0.22},
            ],
        },
    }


def run_document(kind: str = "run") -> dict[str, Any]:
    """A run over 20,000 labels with two drifts, all of its sections filled."""
    levels = {"deployed": [0.91, 0.72, 0.78], "adapted": [0.92, 0.85, 0.93, 0.83, 0.94]}
    n_labels = BUCKET * BUCKETS
    return {
        "format": 1,
        "kind": kind,
        "title": "churn",
        "subtitle": "churn.ocb on visits.csv",
        "classes": ["leaves", "stays"],
        "status": {
            "answering": "adapted",
            "deployed": 0,
            "frozen": False,
            "guard": "recent labels",
            "labels": n_labels + 4,
            "learnt": n_labels,
            "failed": 0,
            "pending": 1312,
            "oldest_pending": START + 5000.0,
            "last_label": START + 6360.0,
            "storage": "ok",
            "accuracy": 0.894,
            "recent_accuracy": 0.941,
            "drift": {"deployed": 2, "adapted": 3},
        },
        "models": [
            {"name": "deployed", "title": "deployed model"},
            {"name": "adapted", "title": "adapted model"},
        ],
        "series": {"all": series(levels), "recent": series({"deployed": [0.78], "adapted": [0.94]}, 60)},
        "events": [
            happening(1, "guard", 1300, "The adapted model answers from now on."),
            happening(
                2,
                "drift",
                6850,
                "The deployed model's rate of error rose from 9.1 % to 27.5 %.",
                of="deployed",
                better=False,
            ),
            happening(
                3,
                "drift",
                6900,
                "The adapted model's rate of error rose from 8.0 % to 14.9 %.",
                of="adapted",
                better=False,
            ),
            happening(
                4,
                "drift",
                8300,
                "The adapted model's rate of error fell from 15.2 % to 7.3 %.",
                of="adapted",
                better=True,
            ),
            happening(5, "promoted", 10400, "The adapted model was promoted."),
            happening(6, "version", 11000, "Version 2 was saved."),
            happening(
                7,
                "drift",
                12600,
                "The adapted model's rate of error rose from 7.1 % to 17.0 %.",
                of="adapted",
                better=False,
            ),
        ],
        "members": [
            {"name": "window of 200", "share": 0.41, "before": 0.1, "accuracy": 0.93, "log_loss": 0.211},
            {"name": "forest", "share": 0.33, "before": 0.25, "accuracy": 0.921, "log_loss": 0.24},
            {"name": "neighbours", "share": 0.2, "before": 0.25, "accuracy": 0.9, "log_loss": 0.31},
            {"name": "deployed model", "share": 0.06, "before": 0.4, "accuracy": 0.78, "log_loss": None},
        ],
        "hypotheses": [
            {
                "words": "calls to support > 3.5",
                "label": "leaves",
                "before": 0.2,
                "now": 0.74,
                "came": False,
                "went": False,
            },
            {
                "words": "age ≤ 30.5",
                "label": "leaves",
                "before": 0.61,
                "now": 0.12,
                "came": False,
                "went": False,
            },
            {
                "words": "visits ≤ 2.5 and plan is basic",
                "label": "leaves",
                "before": 0.0,
                "now": 0.35,
                "came": True,
                "went": False,
            },
            {
                "words": "plan is pro",
                "label": "stays",
                "before": 0.22,
                "now": -0.1,
                "came": False,
                "went": False,
            },
        ],
        "features": [
            {"name": "calls to support", "share": 0.44, "before": 0.12},
            {"name": "age", "share": 0.11, "before": 0.37},
            {"name": "visits", "share": 0.25, "before": 0.2},
            {"name": "plan", "share": 0.2, "before": None},
        ],
        "mistakes": [mistake(8 - i, n_labels - 110 * i) for i in range(6)],
        "versions": [],
    }


def live_document() -> dict[str, Any]:
    """A model in service, with three versions."""
    versions = [
        {
            "number": number,
            "reason": reason,
            "labels": labels,
            "time": START + labels / 3.0,
            "bytes": 41_000 + labels,
            "answering": number == 2,
            "deployed": number == 1,
            "recent_accuracy": 0.9 + number / 50 if number else None,
        }
        for number, reason, labels in [(0, "deployed", 0), (1, "promoted", 10_400), (2, "guard", 11_000)]
    ]
    return {**run_document("live"), "versions": versions}


def comparison_document(n_methods: int = 20) -> dict[str, Any]:
    """As many methods as the page takes, over one stream without times."""
    names = [f"method {i}" for i in range(n_methods)]
    levels = {name: [0.9 - 0.012 * i, 0.84 - 0.016 * i, 0.92 - 0.01 * i] for i, name in enumerate(names)}
    means = {field: {name: i / 100 for i, name in enumerate(names)} for field in ("accuracy", "log_loss")}
    return {
        "format": 1,
        "kind": "comparison",
        "title": "elec2",
        "subtitle": f"{n_methods} methods, seed 0",
        "models": [{"name": name, "title": name.capitalize()} for name in names],
        "series": {"all": {**series(levels, timed=False), "window": 1000, "means": means}},
        "events": [
            happening(
                1, "drift", 7000, "Method 0: the rate of error rose.", of=names[0], better=False, time=None
            )
        ],
        "versions": [],
    }
