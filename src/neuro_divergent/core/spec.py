"""The types shared between packages: the task, the batch and the traits of an architecture.

Letters used for shapes everywhere: B batch, L history, H horizon, C channel, F feature, P outputs per step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from torch import Tensor


class Inputs(NamedTuple):
    """The inputs of a network: the part of a ``Batch`` that a forecast depends on.

    Attributes:
        past_y: History of the target, ``(batch, history, channel)``.
        past_mask: 1 where that was observed and 0 where it was not; ``None`` where all of it was.
        past_x: Covariates known only in the past, ``(batch, history, feature)``.
        future_x: Covariates known ahead, over history and horizon, ``(batch, history + horizon, feature)``.
        static_x: Covariates that do not change, ``(batch, feature)``.

    Examples:
        Two histories of 48 steps, and three covariates that are known ahead:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> inputs = nd.models.Inputs(past_y=torch.zeros(2, 48, 1), future_x=torch.zeros(2, 48 + 12, 3))
        >>> inputs.past_mask is None  # every value was observed
        True
    """

    past_y: Tensor  # B L C
    past_mask: Tensor | None = None  # B L C
    past_x: Tensor | None = None  # B L Fp, known only in the past
    future_x: Tensor | None = None  # B L+H Ff, known ahead
    static_x: Tensor | None = None  # B Fs


class Batch(NamedTuple):
    """A batch of windows, on the scale of the network.

    Masks are 1 where a value was observed and 0 where it was not, and ``None`` where every value was observed; a masked
    value is stored as 0.

    Networks read the fields of ``Inputs``. One that reads more declares ``reads_batch = True``, as for teacher forcing
    with ``future_y`` and ``future_mask``. The other fields are for scaling and the loss.

    Attributes:
        past_y: History of the target, ``(batch, history, channel)``.
        past_mask: Mask of that.
        past_x: Covariates known only in the past, ``(batch, history, feature)``.
        future_x: Covariates known ahead, over history and horizon, ``(batch, history + horizon, feature)``.
        static_x: Covariates that do not change, ``(batch, feature)``.
        future_y: Target over the horizon, ``(batch, horizon, channel)``; absent when forecasting.
        future_mask: Mask of that.
        loc: What the window scaler took off, ``(batch, 1, channel)``: ``y = past_y * scale + loc``.
        scale: What it divided by.
        series: Place of each window's series in the panel, ``(batch,)``.
        weight: Weight of each target, not negative, ``(batch, horizon, channel)``.
        soft_y: Forecast of a teacher for each target.
        unit_loc: With ``unit_scale``, the way to the units of the data where scaling is affine: a value there is
            ``unit_loc + unit_scale * value``; absent where both scales are the same.
        unit_scale: See ``unit_loc``.

    Examples:
        >>> import neuro_divergent as nd
        >>> import torch
        >>> batch = nd.models.Batch(past_y=torch.zeros(2, 48, 1), future_y=torch.zeros(2, 12, 1))
        >>> type(batch.inputs).__name__, batch.inputs.past_y.shape  # what a network reads
        ('Inputs', torch.Size([2, 48, 1]))
    """

    past_y: Tensor  # B L C
    past_mask: Tensor | None = None  # B L C
    past_x: Tensor | None = None  # B L Fp, known only in the past
    future_x: Tensor | None = None  # B L+H Ff, known ahead
    static_x: Tensor | None = None  # B Fs
    future_y: Tensor | None = None  # B H C
    future_mask: Tensor | None = None  # B H C
    loc: Tensor | None = None  # B 1 C
    scale: Tensor | None = None  # B 1 C
    series: Tensor | None = None  # B
    weight: Tensor | None = None  # B H C, not negative
    soft_y: Tensor | None = None  # B H C
    unit_loc: Tensor | None = None  # B 1 C
    unit_scale: Tensor | None = None  # B 1 C

    @property
    def inputs(self) -> Inputs:
        """The fields that a network reads."""
        return Inputs(self.past_y, self.past_mask, self.past_x, self.future_x, self.static_x)


@dataclass(frozen=True)
class Feature:
    """One covariate column.

    A categorical column holds integers ``0 .. cardinality - 1`` stored as floats, where 0 is reserved for
    categories that training never saw. A numeric column has no cardinality.

    Attributes:
        name: Its name in the table.
        cardinality: Number of categories, the reserved one included; ``None`` for a numeric column.

    Examples:
        >>> import neuro_divergent as nd
        >>> price, weekday = nd.models.Feature("price"), nd.models.Feature("weekday", cardinality=8)
        >>> spec = nd.models.TaskSpec(horizon=12, input_size=48, future=(price, weekday))
        >>> [feature.name for feature in spec.future if feature.cardinality is None]
        ['price']
    """

    name: str
    cardinality: int | None = None


@dataclass(frozen=True)
class TaskSpec:
    """The task of a network: the sizes of its inputs and outputs.

    Attributes:
        horizon: Steps to forecast (H).
        input_size: Steps of history (L).
        channels: Series that a window holds side by side (C); 1 unless windows are joint.
        outputs: Outputs per step and channel (P), defined by the loss.
        past: Covariates known only in the past, in the order of ``Batch.past_x``.
        future: Covariates known ahead, in the order of ``Batch.future_x``.
        static: Covariates that do not change over time, in the order of ``Batch.static_x``.

    Examples:
        The loss says how many outputs a step has, and the task how many steps there are:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> spec = nd.models.TaskSpec(horizon=12, input_size=48, outputs=nd.QuantileLoss([0.1, 0.5, 0.9]).outputs)
        >>> network = nd.NLinear().build(spec)
        >>> network(nd.models.Inputs(torch.zeros(2, 48, 1))).shape
        torch.Size([2, 12, 1, 3])
    """

    horizon: int
    input_size: int
    channels: int = 1
    outputs: int = 1
    past: tuple[Feature, ...] = ()
    future: tuple[Feature, ...] = ()
    static: tuple[Feature, ...] = ()


@dataclass(frozen=True)
class Traits:
    """Capabilities of an architecture; the tables in the documentation are generated from these.

    Attributes:
        family: ``linear``, ``mlp``, ``recurrent``, ``convolutional``, ``transformer`` or ``graph``.
        past_x: Whether it uses covariates known only in the past.
        future_x: Whether it uses covariates known ahead.
        static_x: Whether it uses covariates that do not change.
        mixes_channels: Whether the forecast of a channel depends on the others, so that windows hold all series.
        autoregressive: Whether a step is forecast from the step before.
        paper: Where the architecture was published.
        not_exported: Why it cannot be exported as a graph; empty if it can.

    Examples:
        >>> import neuro_divergent as nd
        >>> traits = nd.TFT.traits
        >>> traits.family, traits.future_x, traits.mixes_channels
        ('transformer', True, False)
    """

    family: str
    past_x: bool = False
    future_x: bool = False
    static_x: bool = False
    mixes_channels: bool = False
    autoregressive: bool = False
    paper: str = ""
    not_exported: str = ""

    @classmethod
    def with_covariates(
        cls, family: str, paper: str, *, mixes_channels: bool = False, autoregressive: bool = False
    ) -> Traits:
        """Return the traits of an architecture that uses covariates of all three kinds."""
        return cls(
            family,
            past_x=True,
            future_x=True,
            static_x=True,
            mixes_channels=mixes_channels,
            autoregressive=autoregressive,
            paper=paper,
        )
