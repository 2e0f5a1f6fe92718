"""What is said about errors that nobody expected."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
import torch

from neuro_divergent.interfaces.cli.unexpected_error import explain_unexpected
from neuro_divergent.losses.point import MAE


def test_an_error_in_a_file_of_the_user_is_not_called_a_bug(tmp_path: Path) -> None:
    path = tmp_path / "my_model.py"
    path.write_text("import torch\n\ndef forward():\n    return torch.zeros(2) @ torch.zeros(3)\n")
    spec = importlib.util.spec_from_file_location("my_model", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with pytest.raises(RuntimeError) as caught:
        module.forward()  # fails in torch
    said = explain_unexpected(caught.value)
    assert said.startswith("RuntimeError: ")
    assert "(my_model.py, line 4, in forward)" in said
    assert "bug" not in said


def test_an_error_in_the_package_is_called_a_bug() -> None:
    with pytest.raises(RuntimeError) as caught:
        MAE().cost(torch.zeros(2), torch.zeros(3))  # called by this file, and fails below the package
    assert "This is a bug" in explain_unexpected(caught.value)
