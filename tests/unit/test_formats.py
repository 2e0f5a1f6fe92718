"""What older versions wrote is still read, and means the same."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest
import torch

import neuro_divergent as nd
from neuro_divergent.forecasting.artifact import FORMAT as MODEL_FORMAT
from neuro_divergent.training.checkpointing.checkpoint import FORMAT as CHECKPOINT_FORMAT

PLACE = Path(__file__).parents[1] / "fixtures" / "formats"


def formats(kind: str) -> list[int]:
    return sorted(int(path.name.rpartition("-")[2]) for path in PLACE.glob(f"{kind}-?") if path.is_dir())


def expected(kind: str, version: int) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((PLACE / f"expected-{kind}-{version}.json").read_text())
    return content


def test_there_is_a_model_and_a_checkpoint_of_every_format() -> None:
    assert formats("model") == list(range(1, MODEL_FORMAT + 1))
    assert formats("checkpoint") == list(range(1, CHECKPOINT_FORMAT + 1))


@pytest.mark.parametrize("version", formats("model"))
def test_models_of_every_format_forecast_what_they_did(version: int) -> None:
    model = nd.Forecaster.load(PLACE / f"model-{version}")
    forecasts = model.predict(levels=[80])
    for name, values in expected("model", version).items():
        # Other processors add in another order.
        assert forecasts[name].to_list() == pytest.approx(values, rel=1e-5), name


@pytest.mark.parametrize("version", range(3, MODEL_FORMAT + 1))
def test_models_without_context_of_every_format_forecast_given_data_as_they_did(version: int) -> None:
    model = nd.load(PLACE / f"model-{version}-without-context")
    assert "series" not in model.holds
    forecasts = model.predict(written().table(), levels=[80])
    for name, values in expected("model", version).items():
        assert forecasts[name].to_list() == pytest.approx(values, rel=1e-5), name


def written() -> Any:
    """Return the module that wrote the files."""
    spec = importlib.util.spec_from_file_location("write_formats", PLACE / "write.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("version", formats("checkpoint"))
def test_checkpoints_of_every_format_are_read(version: int) -> None:
    state = nd.training.read_checkpoint(PLACE / f"checkpoint-{version}")
    assert state["state"]["step"] == 7
    assert {name: list(item.shape) for name, item in state["module"].items()} == {
        "0.weight": [4, 3],
        "0.bias": [4],
        "3.weight": [1, 4],
        "3.bias": [1],
    }


@pytest.mark.parametrize("version", formats("checkpoint"))
def test_training_goes_on_from_checkpoints_of_every_format(version: int) -> None:
    """The weights at the end are those of the run that wrote the checkpoint and was never stopped."""
    write = written()
    trainer = write.trainer()

    class Writer(nd.callbacks.Callback):
        """Stands in for the callback that wrote the checkpoint."""

    trainer.callbacks.append(Writer())
    trainer.fit(write.data(), write.data(), resume=nd.training.read_checkpoint(PLACE / f"checkpoint-{version}"))
    assert trainer.state.step == 12
    for name, values in expected("checkpoint", version).items():
        torch.testing.assert_close(trainer.module.state_dict()[name], torch.tensor(values), rtol=1e-5, atol=1e-6)
