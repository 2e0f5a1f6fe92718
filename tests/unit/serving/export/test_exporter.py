"""Files of exported models: what is in them, and that none is written that forecasts something else."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import polars as pl
import pytest
import torch

import neuro_divergent as nd
from neuro_divergent.core.errors import ConfigError, ExportError, InputError
from neuro_divergent.serving.description import KEY, Description
from neuro_divergent.serving.export.exporter import Export, beside, write_export
from neuro_divergent.serving.export.torch_program import EXTRA
from neuro_divergent.serving.export.verification import TOLERANCE
from neuro_divergent.serving.export_file import stored_digest
from tests.unit.serving.export.small_models import COVARIATES, HISTORY, HORIZON, TABLE, forecaster, nhits

Exports = Callable[[str], Export]
Models = Callable[[str], nd.Forecaster]


def last_windows() -> dict[str, Any]:
    values = TABLE["y"].to_numpy().astype(np.float32).reshape(3, -1)[:, -HISTORY:, None]
    return {"past_y": np.ascontiguousarray(values), "past_mask": np.ones_like(values), "series": np.arange(3)}


def run(path: Path, inputs: dict[str, Any]) -> Any:
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return session.run(["forecast"], inputs)[0]


def test_exported_graph_forecasts_what_predict_does(exports: Exports, models: Models) -> None:
    found = run(exports("linear").path, last_windows())
    table = models("linear").predict(levels=[80])
    places = [0, *(1 + exports("linear").description.quantiles.index(quantile) for quantile in (0.1, 0.9))]
    expected = table.select("forecast", "lo-80", "hi-80").to_numpy().reshape(3, HORIZON, 3)
    np.testing.assert_allclose(found[:, :, 0, places], expected, rtol=1e-5)


@pytest.mark.long
def test_batch_is_the_only_open_size_of_the_graph(exports: Exports) -> None:
    graph = onnx.load(exports("covariates").path).graph
    shapes = {
        item.name: [size.dim_param or size.dim_value for size in item.type.tensor_type.shape.dim]
        for item in (*graph.input, *graph.output)
    }
    assert shapes == {
        "past_y": ["batch", HISTORY, 1],
        "past_mask": ["batch", HISTORY, 1],
        "past_x": ["batch", HISTORY, 2],
        "future_x": ["batch", HISTORY + HORIZON, 4],
        "static_x": ["batch", 2],
        "series": ["batch"],
        "forecast": ["batch", HORIZON, 1, 7],
    }


def test_description_is_in_the_metadata_of_the_file(exports: Exports) -> None:
    made = exports("linear")
    (entry,) = onnx.load(made.path).metadata_props
    assert entry.key == KEY
    assert Description.from_json(entry.value, "file") == made.description
    assert made.size == made.path.stat().st_size
    assert 0 < made.verification.largest <= TOLERANCE


def test_file_holds_no_path_of_the_machine_that_wrote_it(exports: Exports) -> None:
    content = exports("linear").path.read_bytes()
    assert str(Path(nd.__file__).parent).encode() not in content
    assert b"site-packages" not in content


def test_digest_is_that_of_the_saved_model(exports: Exports, models: Models, tmp_path: Path) -> None:
    models("linear").save(tmp_path / "model")
    digest = hashlib.sha256((tmp_path / "model" / "manifest.json").read_bytes()).hexdigest()
    assert exports("linear").description.digest == digest
    assert stored_digest(tmp_path / "model") == digest


class Shifted(nd.Forecaster):
    """A forecaster whose ``predict`` adds something that its network does not know of."""

    def predict(self, *arguments: Any, **options: Any) -> Any:
        return super().predict(*arguments, **options).with_columns(pl.col("forecast") + 0.01)


@pytest.mark.parametrize("kind", ["onnx", pytest.param("torch", marks=pytest.mark.long)])
def test_model_whose_graph_differs_from_predict_is_not_written(models: Models, tmp_path: Path, kind: Any) -> None:
    shifted = Shifted("nlinear", horizon=HORIZON, input_size=HISTORY)
    shifted._set_fitted(models("linear").fitted)
    path = tmp_path / ("model.pt2" if kind == "torch" else "model.onnx")
    path.write_bytes(b"an earlier export")
    with pytest.raises(ExportError, match=r"differs from predict by .* Nothing was written"):
        write_export(shifted, path, format=kind)
    assert [item.read_bytes() for item in tmp_path.iterdir()] == [b"an earlier export"]


@pytest.mark.long
def test_quantiles_are_those_requested_in_ascending_order(models: Models, tmp_path: Path) -> None:
    path = models("linear").export(tmp_path / "model.onnx", levels=[80], quantiles=[0.5, 0.1])
    (entry,) = onnx.load(path).metadata_props
    description = Description.from_json(entry.value, "file")
    assert description.quantiles == (0.1, 0.5, 0.9)
    assert run(path, last_windows()).shape == (3, HORIZON, 1, 4)


def test_wrong_requests_are_refused_before_anything_is_traced(models: Models, tmp_path: Path) -> None:
    model = models("linear")
    with pytest.raises(ConfigError, match=r"Unknown format 'onx'\. Did you mean 'onnx'"):
        model.export(tmp_path / "model.onnx", format="onx")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"ends with \.onnx"):
        model.export(tmp_path / "model.bin")
    with pytest.raises(InputError, match=r"ends with \.pt2"):
        model.export(tmp_path / "model.onnx", format="torch")
    with pytest.raises(InputError, match="levels are percentages"):
        model.export(tmp_path / "model.onnx", levels=[120])
    with pytest.raises(InputError, match=r"level 99\.99 needs at least"):
        model.export(tmp_path / "model.onnx", levels=[99.99])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
def test_torch_program_has_the_description_and_no_pickle(models: Models, tmp_path: Path) -> None:
    made = write_export(models("linear"), tmp_path / "model.pt2", format="torch")
    extra = {EXTRA: ""}
    program = torch.export.load(made.path, extra_files=extra)
    assert Description.from_json(extra[EXTRA], "file") == made.description
    inputs = {name: torch.from_numpy(values) for name, values in last_windows().items()}
    expected = models("linear").predict()["forecast"].to_numpy().reshape(3, HORIZON)
    np.testing.assert_allclose(program.module()(**inputs)[..., 0, 0].detach().numpy(), expected, rtol=1e-5)
    with zipfile.ZipFile(io.BytesIO(made.path.read_bytes())) as archive:
        assert not [name for name in archive.namelist() if archive.read(name)[:2] in (b"\x80\x02", b"\x80\x04")]


@pytest.mark.long
def test_weights_of_8_bits_make_a_small_file_that_is_within_its_own_bound(tmp_path: Path) -> None:
    model = forecaster(nd.NHITS(hidden_size=192)).fit(TABLE)
    plain, small = (write_export(model, tmp_path / f"{name}.onnx", format=name) for name in ("onnx", "onnx-int8"))
    assert (plain.description.precision, small.description.precision) == ("float32", "int8")
    assert small.size < 0.33 * plain.size
    assert plain.verification.largest < 1e-4 < small.verification.largest < 0.05
    kinds = {item.data_type for item in onnx.load(small.path).graph.initializer}
    assert onnx.TensorProto.INT8 in kinds


def test_place_of_an_export_is_beside_its_model() -> None:
    assert beside(Path("runs/x/model")) == Path("runs/x/model.onnx")
    assert beside(Path("sales"), "onnx-int8") == Path("sales.int8.onnx")
    assert beside(Path("sales/"), "torch") == Path("sales.pt2")


@pytest.mark.soak
@pytest.mark.parametrize(
    "task",
    [
        *({"scaler": name} for name in ("identity", "mean_abs", "minmax", "revin", "robust")),
        *({"series_scaler": name} for name in ("boxcox", "log", "minmax", "robust", "standard")),
        {"scaler": "identity", "series_scaler": "log"},
        *({"loss": name} for name in ("normal", "student_t", "poisson", "negative_binomial", "implicit_quantile")),
        {"loss": nd.QuantileLoss([0.1, 0.5, 0.9])},
    ],
    ids=str,
)
def test_every_scaler_and_loss_is_exported(task: dict[str, Any], tmp_path: Path) -> None:
    table = TABLE.with_columns(pl.col("y").round())
    assert write_export(forecaster(**task).fit(table), tmp_path / "model.onnx").path.is_file()


@pytest.mark.long
def test_other_kinds_of_models_are_exported_as_one_file(tmp_path: Path) -> None:
    quantiles = nd.QuantileLoss([0.1, 0.5, 0.9])
    members = [forecaster(loss=quantiles), forecaster(loss="normal"), forecaster(loss=quantiles, input_size=8)]
    ensemble = nd.Ensemble(members, combine="median", weights=[2, 1, 1])
    mixed = nd.Ensemble([forecaster("tsmixerx"), nhits(input_size=8)])
    nd.Conformal(ensemble, per="series").fit(TABLE).export(tmp_path / "conformal.onnx")
    mixed.fit(TABLE, calendar=["hour"]).export(tmp_path / "mixed.onnx")
    nhits(series_scaler="standard").fit(TABLE, **COVARIATES).export(tmp_path / "scaled.onnx")
    assert len(list(tmp_path.iterdir())) == 3
