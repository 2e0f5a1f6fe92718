"""Distribution losses: settings, refusals, units and shapes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import numpy as np
import polars as pl
import pytest
import torch

from neuro_divergent.core.errors import ConfigError, DataError
from neuro_divergent.core.spec import Batch
from neuro_divergent.forecasting.forecaster import Forecaster
from neuro_divergent.losses.base import Loss
from neuro_divergent.losses.distribution.base import DistributionLoss
from neuro_divergent.losses.distribution.bernoulli import Bernoulli
from neuro_divergent.losses.distribution.beta import Beta
from neuro_divergent.losses.distribution.isqf import ISQF
from neuro_divergent.losses.distribution.log_normal import LogNormal
from neuro_divergent.losses.distribution.mixture import GaussianMixture, NegativeBinomialMixture, PoissonMixture
from neuro_divergent.losses.distribution.negative_binomial import NegativeBinomial
from neuro_divergent.losses.distribution.normal import Normal
from neuro_divergent.losses.distribution.poisson import Poisson
from neuro_divergent.losses.distribution.student_t import StudentT
from neuro_divergent.losses.distribution.tweedie import Tweedie
from neuro_divergent.losses.distribution.zero_inflated import ZeroInflatedNegativeBinomial, ZeroInflatedPoisson

COUNTS = [Poisson(), NegativeBinomial(), ZeroInflatedPoisson(), ZeroInflatedNegativeBinomial()]
every_count = pytest.mark.parametrize("loss", [*COUNTS, PoissonMixture(), NegativeBinomialMixture()], ids=str)


def batch_in(loc: float, scale: float, dtype: torch.dtype = torch.float32) -> Batch:
    none = torch.zeros(1, 1, 1, dtype=dtype)
    return Batch(past_y=none, past_mask=none, unit_loc=none + loc, unit_scale=none + scale)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: StudentT(df=2.0), "student_t: df: 2.0 must be greater than 2"),
        (lambda: Tweedie(1.0), "tweedie: power: 1.0 must be greater than or equal to 1.01"),
        (lambda: Tweedie(2.0), "tweedie: power: 2.0 must be less than or equal to 1.99"),
        (lambda: GaussianMixture(0), "gaussian_mixture: components: 0 must be greater than or equal to 1"),
        (lambda: ISQF([0.5]), "isqf: quantiles: must be at least two different numbers between 0 and 1"),
        (lambda: ISQF([0.5, 1.0]), "isqf: quantiles: must be different numbers between 0 and 1"),
        (lambda: ISQF(pieces=0), "isqf: pieces: 0 must be greater than or equal to 1"),
        (lambda: Normal(point="mode"), "normal: point: .*'mean' or 'median'"),
    ],
)
def test_wrong_settings_are_explained(make: Callable[[], Loss], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make()


def test_knots_are_kept_in_order() -> None:
    assert ISQF([0.9, 0.1, 0.5]) == ISQF([0.1, 0.5, 0.9])


@pytest.mark.parametrize(
    ("loss", "outputs"),
    [
        (Normal(), 2),
        (StudentT(), 3),
        (StudentT(df=5), 2),
        (GaussianMixture(4), 12),
        (PoissonMixture(4), 8),
        (ISQF([0.1, 0.5, 0.9], pieces=1), 5),
        (ISQF([0.1, 0.5, 0.9], pieces=2), 13),
    ],
    ids=str,
)
@pytest.mark.precision("bf16")
def test_the_network_is_told_how_many_parameters_there_are(loss: Loss, outputs: int) -> None:
    assert loss.outputs == outputs
    raw = torch.zeros(2, 3, 1, outputs)
    assert loss.elementwise(raw, torch.zeros(2, 3, 1)).shape == (2, 3, 1)


class TestTargets:
    @every_count
    def test_a_negative_count_is_named(self, loss: DistributionLoss) -> None:
        target = torch.tensor([[[0.0], [3.0], [-7.0]]])
        with pytest.raises(DataError, match=rf"{loss.name}: target -7 is not possible: targets must be counts"):
            loss.elementwise(torch.zeros(1, 3, 1, loss.outputs), target)

    @pytest.mark.parametrize(
        ("loss", "target"),
        [(LogNormal(), -1.0), (Tweedie(), -0.5), (Beta(), 1.2), (Beta(), -0.2), (Bernoulli(), 2.0)],
        ids=str,
    )
    def test_a_value_outside_of_the_support_is_named(self, loss: DistributionLoss, target: float) -> None:
        with pytest.raises(DataError, match=rf"{loss.name}: target {target:g} is not possible"):
            loss.elementwise(torch.zeros(1, 1, 1, loss.outputs), torch.tensor([[[target]]]))

    @every_count
    @pytest.mark.parametrize(("loc", "scale"), [(7.3, 2.1), (0.013, 0.11), (31_234.7, 812.9), (3e6, 1e6)])
    def test_counts_survive_being_scaled_in_32_bits(self, loss: DistributionLoss, loc: float, scale: float) -> None:
        count = torch.tensor([0.0, 1.0, 2.0, 17.0]).reshape(1, 4, 1)
        raw = torch.zeros(1, 4, 1, loss.outputs)
        batch = batch_in(loc, scale)
        assert batch.unit_loc is not None
        assert batch.unit_scale is not None
        cost = loss.elementwise(raw, (count - batch.unit_loc) / batch.unit_scale, batch)
        law = loss.distribution(raw, batch)
        assert torch.allclose(cost.double(), -law.log_prob(count.double()), rtol=1e-6)

    def test_zeros_of_a_tweedie_distribution_stay_zeros_when_scaled(self) -> None:
        batch = batch_in(7.3, 2.1)
        assert batch.unit_loc is not None
        assert batch.unit_scale is not None
        zero = (torch.zeros(1, 1, 1) - batch.unit_loc) / batch.unit_scale
        law = Tweedie().distribution(torch.zeros(1, 1, 1, 2), batch)
        cost = Tweedie().elementwise(torch.zeros(1, 1, 1, 2), zero, batch)
        assert float(cost) == pytest.approx(float(law.rate), rel=1e-6)  # type: ignore[attr-defined]

    @pytest.mark.parametrize(("loss", "edge"), [(LogNormal(), 0.0), (Beta(), 0.0), (Beta(), 1.0)], ids=str)
    def test_the_edge_of_an_open_support_costs_much_but_not_everything(
        self, loss: DistributionLoss, edge: float
    ) -> None:
        raw = torch.zeros(1, 1, 1, 2)
        cost = loss.elementwise(raw, torch.full((1, 1, 1), edge))
        assert torch.isfinite(cost).all()
        assert torch.equal(cost, loss.elementwise(raw, torch.full((1, 1, 1), abs(edge - 1e-7))))


class TestUnits:
    @pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
    @pytest.mark.parametrize("loss", [*COUNTS, Tweedie(), LogNormal(), PoissonMixture()], ids=str)
    def test_outputs_of_zero_are_of_the_size_of_the_window(self, loss: DistributionLoss, size: float) -> None:
        raw = torch.zeros(1, 1, 1, loss.outputs)
        for loc, scale in ((size, size / 2), (0.0, size), (size, size / 100)):
            mean = float(loss.distribution(raw, batch_in(loc, scale, torch.float64)).mean)
            assert 0.2 * size < mean < 3 * size

    def test_a_large_level_is_the_output_restored(self) -> None:
        law = Poisson().distribution(torch.tensor([1.5, -2.0]).reshape(1, 2, 1, 1), batch_in(1e4, 100.0))
        assert law.mean.flatten().tolist() == pytest.approx([10_150, 9_800])

    def test_a_proportion_is_the_output_restored(self) -> None:
        law = Bernoulli().distribution(torch.tensor([1.5, -2.0]).reshape(1, 2, 1, 1), batch_in(0.5, 0.02))
        assert law.mean.flatten().tolist() == pytest.approx([0.53, 0.46])

    def test_forecasts_are_on_the_scale_of_the_network(self) -> None:
        raw = torch.tensor([0.3]).reshape(1, 1, 1, 1)
        forecast = Poisson().forecast(raw, (0.1, 0.9), batch_in(1e4, 100.0))
        assert forecast.quantiles is not None
        low, high = forecast.quantiles.flatten().tolist()
        assert float(forecast.point) == pytest.approx(0.3, abs=1e-5)
        assert (low, high) == pytest.approx((0.3 - 1.29, 0.3 + 1.29), abs=0.02)

    @every_count
    def test_quantiles_of_counts_are_integers_in_the_units_of_the_data(self, loss: DistributionLoss) -> None:
        raw = torch.randn(20, 3, 1, loss.outputs, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
        quantiles = loss.forecast(raw, (0.05, 0.5, 0.95), batch_in(12.7, 3.3, torch.float64)).quantiles
        assert quantiles is not None
        restored = 12.7 + 3.3 * quantiles
        assert torch.allclose(restored, restored.round(), atol=1e-9)
        assert loss.traits.integer_valued
        assert (restored > -1e-9).all()


class TestForecast:
    def test_the_point_is_the_mean_or_the_median(self) -> None:
        raw = torch.tensor([0.4, 1.2]).reshape(1, 1, 1, 2)
        law = LogNormal().distribution(raw)
        assert float(LogNormal().forecast(raw).point) == pytest.approx(float(law.mean))
        forecast = LogNormal(point="median").forecast(raw, (0.1, 0.5))
        assert float(forecast.point) == pytest.approx(float(law.icdf(torch.tensor(0.5))))
        assert forecast.quantiles is not None
        assert forecast.quantiles.shape == (1, 1, 1, 2)
        assert float(forecast.quantiles[..., 1]) == float(forecast.point)
        assert LogNormal(point="median").forecast(raw).quantiles is None

    def test_probabilities_of_zero_and_one_give_finite_values(self) -> None:
        values = Normal().inverse(torch.zeros(2, 3, 1, 2), torch.tensor([0.0, 1.0]).reshape(2, 1, 1, 1))
        assert values.shape == (2, 2, 3, 1)
        assert torch.isfinite(values).all()

    def test_half_precision_outputs_are_costed_in_32_bits(self) -> None:
        raw = torch.zeros(2, 2, dtype=torch.bfloat16)
        assert Normal().elementwise(raw, torch.zeros(2)).dtype == torch.float32

    def test_a_loss_can_be_trained_after_it_was_measured(self) -> None:
        loss = Tweedie(1.37)
        raw = torch.zeros(2, 2, requires_grad=True)
        with torch.inference_mode():
            loss.elementwise(raw, torch.ones(2))
        loss.elementwise(raw, torch.ones(2)).sum().backward()
        assert raw.grad is not None

    def test_counts_are_forecast_from_a_table(self) -> None:
        generator = np.random.default_rng(0)
        frame = pl.DataFrame({"unique_id": ["a"] * 80, "ds": range(80), "y": generator.poisson(3.0, 80).astype(float)})
        forecaster = Forecaster("nlinear", horizon=4, input_size=8, loss=NegativeBinomial())
        forecaster.fit(frame)
        table = forecaster.predict(levels=[80])
        assert isinstance(table, pl.DataFrame)
        bounds = table.select(pl.selectors.contains("lo", "hi")).to_numpy()
        assert bounds.shape == (4, 2)
        assert (bounds == bounds.round()).all()
        assert (bounds >= 0).all()
        assert 1 < float(table[:, 2].mean()) < 6  # type: ignore[arg-type]


def test_making_a_loss_needs_no_torch() -> None:
    script = (
        "import sys, pkgutil, importlib; from neuro_divergent.losses import distribution\n"
        "for module in pkgutil.iter_modules(distribution.__path__, distribution.__name__ + '.'):\n"
        "    if not module.ispkg: importlib.import_module(module.name)\n"
        "from neuro_divergent.losses.distribution.isqf import ISQF; ISQF().outputs\n"
        "print('torch' in sys.modules, 'numpy' in sys.modules, 'scipy' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["False", "False", "False"]
