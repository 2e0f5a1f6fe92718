"""Settings of losses: what is accepted, what is refused and what is said then."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from neuro_divergent.core.errors import ConfigError, DataError
from neuro_divergent.core.spec import Batch
from neuro_divergent.losses.base import Loss
from neuro_divergent.losses.classification import BinaryCrossEntropy, CrossEntropy
from neuro_divergent.losses.expectile import ExpectileLoss
from neuro_divergent.losses.mase import MASE
from neuro_divergent.losses.quantile import QuantileLoss
from neuro_divergent.losses.robust import Tukey


@pytest.mark.parametrize("levels", [[], [0.0], [1.0], [0.5, 0.5], [-1]])
@pytest.mark.parametrize("kind", [QuantileLoss, ExpectileLoss])
def test_impossible_levels_are_refused(kind: Callable[[list[float]], Loss], levels: list[float]) -> None:
    with pytest.raises(ConfigError, match="must be different numbers between 0 and 1, at least one"):
        kind(levels)


def test_weights_stay_with_their_quantiles() -> None:
    loss = QuantileLoss([0.9, 0.1, 0.5], weights=(9, 1, 5))
    assert loss.quantiles == (0.1, 0.5, 0.9)
    assert loss.weights == (1, 5, 9)
    assert loss == QuantileLoss([0.1, 0.5, 0.9], weights=(1, 5, 9))
    assert Loss.from_dict(loss.to_dict()) == loss
    assert QuantileLoss.from_toml(loss.to_toml()) == loss


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: QuantileLoss(weights=(1.0, 2.0)), "quantile: weights: 2 weights for 3 quantiles"),
        (lambda: QuantileLoss(weights=(1.0, 0.0, 2.0)), "quantile: weights: .* greater than 0"),
        (lambda: QuantileLoss(weights=(1.0, float("inf"), 2.0)), "quantile: weights: .* finite"),
        (lambda: CrossEntropy(weights=(1.0, 2.0, 3.0)), "cross_entropy: weights: 3 weights for 2 classes"),
        (lambda: CrossEntropy(classes=1), "cross_entropy: classes: 1 must be greater than or equal to 2"),
        (lambda: CrossEntropy(label_smoothing=1.0), "label_smoothing: 1.0 must be less than 1"),
        (lambda: BinaryCrossEntropy(positive_weight=0), "positive_weight: 0 must be greater than 0"),
        (lambda: Tukey(c=0), "tukey: c: 0 must be greater than 0"),
        (lambda: MASE(season_length=0), "season_length: 0 must be greater than or equal to 1"),
        (lambda: Loss.from_dict("log_cos"), "Did you mean 'log_cosh'"),
    ],
)
def test_wrong_settings_are_explained(make: Callable[[], Loss], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make()


def test_weightings_are_no_losses() -> None:
    assert not {"recency", "magnitude", "function"} & set(Loss.registry.names())


def test_mase_says_how_much_history_a_season_needs() -> None:
    batch = Batch(past_y=torch.zeros(2, 12, 1), past_mask=torch.ones(2, 12, 1))
    with pytest.raises(ConfigError, match="season_length 12 needs a history of at least 13 rows; windows have 12"):
        MASE(12).elementwise(torch.zeros(2, 3, 1), torch.zeros(2, 3, 1), batch)


def test_the_expectile_nearest_to_one_half_is_the_point() -> None:
    loss = ExpectileLoss([0.9, 0.4, 0.05])
    assert loss.levels == (0.05, 0.4, 0.9)
    assert float(loss.forecast(torch.tensor([3.0, 1.0, 2.0])).point) == 2
    assert loss.quantile_levels == ()


class TestClasses:
    def test_a_network_decides_how_many_there_are(self) -> None:
        raw = torch.randn(6, 5, generator=torch.Generator().manual_seed(0))
        cost = CrossEntropy().elementwise(raw, torch.tensor([0, 1, 2, 3, 4, 4]))
        assert cost.shape == (6,)
        assert torch.equal(CrossEntropy().forecast(raw).point, raw.argmax(-1).float())

    @pytest.mark.parametrize("target", [-100, -1, 3, 1.5, float("nan")])
    def test_a_target_that_is_no_class_is_named(self, target: float) -> None:
        with pytest.raises(DataError, match=f"target {target:g} is not the number of a class: .* 0 to 2"):
            CrossEntropy().elementwise(torch.zeros(2, 3), torch.tensor([0, target]))

    @pytest.mark.parametrize("target", [-0.1, 1.1, 2])
    def test_a_target_that_is_no_probability_is_named(self, target: float) -> None:
        with pytest.raises(DataError, match="must be 0 and 1, or probabilities in between"):
            BinaryCrossEntropy().elementwise(torch.zeros(2), torch.tensor([0, target]))

    def test_one_hot_targets_are_told_what_to_do(self) -> None:
        with pytest.raises(DataError, match=r"for one-hot targets pass target.argmax\(-1\)"):
            CrossEntropy().elementwise(torch.zeros(4, 3), torch.zeros(4, 3))

    def test_a_single_output_is_told_of_the_binary_loss(self) -> None:
        with pytest.raises(DataError, match="use binary_cross_entropy"):
            CrossEntropy().elementwise(torch.zeros(4, 1), torch.zeros(4))

    def test_weights_for_other_classes_than_the_networks_are_refused(self) -> None:
        with pytest.raises(DataError, match="2 weights for outputs of 3 classes"):
            CrossEntropy(weights=(1.0, 2.0)).elementwise(torch.zeros(4, 3), torch.zeros(4))

    def test_integer_targets_are_as_good_as_floats(self) -> None:
        raw = torch.randn(4, generator=torch.Generator().manual_seed(0))
        target = torch.tensor([0, 1, 1, 0])
        expected = BinaryCrossEntropy().elementwise(raw, target.float())
        assert torch.equal(BinaryCrossEntropy().elementwise(raw, target), expected)
        assert torch.equal(BinaryCrossEntropy().elementwise(raw, target.bool()), expected)
