"""Metrics for Prometheus, in a registry of their own."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from ocboost.errors import ClosedError
from ocboost.live.clock import system_time

if TYPE_CHECKING:
    from ocboost.live import Adapter
    from ocboost.live.alarms import Alarms

METRICS_TYPE = b"text/plain; version=0.0.4; charset=utf-8"
LATENCY_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
STORAGE_STATES = ("ok", "full", "failed")
FACTS_SECONDS = 1.0  # that the adapter may take to answer

# Name, help, and the entry of the adapter's facts.
GAUGES = (
    ("ocboost_labels_learnt", "Labels learnt since the model was deployed.", "learnt"),
    ("ocboost_pending", "Predictions that wait for their label.", "pending"),
    ("ocboost_frozen", "Whether learning pauses.", "frozen"),
    ("ocboost_recent_accuracy", "Share of recent answers that were right.", "recent_accuracy"),
)
AGES = (
    ("ocboost_oldest_pending_age_seconds", "How long the oldest prediction has waited.", "oldest_pending"),
    ("ocboost_last_label_age_seconds", "Seconds since the last label came.", "last_label"),
)
COUNTERS = (
    ("ocboost_guard_decisions", "Times that the guard let another model answer.", "guard_decisions"),
    ("ocboost_expired_predictions", "Predictions whose label came too late or never.", "expired"),
)


class ServiceMetrics:
    """Counts of requests, rows and labels, and what the adapter says of itself when it is asked."""

    def __init__(self, adapter: Adapter) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "ocboost_requests",
            "Requests by path and status.",
            ["path", "method", "status"],
            registry=self.registry,
        )
        self._seconds = Histogram(
            "ocboost_request_seconds",
            "From a request's headers to the end of its answer.",
            ["path"],
            buckets=LATENCY_SECONDS,
            registry=self.registry,
        )
        self.rows = Counter("ocboost_predicted_rows", "Rows predicted.", registry=self.registry)
        self._labels = Counter("ocboost_labels", "Labels by result.", ["result"], registry=self.registry)
        self.invalid = Counter(
            "ocboost_invalid_http", "Connections that did not speak HTTP.", registry=self.registry
        )
        self.waiting = Gauge("ocboost_requests_waiting", "Requests being answered.", registry=self.registry)
        self._request_children: dict[tuple[str, str, int], Any] = {}
        self._second_children: dict[str, Any] = {}
        self.registry.register(AdapterCollector(adapter))

    def count_request(self, path: str, method: str, status: int, seconds: float) -> None:
        """Count a request that has been answered; ``path`` is that of a route, so there are few."""
        key = (path, method, status)
        child = self._request_children.get(key)
        if child is None:
            child = self._request_children[key] = self._requests.labels(path, method, str(status))
        child.inc()
        timed = self._second_children.get(path)
        if timed is None:
            timed = self._second_children[path] = self._seconds.labels(path)
        timed.observe(seconds)

    def count_labels(self, result: str, n: int = 1) -> None:
        """Count labels that were accepted, came twice, or were rejected for a reason."""
        if n:
            self._labels.labels(result).inc(n)

    def add_alarms(self, alarms: Alarms) -> None:
        """Show also whether labels come, and what became of webhooks."""
        self.registry.register(AlarmsCollector(alarms))

    def page(self) -> bytes:
        """What ``GET /metrics`` answers."""
        return generate_latest(self.registry)


class AdapterCollector(Collector):
    """What the adapter says of itself, asked when the metrics are read.

    While it is busy learning, what it said the last time is given after a second.
    """

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter
        self._last: dict[str, Any] = {}

    def describe(self) -> list[Any]:
        """Nothing: the names do not depend on asking."""
        return []

    def _facts(self) -> dict[str, Any]:
        try:
            self._last = self._adapter.facts_soon().result(FACTS_SECONDS)
        except TimeoutError:
            pass
        except ClosedError:
            self._last = self._adapter.facts()
        return self._last

    def collect(self) -> Iterator[Metric]:
        """Each figure as a gauge or counter; those that are not known are left out."""
        facts = self._facts()
        storage = GaugeMetricFamily("ocboost_storage", "Whether the state can be written.", labels=["state"])
        for state in STORAGE_STATES:
            storage.add_metric([state], float(self._adapter.storage == state))
        yield storage
        if not facts:
            return
        for name, text, key in GAUGES:
            if (value := _finite(facts.get(key))) is not None:
                yield GaugeMetricFamily(name, text, value=value)
        now = system_time()
        for name, text, key in AGES:
            if (value := _finite(facts.get(key))) is not None:
                yield GaugeMetricFamily(name, text, value=max(0.0, now - value))
        for name, text, key in COUNTERS:
            if (value := _finite(facts.get(key))) is not None:
                yield CounterMetricFamily(name, text, value=value)
        drift = CounterMetricFamily(
            "ocboost_drift_alarms", "Times that a model's rate of error has changed.", labels=["model"]
        )
        for model, count in facts["drift"].items():
            drift.add_metric([model], float(count))
        yield drift
        answering = GaugeMetricFamily("ocboost_answering", "What answers now.", labels=["by"])
        answering.add_metric([str(facts.get("answering"))], 1.0)
        yield answering
        accuracy = GaugeMetricFamily(
            "ocboost_candidate_accuracy", "Recent accuracy of what could answer.", labels=["candidate"]
        )
        for row in facts.get("judge") or ():
            version = row.get("version")
            if (value := _finite(row.get("recent_accuracy"))) is not None:
                accuracy.add_metric(["adapted" if version is None else f"version {version}"], value)
        yield accuracy
        yield from _of_models(facts["recent"])


def _of_models(recent: dict[str, dict[str, Any]]) -> Iterator[Metric]:
    """Accuracy and log-loss over the last labels, of each model and of what was answered."""
    for name, text, key in (
        ("ocboost_model_accuracy", "Share of recent labels that a model predicted.", "accuracy"),
        ("ocboost_model_log_loss", "Mean log-loss of a model over recent labels, in nats.", "log_loss"),
    ):
        family = GaugeMetricFamily(name, text, labels=["model"])
        for model, figures in recent.items():
            if (value := _finite(figures.get(key))) is not None:
                family.add_metric([model], value)
        yield family


class AlarmsCollector(Collector):
    """Whether labels come, and what became of webhooks."""

    def __init__(self, alarms: Alarms) -> None:
        self._alarms = alarms

    def describe(self) -> list[Any]:
        """Nothing: the names do not depend on asking."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Each figure, by the number of the webhook."""
        yield GaugeMetricFamily(
            "ocboost_labels_stopped",
            "Whether labels have stopped coming while predictions go on.",
            value=float(self._alarms.labels_stopped),
        )
        deliveries = CounterMetricFamily(
            "ocboost_webhook_deliveries", "Attempts and events by result.", labels=["webhook", "result"]
        )
        queue = GaugeMetricFamily("ocboost_webhook_queue", "Events that wait to be sent.", labels=["webhook"])
        for webhook in self._alarms.webhooks:
            for result, count in webhook.results.items():
                deliveries.add_metric([str(webhook.index), result], float(count))
            queue.add_metric([str(webhook.index)], float(webhook.waiting))
        yield deliveries
        yield queue


def _finite(value: Any) -> float | None:
    return float(value) if isinstance(value, bool | int | float) and math.isfinite(value) else None
