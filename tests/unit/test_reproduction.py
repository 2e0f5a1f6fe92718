"""The files in which benchmarks/reproduce.py keeps its runs, and their summary."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import neuro_divergent as nd

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Import the modules of the reproduction, which is a script and not part of the package."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    from reproduction import published, recipes, store, summary, trial

    return {
        "published": published,
        "recipes": recipes,
        "store": store,
        "summary": summary,
        "trial": trial,
        "cell": published.Name("etth1", "dlinear", 96),
    }


def result(parts: dict[str, Any], seed: int, mse: float, **more: Any) -> Any:
    values = {"rate": 0.1, "epochs": 3, "mae": 2 * mse, "baseline_mse": 9.0, "baseline_mae": 8.0, "windows": 7}
    return parts["trial"].Result(seed=seed, mse=mse, seconds=5.0, **values, **more)


def test_kept_runs_are_read_by_seed_and_a_seed_is_kept_once(parts: dict[str, Any], tmp_path: Path) -> None:
    keep, read, cell = parts["store"].keep, parts["store"].read, parts["cell"]
    later = parts["published"].Name("etth1", "dlinear", 720)
    keep(later, result(parts, 2, 4.0, validation=0.5), tmp_path)
    keep(cell, result(parts, 2, 1.0), tmp_path)
    keep(cell, result(parts, 1, 3.0, rounded=3), tmp_path)
    keep(cell, result(parts, 2, 2.0), tmp_path)
    assert read(cell, tmp_path) == [result(parts, 1, 3.0, rounded=3), result(parts, 2, 2.0)]
    assert read(later, tmp_path) == [result(parts, 2, 4.0, validation=0.5)]
    assert [path.name for path in tmp_path.iterdir()] == ["etth1-dlinear.json"]


def test_runs_of_another_recipe_are_not_read_and_are_dropped(
    parts: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, cell = parts["store"], parts["cell"]
    store.keep(cell, result(parts, 1, 3.0), tmp_path)
    changed = dataclasses.replace(parts["recipes"].recipe_for(cell), rate=0.123)
    monkeypatch.setattr(store, "recipe_for", lambda name: changed)
    assert store.read(cell, tmp_path) == []
    store.keep(cell, result(parts, 2, 2.0), tmp_path)
    runs = json.loads((tmp_path / "etth1-dlinear.json").read_text())["96"]["runs"]
    assert [run["seed"] for run in runs] == [2]


@pytest.mark.parametrize("field", ["rate", "input_size", "batch_size", "epochs", "patience", "scaler", "calendar"])
def test_each_setting_of_a_recipe_changes_its_fingerprint(
    parts: dict[str, Any], field: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, cell = parts["store"], parts["cell"]
    recipe, before = parts["recipes"].recipe_for(cell), store.fingerprint(cell)
    values = {"scaler": "revin", "calendar": ("hour",)}
    changed = dataclasses.replace(recipe, **{field: values.get(field, getattr(recipe, field) * 2)})
    monkeypatch.setattr(store, "recipe_for", lambda name: changed)
    assert store.fingerprint(cell) != before


def test_summary_has_mean_and_sample_deviation(parts: dict[str, Any]) -> None:
    runs = [result(parts, seed, mse) for seed, mse in enumerate((1.0, 2.0, 4.5))]
    summary = parts["summary"].Summary(runs)
    assert str(summary.mse) == "2.500 ± 1.803"  # squares of -1.5, -0.5 and 2 add up to 6.5; the root of half of that
    assert str(summary.mae) == "5.000 ± 3.606"
    assert str(parts["summary"].Summary(runs[:1]).mse) == "1.000"


def test_errors_on_full_batches_need_every_seed(parts: dict[str, Any]) -> None:
    measured = [result(parts, seed, 1.0, full_batches_mse=0.5 + seed, full_batches_mae=2.0) for seed in (1, 2)]
    mse, mae = parts["summary"].Summary(measured).full_batches
    assert (mse.mean, mae.mean) == (2.0, 2.0)
    assert parts["summary"].Summary([*measured, result(parts, 3, 1.0)]).full_batches is None


def test_full_batches_leave_out_the_last_windows_in_time(parts: dict[str, Any]) -> None:
    from neuro_divergent.data.panel_builder import build_panel
    from neuro_divergent.data.windows import Windows

    table = pl.DataFrame({"unique_id": ["a"] * 20 + ["b"] * 20, "ds": [*range(20)] * 2, "y": np.arange(40.0)})
    panel = build_panel(table, nd.Schema())
    begins, ends = panel.offsets[:-1] + 6, panel.offsets[1:]
    windows = Windows(panel, 4, 3, begins, ends, joint=True)
    full = parts["trial"]._full_batches(windows, 5)
    assert (len(windows), len(full)) == (12, 10)
    assert full.begins.tolist() == begins.tolist()
    assert full.ends.tolist() == [18, 38]


def test_every_kept_file_belongs_to_cells_of_the_page(parts: dict[str, Any]) -> None:
    known = {(cell.data, cell.model, str(cell.horizon)) for cell in parts["published"].all_cells()}
    files = list(parts["store"].RESULTS.glob("*.json"))
    assert files
    for path in files:
        for horizon, cell in json.loads(path.read_text()).items():
            assert (*path.stem.split("-"), horizon) in known
            seeds = [run["seed"] for run in cell["runs"]]
            assert len(seeds) == len(set(seeds))


def test_timesnet_starts_from_the_weights_of_the_published_order(parts: dict[str, Any]) -> None:
    import torch

    from neuro_divergent.core.spec import Feature, TaskSpec
    from neuro_divergent.forecasting.fitted import build_network
    from neuro_divergent.forecasting.task import Task

    recipe = parts["recipes"].recipe_for(parts["published"].Name("etth1", "timesnet", 96))
    spec = TaskSpec(96, 96, 7, future=tuple(Feature(name) for name in recipe.calendar))
    network = build_network(recipe.architecture, Task(horizon=96, input_size=96, scaler=recipe.scaler), spec)
    recipe.initial(network, 2021)
    before = {name: value.detach().clone() for name, value in network.named_parameters()}

    # The first layers that the published code makes: six convolutions, then their weights again, the smallest first.
    torch.manual_seed(2021)
    for reach in range(6):
        torch.nn.Conv2d(16, 32, 2 * reach + 1)
    for reach in range(6):
        expected = torch.empty(32, 16, 2 * reach + 1, 2 * reach + 1)
        torch.nn.init.kaiming_normal_(expected, mode="fan_out", nonlinearity="relu")
        assert torch.equal(before[f"network.blocks.0.widen.weights.{reach}"], expected)

    recipe.initial(network, 2022)
    moved = {name for name, value in network.named_parameters() if not torch.equal(value, before[name])}
    kept = {name for name in before if "biases" in name or "norm" in name or name in ("gain", "shift")}
    assert moved == set(before) - kept
