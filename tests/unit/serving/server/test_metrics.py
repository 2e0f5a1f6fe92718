"""The text of the metrics is read by Prometheus's own parser."""

from __future__ import annotations

import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families

from neuro_divergent.serving.server.metrics import LATENCIES, Gauge, Metrics


def read(metrics: Metrics) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """Return all samples by name and labels."""
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(metrics.render().decode())
        for sample in family.samples
    }


def test_counters_and_gauges_are_read_with_labels_of_any_text() -> None:
    metrics = Metrics()
    strange = 'a "quoted"\\ \n name'
    metrics.requests.add((("route", strange), ("status", "200")))
    metrics.requests.add((("route", strange), ("status", "200")), 2)
    metrics.add_gauge(Gauge("nd_queue_depth", "Waiting.", lambda: {(): 7}))
    found = read(metrics)
    assert found["nd_requests_total", frozenset({("route", strange), ("status", "200")})] == 3
    assert found["nd_queue_depth", frozenset()] == 7


def test_histogram_counts_are_cumulative_and_sum_up() -> None:
    metrics = Metrics()
    observed = [0.0001, 0.00025, 0.003, 0.7, 99.0]
    for value in observed:
        metrics.seconds.observe(value, (("route", "/forecast"),))
    found = read(metrics)
    for bound in LATENCIES:
        text = str(int(bound)) if bound == int(bound) else repr(bound)
        labels = frozenset({("route", "/forecast"), ("le", text)})
        matching = [value for (name, at), value in found.items() if name.endswith("_bucket") and at == labels]
        assert matching == [sum(value <= bound for value in observed)]
    route = frozenset({("route", "/forecast")})
    assert found["nd_request_seconds_count", route] == 5
    assert found["nd_request_seconds_sum", route] == pytest.approx(sum(observed))


def test_windows_outside_the_range_of_training_are_counted_where_observed() -> None:
    metrics = Metrics()
    observe = metrics.batch_observer("m", (0.0, 10.0))
    history = np.array([[1, 2], [1, 11], [-1, 2], [99, 2]], np.float32)[..., None]
    mask = np.ones_like(history)
    mask[3, 0] = 0
    observe({"past_y": history, "past_mask": mask}, 3)
    metrics.batch_observer("m", None)({"past_y": history, "past_mask": mask}, 1)
    found = read(metrics)
    model = frozenset({("model", "m")})
    assert found["nd_series_outside_training_range_total", model] == 2
    assert found["nd_series_total", model] == 8
    assert found["nd_batch_requests_sum", model] == 4
