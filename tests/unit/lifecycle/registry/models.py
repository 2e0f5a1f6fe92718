"""Small saved models and runs for tests of the registry."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import neuro_divergent as nd
from neuro_divergent.core.storage.atomic import write_directory


def table(rows: int = 60, series: int = 2) -> pl.DataFrame:
    """Return waves of some series."""
    time = np.arange(rows)
    return pl.concat(
        pl.DataFrame({"unique_id": f"s{k}", "ds": time, "y": np.sin(time / 3 + k) + k}) for k in range(series)
    )


def forecaster(architecture: str = "nlinear", *, seed: int = 1, epochs: int = 1, **task: Any) -> nd.Forecaster:
    """Return a small unfitted forecaster."""
    training = nd.TrainingConfig(max_epochs=epochs, seed=seed)
    return nd.Forecaster(architecture, training=training, **{"horizon": 4, "input_size": 8, **task})


class SavedModel:
    """The files of a saved model, of which altered copies are written."""

    def __init__(self, files: dict[str, bytes], root: Path) -> None:
        self.files = files
        self.root = root
        self.written = 0

    def write(self, number: float = 0.0, **changes: Any) -> Path:
        """Write a copy; ``number`` makes it another one, and changes are values of its description by dotted name."""
        description = json.loads(self.files["model.json"])
        description["history"][0]["seconds"] = number
        for place, value in changes.items():
            *parts, last = place.split("__")
            at = description
            for part in parts:
                at = at[part]
            at[last] = value
        self.written += 1
        path = self.root / f"saved-{self.written}"
        write_directory(path, {**self.files, "model.json": json.dumps(description).encode()}.items())
        return path
