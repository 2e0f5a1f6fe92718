"""The types shared between packages: the task, the batch and the traits of an architecture.

Letters used for shapes everywhere: B batch, L history, H horizon, C channel, F feature, P outputs per step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from torch import Tensor


class Inputs(NamedTuple):
    """The inputs of a network: the part of a ``Batch`` that a forecast depends on."""

    past_y: Tensor  # B L C
    past_mask: Tensor | None = None  # B L C
    past_x: Tensor | None = None  # B L Fp, known only in the past
    future_x: Tensor | None = None  # B L+H Ff, known ahead
    static_x: Tensor | None = None  # B Fs


class Batch(NamedTuple):
    """A batch of windows, on the scale of the network.

    Masks are 1 where a value was observed and 0 where it was not, and ``None`` where every value was observed; a masked
    value is stored as 0. ``future_y`` is absent when forecasting.

    Networks read the fields of ``Inputs``. One that reads more declares ``reads_batch = True``, as for teacher forcing
    with ``future_y`` and ``future_mask``. The other fields are for scaling and the loss: ``loc`` and ``scale`` are the
    statistics of the window scaler (``y = past_y * scale + loc``), ``series`` is the place of each window's series in
    the panel, ``weight`` is the weight of each target, and ``soft_y`` is the forecast of a teacher for it. ``unit_loc``
    and ``unit_scale`` lead to the units of the data where scaling is affine: a value there is ``unit_loc + unit_scale *
    value``; absent, both scales are the same.
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
