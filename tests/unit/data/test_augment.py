from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from torch import Tensor

from neuro_divergent.core.spec import Batch
from neuro_divergent.data.augment.jitter import Jitter
from neuro_divergent.data.augment.mask import MaskHistory
from neuro_divergent.data.augment.mixup import Mixup
from neuro_divergent.data.augment.resample import resample_history
from neuro_divergent.data.augment.scale import Scale
from neuro_divergent.data.augment.time_warp import TimeWarp
from neuro_divergent.data.augment.window_slice import WindowSlice


def windows(values: Tensor, **fields: Tensor) -> Batch:
    return Batch(values, **fields)  # type: ignore[arg-type]


def ramp(size: int, length: int) -> Batch:
    """Return histories whose value is the number of the step, so that a value tells when it was read."""
    return windows(torch.arange(float(length))[None, :, None].expand(size, -1, -1))


def test_settings_need_no_torch() -> None:
    code = (
        "import sys; from neuro_divergent.data.augment import Augmentation as A\n"
        "from neuro_divergent.training.curriculum import Curriculum as C\n"
        "from neuro_divergent.training.teacher_forcing import TeacherForcing as T\n"
        "[kind.registry.get(name)().to_toml() for kind in (A, C, T) for name in kind.registry.names()]\n"
        "assert not {'torch', 'numpy', 'polars'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_jitter_is_normal_noise_in_units_of_the_observed_spread() -> None:
    torch.manual_seed(0)
    mask = (torch.rand(40, 500, 2) > 0.3).float()
    values = (torch.randn(40, 500, 2) * torch.tensor([1.0, 100.0]) + 1000) * mask
    target = torch.randn(40, 3, 2)
    changed = Jitter(sigma=0.2, probability=1).apply(Batch(values, mask, future_y=target))
    noise = changed.past_y - values
    for channel in range(2):
        seen = [values[row, :, channel][mask[row, :, channel] > 0].double() for row in range(40)]
        added = [noise[row, :, channel][mask[row, :, channel] > 0].double() for row in range(40)]
        units = torch.cat([one / two.std(correction=0) / 0.2 for one, two in zip(added, seen, strict=True)])
        assert stats.kstest(units.numpy(), "norm").pvalue > 0.01
    assert not noise[mask == 0].any()
    assert changed.future_y is target


def test_jitter_measures_flat_features_over_the_batch() -> None:
    torch.manual_seed(0)
    inputs = torch.randn(4000, 2) * torch.tensor([1.0, 50.0])
    changed, _ = Jitter(sigma=0.1, probability=1).apply((inputs, torch.zeros(4000)))
    torch.testing.assert_close((changed - inputs).std(0), torch.tensor([0.1, 5.0]), rtol=0.05, atol=0)


def test_scale_multiplies_history_target_and_teacher_by_one_log_normal_factor() -> None:
    torch.manual_seed(0)
    batch = windows(
        torch.ones(2000, 5, 2), future_y=torch.full((2000, 3, 2), 2.0), soft_y=torch.full((2000, 3, 2), 4.0)
    )
    changed = Scale(sigma=0.3, probability=1).apply(batch)
    factor = changed.past_y[:, 0, 0]
    torch.testing.assert_close(changed.past_y, factor[:, None, None].expand(-1, 5, 2))
    torch.testing.assert_close(changed.future_y, 2 * factor[:, None, None].expand(-1, 3, 2))
    torch.testing.assert_close(changed.soft_y, 4 * factor[:, None, None].expand(-1, 3, 2))
    assert stats.kstest(factor.log().numpy() / 0.3, "norm").pvalue > 0.01


class TestMixup:
    size = 400

    def mixed(self, alpha: float = 0.4) -> tuple[Batch, Batch, Tensor, Tensor]:
        """Mix windows that can be told apart; return them, the result, the partner and the share of each."""
        torch.manual_seed(1)
        size = self.size
        future_mask = (torch.rand(size, 3, 1) > 0.3).float()
        past_mask = torch.ones(size, size + 6, 1)
        past_mask[:, size:] = (torch.rand(size, 6, 1) > 0.3).float()
        identity = torch.cat([torch.eye(size), torch.rand(size, 6) + 1], 1)[..., None]
        batch = Batch(
            identity * past_mask,
            past_mask,
            past_x=torch.stack([torch.randn(size, size + 6), torch.randint(4, (size, size + 6)).float()], -1),
            static_x=torch.stack([torch.randn(size), torch.randint(4, (size,)).float()], -1),
            future_y=(torch.randn(size, 3, 1) + 9) * future_mask,
            future_mask=future_mask,
            weight=torch.rand(size, 3, 1),
        )
        changed = Mixup(alpha=alpha, probability=1).apply(batch)
        shares = changed.past_y[:, :size, 0]
        own = shares.diagonal()
        others = shares - torch.diag(own)
        return batch, changed, torch.where(others.any(1), others.argmax(1), torch.arange(size)), own

    def test_mixup_averages_a_window_with_one_other(self) -> None:
        batch, changed, partner, own = self.mixed()
        assert batch.future_y is not None
        assert len(set(partner.tolist())) == self.size, "each window is a partner once"
        share = own[:, None, None]
        for name in ("past_y", "future_y"):
            values, mask = getattr(batch, name), getattr(batch, name.replace("_y", "_mask"))
            both = mask * mask[partner]
            assert torch.equal(getattr(changed, name.replace("_y", "_mask")), both)
            expected = (share * values + (1 - share) * values[partner]) * both
            torch.testing.assert_close(getattr(changed, name), expected)
        torch.testing.assert_close(changed.weight, share * batch.weight + (1 - share) * batch.weight[partner])

    def test_mixup_averages_numeric_columns_and_keeps_categories_of_the_larger_weight(self) -> None:
        batch, changed, partner, own = self.mixed()
        assert (own >= 0.5).all()
        for name in ("past_x", "static_x"):
            before, after = getattr(batch, name), getattr(changed, name)
            share = own.view(-1, *(1,) * (before.ndim - 2))
            expected = share * before[..., 0] + (1 - share) * before[partner, ..., 0]
            torch.testing.assert_close(after[..., 0], expected, atol=1e-6, rtol=1e-5)
            assert torch.equal(after[..., 1], before[..., 1])

    @pytest.mark.parametrize("alpha", [0.2, 1.0, 3.0])
    def test_mixup_weight_follows_the_larger_half_of_a_beta_distribution(self, alpha: float) -> None:
        _, _, partner, own = self.mixed(alpha)
        drawn = own[partner != torch.arange(self.size)].double().numpy()
        folded = lambda x: 2 * stats.beta(alpha, alpha).cdf(x) - 1  # noqa: E731
        assert stats.kstest(drawn, folded).pvalue > 0.01


@pytest.mark.parametrize("sigma", [0.05, 0.2, 1.0])
def test_time_warp_keeps_order_and_ends_and_bends_smoothly(sigma: float) -> None:
    torch.manual_seed(0)
    times = TimeWarp(sigma=sigma, probability=1).apply(ramp(200, 97)).past_y[..., 0]
    speed = times.diff(dim=1)
    assert (speed > 0).all()
    assert not times[:, 0].any()
    assert (times[:, -1] == 96).all()
    assert (times - torch.arange(97.0)).abs().amax(1).min() > 0.01
    # Between two of four knots lie 32 steps, over which the speed goes from one value to the other.
    change = speed.diff(dim=1).abs().amax(1)
    assert (change <= (speed.amax(1) - speed.amin(1)) / 20).all()


def test_time_warp_without_bend_changes_nothing() -> None:
    batch = windows(torch.randn(5, 20, 2))
    torch.testing.assert_close(TimeWarp(sigma=0, probability=1).apply(batch).past_y, batch.past_y, atol=1e-5, rtol=1e-5)


def test_covariates_of_the_history_move_along_and_those_of_the_horizon_stay() -> None:
    torch.manual_seed(0)
    future = torch.stack([torch.arange(15.0) + 0.5, torch.arange(15.0) // 3], -1).expand(4, -1, -1)
    batch = ramp(4, 10)._replace(past_x=future[:, :10] * 1, future_x=future)
    for augmentation in (TimeWarp(sigma=0.5, probability=1), WindowSlice(probability=1)):
        changed = augmentation.apply(batch)
        times = changed.past_y[..., 0]
        torch.testing.assert_close(changed.past_x[..., 0], times + 0.5)
        torch.testing.assert_close(changed.future_x[:, :10], changed.past_x)
        assert torch.equal(changed.past_x[..., 1], (times + 0.5).floor() // 3), "the category of the nearest step"
        assert torch.equal(changed.future_x[:, 10:], future[:, 10:])


@pytest.mark.parametrize("position", ["end", "anywhere"])
def test_window_slice_stretches_a_part_evenly(position: str) -> None:
    torch.manual_seed(0)
    augmentation = WindowSlice(share=0.6, position=position, probability=1)
    times = augmentation.apply(ramp(3000, 41)).past_y[..., 0]
    first, last = times[:, 0], times[:, -1]
    even = first[:, None] + (last - first)[:, None] * torch.linspace(0, 1, 41)
    torch.testing.assert_close(times, even, atol=1e-4, rtol=1e-5)
    kept = ((last - first) / 40).double().numpy()
    assert stats.kstest(kept, stats.uniform(0.6, 0.4).cdf).pvalue > 0.01
    if position == "end":
        assert (last == 40).all()
    else:
        place = (first / (40 - (last - first))).clamp(0, 1).double().numpy()
        assert stats.kstest(place, "uniform").pvalue > 0.01


@given(seed=st.integers(0, 10_000), length=st.integers(2, 12), observed=st.floats(0.1, 1.0))
@settings(max_examples=60)
def test_resampling_interpolates_observed_values_linearly(seed: int, length: int, observed: float) -> None:
    random = np.random.default_rng(seed)
    mask = (random.random((3, length, 2)) < observed).astype(np.float64)
    values = random.normal(size=(3, length, 2)) * mask
    # Half of the times are whole steps, the others lie in between.
    positions = random.uniform(0, length - 1, (3, length))
    positions = np.where(random.random((3, length)) < 0.5, positions.round(), positions)
    batch = Batch(torch.from_numpy(values), torch.from_numpy(mask))
    changed = resample_history(batch, torch.from_numpy(positions))
    for row in range(3):
        for channel in range(2):
            expected = np.interp(positions[row], np.arange(length), values[row, :, channel])
            for step, position in enumerate(positions[row]):
                used = {int(np.floor(position)), int(np.ceil(position))}
                seen = all(mask[row, index, channel] for index in used)
                assert changed.past_mask[row, step, channel] == seen
                assert changed.past_y[row, step, channel] == pytest.approx(expected[step] if seen else 0, abs=1e-9)


@pytest.mark.parametrize(("share", "block"), [(0.1, 4), (0.5, 3), (0.3, 1), (0.2, 50)])
def test_mask_hides_blocks_and_every_step_equally_often(share: float, block: int) -> None:
    torch.manual_seed(0)
    length = 24
    batch = windows(torch.ones(4000, length, 2))
    changed = MaskHistory(share=share, block=block, probability=1).apply(batch)
    hidden = 1 - changed.past_mask
    assert torch.equal(changed.past_y, changed.past_mask)
    error = 5 * (share * (1 - share) / 8000) ** 0.5
    assert ((hidden.mean((0, 2)) - share).abs() < error).all()
    if block < length:
        inside = hidden[:, 1:-1]
        starts = (inside[:, 1:] > inside[:, :-1]).nonzero()
        for window, step, channel in starts[:300].tolist():
            run = hidden[window, step + 2 :, channel]
            size = len(run) if run.all() else int((run == 0).nonzero()[0])
            assert size % block == 0 or run.all(), "hidden runs are made of whole blocks"


def test_mask_never_uncovers_a_masked_value() -> None:
    mask = (torch.rand(50, 30, 2) > 0.5).float()
    values = torch.randn(50, 30, 2) * mask
    changed = MaskHistory(share=0.4, probability=1).apply(Batch(values, mask))
    assert (changed.past_mask <= mask).all()
    assert torch.equal(changed.past_y, values * changed.past_mask)
