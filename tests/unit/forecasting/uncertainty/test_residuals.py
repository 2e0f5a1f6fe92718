"""Errors of a network on windows, against windows that are cut by hand."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
import torch
from torch import Tensor, nn

from neuro_divergent.core.spec import Batch
from neuro_divergent.data.batcher import WindowBatcher
from neuro_divergent.data.load import load_panel
from neuro_divergent.data.scaling.base import WindowScaler
from neuro_divergent.data.schema import Schema
from neuro_divergent.data.windows import Windows
from neuro_divergent.forecasting.uncertainty.residuals import fit_residuals
from neuro_divergent.losses.point import MAE

HISTORY, HORIZON, LENGTH = 6, 3, 40
VALUES = np.random.default_rng(0).gamma(2.0, size=(2, LENGTH)).astype(np.float32)


class Persistence(nn.Module):
    """Forecasts the last value."""

    def forward(self, batch: Batch) -> Tensor:
        return batch.past_y[:, -1:, :, None].expand(-1, HORIZON, -1, -1)


def errors_by_hand(chosen: list[tuple[int, int]], scaled: bool) -> np.ndarray:
    """Return the sorted absolute errors of windows whose target begins at a row of a series."""
    rows = []
    for series, begin in chosen:
        history, target = VALUES[series, begin - HISTORY : begin], VALUES[series, begin : begin + HORIZON]
        rows.append(np.abs(target - history[-1]) / (history.std() if scaled else 1))
    return np.sort(np.array(rows), axis=0)


def found_errors(scaler: str, missing: tuple[int, ...] = (), most: int = 2000) -> Tensor:
    values = [
        [None if series == 0 and row in missing else float(VALUES[series, row]) for row in range(LENGTH)]
        for series in (0, 1)
    ]
    frame = pl.DataFrame(
        {"unique_id": ["a"] * LENGTH + ["b"] * LENGTH, "ds": [*range(LENGTH)] * 2, "y": [*values[0], *values[1]]}
    )
    panel = load_panel(frame, Schema(missing="mask" if missing else "error"))
    windows = Windows(panel, HISTORY, HORIZON, panel.offsets[:-1] + 20, panel.offsets[1:], 5)
    batcher = WindowBatcher(panel, HISTORY, HORIZON, WindowScaler.from_dict(scaler))
    found = fit_residuals(Persistence(), MAE(), batcher, windows, most=most).intervals
    assert found is not None
    return found.errors


EVERY = [(series, begin) for series in (0, 1) for begin in range(20, LENGTH - HORIZON + 1)]


@pytest.mark.parametrize(("scaler", "scaled"), [("identity", False), ("standard", True), ("revin", True)])
def test_errors_are_in_units_of_the_spread_of_the_history_where_values_are_scaled(scaler: str, scaled: bool) -> None:
    expected = errors_by_hand(EVERY, scaled)
    torch.testing.assert_close(found_errors(scaler), torch.tensor(expected), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("scaler", ["identity", "revin"])
def test_windows_with_an_unobserved_target_are_left_out(scaler: str) -> None:
    whole = [(series, begin) for series, begin in EVERY if series == 1 or begin > LENGTH - HORIZON]
    missing = tuple(range(20, LENGTH, 3))  # in every target of the first series
    torch.testing.assert_close(
        found_errors(scaler, missing), torch.tensor(errors_by_hand(whole, scaler == "revin")), atol=1e-5, rtol=1e-5
    )


def test_too_many_windows_are_thinned_evenly() -> None:
    chosen = [EVERY[place] for place in np.linspace(0, len(EVERY) - 1, 7).round().astype(int)]
    expected = errors_by_hand(chosen, scaled=False)
    torch.testing.assert_close(found_errors("identity", most=7), torch.tensor(expected), atol=1e-5, rtol=1e-5)
