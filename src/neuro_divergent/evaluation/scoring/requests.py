"""Resolves names of metrics to columns of scores."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from neuro_divergent.core.errors import ConfigError, InputError, did_you_mean
from neuro_divergent.evaluation.scoring.columns import ModelColumns
from neuro_divergent.evaluation.scoring.formulas import METRICS, Metric

_NEEDED = {
    "quantiles": "quantiles: columns such as 'q-0.1', or 'lo-80' and 'hi-80'",
    "intervals": "intervals: columns such as 'lo-80' and 'hi-80'",
}


@dataclass(frozen=True)
class Request:
    """One column of scores.

    Attributes:
        label: Name of the column.
        number: Level or quantile that it is computed for, if it is for a single one.
        parts: Scores that a metric relative to a reference is computed from.
    """

    label: str
    metric: Metric
    number: float | None = None
    parts: tuple[Request, ...] = ()

    @property
    def needed(self) -> tuple[Request, ...]:
        """Scores that are needed for it."""
        return self.parts or (self,)


@dataclass(frozen=True)
class Available:
    """What a table of forecasts can be scored with.

    Attributes:
        levels: Levels of intervals that a model has.
        quantiles: Quantiles that all models with quantiles have in common, so that they are comparable.
        has_quantiles: Whether a model has quantiles.
    """

    levels: tuple[float, ...]
    quantiles: tuple[float, ...]
    has_quantiles: bool
    has_history: bool
    has_reference: bool

    @classmethod
    def of(cls, models: Iterable[ModelColumns], *, has_history: bool, has_reference: bool) -> Available:
        """Return what the given models can be scored with."""
        models = list(models)
        quantiles = [set(model.quantiles) for model in models if model.quantiles]
        return cls(
            levels=tuple(sorted({level for model in models for level in model.levels})),
            quantiles=tuple(sorted(set.intersection(*quantiles))) if quantiles else (),
            has_quantiles=bool(quantiles),
            has_history=has_history,
            has_reference=has_reference,
        )

    def usual(self) -> tuple[str, ...]:
        """Return the default metrics."""
        names = ["mae", "rmse", "smape", "wape", "bias"]
        names += ["mase"] * self.has_history + ["crps"] * bool(self.quantiles)
        names += ["coverage", "width"] * bool(self.levels) + ["skill"] * self.has_reference
        return tuple(names)


def resolve(names: Sequence[str] | str | None, available: Available) -> tuple[Request, ...]:
    """Return the columns of the given metrics, each once.

    A metric that is computed for each level or quantile has a column for each of them, such as ``"coverage-80"`` and
    ``"coverage-95"`` for ``"coverage"``, unless its name includes one.
    """
    names = available.usual() if names is None else (names,) if isinstance(names, str) else names
    found = {request.label: request for name in names for request in _requests(name, available)}
    if not found:
        raise InputError("metrics: name at least one, such as 'mae'.")
    return tuple(found.values())


def split_name(name: str) -> tuple[str, str | None]:
    """Split the name of a metric from the number after it: ``("coverage", "80")``."""
    key = name.lower()
    if key.replace("-", "_") in METRICS:
        return key.replace("-", "_"), None
    base, _, rest = key.partition("-")
    if base not in METRICS or not rest:
        raise ConfigError(f"Unknown metric {name!r}.{did_you_mean(base, METRICS)} Known: {', '.join(METRICS)}.")
    return base, rest


def _requests(name: str, available: Available) -> list[Request]:
    base, rest = split_name(name)
    metric = METRICS[base]
    if metric.parts:
        return [_relative(name, base, rest, available)]
    _refuse_lacking(base, metric, available)
    if rest is not None and not (metric.each or metric.narrows):
        raise ConfigError(f"metric {name!r}: {base!r} takes no number.")
    numbers = available.levels if metric.needs == "intervals" else available.quantiles
    if rest is None and metric.each:
        return [Request(f"{base}-{number:g}", metric, number) for number in numbers]
    if rest is None:
        return [Request(base, metric)]
    number = _number(rest)
    if number not in numbers:
        kind = "level" if metric.needs == "intervals" else "quantile"
        found = ", ".join(f"{known:g}" for known in numbers)
        raise InputError(f"metric {name!r}: no forecasts of that {kind}; found {found}.")
    return [Request(f"{base}-{number:g}", metric, number)]


def _relative(name: str, base: str, rest: str | None, available: Available) -> Request:
    """Return the request for a metric relative to a reference."""
    if not available.has_reference:
        raise InputError(f"metric {name!r} compares with another model: pass reference='...', the name of its column.")
    metric = METRICS[base]
    if rest is None:
        return Request(base, metric, parts=tuple(part for key in metric.parts for part in _requests(key, available)))
    if not metric.saved:
        raise ConfigError(f"metric {name!r}: {base!r} takes no other metric.")
    parts = tuple(_requests(rest, available))
    if len(parts) != 1 or not parts[0].metric.is_error:
        raise ConfigError(
            f"metric {name!r}: {rest!r} is not a single error metric, which a skill score needs; try 'skill-mae'."
        )
    return Request(f"{base}-{parts[0].label}", metric, parts=parts)


def _refuse_lacking(base: str, metric: Metric, available: Available) -> None:
    """Refuse a metric whose needs are not met."""
    if metric.scaled and not available.has_history:
        raise InputError(f"metric {base!r} needs the history of the series: pass it as train=...")
    if metric.needs == "quantiles" and available.has_quantiles and not available.quantiles:
        raise InputError(f"metric {base!r}: the models have no quantile in common; score them one by one (models=).")
    if (metric.needs == "quantiles" and not available.quantiles) or (
        metric.needs == "intervals" and not available.levels
    ):
        raise InputError(f"metric {base!r} needs {_NEEDED[metric.needs]}; found none.")


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ConfigError(f"metric: {text!r} is not a number; write for instance 'coverage-80'.") from None
