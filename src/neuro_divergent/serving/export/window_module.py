"""What every module is that turns raw windows into forecasts."""

from __future__ import annotations

from torch import nn

from neuro_divergent.forecasting.predictor import Values
from neuro_divergent.serving.export.inputs import GraphInputs


class WindowModule(nn.Module):
    """Forecasts raw windows in the units of the data.

    Attributes:
        input_size: Steps of history that it reads.
        channels: Series that a window holds side by side.
        joint: Whether a window holds all series of training.
        takes_series: Whether the forecast depends on which series a window is of.
        requires_known: Whether only series of training can be forecast.
        integer_valued: Whether quantiles are counts.
    """

    input_size: int
    channels: int
    joint: bool
    takes_series: bool
    requires_known: bool
    integer_valued: bool

    def __init__(self) -> None:
        super().__init__()
        self.training = False

    def forward(self, inputs: GraphInputs) -> Values:
        """Return point ``(batch, horizon, channel)`` and quantiles (one more axis), or ``None`` without any."""
        raise NotImplementedError
