"""Gradients and updates of each layer of a network, with a verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from neuro_divergent.core.errors import InputError

if TYPE_CHECKING:
    from neuro_divergent.forecasting.forecaster import Forecaster

FINE, VANISHING, EXPLODING, FROZEN = "fine", "vanishing", "exploding", "frozen"
LARGE_UPDATES, SMALL_UPDATES = "large updates", "small updates"

# Numbers for healthy networks come from all architectures but the language models: small ones, trained for 120 steps
# with recommended settings (docs/guides/diagnostics.md).

# A gradient this small relative to the median of the layers, absolutely and divided by its weights, vanishes. The
# smallest in a healthy network was 0.005 times the median, and 0.04 with one exception.
VANISHING_SHARE = 1e-3
SWALLOWED = 1e-8  # norm below which a gradient vanishes whatever the others are: the epsilon of Adam
# Likewise, one this large explodes. The largest in a healthy network was 54 times the median.
EXPLODING_SHARE = 1e3
GROWTH = 1e3  # so does one whose median in the last quarter of the recorded steps is this many times that in the first
GROWN = 10.0  # ... and this many times as large as its weights: gradients that were tiny at the start have to grow
FROZEN_SHARE = 0.95  # fraction of steps without a gradient; a layer that is unfrozen late in training is not frozen
LARGEST_RATIO = 0.1  # relative update, at the median step, that is too large; in healthy networks 0.00008 to 0.02
SMALLEST_RATIO = 1e-6  # relative update below which a thousand steps change a layer by at most a thousandth
LENIENCE = 10.0  # how much larger updates of biases and normalisation parameters may be: they start at 0, or are few

_SMALL_NAMES = ("bias", "gain", "shift", "gamma", "beta", "scale")
_COLUMNS = ("layer", "gradient", "weight")


@dataclass(frozen=True, eq=False)
class GradientReport:
    """Verdicts on the layers of a network.

    Attributes:
        layers: One row per layer, in the order of the network: ``layer``; ``gradient``, ``weight`` and ``ratio``, the
            medians over the measured steps of the norms of its gradient and weights and of the update of a step divided
            by the weights (null if none was recorded); ``silent_share``, the fraction of steps without a gradient;
            ``verdict``: ``"fine"``, ``"vanishing"``, ``"exploding"``, ``"frozen"``, ``"large updates"`` or ``"small
            updates"``; and ``reason``, in words, empty where it is fine.
        steps: Number of recorded steps.
    """

    layers: pl.DataFrame
    steps: int

    @property
    def is_fine(self) -> bool:
        """Whether every layer is fine."""
        return bool((self.layers["verdict"] == FINE).all())

    def with_verdict(self, verdict: str) -> list[str]:
        """Return the names of the layers with a verdict."""
        return self.layers.filter(verdict=verdict)["layer"].to_list()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {"steps": self.steps, "layers": self.layers.to_dicts()}


def analyse_gradients(layers: pl.DataFrame) -> GradientReport:
    """Return a verdict on each layer from norms recorded in training or by ``gradient_snapshot``.

    The thresholds for biases and normalisation parameters are more lenient: a gradient of theirs never counts as
    vanishing, as a bias before a normalisation has none; and as they start at zero, their updates may be larger.

    Args:
        layers: A row per step and layer: ``step``, ``layer``, ``gradient`` and ``weight``, and ``update``, the norm of
            the update of the step, where it is known; ``runs.events.layers_of`` returns them.

    Examples:
        >>> import neuro_divergent as nd
        >>> import polars as pl
        >>> layers = pl.DataFrame({"step": [1, 1, 1], "layer": ["embedding.weight", "mlp.weight", "head.weight"]})
        >>> layers = layers.with_columns(gradient=pl.Series([1e-9, 0.5, 0.8]), weight=1.0)
        >>> report = nd.diagnostics.analyse_gradients(layers)
        >>> report.is_fine, report.with_verdict("vanishing")
        (False, ['embedding.weight'])
        >>> report.layers["reason"][0]
        'its gradient is 2.0e-09 times the median of the layers'
    """
    missing = [name for name in (*_COLUMNS, "step") if name not in layers.columns]
    if missing:
        raise InputError(f"layers: column {missing[0]!r} missing; there must be step, layer, gradient and weight.")
    if "update" not in layers.columns:
        layers = layers.with_columns(update=pl.lit(None, pl.Float64))
    found = _summary(layers)
    judged = found.filter(~pl.col("silent_share").ge(FROZEN_SHARE) & pl.col("gradient").gt(0))
    matrices = judged.filter(~pl.col("layer").map_elements(is_small, return_dtype=pl.Boolean))
    usual = (matrices if matrices.height else judged).select(
        gradient=pl.col("gradient").median(), relative=(pl.col("gradient") / pl.col("weight")).median()
    )
    verdicts = [_judge(row, *usual.row(0)) for row in found.iter_rows(named=True)]
    return GradientReport(
        found.select("layer", "gradient", "weight", "ratio", "silent_share").with_columns(
            verdict=pl.Series([verdict for verdict, _ in verdicts], dtype=pl.String),
            reason=pl.Series([reason for _, reason in verdicts], dtype=pl.String),
        ),
        steps=layers["step"].n_unique(),
    )


def gradient_snapshot(forecaster: Forecaster, *, batches: int = 4) -> pl.DataFrame:
    """Compute the gradients of a trained forecaster on windows it was trained on.

    The network is in evaluation mode, without dropout, and does not change. The loss is that of training.

    Args:
        forecaster: A forecaster that was trained in this process.
        batches: Number of batches, evenly spread over the training part.

    Returns:
        ``step`` (the number of the batch, from 1), ``layer``, ``gradient`` (null for a frozen layer) and ``weight``:
        the input of ``analyse_gradients``.

    Raises:
        InputError: If the forecaster does not hold the data of training.

    Examples:
        >>> import neuro_divergent as nd
        >>> forecaster = nd.Forecaster("nlinear", horizon=12, training=nd.TrainingConfig(max_steps=20))
        >>> layers = nd.diagnostics.gradient_snapshot(forecaster.fit(nd.datasets.air_passengers()), batches=2)
        >>> layers.columns, layers.height
        (['step', 'layer', 'gradient', 'weight'], 4)
        >>> layers["layer"].unique().sort().to_list()
        ['linear.bias', 'linear.weight']
    """
    import torch

    from neuro_divergent.diagnostics.sample import spread
    from neuro_divergent.diagnostics.undisturbed import undisturbed
    from neuro_divergent.training.objective import Example, Objective

    fitted, split = forecaster.fitted, forecaster.split
    if batches < 1:
        raise InputError(f"batches: {batches!r} must be at least 1.")
    if split is None:
        raise InputError("a loaded forecaster does not hold the data of training: measure gradients right after fit.")
    batcher, network = fitted.batcher(split.train.panel), fitted.predictor.network
    objective = Objective(fitted.task.loss, restore=batcher.restore)
    size = forecaster.training.batch_size_for(len(split.train))
    numbers = spread(len(split.train), batches * size)
    named = list(network.named_parameters())
    trained = [parameter for _, parameter in named if parameter.requires_grad]
    rows: list[tuple[int, str, float | None, float]] = []
    with undisturbed(network), torch.enable_grad():
        for place in range(min(batches, len(numbers))):
            # Every batch has windows from all of the training part.
            example = Example.of(batcher.windows(*split.train.locate(numbers[place::batches])))
            loss = objective.mean(network(example.inputs), example)
            made = torch.autograd.grad(loss, trained, allow_unused=True) if trained else ()
            gradients = {id(parameter): item for parameter, item in zip(trained, made, strict=True)}
            for name, parameter in named:
                gradient = gradients.get(id(parameter))
                norm = None if gradient is None else float(gradient.norm())
                rows.append((place + 1, name, norm, float(parameter.detach().norm())))
    schema = {"step": pl.Int64, "layer": pl.String, "gradient": pl.Float64, "weight": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def is_small(layer: str) -> bool:
    """Whether a parameter, by its name, is a bias or belongs to a normalisation."""
    *parents, name = layer.lower().split(".")
    return name.startswith(_SMALL_NAMES) or any("norm" in parent for parent in parents)


def _summary(layers: pl.DataFrame) -> pl.DataFrame:
    """Return medians and fractions of each layer."""
    steps = layers["step"].unique().sort()
    quarter = len(steps) // 4
    # Fewer than four steps have no quarters.
    early, late = (steps[quarter - 1], steps[-quarter]) if quarter else (-1, 2**62)
    gradient, step, weight = pl.col("gradient"), pl.col("step"), pl.col("weight")
    is_there = gradient > 0
    return layers.group_by("layer", maintain_order=True).agg(
        gradient=gradient.median(),
        weight=weight.median(),
        ratio=(pl.col("update") / weight).filter(weight > 0).median(),
        silent_share=(gradient.fill_null(0.0) == 0).mean(),
        broken=(gradient.is_nan() | gradient.is_infinite()).any(),
        early=gradient.filter(is_there & (step <= early)).median(),
        late=gradient.filter(is_there & (step >= late)).median(),
    )


def _judge(row: Mapping[str, Any], usual: float | None, usual_relative: float | None) -> tuple[str, str]:
    """Return verdict and reason for a layer, given the median gradient, and gradient by weight, of the layers."""
    gradient, weight, ratio, small = row["gradient"], row["weight"], row["ratio"], is_small(row["layer"])
    if row["broken"]:
        return EXPLODING, "its gradient was not finite"
    if row["silent_share"] >= FROZEN_SHARE:
        return FROZEN, f"no gradient in {row['silent_share']:.0%} of the steps"
    relative = gradient / weight if weight else None
    if usual and usual_relative and relative is not None:
        times, relative_times = gradient / usual, relative / usual_relative
        if min(times, relative_times) > EXPLODING_SHARE:
            return EXPLODING, f"its gradient is {times:.0f} times the median of the layers"
        if max(times, relative_times) < VANISHING_SHARE and not small:
            return VANISHING, f"its gradient is {times:.1e} times the median of the layers"
        if row["early"] and row["late"] and row["late"] > max(GROWTH * row["early"], GROWN * weight):
            return EXPLODING, f"its gradient grew {row['late'] / row['early']:.0f} times over training"
    if gradient < SWALLOWED and not small:
        return VANISHING, f"the norm of its gradient is {gradient:.1e}"
    if ratio is not None and ratio > LARGEST_RATIO * (LENIENCE if small else 1):
        return LARGE_UPDATES, f"a step changes it by {ratio:.0%} of its size"
    if ratio is not None and ratio < SMALLEST_RATIO and not small:
        return SMALL_UPDATES, f"a step changes it by {ratio:.1e} of its size"
    return FINE, ""
