"""Any forecaster of a hierarchy forecasts what adds up."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import neuro_divergent as nd
from neuro_divergent.core.arrays import Floats
from neuro_divergent.core.errors import (
    ConfigError,
    DataError,
    DataWarning,
    InputError,
    NewerFormatError,
    NotFittedError,
    UntrustedFileError,
)
from neuro_divergent.core.storage.atomic import read_directory, write_directory
from neuro_divergent.core.storage.tensor_file import dump_tensors, load_tensors
from neuro_divergent.forecasting.hierarchy.hierarchy import Hierarchy
from neuro_divergent.forecasting.hierarchy.hint import HINT
from neuro_divergent.forecasting.hierarchy.reconciliation import METHODS, Method

SHARED = Path(__file__).parents[5] / "shared" / "data"
ATTRIBUTES = pl.DataFrame(
    {"unique_id": list("abcdef"), "state": ["x", "x", "x", "y", "y", "y"], "kind": ["k", "l"] * 3}
)
TREE = Hierarchy.from_columns(ATTRIBUTES, ["state", "kind"])
HORIZON = 4
QUICK = nd.TrainingConfig(max_steps=40, threads=1)


def bottom_values(rows: int, seed: int = 0) -> Floats:
    """Seasonal series whose noise is partly common, ``(6, rows)``."""
    generator = np.random.default_rng(seed)
    step = np.arange(rows)
    level = np.arange(20, 80, 10)[:, None]
    season = np.sin(2 * np.pi * step / 12 + np.arange(6)[:, None]) * level / 5
    values: Floats = level + season + 1.5 * generator.normal(size=(6, rows)) + 1.5 * generator.normal(size=rows)
    return values


def bottom_table(rows: int = 150, seed: int = 0) -> pl.DataFrame:
    times = pl.date_range(date(1990, 1, 1), date(2090, 1, 1), "1mo", eager=True)[:rows]
    return pl.DataFrame(
        {
            "unique_id": np.repeat(list("abcdef"), rows),
            "ds": times.gather(np.tile(np.arange(rows), 6)),
            "y": bottom_values(rows, seed).reshape(-1),
        }
    )


TABLE: pl.DataFrame = TREE.aggregate_table(bottom_table())


def forecaster(architecture: Any = "nlinear", **task: Any) -> nd.Forecaster:
    return nd.Forecaster(architecture, **{"horizon": HORIZON, "input_size": 24, "training": QUICK, **task})


@pytest.fixture(scope="module")
def hint() -> HINT:
    return HINT(forecaster(), TREE).fit(TABLE)


def matrix(table: pl.DataFrame, column: str = "forecast", hierarchy: Hierarchy = TREE) -> Floats:
    """Values of a table of forecasts, in the order of the nodes."""
    return np.stack([table.filter(unique_id=node).sort("ds")[column].to_numpy() for node in hierarchy.nodes])


def relative_incoherence(values: Floats, hierarchy: Hierarchy = TREE) -> float:
    return hierarchy.incoherence(values) / float(np.abs(values).mean())


@pytest.mark.parametrize(
    ("architecture", "task"),
    [
        (nd.NHITS(hidden_size=16), {}),
        (nd.ITransformer(hidden_size=16, num_layers=1, num_heads=2), {}),
        (nd.MLP(hidden_size=16), {"loss": nd.QuantileLoss([0.1, 0.5, 0.9]), "series_scaler": "standard"}),
    ],
    ids=["point", "joint", "quantiles"],
)
def test_forecasts_of_any_model_add_up_by_every_method(architecture: Any, task: dict[str, Any]) -> None:
    trained = HINT(forecaster(architecture, **task), TREE, "bottom_up").fit(TABLE)
    plain = trained.forecaster.predict()
    assert relative_incoherence(matrix(plain)) > 1e-4
    points = {}
    for method in METHODS:
        made = trained.with_method(method).predict(levels=[80], quantiles=[0.25])
        assert made.columns == ["unique_id", "ds", "forecast", "lo-80", "hi-80", "q-0.25"]
        assert made.select("unique_id", "ds").equals(plain.select("unique_id", "ds"))
        points[method] = matrix(made)
        assert relative_incoherence(points[method]) < 1e-6
        low, high, quarter = (matrix(made, name) for name in ("lo-80", "hi-80", "q-0.25"))
        assert (low < quarter).all()
        assert (quarter < high).all()
    np.testing.assert_allclose(points["bottom_up"][TREE.bottom_rows], matrix(plain)[TREE.bottom_rows], rtol=1e-6)
    np.testing.assert_allclose(points["top_down"][0], matrix(plain)[0], rtol=1e-6)
    assert not np.allclose(points["mint_shrink"], points["mint_ols"])


def test_errors_are_those_of_forecasts_made_before_the_validation_part(hint: HINT) -> None:
    """Every window is forecast again from the table cut off at its beginning, and compared with what happened."""
    assert hint.errors is not None
    windows = round(0.2 * 150) - HORIZON + 1
    assert hint.errors.values.shape == (windows, len(TREE.nodes), HORIZON)
    actual = matrix(TABLE, "y")
    for window in (0, windows - 1):
        begin = 150 - HORIZON - (windows - 1 - window)
        past = TABLE.filter(pl.col("ds") < TABLE["ds"].unique().sort()[begin])
        made = matrix(hint.forecaster.validated.predict(past))
        wanted = actual[:, begin : begin + HORIZON] - made
        np.testing.assert_allclose(hint.errors.values[window], wanted, atol=1e-3)


def test_minimum_trace_is_that_of_the_measured_errors(hint: HINT) -> None:
    assert hint.errors is not None
    inverse = np.linalg.inv(hint.errors.covariance())
    projection = np.linalg.inv(TREE.summing.T @ inverse @ TREE.summing) @ TREE.summing.T @ inverse
    wanted = TREE.summing @ projection @ matrix(hint.forecaster.predict())
    np.testing.assert_allclose(matrix(hint.predict()), wanted, rtol=1e-5)


@pytest.mark.parametrize("noise", ["bootstrap", "normal"])
def test_every_path_adds_up_and_quantiles_are_those_of_the_paths(hint: HINT, noise: Any) -> None:
    paths = hint.sample(300, seed=5, noise=noise)
    assert paths.shape == (300, len(TREE.nodes), HORIZON)
    assert max(relative_incoherence(path) for path in paths) < 1e-6
    table = hint.simulate(300, seed=5, noise=noise)
    assert table.columns == ["path", "unique_id", "ds", "value"]
    np.testing.assert_array_equal(matrix(table.filter(path=17), "value"), paths[17])
    made = hint.predict(levels=[80], num_paths=300, seed=5, noise=noise)
    np.testing.assert_array_equal(matrix(made, "hi-80"), np.quantile(paths, 0.9, axis=0))
    assert not made.equals(hint.predict(levels=[80], num_paths=300, seed=6, noise="normal"))


@pytest.mark.parametrize("method", METHODS)
def test_bootstrap_paths_have_the_errors_of_past_reconciled_forecasts(hint: HINT, method: Method) -> None:
    """A path is the reconciled forecast plus the error that a forecast reconciled alike had in a past window."""
    assert hint.errors is not None
    other = hint.with_method(method)
    windows = len(hint.errors.values)
    missed = other.sample(windows) - matrix(other.predict())
    actual = matrix(TABLE, "y")
    for window in (0, windows // 2, windows - 1):
        begin = 150 - HORIZON - (windows - 1 - window)
        past = TABLE.filter(pl.col("ds") < TABLE["ds"].unique().sort()[begin])
        wanted = actual[:, begin : begin + HORIZON] - matrix(other.validated.predict(past))
        # Top-down splits what the total missed then by the shares of now, which differ a little.
        tolerance = 0.01 * np.abs(wanted).max() if method == "top_down" else 1e-3
        assert np.abs(missed - wanted).max((1, 2)).min() < tolerance


@pytest.fixture(scope="module")
def long_hint() -> tuple[HINT, pl.DataFrame, int]:
    rows, known = 700, 460
    table = TREE.aggregate_table(bottom_table(rows, seed=3))
    trained = HINT(forecaster(training=nd.TrainingConfig(max_steps=150, threads=1)), TREE)
    return trained.fit(table.filter(pl.col("ds") < table["ds"].unique().sort()[known])), table, known


@pytest.mark.parametrize("noise", ["bootstrap", "normal"])
@pytest.mark.parametrize("method", ["bottom_up", "top_down", "mint_shrink"])
def test_intervals_cover_what_comes_as_often_as_they_say(
    long_hint: tuple[HINT, pl.DataFrame, int], method: Method, noise: Any
) -> None:
    trained, table, known = long_hint
    trained = trained.with_method(method)
    times = table["ds"].unique().sort()
    actual = matrix(table, "y")
    inside = []
    for begin in range(known, len(times) - HORIZON, 2 * HORIZON):
        past = table.filter((pl.col("ds") < times[begin]) & (pl.col("ds") >= times[begin - 24]))
        made = trained.predict(past, levels=[80], noise=noise)
        came = actual[:, begin : begin + HORIZON]
        inside.append((matrix(made, "lo-80") <= came) & (came <= matrix(made, "hi-80")))
    covered = np.mean(inside, axis=(0, 2))
    assert abs(covered.mean() - 0.8) < 0.05
    assert (np.abs(covered - 0.8) < 0.15).all()  # the total as well, whose parts do not miss independently


@pytest.mark.parametrize("kind", ["pandas", "pyarrow"])
def test_what_came_in_goes_out_also_after_loading(kind: str, tmp_path: Path) -> None:
    table: Any = TABLE.rename({"unique_id": "name", "y": "sales"}).to_arrow()
    if kind == "pandas":
        pandas = pytest.importorskip("pandas")
        plain = TABLE.rename({"unique_id": "name", "y": "sales"}).to_dict(as_series=False)
        table = pandas.DataFrame(plain).assign(ds=lambda frame: pandas.to_datetime(frame.ds).astype("datetime64[ns]"))
    trained = HINT(forecaster(), TREE).fit(table, id="name", target="sales")
    trained.save(tmp_path / "hint")
    again = HINT.load(tmp_path / "hint")
    for made in (trained.predict(), again.predict(), again.predict(table), again.simulate(2)):
        assert type(made) is type(table)
    assert list(again.predict(TABLE.rename({"unique_id": "name", "y": "sales"}), levels=[50]).columns)[-1] == "hi-50"


def test_saving_and_loading_changes_nothing(hint: HINT, tmp_path: Path) -> None:
    hint.save(tmp_path / "hint")
    assert sorted(path.name for path in (tmp_path / "hint").iterdir()) == [
        "hint.json", "hint.safetensors", "manifest.json", "model.json", "model.safetensors",
    ]  # fmt: skip
    again = HINT.load(tmp_path / "hint")
    assert again.hierarchy.nodes == TREE.nodes
    for noise in ("bootstrap", "normal"):
        options: dict[str, Any] = {"levels": [80], "noise": noise}
        assert again.predict(**options).equals(hint.predict(**options))
    assert again.with_method("top_down").predict().equals(hint.with_method("top_down").predict())
    again.save(tmp_path / "hint")  # over itself
    assert HINT.load(tmp_path / "hint").predict().equals(hint.predict())


def test_calibrate_takes_a_trained_forecaster_without_training_it() -> None:
    trained = forecaster().fit(TABLE)
    weights = {name: item.clone() for name, item in trained.fitted.predictor.network.state_dict().items()}
    made = HINT(trained, TREE).calibrate()
    assert relative_incoherence(matrix(made.predict(levels=[80]))) < 1e-6
    assert all((item == weights[name]).all() for name, item in trained.fitted.predictor.network.state_dict().items())


def test_points_reach_further_than_the_horizon_and_intervals_do_not(hint: HINT) -> None:
    far = hint.predict(horizon=3 * HORIZON)
    assert matrix(far).shape == (len(TREE.nodes), 3 * HORIZON)
    assert relative_incoherence(matrix(far)) < 1e-6
    np.testing.assert_allclose(
        matrix(hint.predict(horizon=2, levels=[80]), "hi-80"), matrix(hint.predict(levels=[80]), "hi-80")[:, :2]
    )
    with pytest.raises(InputError, match="paths reach 4 steps"):
        hint.predict(horizon=3 * HORIZON, levels=[80])


def test_nodes_may_begin_at_different_times_but_not_end_so(hint: HINT) -> None:
    times = TABLE["ds"].unique().sort()
    late = TABLE.filter((pl.col("unique_id") != "a") | (pl.col("ds") >= times[30]))
    trained = HINT(forecaster(validation=20), TREE).fit(late)
    assert trained.errors is not None
    assert len(trained.errors.values) == 20 - HORIZON + 1
    assert relative_incoherence(matrix(trained.predict())) < 1e-6
    short = TABLE.filter((pl.col("unique_id") != "a") | (pl.col("ds") < times[-1]))
    with pytest.raises(DataError, match=r"nodes must end at the same time to add up: 'a' ends at .*, but 'b' ends at"):
        HINT(forecaster(), TREE).fit(short)
    with pytest.raises(DataError, match="nodes must end at the same time"):
        hint.predict(short)


def test_windows_with_a_node_that_was_not_observed_are_left_out() -> None:
    when = TABLE["ds"].unique().sort()[-10]
    hole = bottom_table().with_columns(pl.when(unique_id="a", ds=when).then(None).otherwise("y").alias("y"))
    trained = HINT(forecaster(), TREE).fit(TREE.aggregate_table(hole), missing="mask")
    assert trained.errors is not None
    assert len(trained.errors.values) == 27 - HORIZON
    for method in METHODS:
        paths = trained.with_method(method).sample(50)
        assert np.isfinite(paths).all()
        assert max(relative_incoherence(path) for path in paths) < 1e-6


def test_says_what_is_wrong_before_training() -> None:
    with pytest.raises(ConfigError, match=r"Unknown reconciliation 'mintshrink'. Did you mean 'mint_shrink'\?"):
        HINT(forecaster(), TREE, "mintshrink")  # type: ignore[arg-type]
    untrained = HINT(forecaster(), TREE)
    for call in (untrained.predict, untrained.simulate, untrained.calibrate, lambda: untrained.save("nowhere")):
        with pytest.raises(NotFittedError, match="call fit"):
            call()
    with pytest.raises(DataError, match=r"node 'k' of the hierarchy is not in the table \(5 missing\)\. .*aggregate_t"):
        untrained.fit(bottom_table())
    with pytest.raises(DataError, match=r"series 'z' is no node of the hierarchy \(1 series\)"):
        untrained.fit(pl.concat([TABLE, TABLE.filter(unique_id="a").with_columns(unique_id=pl.lit("z"))]))
    with pytest.raises(ConfigError, match="'mint_shrink' needs forecast errors"):
        HINT(forecaster(validation=0), TREE).fit(TABLE)
    assert untrained.forecaster.panel is None
    with pytest.warns(
        DataWarning, match=r"node 'total' differs from the sum of its parts by up to .*% of its mean size"
    ):
        untrained.fit(TABLE.with_columns(pl.when(unique_id="total").then(2 * pl.col("y")).otherwise("y").alias("y")))


def test_without_a_validation_part_points_are_all_there_is() -> None:
    trained = HINT(forecaster(validation=0), TREE, "mint_structural").fit(TABLE)
    assert relative_incoherence(matrix(trained.predict())) < 1e-6
    for call in (lambda: trained.predict(levels=[80]), trained.sample, trained.simulate):
        with pytest.raises(InputError, match="paths need forecast errors"):
            call()
    with pytest.raises(ConfigError, match="needs forecast errors"):
        trained.with_method("mint_variance")


def test_series_too_short_for_a_validation_part_still_have_the_methods_that_need_none() -> None:
    short = TREE.aggregate_table(bottom_table(30))
    trained = HINT(forecaster(), TREE)
    with pytest.raises(ConfigError, match=r"'mint_shrink' needs forecast errors.* node 'a' has 30 rows, too few"):
        trained.fit(short, short="error")
    with pytest.raises(NotFittedError):
        trained.predict()
    made = trained.with_method("mint_structural").predict()
    assert relative_incoherence(matrix(made)) < 1e-6


def test_top_down_takes_proportions_from_the_history_of_the_forecast(hint: HINT) -> None:
    """What a bottom series lost or gained since training shows in its share of the total."""
    changed = bottom_table().with_columns(pl.when(unique_id="a").then(3 * pl.col("y")).otherwise("y").alias("y"))
    table = TREE.aggregate_table(changed)
    made = matrix(hint.with_method("top_down").predict(table))
    history = matrix(table, "y")[:, -24:]
    shares = history[TREE.bottom_rows].sum(1) / history[0].sum()
    np.testing.assert_allclose(made[TREE.bottom_rows], np.outer(shares, made[0]), rtol=1e-6)


def test_levels_too_high_for_few_windows_are_refused(hint: HINT) -> None:
    with pytest.raises(InputError, match=r"quantile 0.005 needs at least 199 validation windows, there are 27"):
        hint.predict(levels=[99])
    assert (matrix(hint.predict(levels=[99], noise="normal"), "lo-99") < matrix(hint.predict())).all()
    with pytest.raises(InputError, match="percentages"):
        hint.predict(levels=[0.8, 120])
    with pytest.raises(InputError, match="horizon: 0 must be"):
        hint.predict(horizon=0)


def reseal(path: Path, **changed: bytes) -> None:
    """Alter files of a saved HINT and seal it again, as somebody with bad intentions could."""
    files = read_directory(path)
    write_directory(path, {**files, **{name.replace("_", "."): content for name, content in changed.items()}}.items())


def described(path: Path, **changes: Any) -> bytes:
    return json.dumps({**json.loads((path / "hint.json").read_text("utf-8")), **changes}).encode()


def with_tensors(path: Path, change: Any) -> bytes:
    tensors = load_tensors((path / "hint.safetensors").read_bytes(), "test")
    change(tensors)
    return dump_tensors(tensors)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"method": "magic"}, "Unknown reconciliation"),
        ({"method": ["mint_ols"]}, "does not describe a HINT"),
        ({"backend": "excel"}, "backend 'excel'"),
        ({"nodes": [*TREE.nodes[:-1], "stranger"]}, "does not describe a HINT"),
        ({"bottom": list("fedcba")}, "must be a node that is the sum of itself"),
        ({"nodes": [1, 2]}, "names of series"),
        ({"format": 0}, "does not describe a HINT"),
    ],
)
def test_refuses_descriptions_that_were_altered(
    hint: HINT, tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    path = tmp_path / "hint"
    hint.save(path)
    reseal(path, hint_json=described(path, **changes))
    with pytest.raises(UntrustedFileError, match=message):
        HINT.load(path)


def _set(name: str, value: Any) -> Any:
    def change(tensors: dict[str, Any]) -> None:
        tensors[name] = value(tensors.get(name))

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_set("errors", lambda old: old[:, :, 1:].contiguous()), "errors of shape"),
        (_set("errors", lambda old: old * float("nan")), "not finite"),
        (_set("errors", lambda old: old * 1e300), "too large"),
        (_set("splits", lambda old: old[1:].contiguous()), "errors of shape"),
        (lambda tensors: tensors.pop("splits"), "splits"),
        (lambda tensors: tensors.pop("errors"), "splits"),
        (_set("rows", lambda old: old - 1), "places of the matrix"),
        (_set("columns", lambda old: old + 1), "places of the matrix"),
        (_set("weights", lambda old: old[1:].contiguous()), "entries of the matrix"),
        (_set("weights", lambda old: old.float()), "weights of the matrix"),
        (_set("surprise", lambda old: __import__("torch").zeros(1)), "tensor 'surprise'"),
        (lambda tensors: tensors.pop("rows"), "KeyError"),
    ],
)
def test_refuses_tensors_that_were_altered(hint: HINT, tmp_path: Path, change: Any, message: str) -> None:
    path = tmp_path / "hint"
    hint.save(path)
    reseal(path, hint_safetensors=with_tensors(path, change))
    with pytest.raises(UntrustedFileError, match=message):
        HINT.load(path)


def test_refuses_what_is_damaged_newer_or_something_else(hint: HINT, tmp_path: Path) -> None:
    path = tmp_path / "hint"
    hint.save(path)
    with pytest.raises(UntrustedFileError, match=r"is a saved HINT, not a Forecaster: HINT\.load"):
        nd.Forecaster.load(path)
    reseal(path, hint_json=described(path, format=99))
    with pytest.raises(NewerFormatError, match="Upgrade"):
        HINT.load(path)
    hint.save(path)
    (path / "hint.safetensors").write_bytes((path / "hint.safetensors").read_bytes()[:-1] + b"!")
    with pytest.raises(UntrustedFileError):
        HINT.load(path)
    hint.forecaster.save(tmp_path / "model")
    with pytest.raises(UntrustedFileError, match=r"is a saved Forecaster, not a HINT: Forecaster\.load"):
        HINT.load(tmp_path / "model")
    (tmp_path / "hint.pkl").write_bytes(b"\x80\x04N.")
    with pytest.raises(UntrustedFileError, match="pickle is never loaded"):
        HINT.load(tmp_path / "hint.pkl")


@pytest.mark.shared_data
@pytest.mark.skipif(not (SHARED / "hier_tourism.parquet").exists(), reason="the public data sets are not here")
@pytest.mark.parametrize(("name", "history", "validation"), [("tourism", 8, 12), ("labour", 24, 0.2)])
def test_public_hierarchies(name: str, history: int, validation: float) -> None:
    hierarchy = Hierarchy.from_frame(SHARED / f"hier_{name}_S.parquet")
    trained = HINT(forecaster(horizon=8, input_size=history, validation=validation), hierarchy)
    trained.fit(SHARED / f"hier_{name}.parquet")
    methods: tuple[Method, ...] = METHODS
    for method in methods:
        made = trained.with_method(method).predict(levels=[80], noise="normal", num_paths=100)
        assert relative_incoherence(matrix(made, hierarchy=hierarchy), hierarchy) < 1e-6
