"""Counts of the server in the text format of Prometheus."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping

import numpy as np

from neuro_divergent.core.arrays import Array

KIND = b"text/plain; version=0.0.4; charset=utf-8"
LATENCIES = (
    0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
)  # fmt: skip
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
Labels = tuple[tuple[str, str], ...]


class Counter:
    """A number that only grows, by labels."""

    def __init__(self, name: str, help: str) -> None:  # noqa: A002 (as Prometheus calls it)
        self.name = name
        self.help = help
        self.values: dict[Labels, float] = {}

    def add(self, labels: Labels = (), amount: float = 1) -> None:
        """Add to the count of some labels."""
        self.values[labels] = self.values.get(labels, 0) + amount

    def lines(self) -> Iterable[str]:
        """Yield the lines of the text format."""
        yield from _heading(self.name, self.help, "counter")
        for labels, value in sorted(self.values.copy().items()):  # other threads may add
            yield f"{self.name}{_braces(labels)} {_number(value)}"


class Histogram:
    """Counts of values up to some bounds, by labels."""

    def __init__(self, name: str, help: str, bounds: tuple[float, ...]) -> None:  # noqa: A002
        self.name = name
        self.help = help
        self._bounds = bounds
        self._counts: dict[Labels, list[int]] = {}
        self._sums: dict[Labels, float] = {}

    def observe(self, value: float, labels: Labels = ()) -> None:
        """Count a value."""
        counts = self._counts.get(labels)
        if counts is None:
            counts = self._counts[labels] = [0] * (len(self._bounds) + 1)
            self._sums[labels] = 0.0
        counts[bisect_left(self._bounds, value)] += 1
        self._sums[labels] += value

    def lines(self) -> Iterable[str]:
        """Yield the lines of the text format."""
        yield from _heading(self.name, self.help, "histogram")
        for labels, counts in sorted(self._counts.items()):
            total = 0
            for bound, count in zip((*map(_number, self._bounds), "+Inf"), counts, strict=True):
                total += count
                yield f"{self.name}_bucket{_braces((*labels, ('le', bound)))} {total}"
            yield f"{self.name}_sum{_braces(labels)} {_number(self._sums[labels])}"
            yield f"{self.name}_count{_braces(labels)} {total}"


class Gauge:
    """Numbers that are read when they are asked for.

    Args:
        name: Name of the metric.
        help: What it is.
        read: Returns the present numbers by labels.
    """

    def __init__(self, name: str, help: str, read: Callable[[], Mapping[Labels, float]]) -> None:  # noqa: A002
        self.name = name
        self.help = help
        self._read = read

    def lines(self) -> Iterable[str]:
        """Yield the lines of the text format."""
        yield from _heading(self.name, self.help, "gauge")
        for labels, value in sorted(self._read().items()):
            yield f"{self.name}{_braces(labels)} {_number(value)}"


class Metrics:
    """The metrics of a server; all names begin with ``nd_``."""

    def __init__(self) -> None:
        self.requests = Counter("nd_requests_total", "Requests by route and status.")
        self.seconds = Histogram("nd_request_seconds", "Time from the headers of a request to its answer.", LATENCIES)
        self.rejected = Counter("nd_rejected_total", "Requests that were refused, by reason.")
        self.batch_size = Histogram("nd_batch_size", "Windows that went through the network together.", SIZES)
        self.batch_requests = Histogram("nd_batch_requests", "Requests that were forecast together.", SIZES)
        self.series = Counter("nd_series_total", "Windows that were forecast.")
        self.outside = Counter(
            "nd_series_outside_training_range_total", "Windows with a value outside the range of training."
        )
        self.swaps = Counter("nd_model_loads_total", "Versions that were loaded, by outcome.")
        self.logged = Counter("nd_forecast_log_total", "Answers for the forecast log, by outcome.")
        self._gauges: list[Gauge] = []
        self._lock = threading.Lock()  # batches are counted in the thread that runs them

    def add_gauge(self, gauge: Gauge) -> None:
        """Add numbers that are read when they are asked for."""
        self._gauges.append(gauge)

    def batch_observer(
        self, model: str, target_range: tuple[float, float] | None
    ) -> Callable[[Mapping[str, Array], int], None]:
        """Return a function that counts a batch: its inputs, and how many requests it holds."""
        labels = (("model", model),)

        def observe(inputs: Mapping[str, Array], requests: int) -> None:
            history = inputs["past_y"]
            outside = 0
            if target_range is not None:
                outside = _outside(history, inputs.get("past_mask"), target_range)
            with self._lock:
                self.batch_size.observe(len(history), labels)
                self.batch_requests.observe(requests, labels)
                self.series.add(labels, len(history))
                self.outside.add(labels, outside)

        return observe

    def render(self) -> bytes:
        """Return all metrics as text."""
        with self._lock:
            parts: tuple[Counter | Histogram | Gauge, ...] = (
                self.requests, self.seconds, self.rejected, self.batch_size, self.batch_requests, self.series,
                self.outside, self.swaps, self.logged, *self._gauges,
            )  # fmt: skip
            return ("\n".join(line for part in parts for line in part.lines()) + "\n").encode()


def _outside(history: Array, mask: Array | None, target_range: tuple[float, float]) -> int:
    """Return how many windows have an observed value outside a range."""
    low, high = np.float32(target_range[0]), np.float32(target_range[1])
    if history.min() >= low and history.max() <= high:
        return 0
    found = (history < low) | (history > high)
    if mask is not None:
        found &= mask > 0
    return int(found.reshape(len(history), -1).any(axis=1).sum())


def _heading(name: str, help: str, kind: str) -> tuple[str, str]:  # noqa: A002
    return f"# HELP {name} {help}", f"# TYPE {name} {kind}"


def _braces(labels: Labels) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(float(value))
