"""From the names of metrics that a user writes to the columns that the answer has."""

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
        label: What it is called.
        metric: How it is measured.
        number: The level or share that it is measured for, where it is for one of them.
        parts: What a metric is made of that compares with a reference.
    """

    label: str
    metric: Metric
    number: float | None = None
    parts: tuple[Request, ...] = ()

    @property
    def measured(self) -> tuple[Request, ...]:
        """What has to be measured for it."""
        return self.parts or (self,)


@dataclass(frozen=True)
class Offer:
    """What there is to score.

    Attributes:
        levels: Levels of intervals that a model has.
        shares: Quantiles that all models have which have any, so that they are judged alike.
        has_quantiles: Whether a model has quantiles.
        has_history: Whether the past of the series is known.
        has_reference: Whether there is a model to compare with.
    """

    levels: tuple[float, ...]
    shares: tuple[float, ...]
    has_quantiles: bool
    has_history: bool
    has_reference: bool

    @classmethod
    def of(cls, models: Iterable[ModelColumns], *, has_history: bool, has_reference: bool) -> Offer:
        """Return what some models can be scored with."""
        models = list(models)
        quantiles = [set(model.quantiles) for model in models if model.quantiles]
        return cls(
            levels=tuple(sorted({level for model in models for level in model.levels})),
            shares=tuple(sorted(set.intersection(*quantiles))) if quantiles else (),
            has_quantiles=bool(quantiles),
            has_history=has_history,
            has_reference=has_reference,
        )

    def usual(self) -> tuple[str, ...]:
        """Return the metrics that are worth a look when none are named."""
        names = ["mae", "rmse", "smape", "wape", "bias"]
        names += ["mase"] * self.has_history + ["crps"] * bool(self.shares)
        names += ["coverage", "width"] * bool(self.levels) + ["skill"] * self.has_reference
        return tuple(names)


def resolve(names: Sequence[str] | str | None, offer: Offer) -> tuple[Request, ...]:
    """Return the columns that some metrics need, each once.

    A metric that is measured for each level or share gives a column for each of them, ``"coverage"`` thus
    ``"coverage-80"`` and ``"coverage-95"``, unless the name says which one.

    Raises:
        ConfigError: If there is no such metric.
        InputError: If it needs something that was not given.
    """
    names = offer.usual() if names is None else (names,) if isinstance(names, str) else names
    found = {request.label: request for name in names for request in _requests(name, offer)}
    if not found:
        raise InputError("metrics: there is none; name at least one, such as 'mae'.")
    return tuple(found.values())


def split_name(name: str) -> tuple[str, str | None]:
    """Return the metric that a name means and what it says after it: ``("coverage", "80")``.

    Raises:
        ConfigError: If there is no such metric.
    """
    key = name.lower()
    if key.replace("-", "_") in METRICS:
        return key.replace("-", "_"), None
    base, _, rest = key.partition("-")
    if base not in METRICS or not rest:
        raise ConfigError(f"Unknown metric {name!r}.{did_you_mean(base, METRICS)} Known: {', '.join(METRICS)}.")
    return base, rest


def _requests(name: str, offer: Offer) -> list[Request]:
    base, rest = split_name(name)
    metric = METRICS[base]
    if metric.parts:
        return [_relative(name, base, rest, offer)]
    _refuse_lacking(base, metric, offer)
    if rest is not None and not (metric.each or metric.narrows):
        raise ConfigError(f"metric {name!r}: {base!r} takes no number.")
    numbers = offer.levels if metric.needs == "intervals" else offer.shares
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


def _relative(name: str, base: str, rest: str | None, offer: Offer) -> Request:
    """Return the request for a metric that compares with a reference."""
    if not offer.has_reference:
        raise InputError(f"metric {name!r} compares with another model: pass reference='...', the name of its column.")
    metric = METRICS[base]
    if rest is None:
        return Request(base, metric, parts=tuple(part for key in metric.parts for part in _requests(key, offer)))
    if not metric.saved:
        raise ConfigError(f"metric {name!r}: {base!r} stands alone.")
    parts = tuple(_requests(rest, offer))
    if len(parts) != 1 or not parts[0].metric.is_error:
        raise ConfigError(
            f"metric {name!r}: {rest!r} is not one error, of which a share could be saved; try 'skill-mae'."
        )
    return Request(f"{base}-{parts[0].label}", metric, parts=parts)


def _refuse_lacking(base: str, metric: Metric, offer: Offer) -> None:
    """Refuse a metric whose needs are not met."""
    if metric.scaled and not offer.has_history:
        raise InputError(f"metric {base!r} needs the past of the series: pass train=..., a table that holds it.")
    if metric.needs == "quantiles" and offer.has_quantiles and not offer.shares:
        raise InputError(f"metric {base!r}: the models have no quantile in common; score them one by one (models=).")
    if (metric.needs == "quantiles" and not offer.shares) or (metric.needs == "intervals" and not offer.levels):
        raise InputError(f"metric {base!r} needs {_NEEDED[metric.needs]}; found none.")


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ConfigError(f"metric: {text!r} is not a number; write for instance 'coverage-80'.") from None
