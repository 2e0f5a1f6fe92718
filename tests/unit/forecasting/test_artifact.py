"""A model file that passes its checks can be used; one that cannot be used does not pass."""

from __future__ import annotations

import copy
import json
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch

import neuro_divergent as nd
from neuro_divergent.core.storage import strict_json
from neuro_divergent.core.storage.tensor_file import dump_tensors, load_tensors
from neuro_divergent.data.datasets.synthetic import Synthetic
from neuro_divergent.forecasting import artifact
from neuro_divergent.forecasting.artifact import unpack_model
from neuro_divergent.models.base import Architecture
from tests.language_models import needed_by

Tensors = dict[str, torch.Tensor]
Change = Callable[[dict[str, Any], Tensors], object]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Tensors]:
    """Return the parts of a model with everything in it: covariates of each kind, categories, scaler and errors."""
    table = Synthetic(num_series=3, length=60, frequency="1d", seasonalities=(7,), noise=1.0).frame()
    table = table.with_columns(pl.col("unique_id").alias("shop"), pl.col("y").alias("price"))
    model = nd.Forecaster(
        nd.NHITS(hidden_size=8),
        horizon=3,
        input_size=9,
        series_scaler="standard",
        training=nd.TrainingConfig(max_steps=2, threads=1),
    ).fit(table, past=["price"], static=["shop"], calendar=["day_of_week"])
    path = tmp_path_factory.mktemp("saved") / "model"
    model.save(path)
    description = json.loads((path / "model.json").read_text())
    return description, load_tensors((path / "model.safetensors").read_bytes(), "x")


def load(description: dict[str, Any], tensors: Tensors) -> Any:
    return unpack_model({"model.json": strict_json.dumps(description), "model.safetensors": dump_tensors(tensors)}, "m")


def test_unchanged_model_is_loaded(saved: tuple[dict[str, Any], Tensors]) -> None:
    load(*saved)


def put(*path: Any, value: Any) -> Change:
    """Return a change of one place in the description."""

    def change(description: dict[str, Any], _tensors: Tensors) -> None:
        target: Any = description
        for key in path[:-1]:
            target = target[key]
        target[path[-1]] = value

    return change


def fill(name: str, place: Any, value: float) -> Change:
    """Return a change of one number in a tensor."""
    return lambda _description, tensors: tensors[name].__setitem__(place, value)


def swap(name: str, function: Callable[[torch.Tensor], torch.Tensor]) -> Change:
    """Return a change of a whole tensor."""
    return lambda _description, tensors: tensors.__setitem__(name, function(tensors[name]))


def drop(name: str) -> Change:
    return lambda _description, tensors: tensors.pop(name)


