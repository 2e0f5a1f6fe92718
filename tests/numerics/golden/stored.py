"""The stored forecasts: one JSON file for each architecture. Run as a module, this writes them again."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import torch

from neuro_divergent.models.base import Architecture
from tests.numerics.golden.cases import Case, cases_of, default_size

DIRECTORY = Path(__file__).parent / "values"
COMMAND = "make golden"


def path_of(name: str) -> Path:
    """Return where the values of an architecture are stored."""
    return DIRECTORY / f"{name}.json"


def read(name: str) -> dict[str, Any]:
    """Return what is stored of an architecture."""
    values: dict[str, Any] = json.loads(path_of(name).read_text())
    return values


def size(network: torch.nn.Module) -> int:
    """Return the number of parameters."""
    return sum(value.numel() for value in network.parameters())


def measured(case: Case) -> dict[str, Any]:
    """Return the number of parameters of a case and its forecasts, a list of steps by window, channel and output."""
    forecast = case.forecast().permute(0, 2, 3, 1).flatten(0, 2)
    return {
        "parameters": size(case.network()),
        "forecast": [[float(f"{x:.12g}") for x in row] for row in forecast.tolist()],
    }


def write(name: str) -> None:
    """Compute and store the values of an architecture, a list of steps in a line."""
    cases = []
    for key, case in cases_of(name).items():
        values = measured(case)
        rows = ",\n      ".join(json.dumps(row) for row in values["forecast"])
        cases.append(
            f'    {json.dumps(key)}: {{"parameters": {values["parameters"]}, "forecast": [\n      {rows}\n    ]}}'
        )
    text = ",\n".join(cases)
    path_of(name).write_text(f'{{\n  "default parameters": {default_size(name)},\n  "cases": {{\n{text}\n  }}\n}}\n')


if __name__ == "__main__":
    DIRECTORY.mkdir(exist_ok=True)
    names = Architecture.registry.names()
    for stale in set(DIRECTORY.glob("*.json")) - {path_of(name) for name in names}:
        stale.unlink()
    for name in sys.argv[1:] or names:
        write(name)
