"""Paths: what may follow the end of each series."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from numpy.typing import NDArray

import neuro_divergent as nd
from neuro_divergent.core.spec import Batch
from neuro_divergent.data.datasets.synthetic import Synthetic
from neuro_divergent.forecasting.prediction_context import PredictionContext
from neuro_divergent.forecasting.uncertainty.copula import Copula, cdf_at_target
from neuro_divergent.forecasting.uncertainty.intervals import Intervals
from neuro_divergent.forecasting.uncertainty.paths import latin_hypercube, quantiles_of
from neuro_divergent.forecasting.uncertainty.simulation import Dependence, simulate
from neuro_divergent.losses.base import Loss
from neuro_divergent.losses.distribution.negative_binomial import NegativeBinomial
from neuro_divergent.losses.distribution.normal import Normal
from neuro_divergent.losses.implicit import ImplicitQuantileLoss

LEVELS = [0.1, 0.5, 0.9]
TABLE = Synthetic(num_series=3, length=120, frequency="1d", seasonalities=(7,), noise=1.0).frame()
DIRECT: dict[str, Loss] = {
    "normal": Normal(),
    "quantile": nd.QuantileLoss([0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95], monotone=True),
    "implicit": ImplicitQuantileLoss(),
    "point": nd.losses.MAE(),
    "single": nd.QuantileLoss([0.5]),
}


def fit(architecture: Any, loss: Loss, **settings: Any) -> nd.Forecaster:
    task = {"horizon": 5, "input_size": 14, "validation": 0.4, **settings}
    training = nd.TrainingConfig(max_steps=20, threads=1)
    return nd.Forecaster(architecture, loss=loss, training=training, **task).fit(TABLE)


@pytest.fixture(scope="module")
def direct() -> dict[str, nd.Forecaster]:
    return {name: fit(nd.NLinear(), loss) for name, loss in DIRECT.items()}


@pytest.fixture(scope="module")
def deepar() -> nd.Forecaster:
    return fit(nd.DeepAR(hidden_size=8, num_layers=1), Normal())


def draw(model: nd.Forecaster, count: int, *, seed: int = 0, dependence: Dependence = "auto") -> NDArray[Any]:
    return simulate(PredictionContext.of(model.fitted), count, seed=seed, dependence=dependence)


class TestTable:
    """What comes out."""

    def test_it_has_a_row_for_each_path_series_and_time(self, direct: dict[str, nd.Forecaster]) -> None:
        found = direct["normal"].simulate(4)
        forecast = direct["normal"].predict()
        assert found.columns == ["path", "unique_id", "ds", "value"]
        assert found["path"].to_list() == [path for path in range(4) for _ in range(15)]
        for _, part in found.group_by("path"):
            assert part.select("unique_id", "ds").equals(forecast.select("unique_id", "ds"))
        np.testing.assert_array_equal(found["value"], draw(direct["normal"], 4).reshape(-1))

    def test_simulate_returns_the_same_kind_of_table_and_takes_other_series(
        self, direct: dict[str, nd.Forecaster]
    ) -> None:
        longer = TABLE.to_pandas().groupby("unique_id").head(80)
        found = direct["normal"].simulate(3, data=longer)
        assert isinstance(found, pd.DataFrame)
        assert (found["ds"].unique() == direct["normal"].predict(longer)["ds"].unique()).all()

    def test_paths_see_covariates_that_are_known_ahead(self) -> None:
        table = TABLE.with_columns(promotion=pl.int_range(pl.len()).over("unique_id") % 3 == 0)
        model = nd.Forecaster(
            nd.DeepAR(hidden_size=8, num_layers=1),
            horizon=5,
            input_size=14,
            loss=Normal(),
            training=nd.TrainingConfig(max_steps=5, threads=1),
        ).fit(table, future=["promotion"])
        ahead = model.predict(future=_ahead(table, promotion=True)).select("unique_id", "ds")
        one = model.simulate(3, future=ahead.with_columns(promotion=pl.lit(True)))
        two = model.simulate(3, future=ahead.with_columns(promotion=pl.lit(False)))
        assert (one["value"] - two["value"]).abs().min() > 0

    @pytest.mark.parametrize(
        ("wrong", "message"),
        [
            ({"num_paths": 0}, "num_paths: 0 must be"),
            ({"num_paths": 2.5}, "num_paths: 2.5 must be"),
            ({"num_paths": True}, "num_paths: True must be"),
            ({"seed": -1}, "seed: -1 must be"),
            ({"dependence": "shake"}, "Unknown dependence 'shake'. Did you mean 'schaake'"),
        ],
    )
    def test_wrong_wishes_are_refused(
        self, direct: dict[str, nd.Forecaster], wrong: dict[str, Any], message: str
    ) -> None:
        with pytest.raises(ValueError, match=message):
            direct["normal"].simulate(**wrong)


def _ahead(table: pl.DataFrame, *, promotion: bool) -> pl.DataFrame:
    """Return the five days after the end of each series."""
    last = table.group_by("unique_id", maintain_order=True).agg(pl.col("ds").max())
    days = pl.DataFrame({"day": [1, 2, 3, 4, 5]})
    steps = last.join(days, how="cross").with_columns(pl.col("ds") + pl.duration(days=pl.col("day")))
    return steps.select("unique_id", "ds", promotion=pl.lit(promotion))


@pytest.mark.parametrize("name", DIRECT)
@pytest.mark.parametrize("dependence", ["copula", "schaake", "independent"])
def test_quantiles_of_many_paths_are_those_of_the_forecast(
    direct: dict[str, nd.Forecaster], name: str, dependence: Dependence
) -> None:
    model, count = direct[name], 4000
    wanted = [0.5] if name == "single" else LEVELS
    paths = draw(model, count, dependence=dependence).reshape(count, -1)
    table = model.predict(quantiles=wanted)
    for share in wanted:
        below = (paths <= table[f"q-{share:g}"].to_numpy()).mean(0)
        assert np.abs(below - share).max() < 4.5 * np.sqrt(share * (1 - share) / count) + 0.01


def test_quantiles_of_many_paths_of_an_autoregressive_network_are_those_of_the_forecast(deepar: nd.Forecaster) -> None:
    paths = draw(deepar, 4000).reshape(4000, -1)
    table = deepar.predict(quantiles=LEVELS)
    for share in LEVELS:
        below = (paths <= table[f"q-{share:g}"].to_numpy()).mean(0)
        assert np.abs(below - share).max() < 0.05  # those of the forecast are of 200 paths themselves
    spread = paths.std(0)
    np.testing.assert_allclose(table["forecast"], paths.mean(0), atol=0.1 * spread.max())


def test_the_first_step_of_an_autoregressive_forecast_is_the_distribution_itself(deepar: nd.Forecaster) -> None:
    context = PredictionContext.of(deepar.fitted)
    batch = context.batches[0]
    with torch.inference_mode():
        exact = deepar.task.loss.forecast(deepar.fitted.predictor.network(batch), tuple(LEVELS), batch)
    assert exact.quantiles is not None
    first = context.batcher.restore(exact.quantiles, batch)[:, 0, 0]
    found = deepar.predict(quantiles=LEVELS).select(f"q-{share:g}" for share in LEVELS).to_numpy()[::5]
    np.testing.assert_allclose(found, first, atol=0.02 * float((first[:, 2] - first[:, 0]).max()))


class TestSeed:
    """The same seed gives the same paths, others others."""

    @pytest.mark.parametrize("name", DIRECT)
    @pytest.mark.parametrize("dependence", ["auto", "schaake", "independent"])
    def test_of_direct_networks(self, direct: dict[str, nd.Forecaster], name: str, dependence: Dependence) -> None:
        first, again, other = (draw(direct[name], 6, seed=seed, dependence=dependence) for seed in (3, 3, 4))
        np.testing.assert_array_equal(first, again)
        assert not np.isclose(first, other).all()

    def test_of_autoregressive_ones(self, deepar: nd.Forecaster) -> None:
        state = torch.get_rng_state()
        first, again, other = (draw(deepar, 6, seed=seed) for seed in (3, 3, 4))
        np.testing.assert_array_equal(first, again)
        assert not np.isclose(first, other).any()
        assert torch.equal(state, torch.get_rng_state())
        assert deepar.predict(levels=[80]).equals(deepar.predict(levels=[80]))

    def test_after_saving_and_loading(
        self, direct: dict[str, nd.Forecaster], deepar: nd.Forecaster, tmp_path: Path
    ) -> None:
        for name, model in {**direct, "deepar": deepar}.items():
            model.save(tmp_path / name)
            loaded = nd.Forecaster.load(tmp_path / name)
            for dependence in ["auto"] if name == "deepar" else ["copula", "schaake"]:
                wanted = model.simulate(7, seed=5, dependence=dependence)  # type: ignore[arg-type]
                assert loaded.simulate(7, seed=5, dependence=dependence).equals(wanted)  # type: ignore[arg-type]
            if name == "deepar":
                assert loaded.predict(levels=[80]).equals(model.predict(levels=[80]))


def test_series_are_drawn_independently(direct: dict[str, nd.Forecaster], deepar: nd.Forecaster) -> None:
    for model in (direct["normal"], deepar):
        paths = draw(model, 3000)
        standard = (paths - paths.mean(0)) / paths.std(0)
        across = np.einsum("psh,pth->sth", standard, standard) / 3000
        assert np.abs(across[~np.eye(3, dtype=bool)]).max() < 4.5 / np.sqrt(3000)


class TestCopula:
    """Which quantiles belong together."""

    def test_ranks_are_those_of_the_scores(self) -> None:
        scores = torch.tensor([[0.3, 9.0], [-1.0, 4.0], [0.9, 5.0]])
        copula = Copula.of(scores)
        assert copula is not None
        assert copula.ranks.tolist() == [[1, 2], [0, 0], [2, 1]]
        assert Copula.of(scores[:0]) is None

    def test_ties_tell_nothing(self) -> None:
        """Broken in the order of the windows, they would tell that steps are the same."""
        copula = Copula.of(torch.zeros(800, 4))
        assert copula is not None
        assert copula.ranks.sort(0).values.equal(torch.arange(800, dtype=torch.int16).unsqueeze(1).expand(-1, 4))
        assert np.abs(copula.correlation - np.eye(4)).max() < 0.1

    @pytest.mark.parametrize("strength", [-0.8, 0.0, 0.5, 0.95])
    def test_a_correlation_is_found_whatever_the_distributions_are(self, strength: float) -> None:
        generator = np.random.default_rng(0)
        normal = generator.multivariate_normal([0, 0], [[1, strength], [strength, 1]], 1000)
        scores = np.stack([np.exp(normal[:, 0]), normal[:, 1] ** 3], 1)
        copula = Copula.of(torch.from_numpy(scores))
        assert copula is not None
        assert copula.correlation[0, 1] == pytest.approx(strength, abs=0.06)
        np.testing.assert_array_equal(np.diag(copula.correlation), 1)
        shares = copula.gaussian(4000, 2, generator)
        assert np.abs(np.sort(shares, 0) - np.linspace(0, 1, 4000)[:, None, None]).max() < 0.04
        from scipy.stats import spearmanr

        wanted = 6 / np.pi * np.arcsin(copula.correlation[0, 1] / 2)  # of ranks, for a Gaussian copula
        for row in range(2):
            assert spearmanr(shares[:, row]).statistic == pytest.approx(wanted, abs=0.05)

    @pytest.mark.parametrize("windows", [1, 2, 5])
    def test_few_windows_still_give_a_correlation_that_can_be_drawn_from(self, windows: int) -> None:
        copula = Copula.of(torch.randn(windows, 6, generator=torch.Generator().manual_seed(0)))
        assert copula is not None
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            shares = copula.gaussian(50, 2, np.random.default_rng(0))
        assert ((shares > 0) & (shares < 1)).all()
        assert copula.shuffled(50, 2, np.random.default_rng(0)).shape == (50, 2, 6)

    def test_as_many_paths_as_windows_have_exactly_their_ranks(self) -> None:
        scores = torch.randn(40, 7, generator=torch.Generator().manual_seed(0)).cumsum(1)
        copula = Copula.of(scores)
        assert copula is not None
        shares = copula.shuffled(40, 3, np.random.default_rng(0))
        wanted = sorted(map(tuple, scores.numpy().argsort(0).argsort(0).tolist()))
        for row in range(3):
            ranks = shares[:, row].argsort(0).argsort(0)
            assert sorted(map(tuple, ranks.tolist())) == wanted

    def test_fewer_paths_have_the_order_of_the_windows_they_follow(self, direct: dict[str, nd.Forecaster]) -> None:
        copula = Copula.of(torch.arange(30.0).unsqueeze(1).expand(-1, 4) * torch.tensor([1, 1, -1, 1]))
        assert copula is not None
        for count in (1, 9, 75):
            shares = copula.shuffled(count, 2, np.random.default_rng(1))
            for row in range(2):
                ranks = shares[:, row].argsort(0).argsort(0)
                # With more paths than windows, those of the same window are in an order of their own.
                assert np.abs(ranks[:, 0] - ranks[:, 1]).max() < max(1, np.ceil(count / 30))
                assert np.abs(ranks[:, 0] + ranks[:, 2] - count + 1).max() < max(1, np.ceil(count / 30))

    def test_simulate_without_validation_part_is_refused(self) -> None:
        model = fit(nd.NLinear(), Normal(), validation=0)
        with pytest.raises(nd.errors.InputError, match="dependence='independent'"):
            model.simulate(3)
        assert len(model.simulate(3, dependence="independent")) == 45
        with pytest.raises(nd.errors.InputError, match="intervals were not measured"):
            fit(nd.NLinear(), nd.losses.MAE(), validation=0).simulate(3, dependence="independent")

    def test_one_step_needs_no_dependence(self) -> None:
        model = fit(nd.NLinear(), Normal(), validation=0, horizon=1)
        assert model.fitted.predictor.copula is None
        assert len(model.simulate(3)) == 9

    def test_networks_that_draw_each_step_have_their_own(self, deepar: nd.Forecaster) -> None:
        assert deepar.fitted.predictor.copula is None
        with pytest.raises(nd.errors.ConfigError, match="given the steps before"):
            deepar.simulate(3, dependence="copula")


class TestShareBelow:
    """Where in its distribution something happened."""

    @pytest.mark.parametrize("loss", [Normal(), nd.QuantileLoss(), ImplicitQuantileLoss()], ids=str)
    def test_cdf_at_target_inverts_the_quantiles(self, loss: Loss) -> None:
        generator = torch.Generator().manual_seed(0)
        raw = torch.randn(6, 4, 2, loss.outputs, generator=generator)
        share = torch.rand(6, 4, 2, generator=generator) * 0.9 + 0.05
        batch = Batch(torch.zeros(6, 1, 2), torch.ones(6, 1, 2))
        value = loss.inverse(raw, share.unsqueeze(0), batch).squeeze(0)
        torch.testing.assert_close(cdf_at_target(loss, raw, value, batch), share, atol=1e-3, rtol=0)

    def test_cdf_at_target_of_a_count_includes_half_its_probability(self) -> None:
        loss = NegativeBinomial()
        raw = torch.randn(5, 3, 1, loss.outputs, generator=torch.Generator().manual_seed(0))
        units = {"unit_loc": torch.full((5, 1, 1), 3.0), "unit_scale": torch.full((5, 1, 1), 2.5)}
        batch = Batch(torch.zeros(5, 1, 1), torch.ones(5, 1, 1), **units)
        counts = torch.tensor([0.0, 2.0, 7.0]).reshape(1, 3, 1).expand(5, -1, -1)
        law = loss.distribution(raw, batch)
        up_to = law.cdf(counts.double())  # type: ignore[no-untyped-call]
        expected = up_to - law.log_prob(counts.double()).exp() / 2  # type: ignore[no-untyped-call]
        found = cdf_at_target(loss, raw, (counts - 3.0) / 2.5, batch)
        torch.testing.assert_close(found.double(), expected, atol=1e-3, rtol=0)


def test_offsets_from_errors_are_the_half_widths_of_intervals() -> None:
    errors = torch.randn(200, 3, generator=torch.Generator().manual_seed(0)).abs().sort(0).values
    intervals = Intervals(errors)
    for level in (0.1, 0.5, 0.8, 0.95):
        share = torch.tensor([(1 - level) / 2, (1 + level) / 2]).reshape(2, 1, 1).expand(2, 3, 1)
        found = intervals.offsets(share).squeeze(-1)
        torch.testing.assert_close(found[1], intervals.half_widths(level))
        torch.testing.assert_close(found[0], -intervals.half_widths(level))
    assert intervals.offsets(torch.rand(9, 3, 1)).abs().max() <= errors.max()


def test_latin_hypercube_has_one_probability_in_each_part_of_each_step() -> None:
    shares = latin_hypercube((0.1, 0.5), 4, 2)
    assert shares.shape == (200, 1, 4, 2)
    assert torch.equal(shares, latin_hypercube((0.1, 0.5), 4, 2))
    assert torch.equal(
        (shares.sort(0).values * 200).floor().long(), torch.arange(200).reshape(-1, 1, 1, 1).expand_as(shares)
    )
    assert len(latin_hypercube((0.001, 0.5), 4, 2)) == 5000


def test_quantiles_of_counts_are_counts() -> None:
    values = torch.tensor([0.0, 1.0, 1.0, 4.0]).reshape(4, 1)
    assert quantiles_of(values, (0.2, 0.25, 0.26, 0.75, 0.8, 0.99), whole=True).tolist() == [[0, 0, 1, 1, 4, 4]]
    assert quantiles_of(values, (0.25, 0.5, 0.75, 0.01), whole=False).tolist() == [[0.5, 1, 2.5, 0]]


def test_paths_of_counts_are_counts() -> None:
    generator = np.random.default_rng(0)
    table = TABLE.with_columns(y=pl.Series(generator.poisson(3, len(TABLE)).astype(float)))
    training = nd.TrainingConfig(max_steps=10, threads=1)
    for architecture in (nd.DeepAR(hidden_size=8, num_layers=1), nd.MLP(hidden_size=8)):
        task = {"horizon": 5, "input_size": 14, "validation": 0.4}
        model = nd.Forecaster(architecture, loss=NegativeBinomial(), training=training, **task).fit(table)
        values = model.simulate(50)["value"].to_numpy()
        assert (values >= 0).all()
        assert (values == values.round()).all()
        bounds = model.predict(levels=[80])["hi-80"].to_numpy()
        assert (bounds == bounds.round()).all()


@pytest.mark.parametrize("loss", [nd.QuantileLoss([0.2, 0.6, 0.7, 0.9]), NegativeBinomial(point="median")], ids=str)
def test_the_point_forecast_is_read_on_where_nothing_is_drawn(loss: Loss) -> None:
    table = TABLE.with_columns(pl.col("y").abs().round())
    training = nd.TrainingConfig(max_steps=2, threads=1)
    architecture = nd.DeepAR(hidden_size=8, num_layers=1)
    model = nd.Forecaster(architecture, horizon=4, input_size=9, loss=loss, training=training).fit(table)
    network: Any = model.fitted.predictor.network
    batch = PredictionContext.of(model.fitted).batches[0]
    read: list[torch.Tensor] = []
    network.encoder.register_forward_pre_hook(lambda _, inputs: read.append(inputs[0][0, :, 0]))
    with torch.inference_mode():
        point = loss.forecast(network(batch), (), batch).point
    torch.testing.assert_close(torch.stack(read[1:], 1), point[:, :-1, 0])


def test_reversible_networks_draw_what_they_read_on() -> None:
    """A learned gain that is negative turns quantiles around, and must not turn a draw into its opposite."""
    model = fit(nd.LSTM(hidden_size=8, decoding="autoregressive"), nd.QuantileLoss(LEVELS), scaler="revin")
    network: Any = model.fitted.predictor.network
    with torch.no_grad():
        for gain in (1.0, -1.0):
            network.gain.fill_(gain)
            network.shift.zero_()
            read: list[torch.Tensor] = []
            handle = network.network.encoder.register_forward_pre_hook(lambda _, inputs: read.append(inputs[0]))  # noqa: B023
            paths = draw(model, 50)
            handle.remove()
            batch = PredictionContext.of(model.fitted).batches[0]
            assert batch.loc is not None
            assert batch.scale is not None
            for step, value in enumerate(read[1:]):
                inside = value[0, :, 0].reshape(50, 3)
                outside = inside / gain * batch.scale[:, 0, 0] + batch.loc[:, 0, 0]
                np.testing.assert_allclose(paths[:, :, step], outside, rtol=1e-4, atol=1e-4)
