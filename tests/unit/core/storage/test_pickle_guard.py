"""Pickles are told by their names and by how they begin."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
import torch

import neuro_divergent as nd
from neuro_divergent.core.errors import UntrustedFileError

readers = pytest.mark.parametrize("read", [nd.Forecaster.load, nd.training.read_checkpoint])


class Bomb:
    """Ends the test run if it is ever unpickled."""

    def __reduce__(self) -> tuple[object, ...]:
        return pytest.exit, ("a pickle was loaded",)


@readers
@pytest.mark.parametrize("ending", ["pt", "pth", "ckpt", "pkl", "pickle", "joblib", "bin", "CKPT"])
def test_names_of_pickles_are_refused(tmp_path: Path, read: object, ending: str) -> None:
    path = tmp_path / f"model.{ending}"
    for make in (lambda: None, path.mkdir):
        make()
        with pytest.raises(UntrustedFileError, match=f"model.{ending}: pickle is never loaded"):
            read(path)  # type: ignore[operator]


@readers
def test_pickles_under_other_names_are_refused(tmp_path: Path, read: object) -> None:
    for protocol in range(2, 6):
        (tmp_path / "model").write_bytes(pickle.dumps(Bomb(), protocol))
        with pytest.raises(UntrustedFileError, match="model: is a pickle; pickle is never loaded"):
            read(tmp_path / "model")  # type: ignore[operator]
    torch.save({"a": Bomb()}, tmp_path / "model")
    with pytest.raises(UntrustedFileError, match=r"model: is a zip archive.*pickle is never loaded"):
        read(tmp_path / "model")  # type: ignore[operator]
    (tmp_path / "model").write_bytes(b"")
    with pytest.raises(UntrustedFileError, match="model: is a file"):
        read(tmp_path / "model")  # type: ignore[operator]


def test_urls_of_pickles_are_refused() -> None:
    with pytest.raises(UntrustedFileError, match=r"s3://bucket/last.ckpt: pickle is never loaded"):
        nd.training.read_checkpoint("s3://bucket/last.ckpt")  # type: ignore[arg-type]
