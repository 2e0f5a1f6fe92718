"""NeuralForecast's networks for our tasks, and our windows as theirs.

Importing this skips a test file where ``neuralforecast`` is not installed (the ``bench`` extra).
"""

from __future__ import annotations

import warnings

import pytest
import torch
from torch import Tensor, nn

from neuro_divergent.core.spec import Batch, TaskSpec

reference = pytest.importorskip(
    "neuralforecast.models", reason="neuralforecast is not installed: pip install neuro-divergent[bench]"
)
losses = pytest.importorskip("neuralforecast.losses.pytorch")

ROLES = {"past": "hist_exog", "future": "futr_exog", "static": "stat_exog"}
Windows = dict[str, Tensor | None]


def their_network(kind: str, spec: TaskSpec, *, joint: bool = False, **settings: object) -> nn.Module:
    """Return a NeuralForecast model for the task; ``joint`` if its windows hold all series."""
    if joint:
        settings["n_series"] = spec.channels
    if spec.outputs > 1:
        levels = [(index + 1) / (spec.outputs + 1) for index in range(spec.outputs)]
        settings |= {"loss": losses.MQLoss(quantiles=levels), "valid_loss": losses.MQLoss(quantiles=levels)}
    for role, name in ROLES.items():
        if features := getattr(spec, role):
            settings[f"{name}_list"] = [feature.name for feature in features]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # XLinear advises on its sizes
        model: nn.Module = getattr(reference, kind)(h=spec.horizon, input_size=spec.input_size, **settings)
    return model.eval()


def trainable(network: nn.Module) -> dict[str, Tensor]:
    """Return the weights that training changes."""
    return {key: value.detach() for key, value in network.named_parameters() if value.requires_grad}


def random_batch(spec: TaskSpec, *, missing: bool = False, size: int = 5) -> Batch:
    """Return random windows that share their static covariates, of which joint windows there have one set."""
    values = torch.randn(size, spec.input_size, spec.channels)
    mask = (torch.rand_like(values) > 0.3).float() if missing else torch.ones_like(values)
    return Batch(
        values * mask,
        mask,
        torch.randn(size, spec.input_size, len(spec.past)) if spec.past else None,
        torch.randn(size, spec.input_size + spec.horizon, len(spec.future)) if spec.future else None,
        torch.randn(1, len(spec.static)).expand(size, -1) if spec.static else None,
    )


def their_windows(batch: Batch, *, joint: bool = False) -> Windows:
    """Return windows as their networks read them: a series each, or all series with the same covariates."""
    channels = batch.past_y.shape[2]
    covariates = {"hist_exog": batch.past_x, "futr_exog": batch.future_x, "stat_exog": batch.static_x}
    windows: Windows = {"insample_y": batch.past_y, "insample_mask": batch.past_mask}
    if not joint:
        apart = {
            key: value.transpose(1, 2).flatten(0, 1)[..., None] for key, value in windows.items() if value is not None
        }
        repeated = {
            key: None if value is None else value.repeat_interleave(channels, 0) for key, value in covariates.items()
        }
        return apart | repeated
    for key in ("hist_exog", "futr_exog"):
        value = covariates[key]
        windows[key] = None if value is None else value.transpose(1, 2)[..., None].expand(-1, -1, -1, channels)
    static = batch.static_x
    windows["stat_exog"] = None if static is None else static[:1].expand(channels, -1)
    return windows


@torch.no_grad()
def their_forecast(
    network: nn.Module, batch: Batch, spec: TaskSpec, *, joint: bool = False, one_by_one: bool = False
) -> Tensor:
    """Return what a network of theirs forecasts, as ours do: ``(batch, horizon, channel, output)``.

    Args:
        network: Their network.
        batch: The windows.
        spec: The task.
        joint: Whether it reads all series at once.
        one_by_one: Whether each window goes through it alone, for networks that look at the whole batch.
    """
    size, (horizon, outputs, channels) = len(batch.past_y), (spec.horizon, spec.outputs, spec.channels)
    if joint:
        rows = [Batch(*(None if item is None else item[row, None] for item in batch)) for row in range(size)]
        parts = [their_windows(part, joint=True) for part in (rows if one_by_one else [batch])]
        return torch.cat([network(part) for part in parts]).view(size, horizon, outputs, channels).transpose(2, 3)
    windows = their_windows(batch)
    parts = [windows]
    if one_by_one:
        places = range(size * channels)
        parts = [{key: None if item is None else item[row, None] for key, item in windows.items()} for row in places]
    return torch.cat([network(part) for part in parts]).view(size, channels, horizon, outputs).transpose(1, 2)