WEIGHT = "network.stack.blocks.1.block.first.bias"
WRONG: dict[str, tuple[Change, str]] = {
    "architecture": (put("architecture", "name", value="os.system"), "Unknown model 'os.system'"),
    "setting": (put("architecture", "hidden", value=3), "unknown setting 'hidden'"),
    "no task": (lambda description, _: description.pop("task"), "KeyError: 'task'"),
    "loss": (put("task", "loss", value="exec"), "Unknown loss 'exec'"),
    "larger network": (put("architecture", "hidden_size", value=10**7), "far larger than its weights"),
    "more layers": (put("architecture", "num_layers", value=10**9), "far larger than its weights"),
    "other network": (put("architecture", "hidden_size", value=9), r"weight .* the network has"),
    "horizon": (put("task", "horizon", value=4), "the shape of the errors"),
    "history": (put("task", "input_size", value=8), "the length of the history"),
    "channels": (put("channels", value=3), "3 channels"),
    "channels of another type": (put("channels", value=True), "TypeError: channels"),
    "lengths": (put("context", "lengths", 0, value=8), "sizes of the series do not agree"),
    "huge lengths": (put("context", "lengths", value=[2**62, 2**62, 27]), "TypeError: lengths"),
    "ids": (put("context", "ids", "values", 0, value="series-1"), "series that share a name"),
    "type of ids": (put("context", "ids", "type", value="read_csv"), "TypeError: values of type 'read_csv'"),
    "missing id": (put("context", "ids", "values", 0, value=None), "TypeError: values"),
    "unit of time": (put("context", "starts", "unit", value="days"), ""),
    "zone": (put("context", "starts", "zone", value="Mars/Olympus"), ""),
    "end of time": (put("context", "starts", "values", 0, value=2**63 - 1), ""),
    "no ids": (lambda description, _: description["context"].pop("ids"), "KeyError: 'ids'"),
    "values without context": (put("context", value=None), "values of series in a model without context"),
    "context without series": (put("context", "lengths", value=[]), "a context without series"),
    "frequency": (put("frequency", value="-1d"), ""),
    "schema": (put("schema", "past", value=[]), "past covariates are not those of the schema"),
    "cardinality": (put("features", "static", 0, value=["shop", 9]), "categories of 'shop'"),
    "categories": (put("categories", "shop", value="abc"), "TypeError: categories"),
    "backend": (put("backend", value="os"), "backend or environment"),
    "rows of history": (put("history", value=[{"step": [1]}]), "in the history"),
    "nan in a weight": (swap(f"{WEIGHT}", lambda tensor: tensor * math.nan), f"weight {WEIGHT[8:]!r} holds numbers"),
    "type of a weight": (swap(WEIGHT, lambda tensor: tensor.double()), "float64"),
    "missing weight": (drop(WEIGHT), "are not those of the network"),
    "strange tensor": (lambda _, tensors: tensors.update(extra=torch.ones(1)), "tensor 'extra'"),
    "nan in a series": (fill("context.y", 3, math.nan), "series with numbers that are not finite"),
    "type of a series": (swap("context.y", lambda tensor: tensor.double()), "the type of the series"),
    "no series": (drop("context.y"), "missing 1 required positional argument"),
    "mask": (lambda _, tensors: tensors.update({"context.mask": torch.ones(26, dtype=torch.bool)}), "do not agree"),
    "inf in a covariate": (fill("context.past_x", (0, 0), math.inf), "values of 'price'"),
    "no covariate": (drop("context.past_x"), "past covariates without values"),
    "code": (fill("context.static_x", (0, 0), 4), "codes of 'shop'"),
    "half a code": (fill("context.static_x", (0, 0), 0.5), "codes of 'shop'"),
    "numbers of the scaler": (fill("scaler.numbers", (0, 1), 0), "a spread of a series that is not positive"),
    "no numbers": (drop("scaler.numbers"), "series scaler without one"),
    "fewer numbers": (swap("scaler.numbers", lambda tensor: tensor[:, :1]), "parameters of the series scaler"),
    "scaler": (put("task", "series_scaler", value="boxcox"), "parameters of the series scaler"),
    "scaling": (fill("covariates.past", (1, 0), 0), "scaling of past covariates"),
    "scaling of codes": (fill("covariates.static", (0, 0), 1), "scaling of static categories"),
    "errors": (fill("intervals.errors", (0, 0), -1), "errors below zero"),
    "no errors": (swap("intervals.errors", lambda tensor: tensor[:0]), "the shape of the errors"),
    "rank twice": (fill("copula.ranks", (0, 0), 1), "ranks that are missing or there twice"),
    "rank too high": (swap("copula.ranks", lambda tensor: tensor + 1), "ranks that are missing or there twice"),
    "no ranks": (swap("copula.ranks", lambda tensor: tensor[:0]), "the shape of the ranks"),
    "ranks of fewer steps": (swap("copula.ranks", lambda tensor: tensor[:, :2]), "the shape of the ranks"),
    "type of ranks": (swap("copula.ranks", lambda tensor: tensor.float()), "the type of the ranks"),
}


@pytest.mark.parametrize("name", WRONG)
def test_model_with_inconsistent_parts_is_refused(saved: tuple[dict[str, Any], Tensors], name: str) -> None:
    description, tensors = copy.deepcopy(saved)
    change, reason = WRONG[name]
    change(description, tensors)
    with pytest.raises(nd.errors.UntrustedFileError, match=f"^m: does not describe a model .*{reason}"):
        load(description, tensors)


