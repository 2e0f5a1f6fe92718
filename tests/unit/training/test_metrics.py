"""Metrics beside the loss."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from neuro_divergent.core.errors import ConfigError, DataError, DataWarning
from neuro_divergent.core.spec import Batch
from neuro_divergent.losses.base import Loss
from neuro_divergent.losses.classification import BinaryCrossEntropy, CrossEntropy
from neuro_divergent.losses.expectile import ExpectileLoss
from neuro_divergent.losses.mase import MASE
from neuro_divergent.losses.point import MAE, MSE
from neuro_divergent.losses.quantile import QuantileLoss
from neuro_divergent.training.metrics import Metric, accuracy, known_metrics, metric_for


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def windows() -> Batch:
    return Batch(past_y=random(5, 12, 3, seed=2), past_mask=torch.ones(5, 12, 3))


def measured(metric: Metric, output: Tensor, target: Tensor, batch: Batch | None) -> Tensor:
    return metric.measure(metric.read(output, target, batch), target, batch)


@pytest.mark.parametrize("name", known_metrics())
@pytest.mark.parametrize(
    "loss", [MSE(), QuantileLoss(), ExpectileLoss([0.1, 0.5]), CrossEntropy(classes=3), BinaryCrossEntropy()], ids=str
)
def test_every_metric_gives_a_value_for_each_target_under_every_loss(name: str, loss: Loss) -> None:
    metric = metric_for(name, loss)
    target = torch.randint(2, (5, 4, 3), generator=torch.Generator().manual_seed(1)).float()
    values = measured(metric, random(5, 4, 3, loss.outputs), target, windows())
    assert metric.name == name
    assert values.shape == target.shape
    assert torch.isfinite(values).all()
    assert torch.isfinite(metric.finish(values.mean()))


def test_losses_are_measured_on_the_point_forecast() -> None:
    raw, target = random(5, 4, 3, 3), random(5, 4, 3, seed=1)
    median = raw.sort(-1).values[..., 1]
    assert torch.equal(measured(metric_for("mae", QuantileLoss()), raw, target, None), (median - target).abs())
    root = metric_for("rmse", QuantileLoss())
    assert float(root.finish(measured(root, raw, target, None).mean())) == pytest.approx(
        float(functional.mse_loss(median, target).sqrt()), rel=1e-6
    )


def test_percentages_are_measured_in_the_units_of_the_data() -> None:
    assert {name for name in known_metrics() if metric_for(name, MAE()).on_original_scale} == {
        "accuracy",
        "mape",
        "mase",
        "smape",
    }
    assert not metric_for("accuracy", CrossEntropy()).on_original_scale


def test_a_metric_may_have_settings_of_its_own() -> None:
    raw, target, batch = random(5, 4, 3, 1), random(5, 4, 3, seed=1), windows()
    metric = metric_for(MASE(season_length=7), MSE())
    assert metric.name == "mase"
    assert torch.equal(measured(metric, raw, target, batch), MASE(7).elementwise(raw, target, batch))


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("acuracy", "Unknown metric 'acuracy'. Did you mean 'accuracy'?"),
        ("cross_entropy", "Unknown metric 'cross_entropy'"),
        (QuantileLoss(), "metric 'quantile': only a loss with one output"),
        (BinaryCrossEntropy(), "metric 'binary_cross_entropy': only a loss with one output"),
    ],
)
def test_what_is_no_metric_is_refused(metric: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        metric_for(metric, MSE())


def test_names_are_read_like_those_of_losses() -> None:
    assert metric_for("Log-Cosh", MSE()).name == "log_cosh"


class TestAccuracy:
    SCORES = torch.tensor([[3.0, 1.0, 0.0], [0.0, 1.0, 2.0], [1.0, 5.0, 0.0]])

    def test_accuracy_is_the_fraction_of_correct_highest_scores(self) -> None:
        target = torch.tensor([0, 1, 1])
        for loss in (CrossEntropy(), functional.cross_entropy):
            assert measured(metric_for("accuracy", loss), self.SCORES, target, None).tolist() == [1, 0, 1]
            assert measured(metric_for("accuracy", loss), self.SCORES, target.float(), None).tolist() == [1, 0, 1]
        assert accuracy(self.SCORES, target).tolist() == [1, 0, 1]

    @pytest.mark.parametrize("shape", [(4,), (4, 1)])
    def test_accuracy_of_binary_logits_has_the_threshold_zero(self, shape: tuple[int, ...]) -> None:
        logits = torch.tensor([-0.1, 0.1, 0.4, -3.0]).reshape(shape)
        metric = metric_for("accuracy", BinaryCrossEntropy())
        assert measured(metric, logits, torch.tensor([0, 1, 0, 1]), None).tolist() == [1, 1, 0, 0]

    def test_accuracy_rounds_probabilities_and_class_numbers(self) -> None:
        assert accuracy(torch.tensor([[0.4], [0.6], [2.2]]), torch.tensor([0, 0, 2])).tolist() == [1, 0, 1]
        output, target = torch.tensor([[0.4], [0.6], [2.2]]), torch.tensor([0.0, 0.0, 2.0])
        assert measured(metric_for("accuracy", MSE()), output, target, None).tolist() == [1, 0, 1]

    @pytest.mark.parametrize("loss", [nn.BCEWithLogitsLoss(), functional.binary_cross_entropy_with_logits])
    def test_accuracy_under_logits_of_torch_is_that_of_the_same_loss_of_ours(self, loss: Any) -> None:
        logits, target = random(40, 3), (random(40, 3, seed=1) > 0).float()
        values = measured(metric_for("accuracy", loss), logits, target, None)
        assert torch.equal(values, ((logits > 0) == (target > 0)).float())
        assert torch.equal(values, measured(metric_for("accuracy", BinaryCrossEntropy()), logits, target, None))

    @pytest.mark.parametrize("loss", [nn.CrossEntropyLoss(), nn.NLLLoss(), functional.cross_entropy])
    def test_accuracy_under_cross_entropy_of_torch_has_classes_on_the_second_axis(self, loss: Any) -> None:
        scores, target = random(5, 4, 4, 4), torch.randint(4, (5, 4, 4), generator=torch.Generator().manual_seed(1))
        values = measured(metric_for("accuracy", loss), scores, target, None)
        assert torch.equal(values, (scores.argmax(1) == target).float())

    def test_what_look_like_logits_under_a_function_is_told(self) -> None:
        metric = metric_for("accuracy", lambda output, target: functional.soft_margin_loss(output, 2 * target - 1))
        with pytest.warns(DataWarning, match="If they are logits of class 1, the accuracy is wrong"):
            measured(metric, torch.tensor([-3.0, 2.0]), torch.tensor([0.0, 1.0]), None)

    def test_truth_values_are_classes(self) -> None:
        logits, target = torch.tensor([-1.0, 2.0, 2.0]), torch.tensor([False, True, False])
        assert measured(metric_for("accuracy", BinaryCrossEntropy()), logits, target, None).tolist() == [1, 1, 0]

    def test_an_output_of_several_tensors_is_refused(self) -> None:
        with pytest.raises(ConfigError, match="the module returned a tuple, and metrics that have names need one"):
            measured(metric_for("mae", nn.MSELoss()), (random(3), random(3)), random(3), None)  # type: ignore[arg-type]

    def test_shapes_that_do_not_belong_together_are_refused(self) -> None:
        with pytest.raises(DataError, match="do not belong"):
            accuracy(torch.zeros(4, 3), torch.zeros(5))


def test_choosing_metrics_and_losses_needs_no_torch() -> None:
    script = (
        "import sys; from neuro_divergent.training.metrics import metric_for, known_metrics; "
        "from neuro_divergent.losses.base import Loss; from neuro_divergent.losses.weighted import Weighting; "
        "[Loss.from_dict(name) for name in Loss.registry.names()]; "
        "[Weighting.from_dict(name) for name in Weighting.registry.names()]; "
        "[metric_for(name, Loss.from_dict('mae')) for name in known_metrics()]; "
        "print({'torch', 'numpy', 'polars'} & set(sys.modules))"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "set()"
