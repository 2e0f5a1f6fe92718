"""What every augmentation promises, over every registered name."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from neuro_divergent.core.errors import ConfigError
from neuro_divergent.core.spec import Batch
from neuro_divergent.data.augment import Augmentation

NAMES = Augmentation.registry.names()
every_augmentation = pytest.mark.parametrize("name", NAMES)


def make(name: str, probability: float = 1.0) -> Augmentation:
    augmentation: Augmentation = Augmentation.registry.get(name)(probability=probability)
    return augmentation


def example(
    size: int = 16, length: int = 12, channels: int = 2, *, missing: bool = False, dtype: torch.dtype = torch.float32
) -> Batch:
    """Return a batch with everything in it; the last column of each kind of covariates is a category."""
    random = torch.Generator().manual_seed(0)

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=random, dtype=dtype)

    def covariates(*shape: int) -> Tensor:
        return torch.cat([normal(*shape, 1), torch.randint(5, (*shape, 1), generator=random).to(dtype)], -1)

    horizon = 4
    mask = torch.ones(size, length + horizon, channels, dtype=dtype)
    if missing:
        mask = (torch.rand(mask.shape, generator=random) > 0.3).to(dtype)
        mask[0] = 0
    # History and target are parts of one tensor, as they come from the loader.
    values = (normal(channels, size, length + horizon) * 3 + 5).permute(1, 2, 0) * mask
    return Batch(
        past_y=values[:, :length],
        past_mask=mask[:, :length] if missing else None,
        past_x=covariates(size, length),
        future_x=covariates(size, length + horizon),
        static_x=covariates(size),
        future_y=values[:, length:],
        future_mask=mask[:, length:] if missing else None,
        loc=normal(size, 1, channels),
        scale=normal(size, 1, channels).exp(),
        series=torch.arange(size),
        weight=torch.rand(size, horizon, channels, generator=random, dtype=dtype),
        soft_y=normal(size, horizon, channels),
    )


def same(one: Batch, two: Batch) -> bool:
    return all(
        (a is None and b is None) or (a is not None and b is not None and torch.equal(a, b))
        for a, b in zip(one, two, strict=True)
    )


def touched(before: Batch, after: Batch) -> Tensor:
    """Return which windows have a different history."""
    return (before.past_y != after.past_y).flatten(1).any(1)


@every_augmentation
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("probability", [0.5, 1.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_changes_values_and_nothing_else(name: str, missing: bool, probability: float, dtype: torch.dtype) -> None:
    batch = example(missing=missing, dtype=dtype)
    copy = Batch(*(None if item is None else item.clone() for item in batch))
    torch.manual_seed(0)
    changed = make(name, probability).apply(batch)
    assert isinstance(changed, Batch)
    assert same(batch, copy), "the batch given may be a view of the data and must stay as it is"
    assert touched(batch, changed).any()
    for field, before, after in zip(Batch._fields, batch, changed, strict=True):
        if name == "mask" and field == "past_mask" and before is None:  # a history without missing values gets some
            before = torch.ones_like(batch.past_y)
        assert (before is None) == (after is None)
        if before is not None:
            assert after.shape == before.shape
            assert after.dtype is before.dtype
            assert after.device == before.device
            assert after.isfinite().all()
    for field in ("loc", "scale", "series"):
        assert getattr(changed, field) is getattr(batch, field)


@every_augmentation
def test_what_is_masked_is_zero_and_masks_hold_zeros_and_ones(name: str) -> None:
    batch = example(64, missing=True)
    changed = make(name, 0.7).apply(batch)
    assert changed.future_mask is not None
    for values, mask in ((changed.past_y, changed.past_mask), (changed.future_y, changed.future_mask)):
        assert torch.equal(values, values * mask)
        assert ((mask == 0) | (mask == 1)).all()
    assert not changed.past_mask[0].any(), "a history that was never observed stays so"


@every_augmentation
def test_without_missing_values_only_mask_adds_a_mask(name: str) -> None:
    batch = example()
    for probability in (0.5, 1.0):
        changed = make(name, probability).apply(batch)
        if name == "mask":
            assert not changed.past_mask.all()
        else:
            assert changed.past_mask is batch.past_mask
        assert changed.future_mask is None


@every_augmentation
def test_augmentation_changes_its_fraction_of_windows_and_leaves_others_to_the_bit(name: str) -> None:
    batch = example(2000)
    everything = touched(batch, make(name).apply(batch)).float().mean()
    changed = make(name, 0.3).apply(batch)
    which = touched(batch, changed)
    # A change may by chance leave a window as it was, so the share is that of the windows that would change.
    assert abs(float(which.float().mean()) - 0.3 * float(everything)) < 0.04
    batch = batch._replace(past_mask=torch.ones_like(batch.past_y) if name == "mask" else None)
    untouched = Batch(*(None if item is None else item[~which] for item in batch))
    assert same(untouched, Batch(*(None if item is None else item[~which] for item in changed)))
    assert same(batch, make(name, 0.0).apply(batch))
    assert same(example(), make(name, 0.0).apply(example())._replace(past_mask=None))


@every_augmentation
def test_randomness_is_that_of_torch(name: str) -> None:
    batch = example()
    torch.manual_seed(3)
    first, second = make(name).apply(batch), make(name).apply(batch)
    torch.manual_seed(3)
    assert same(make(name).apply(batch), first)
    assert not same(first, second)


@every_augmentation
def test_categories_are_never_averaged(name: str) -> None:
    batch = example(64)
    changed = make(name).apply(batch)
    for before, after in ((batch.past_x, changed.past_x), (batch.future_x, changed.future_x)):
        assert before is not None
        # The category of a step is one that the window had somewhere.
        assert (after[..., 1, None] == before[..., None, :, 1]).any(-1).all()
    assert torch.equal(changed.static_x[:, 1], batch.static_x[:, 1])  # type: ignore[index]


@every_augmentation
@pytest.mark.parametrize(("size", "length"), [(1, 12), (5, 1), (5, 2), (1, 1)])
@pytest.mark.parametrize("missing", [False, True])
def test_small_batches_and_short_histories_are_fine(name: str, size: int, length: int, missing: bool) -> None:
    changed = make(name).apply(example(size, length, missing=missing))
    assert all(item is None or item.isfinite().all() for item in changed)


@every_augmentation
def test_a_batch_without_targets_and_covariates_is_fine(name: str) -> None:
    values = torch.randn(6, 12, 1)
    changed = make(name).apply(Batch(values, torch.ones_like(values)))
    assert changed.future_y is None
    assert changed.past_x is None
    assert not torch.equal(changed.past_y, values)


@every_augmentation
def test_works_on_pairs_with_a_time_axis(name: str) -> None:
    inputs, targets = torch.randn(32, 20, 3), torch.randn(32, 2)
    before = inputs.clone(), targets.clone()
    torch.manual_seed(0)
    changed = make(name, 0.5).apply((inputs, targets))
    assert len(changed) == 2
    assert torch.equal(inputs, before[0])
    assert torch.equal(targets, before[1])
    assert changed[0].shape == inputs.shape
    assert not torch.equal(changed[0], inputs)
    assert torch.equal(changed[1], targets) != make(name).changes_targets
    torch.manual_seed(0)
    weighted = make(name, 0.5).apply([inputs, targets, torch.ones(32)])
    assert len(weighted) == 3
    assert torch.equal(weighted[0], changed[0])
    torch.testing.assert_close(weighted[2], torch.ones(32))


@every_augmentation
def test_flat_features_are_changed_or_refused(name: str) -> None:
    inputs, targets = torch.randn(32, 5), torch.randn(32, 1)
    if make(name).needs_time:
        with pytest.raises(ConfigError, match=f"^{name} needs inputs with a time axis.*shaped \\(32, 5\\)"):
            make(name).apply((inputs, targets))
        return
    changed = make(name).apply((inputs, targets))
    assert changed[0].shape == inputs.shape
    assert not torch.equal(changed[0], inputs)


@every_augmentation
def test_classes_stay_or_are_refused(name: str) -> None:
    inputs, classes = torch.randn(32, 20, 3), torch.randint(3, (32,))
    if make(name).changes_targets:
        with pytest.raises(ConfigError, match=f"^{name} changes targets too.*int64"):
            make(name).apply((inputs, classes))
        return
    assert make(name).apply((inputs, classes))[1] is classes


@every_augmentation
@pytest.mark.parametrize("inputs", [torch.ones(4, 3, 2, dtype=torch.long), {"words": torch.ones(4)}])
def test_inputs_that_are_not_numbers_are_refused(name: str, inputs: object) -> None:
    with pytest.raises(ConfigError, match=f"^{name} changes inputs that are a floating point tensor; got (int64|dict)"):
        make(name).apply((inputs, torch.ones(4)))