def test_infinities_that_a_network_starts_with_are_fine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A mask of attention holds infinities on purpose; weights never do."""
    build = Architecture.build

    def with_mask(self: Architecture, spec: Any) -> torch.nn.Module:
        network = build(self, spec)
        network.register_buffer("mask", torch.tensor([0.0, -math.inf]))
        return network

    monkeypatch.setattr(Architecture, "build", with_mask)
    frame = Synthetic(num_series=1, length=40, frequency="1d").frame()
    model = nd.Forecaster("nlinear", horizon=2, input_size=4, training=nd.TrainingConfig(max_steps=1, threads=1))
    model.fit(frame).save(tmp_path / "model")
    nd.Forecaster.load(tmp_path / "model")
    mask: Any = model.fitted.predictor.network.get_buffer("mask")
    mask[0] = math.inf
    model.save(tmp_path / "other")
    with pytest.raises(nd.errors.UntrustedFileError, match="weight 'mask' holds numbers that are not finite"):
        nd.Forecaster.load(tmp_path / "other")


@pytest.mark.parametrize("name", Architecture.registry.names())
def test_every_architecture_is_loaded_and_forecasts_the_same(name: str, tmp_path: Path) -> None:
    frame = Synthetic(num_series=2, length=60, frequency="1d").frame()
    kind = Architecture.registry.get(name)
    architecture, training = kind(**needed_by(kind)), nd.TrainingConfig(max_steps=1, threads=1)
    model = nd.Forecaster(architecture, horizon=2, input_size=8, training=training)
    model.fit(frame).save(tmp_path / "model")
    assert nd.Forecaster.load(tmp_path / "model").predict().equals(model.predict())


def test_loading_a_model_does_not_import_the_compiler_of_torch(
    saved: tuple[dict[str, Any], Tensors], tmp_path: Path
) -> None:
    """It would take as long as importing torch itself."""
    description, tensors = saved
    (tmp_path / "model.json").write_bytes(strict_json.dumps(description))
    (tmp_path / "model.safetensors").write_bytes(dump_tensors(tensors))
    code = (
        "import sys; from pathlib import Path; from neuro_divergent.forecasting.artifact import unpack_model;"
        "unpack_model({path.name: path.read_bytes() for path in Path(sys.argv[1]).iterdir()}, 'm');"
        "sys.exit('torch._dynamo' in sys.modules or 'sympy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False).returncode == 0


def test_a_network_with_large_tensors_is_first_built_without_memory(
    saved: tuple[dict[str, Any], Tensors], monkeypatch: pytest.MonkeyPatch
) -> None:
    devices: list[str] = []
    build = Architecture.build

    def watched(self: Architecture, spec: Any) -> torch.nn.Module:
        devices.append(torch.empty(1).device.type)
        return build(self, spec)

    monkeypatch.setattr(Architecture, "build", watched)
    load(*saved)
    assert devices == ["cpu"]
    devices.clear()
    monkeypatch.setattr(artifact, "_SMALL", 100)
    load(*saved)
    assert devices == ["cpu", "meta", "cpu"]


def test_numbers_that_are_not_finite_survive_in_settings_and_history(
    saved: tuple[dict[str, Any], Tensors],
) -> None:
    description, tensors = copy.deepcopy(saved)
    description["history"] = [
        {"step": 1, "train_loss": {"$float": "nan"}},
        {"step": 2, "train_loss": {"$float": "-inf"}},
    ]
    _, _, fitted = load(description, tensors)
    losses = fitted.history["train_loss"].to_list()
    assert np.isnan(losses[0])
    assert losses[1] == -math.inf


def test_nan_constants_are_read_from_format_1_only(saved: tuple[dict[str, Any], Tensors]) -> None:
    description, tensors = copy.deepcopy(saved)
    description["history"] = [{"step": 1, "train_loss": math.nan}]
    files = {"model.safetensors": dump_tensors(tensors)}
    with pytest.raises(nd.errors.UntrustedFileError, match="NaN is not a JSON number"):
        unpack_model({**files, "model.json": json.dumps(description).encode()}, "m")
    description["format"] = 1
    description |= description.pop("context")  # as it was then
    unpack_model({**files, "model.json": json.dumps(description).encode()}, "m")


def test_building_elsewhere_is_not_disturbed() -> None:
    """A limit holds for the thread that loads: another one may build what it likes at the same time."""
    from threading import Thread

    from neuro_divergent.forecasting.inspection import building_within

    made: list[torch.nn.Module] = []
    with building_within({}):
        thread = Thread(target=lambda: made.append(torch.nn.Linear(2000, 2000)))
        thread.start()
        thread.join()
        with pytest.raises(ValueError, match="far larger"):
            torch.nn.Linear(2000, 2000)
    assert made
    torch.nn.Linear(2000, 2000)


def test_network_that_cannot_be_built_on_the_meta_device_is_loaded(
    saved: tuple[dict[str, Any], Tensors], monkeypatch: pytest.MonkeyPatch
) -> None:
    build = Architecture.build

    def curious(self: Architecture, spec: Any) -> torch.nn.Module:
        torch.ones(2).sum().item()  # cannot be done without memory
        return build(self, spec)

    monkeypatch.setattr(Architecture, "build", curious)
    load(*saved)
    description, tensors = copy.deepcopy(saved)
    description["architecture"]["hidden_size"] = 10**7
    with pytest.raises(nd.errors.UntrustedFileError, match="far larger than its weights"):
        load(description, tensors)
