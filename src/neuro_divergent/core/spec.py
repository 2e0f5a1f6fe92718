"""The contracts between the rooms: what a task is, what a batch holds, what an architecture can use.

Letters used for shapes everywhere: B batch, L history, H horizon, C channel, F feature, P outputs per step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from torch import Tensor


class Batch(NamedTuple):
    """A batch of windows, on the scale the network sees.

    Masks are 1 where a value was observed and 0 where it was not, and ``None`` where every value was observed; a masked
    value is stored as 0. ``future_y`` is absent when forecasting. ``loc`` and ``scale`` are what the
    scaler took out of each window: ``y = past_y * scale + loc``; networks need not look at them, nor at ``series``, the
    place of each window's series in the panel. ``weight`` says how much each target counts in the loss, and ``soft_y``
    is what a teacher forecasts for it. ``unit_loc`` and ``unit_scale`` lead to the units of the data where that is a
    shift and a factor: a value there is ``unit_loc + unit_scale * value``; absent, both scales are the same.
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


@dataclass(frozen=True)
class Feature:
    """One covariate column.

    A categorical column holds whole numbers ``0 .. cardinality - 1`` stored as floats, where 0 is reserved for
    categories that training never saw. A numeric column has no cardinality.
    """

    name: str
    cardinality: int | None = None


@dataclass(frozen=True)
class TaskSpec:
    """What a network is built for: the sizes it reads and the sizes it must emit.

    Attributes:
        horizon: Steps to forecast (H).
        input_size: Steps of history (L).
        channels: Series that a window holds side by side (C); 1 unless windows are joint.
        outputs: Numbers to emit per step and channel (P), decided by the loss.
        past: Covariates known only in the past, in the order of ``Batch.past_x``.
        future: Covariates known ahead, in the order of ``Batch.future_x``.
        static: Covariates that do not change over time, in the order of ``Batch.static_x``.
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
    """What an architecture can use and how it works; the tables in the documentation are made from these.

    Attributes:
        family: ``linear``, ``mlp``, ``recurrent``, ``convolutional``, ``transformer`` or ``graph``.
        past_x: Whether it uses covariates known only in the past.
        future_x: Whether it uses covariates known ahead.
        static_x: Whether it uses covariates that do not change.
        mixes_channels: Whether the forecast of a channel depends on the others, so that windows hold all series.
        autoregressive: Whether a step is forecast from the step before.
        paper: Where the architecture was published.
    """

    family: str
    past_x: bool = False
    future_x: bool = False
    static_x: bool = False
    mixes_channels: bool = False
    autoregressive: bool = False
    paper: str = ""
