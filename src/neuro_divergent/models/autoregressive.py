"""Autoregressive networks: each step is forecast from the step before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from neuro_divergent.core.spec import Batch, TaskSpec
from neuro_divergent.layers.covariates import Covariates
from neuro_divergent.layers.masking import observed
from neuro_divergent.layers.sequence import side_by_side, time_first, windows_first


def middle_output(raw: Tensor, batch: Batch) -> Tensor:
    """Return the middle one of the outputs of each step: the median of quantiles, or the only output."""
    return raw[..., (raw.shape[-1] - 1) // 2]


class AutoregressiveNetwork(nn.Module):
    """Recurrent layers that continue through the horizon and read their own forecast of the step before.

    In training the target is read instead for a fraction of windows and steps, unless it is missing (teacher forcing).
    Covariates that are not known ahead are zero in the horizon, which is their mean.

    Args:
        encoder: Recurrent layers over ``(time, row, 1 + past + static + future)``.
        decoder: Turns a state into the outputs of a step.
        decodes_ahead: Whether the decoder reads the covariates of the step that is forecast, next to the state (true),
            or the encoder does, next to the value before (false). The encoder reads those of the step of its value in
            the first case.

    Attributes:
        teacher_forcing_ratio: Fraction of windows and steps that read the target in training.
        shown_in_validation: Whether the target is also read outside training, if the batch has it. The outputs are then
            conditional on the true steps before, as a likelihood requires. Remove ``future_y`` to forecast.
        feedback: Turns the raw outputs of a step, ``(batch, 1, channel, outputs)``, and the batch into the value that
            is read on, ``(batch, 1, channel)``. The network does not know the loss; the owner of the loss sets its
            point forecast here.
    """

    reads_batch: ClassVar[bool] = True  # the target, and the units for ``feedback``
    teacher_forcing_ratio: float = 1.0
    shown_in_validation: bool = False

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
        self.feedback: Callable[[Tensor, Batch], Tensor] = middle_output
        self._decodes_ahead = decodes_ahead

    def forward(self, batch: Batch) -> Tensor:
        ratio = self._ratio(batch)
        if self._reads_all_targets(batch, ratio):
            return windows_first(self._all_at_once(batch), self.spec.channels)

        def read(raw: Tensor) -> Tensor:
            return time_first(self.feedback(windows_first(raw, self.spec.channels), batch))

        teacher = self._teacher(batch, ratio) if ratio > 0 else None
        forecast = self._step_by_step(*self._read_history(batch), read, teacher)
        return windows_first(forecast, self.spec.channels)

    def paths(self, batch: Batch, count: int, draw: Callable[[Tensor, int], Tensor]) -> Tensor:
        """Return sampled paths, ``(count * batch, horizon, channel)``: each step given those drawn before.

        The history is read once for all paths. The first paths of all windows come first, then the second. ``draw``
        turns the raw outputs of a step, ``(count * batch, 1, channel, outputs)``, and its number into a value for each
        path, ``(count * batch, 1, channel)``.
        """

        def repeated(item: Tensor) -> Tensor:
            return item.repeat(1, count, 1)

        drawn: list[Tensor] = []

        def read(raw: Tensor) -> Tensor:
            drawn.append(draw(windows_first(raw, self.spec.channels), len(drawn)))
            return time_first(drawn[-1])

        state, memory, known, ahead = self._read_history(batch)
        memory = repeated(memory) if isinstance(memory, Tensor) else tuple(repeated(item) for item in memory)
        ahead = None if ahead is None else repeated(ahead)
        forecast = self._step_by_step(repeated(state), memory, [repeated(item) for item in known], ahead, read, None)
        read(forecast[-1:])
        return torch.cat(drawn, 1)

    def _all_at_once(self, batch: Batch) -> Tensor:
        """Return the forecasts ``(horizon, row, outputs)`` where every step reads the true value before it."""
        assert batch.future_y is not None
        values, _ = observed(batch.past_y, batch.past_mask)
        known, ahead = self._known(batch)
        read = time_first(torch.cat([values, batch.future_y[:, :-1]], 1))
        states, _ = self.encoder(side_by_side([read, *known]))
        return self._decode(states[values.shape[1] - 1 :], ahead)

    def _read_history(self, batch: Batch) -> tuple[Tensor, Any, list[Tensor], Tensor | None]:
        """Return the first four arguments of ``_step_by_step``."""
        values, _ = observed(batch.past_y, batch.past_mask)
        steps = values.shape[1]
        known, ahead = self._known(batch)
        states, memory = self.encoder(side_by_side([time_first(values), *(item[:steps] for item in known)]))
        return states[-1:], memory, [item[steps:] for item in known], ahead

    def _known(self, batch: Batch) -> tuple[list[Tensor], Tensor | None]:
        """Return the covariates of the encoder, up to the last step but one, and those of the decoder."""
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

    def _ratio(self, batch: Batch) -> float:
        """Return the fraction of windows and steps that read the target now."""
        if batch.future_y is None:
            return 0.0
        return self.teacher_forcing_ratio if self.training else float(self.shown_in_validation)

    def _reads_all_targets(self, batch: Batch, ratio: float) -> bool:
        """Whether the target is read at each step; all steps can then be computed at once."""
        # A device synchronisation costs less than one call of the cells per step of the horizon.
        return ratio >= 1 and (batch.future_mask is None or bool(batch.future_mask[:, :-1].all()))

    def _teacher(self, batch: Batch, ratio: float) -> tuple[Tensor, Tensor]:
        """Return the targets ``(horizon, row, 1)`` and which of them are read, drawn for each window and step."""
        assert batch.future_y is not None
        size, steps, _ = batch.future_y.shape
        shown = torch.ones(size, steps, 1, device=batch.future_y.device, dtype=torch.bool)
        if ratio < 1:
            shown = torch.rand(size, steps, 1, device=batch.future_y.device) < ratio
        shown = shown.expand_as(batch.future_y)
        shown = shown if batch.future_mask is None else shown & (batch.future_mask > 0)
        return time_first(batch.future_y), time_first(shown)

    def _step_by_step(
        self,
        state: Tensor,
        memory: Any,
        known: list[Tensor],
        ahead: Tensor | None,
        read: Callable[[Tensor], Tensor],
        teacher: tuple[Tensor, Tensor] | None,
    ) -> Tensor:
        """Return the forecasts ``(horizon, row, outputs)``.

        State and memory are those after the history. ``read`` turns the outputs of a step, ``(1, row, outputs)``, into
        the value that is read on, ``(1, row, 1)``. ``teacher`` has the targets and which of them are read instead.
        """
        forecasts: list[Tensor] = []
        for step in range(self.spec.horizon):
            now, before = slice(step, step + 1), slice(step - 1, step)
            if step:
                value = read(forecasts[-1])
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
