"""Forecasting step by step, each from the one before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from neuro_divergent.core.spec import Batch, TaskSpec
from neuro_divergent.layers.covariates import Covariates
from neuro_divergent.layers.masking import observed
from neuro_divergent.layers.sequence import side_by_side, time_first, windows_first


def middle_output(raw: Tensor) -> Tensor:
    """Return the middle one of the outputs of a step, ``(..., 1)``: the median of quantiles, or the only output."""
    middle = (raw.shape[-1] - 1) // 2
    return raw[..., middle : middle + 1]


class AutoregressiveNetwork(nn.Module):
    """Recurrent layers that run on through the horizon and read, as the value before, what was forecast for it.

    In training the true value is read instead for a share of windows and steps, unless it is missing. Covariates that
    are not known ahead are zero in the horizon, which is their mean.

    Args:
        spec: The task.
        covariates: Encoder of its covariates.
        encoder: Recurrent layers over ``(time, row, 1 + past + static + future)``.
        decoder: Turns a state into the outputs of a step.
        decodes_ahead: What the covariates of the step that is forecast meet: the state, in the decoder (true), or the
            value before, in the encoder (false). The encoder reads those of the step of its value in the first case.

    Attributes:
        teacher_forcing_ratio: Share of windows and steps that are shown the truth in training.
        feedback: Turns the raw outputs of a step, ``(..., outputs)``, into the value that is read on, ``(..., 1)``. A
            network knows no loss; whoever does may put the mean of a distribution here, or a draw from it: repeated
            windows are then paths.
    """

    teacher_forcing_ratio: float = 1.0

    def __init__(
        self,
        spec: TaskSpec,
        covariates: Covariates,
        encoder: nn.RNNBase,
        decoder: nn.Module,
        *,
        decodes_ahead: bool = True,
    ) -> None:
        super().__init__()
        self.spec = spec
        self.covariates = covariates
        self.encoder = encoder
        self.decoder = decoder
        self.feedback: Callable[[Tensor], Tensor] = middle_output
        self._decodes_ahead = decodes_ahead

    def forward(self, batch: Batch) -> Tensor:
        """Return the outputs, ``(batch, horizon, channel, outputs)``."""
        values, _ = observed(batch.past_y, batch.past_mask)
        steps = values.shape[1]
        known, ahead = self._known(batch)
        forcing = self.training and self.teacher_forcing_ratio > 0 and batch.future_y is not None
        if forcing and self._knows_all(batch):
            assert batch.future_y is not None
            read = time_first(torch.cat([values, batch.future_y[:, :-1]], 1))
            states, _ = self.encoder(side_by_side([read, *known]))
            forecast = self._decode(states[steps - 1 :], ahead)
        else:
            states, memory = self.encoder(side_by_side([time_first(values), *(item[:steps] for item in known)]))
            later = [item[steps:] for item in known]
            forecast = self._step_by_step(states[-1:], memory, later, ahead, self._teacher(batch) if forcing else None)
        return windows_first(forecast, self.spec.channels)

    def _known(self, batch: Batch) -> tuple[list[Tensor], Tensor | None]:
        """Return what the encoder reads next to the values, up to the last step but one, and what the decoder does."""
        past, future, static = self.covariates(batch.past_x, batch.future_x, batch.static_x)
        more = self.spec.horizon - 1
        steps = self.spec.input_size + more
        known = [] if past is None else [functional.pad(past, (0, 0, 0, more)).transpose(0, 1)]
        known += [] if static is None else [static.expand(steps, -1, -1)]
        if future is None:
            return known, None
        if not self._decodes_ahead:
            return [*known, future[:, 1:].transpose(0, 1)], None
        return [*known, future[:, :steps].transpose(0, 1)], future[:, self.spec.input_size :].transpose(0, 1)

    def _knows_all(self, batch: Batch) -> bool:
        """Whether the true value is read at each step; all steps can then be worked out in one go."""
        # Asking the device costs less than as many calls of the cells as the horizon has steps.
        return self.teacher_forcing_ratio >= 1 and (batch.future_mask is None or bool(batch.future_mask[:, :-1].all()))

    def _teacher(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return the true values ``(horizon, row, 1)`` and which of them are shown, drawn for each window and step."""
        assert batch.future_y is not None
        size, steps, _ = batch.future_y.shape
        shown = torch.rand(size, steps, 1, device=batch.future_y.device) < self.teacher_forcing_ratio
        shown = shown.expand_as(batch.future_y)
        shown = shown if batch.future_mask is None else shown & (batch.future_mask > 0)
        return time_first(batch.future_y), time_first(shown)

    def _step_by_step(
        self,
        state: Tensor,
        memory: Any,
        known: list[Tensor],
        ahead: Tensor | None,
        teacher: tuple[Tensor, Tensor] | None,
    ) -> Tensor:
        """Return the forecasts ``(horizon, row, outputs)``.

        Args:
            state: State after the history, ``(1, row, hidden)``.
            memory: What the cells remember of it.
            known: What is read next to the values, from the first step of the horizon on.
            ahead: Covariates of the horizon for the decoder.
            teacher: True values and which of them are shown.
        """
        forecasts: list[Tensor] = []
        for step in range(self.spec.horizon):
            now, before = slice(step, step + 1), slice(step - 1, step)
            if step:
                value = self.feedback(forecasts[-1])
                if teacher is not None:
                    truth, shown = teacher
                    value = truth[before].where(shown[before], value)
                state, memory = self.encoder(side_by_side([value, *(item[before] for item in known)]), memory)
            forecasts.append(self._decode(state, None if ahead is None else ahead[now]))
        return torch.cat(forecasts)

    def _decode(self, states: Tensor, ahead: Tensor | None) -> Tensor:
        """Return the forecasts ``(step, row, outputs)`` for states and covariates of the same steps."""
        forecast: Tensor = self.decoder(states if ahead is None else torch.cat([states, ahead], 2))
        return forecast
