"""What every splitter must do."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest

from neuro_divergent.core.errors import ConfigError
from neuro_divergent.data.datasets.synthetic import Synthetic
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.data.schema import Schema
from neuro_divergent.evaluation.splitters import Fold, Splitter, as_splitter
from neuro_divergent.reporting.export import write_figure
from neuro_divergent.reporting.figures.folds import folds_figure


def last_rows(panel: Panel) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Hold out the last ten rows of each series, then the ten before."""
    left = np.concatenate([np.arange(length)[::-1] for length in panel.lengths])
    for newest in (0, 10):
        yield left >= newest + 10, (left >= newest) & (left < newest + 10)


# Settings that a splitter needs, and further ones worth trying.
SETTINGS: dict[str, list[dict[str, Any]]] = {
    "function": [{"function": last_rows}],
    "time_series": [
        {},
        {"test_size": 7, "gap": 2, "purge": 1, "embargo": 3},
        {"n_splits": 3, "test_size": 12, "step_size": 5, "window": "sliding", "train_size": 30, "align": "time"},
    ],
    "blocked": [
        {},
        {"groups": 2, "test": "groups"},
        {"groups": "region", "test": "both", "gap": 1, "purge": 2, "embargo": 3},
        {"groups": 3, "blocks": 3},
    ],
}
CASES = [(name, settings) for name in Splitter.registry.names() for settings in SETTINGS.get(name, [{}])]
every_splitter = pytest.mark.parametrize(
    ("name", "settings"), CASES, ids=[f"{name}-{place}" for place, (name, _) in enumerate(CASES)]
)


@pytest.fixture(scope="module")
def panel() -> Panel:
    """Four series, two of them shorter, one at its beginning and one at its end."""
    frame = Synthetic(num_series=4, length=120, covariates=True).frame()
    place = pl.int_range(pl.len()).over("unique_id")
    short = (pl.col("unique_id") == "series-1") & (place < 20) | (pl.col("unique_id") == "series-2") & (place >= 90)
    static = Schema(static=("region", "size"), future=("price",), past=("visitors",))
    return build_panel(frame.filter(~short), static)


def make(name: str, settings: dict[str, Any]) -> Splitter:
    made: Splitter = Splitter.registry.get(name)(**settings)
    return made


def arrays(fold: Fold) -> list[list[int]]:
    return [
        getattr(fold, f"{part}_{name}").tolist() for part in ("train", "test") for name in ("series", "begins", "ends")
    ]


@every_splitter
def test_yields_usable_folds(name: str, settings: dict[str, Any], panel: Panel) -> None:
    folds = list(make(name, settings).split(panel))
    assert [fold.number for fold in folds] == list(range(len(folds)))
    for fold in folds:
        fold.check(panel)
        train, test = np.zeros(len(panel), int), np.zeros(len(panel), int)
        for begin, end in zip(fold.train_begins, fold.train_ends, strict=True):
            train[begin:end] += 1
        for begin, end in zip(fold.test_begins, fold.test_ends, strict=True):
            test[begin:end] += 1
        assert (train + test).max() == 1
        assert fold.training_rows == train.sum() > 0
        assert fold.test_rows == test.sum() > 0
        assert len(fold.train(panel)) == train.sum()


@every_splitter
def test_folds_do_not_depend_on_values_and_are_reproducible(name: str, settings: dict[str, Any], panel: Panel) -> None:
    splitter = make(name, settings)
    other = dataclasses.replace(panel, y=np.random.default_rng(0).normal(size=len(panel)).astype(np.float32))
    before = panel.y.copy()
    first, second = ([arrays(fold) for fold in splitter.split(given)] for given in (panel, other))
    assert first == second
    np.testing.assert_array_equal(panel.y, before)


@every_splitter
def test_settings_round_trip_gives_the_same_folds(name: str, settings: dict[str, Any], panel: Panel) -> None:
    splitter = make(name, settings)
    again = as_splitter(splitter.to_dict())
    assert type(splitter).from_toml(splitter.to_toml()) == again
    if name == "function":
        with pytest.raises(ConfigError, match="only the name of a function"):
            next(again.split(panel))
        return
    assert again == splitter
    assert [arrays(fold) for fold in again.split(panel)] == [arrays(fold) for fold in splitter.split(panel)]


@every_splitter
def test_spans_hold_every_segment(name: str, settings: dict[str, Any], panel: Panel) -> None:
    splitter = make(name, settings)
    spans = splitter.spans(panel)
    times = panel.times()
    assert (times.gather(spans["begin"]) == spans["first"]).all()
    assert (times.gather(spans["end"] - 1) == spans["last"]).all()
    assert (panel.ids.gather(spans["series"]) == spans["id"]).all()
    for fold in splitter.split(panel):
        for role, rows in (("train", fold.training_rows), ("test", fold.test_rows)):
            found = spans.filter(fold=fold.number, role=role)
            assert (found["end"] - found["begin"]).sum() == rows
    # No row has two roles in a fold.
    for one in spans.partition_by("fold"):
        assert (one["end"] <= one["begin"].shift(-1)).all()


@every_splitter
@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("width", [40, 80])
def test_text_drawing_has_a_line_for_each_fold(
    name: str, settings: dict[str, Any], panel: Panel, plain: bool, width: int
) -> None:
    splitter = make(name, settings)
    lines = splitter.draw(panel, plain=plain, width=width).splitlines()
    assert max(map(len, lines[:-1])) <= width
    named = [line.split("  ")[0] for line in lines if line.startswith("fold")]
    assert named == [f"fold {fold.number}" for fold in splitter.split(panel)]
    letters = set("".join(lines))
    assert (letters >= set("=#")) if plain else (letters >= set("━█"))
    assert not plain or all(line.isascii() for line in lines)


@every_splitter
def test_figure_is_written_as_svg_and_has_all_roles(
    name: str, settings: dict[str, Any], panel: Panel, tmp_path: Path
) -> None:
    splitter = make(name, settings)
    figure = folds_figure(splitter, panel)
    write_figure(figure, tmp_path / "folds.svg")
    assert ElementTree.parse(tmp_path / "folds.svg").getroot().tag.endswith("svg")
    roles = {str(mark.label).split()[0] for mark in figure.marks}
    assert roles == set(splitter.spans(panel)["role"])
