"""Metrics for Prometheus, in a registry of their own."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from ocboost.live import Adapter

METRICS_TYPE = b"text/plain; version=0.0.4; charset=utf-8"
LATENCY_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
STORAGE_STATES = ("ok", "full", "failed")


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

    def page(self) -> bytes:
        """What ``GET /metrics`` answers."""
        return generate_latest(self.registry)


class AdapterCollector(Collector):
    """What the adapter says of itself, asked when the metrics are read."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter

    def describe(self) -> list[Any]:
        """Nothing: the names do not depend on asking."""
        return []

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Each figure as a gauge."""
        facts = self._adapter.facts()
        storage = GaugeMetricFamily("ocboost_storage", "Whether the state can be written.", labels=["state"])
        for state in STORAGE_STATES:
            storage.add_metric([state], float(self._adapter.storage == state))
        yield storage
        for name, text, key in (
            ("ocboost_labels_learnt", "Labels learnt since the model was deployed.", "learnt"),
            ("ocboost_pending", "Predictions that wait for their label.", "pending"),
            ("ocboost_frozen", "Whether learning pauses.", "frozen"),
            ("ocboost_recent_accuracy", "Share of recent answers that were right.", "recent_accuracy"),
        ):
            value = facts.get(key)
            if isinstance(value, bool | int | float) and math.isfinite(value):
                yield GaugeMetricFamily(name, text, value=float(value))
        answering = GaugeMetricFamily("ocboost_answering", "What answers now.", labels=["by"])
        answering.add_metric([str(facts.get("answering"))], 1.0)
        yield answering
        accuracy = GaugeMetricFamily(
            "ocboost_candidate_accuracy", "Recent accuracy of what could answer.", labels=["candidate"]
        )
        for row in facts.get("judge") or ():
            value, version = row.get("recent_accuracy"), row.get("version")
            if isinstance(value, int | float) and math.isfinite(value):
                accuracy.add_metric(["adapted" if version is None else f"version {version}"], float(value))
        yield accuracy
