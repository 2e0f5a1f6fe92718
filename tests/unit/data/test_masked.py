"""Windows with hidden patches."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from neuro_divergent.core.errors import ConfigError
from neuro_divergent.core.spec import Batch
from neuro_divergent.data.batcher import WindowBatcher
from neuro_divergent.data.load import load_panel
from neuro_divergent.data.loader import Order
from neuro_divergent.data.masked import MaskedLoader
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.scaling.window import IdentityScaler
from neuro_divergent.data.schema import Schema
from neuro_divergent.data.windows import Windows


def counted(num_series: int = 3, length: int = 40, missing: bool = False) -> Panel:
    """Return series whose values are 1, 2, 3, ... so that zero is never a value."""
    values = [float(index) for index in range(1, num_series * length + 1)]
    seen = [None if missing and index % 7 == 3 else value for index, value in enumerate(values)]
    frame = pl.DataFrame(
        {
            "unique_id": [f"s{index}" for index in range(num_series) for _ in range(length)],
            "ds": list(range(length)) * num_series,
            "y": seen,
        }
    )
    return load_panel(frame, Schema(missing="mask" if missing else "error"))


def loader(panel: Panel, size: int, **settings: Any) -> MaskedLoader:
    joint = settings.pop("joint", False)
    begins = settings.pop("begins", panel.offsets[:-1])
    windows = Windows(panel, 0, size, begins, panel.offsets[1:], 1, joint)
    batcher = WindowBatcher(panel, size, 0, IdentityScaler(), joint=joint)
    order = Order(batch_size=settings.pop("batch_size", 8), shuffle=True, seed=settings.pop("seed", 1))
    return MaskedLoader(windows, batcher, order, **{"patch_length": 4, "mask_fraction": 0.4, **settings})


def hidden_patches(batch: Batch, length: int) -> np.ndarray[Any, Any]:
    """Return which patches are hidden, ``(batch, patch, channel)``, after checking that none is in part."""
    hidden = batch.past_mask.numpy() == 0
    steps = hidden.shape[1]
    patches = [hidden[:, start : start + length] for start in range(0, steps, length)]
    for patch in patches:
        assert (patch.all(axis=1) == patch.any(axis=1)).all()
    return np.stack([patch.all(axis=1) for patch in patches], axis=1)


@given(
    size=st.integers(5, 20),
    length=st.integers(1, 4),
    share=st.floats(0.01, 0.99),
    joint=st.booleans(),
    seed=st.integers(0, 99),
)
def test_masked_loader_hides_the_same_number_of_patches_in_every_channel(
    size: int, length: int, share: float, joint: bool, seed: int
) -> None:
    source = loader(PANEL, size, patch_length=length, mask_fraction=share, joint=joint, seed=seed)
    count = -(-size // length)
    wanted = min(max(round(share * count), 1), count - 1)
    batch = next(iter(source.epoch(0)))
    assert batch.past_y.shape[2] == (3 if joint else 1)
    assert (hidden_patches(batch, length).sum(axis=1) == wanted).all()


PANEL = counted()


def test_target_mask_equals_the_hidden_values() -> None:
    for batch in loader(PANEL, 12).epoch(0):
        assert batch.future_y is not None
        assert batch.future_mask is not None
        assert torch.equal(batch.future_mask, 1 - batch.past_mask)
        assert torch.equal(batch.past_y, batch.future_y * batch.past_mask)
        assert (batch.future_y > 0).all()
        first = batch.future_y[:, :1]
        assert torch.equal(batch.future_y, first + torch.arange(12.0)[:, None])


def test_target_mask_excludes_missing_values() -> None:
    for batch in loader(counted(missing=True), 12).epoch(0):
        assert batch.future_y is not None
        assert batch.future_mask is not None
        is_known = (batch.future_y > 0).float()
        assert not is_known.all()
        assert torch.equal(batch.past_mask + batch.future_mask, is_known)


def test_target_mask_excludes_values_before_the_range() -> None:
    begins = PANEL.offsets[:-1] + 30
    windows = Windows(PANEL, 8, 4, begins, PANEL.offsets[1:], 4)
    batcher = WindowBatcher(PANEL, 12, 0, IdentityScaler())
    source = MaskedLoader(windows, batcher, Order(batch_size=99, shuffle=False), patch_length=4, mask_fraction=0.5)
    (batch,) = source.epoch(0)
    assert batch.future_y is not None
    assert batch.future_mask is not None
    step_in_series = (batch.future_y - 1) % 40
    assert torch.equal(batch.future_mask, (1 - batch.past_mask) * (step_in_series >= 30))
    assert batch.future_mask.any()


def test_epoch_from_any_start_yields_the_same_masked_batches() -> None:
    source = loader(PANEL, 12, batch_size=5)
    whole = list(source.epoch(3))
    for start in (0, 4, len(source) - 1):
        again = list(loader(PANEL, 12, batch_size=5, prefetch=2).epoch(3, start))
        assert len(again) == len(whole) - start
        for one, other in zip(whole[start:], again, strict=True):
            assert torch.equal(one.past_y, other.past_y)
            assert torch.equal(one.past_mask, other.past_mask)


def test_epochs_batches_and_seeds_hide_other_patches() -> None:
    def masks(source: MaskedLoader, epoch: int) -> list[torch.Tensor]:
        return [batch.past_mask for batch in source.epoch(epoch)][:3]

    source = loader(PANEL, 12)
    first, later = masks(source, 0), masks(source, 1)
    assert not torch.equal(first[0], first[1])
    assert not torch.equal(first[0], later[0])
    assert not torch.equal(first[0], masks(loader(PANEL, 12, seed=2), 0)[0])


def test_every_patch_is_hidden_equally_often() -> None:
    source = loader(PANEL, 20, batch_size=64)
    hidden = np.concatenate([hidden_patches(batch, 4) for epoch in range(40) for batch in source.epoch(epoch)])
    assert hidden.mean(axis=0)[:, 0] == pytest.approx(0.4, abs=4 * np.sqrt(0.24 / len(hidden)))


def test_a_history_of_one_patch_is_refused() -> None:
    with pytest.raises(ConfigError, match="a history of 12 steps is a single patch of 16"):
        loader(PANEL, 12, patch_length=16)
