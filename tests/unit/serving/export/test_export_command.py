"""``nd export``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import pytest
import typer
from typer.testing import CliRunner

import neuro_divergent as nd
from neuro_divergent.core.errors import InputError, UntrustedFileError
from neuro_divergent.interfaces.cli import export as command
from neuro_divergent.serving.description import Description
from neuro_divergent.serving.export_file import stored_digest

Models = Callable[[str], nd.Forecaster]

app = typer.Typer()
app.command("export", epilog=command.EXAMPLES)(command.export)


def call(*arguments: Any) -> str:
    result = CliRunner().invoke(app, [str(item) for item in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_model_of_a_run_is_exported_beside_it_and_described_as_json(models: Models, tmp_path: Path) -> None:
    models("linear").save(tmp_path / "run" / "model")
    document = json.loads(call(tmp_path / "run", "--levels", "80", "--json"))
    path = tmp_path / "run" / "model.onnx"
    assert document["path"] == str(path)
    assert document["bytes"] == path.stat().st_size
    assert document["quantiles"] == [0.1, 0.9]
    assert 0 < document["largest_difference"] <= 1e-4
    (entry,) = onnx.load(path).metadata_props
    description = Description.from_json(entry.value, "file")
    assert description.digest == document["digest"] == stored_digest(tmp_path / "run" / "model")


@pytest.mark.long
def test_people_are_told_the_file_its_size_the_check_and_what_to_do_next(models: Models, tmp_path: Path) -> None:
    nd.Conformal(models("linear"), scaled=False).calibrate().save(tmp_path / "sales")
    text = call(tmp_path / "sales", "--format", "onnx-int8", "--output", tmp_path / "small.onnx")
    assert f"Written to {tmp_path / 'small.onnx'}" in text
    for word in ("size", "KB", "differs from predict by", "265 windows", "neuro_divergent.serving.load"):
        assert word in text


def test_wrong_arguments_are_refused_before_torch_is_needed(models: Models, tmp_path: Path) -> None:
    for arguments, error, message in (
        (["nowhere"], InputError, "not found"),
        ([tmp_path, "--format", "onx"], InputError, "Did you mean 'onnx'"),
        ([tmp_path, "--levels", "180"], InputError, "not a percentage"),
        ([tmp_path, "--quantiles", "a"], InputError, "not a number"),
        ([tmp_path], InputError, "is not a model or a run"),
    ):
        with pytest.raises(error, match=message):
            call(*arguments)
    (tmp_path / "model.json").write_text("{}")
    with pytest.raises(UntrustedFileError):
        call(tmp_path)
