from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from neuro_divergent.core.errors import DataError
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.data.panel_store import compaction
from neuro_divergent.data.panel_store import fingerprint as module
from neuro_divergent.data.panel_store.fingerprint import content_digest, fingerprint
from neuro_divergent.data.schema import Schema
from neuro_divergent.evaluation.cross_validation.store import FoldStore
from neuro_divergent.runs.directory import RunDirectory
from tests.unit.data.panel_store.tables import ROLES, table

FIRST_FORMAT = Path(__file__).parents[3] / "fixtures" / "formats" / "panel-1"
OF_FIRST_FORMAT = "6d9f1bf493ac58158fa6927c9a8f6864303b3f0efd7605c18d4cceacc6266bde"
"""What the version that wrote the panel gave for it."""


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small panels are treated like large ones."""
    for place in (module, compaction):
        monkeypatch.setattr(place, "BLOCK_ROWS", 16)


def made(**changes: Any) -> Panel:
    frame = table({"a": 40, "b": 7, "c": 25})
    return build_panel(frame.with_columns(**changes), Schema(**ROLES))


def sha(panel: Panel, known: str | None = None) -> str:
    return str(fingerprint(panel, known)["sha256"])


def test_fingerprints_of_earlier_versions_stay_what_they_were() -> None:
    found = {"rows": 21, "series": 2, "sha256": OF_FIRST_FORMAT}
    assert fingerprint(Panel.open(FIRST_FORMAT)) == found
    assert fingerprint(Panel.open(FIRST_FORMAT, mmap=False)) == found


@pytest.mark.usefixtures("large")
def test_a_run_of_an_earlier_version_on_a_large_panel_is_recognized() -> None:
    panel = Panel.open(FIRST_FORMAT)
    assert sha(panel) != OF_FIRST_FORMAT
    assert sha(panel, OF_FIRST_FORMAT) == OF_FIRST_FORMAT
    assert sha(panel.take([1, 0]), OF_FIRST_FORMAT) != OF_FIRST_FORMAT


@pytest.mark.usefixtures("large")
def test_a_stored_panel_has_the_fingerprint_of_the_same_panel_in_memory(tmp_path: Path) -> None:
    panel = made()
    panel.save(tmp_path / "panel")
    stored = Panel.open(tmp_path / "panel")
    assert sha(stored) == sha(panel)
    assert sha(stored.lengthened(60)) == sha(panel.lengthened(60)) == sha(panel)
    assert sha(Panel.open(tmp_path / "panel", mmap=False)) == sha(panel)


@pytest.mark.usefixtures("large")
def test_the_values_of_a_stored_panel_are_not_all_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made().save(tmp_path / "panel")

    def fail(*_: Any) -> None:
        raise AssertionError("all values are read")

    monkeypatch.setattr(module, "_blocks", fail)
    monkeypatch.setattr(module, "_update", fail)
    sha(Panel.open(tmp_path / "panel"))
    sha(Panel.open(tmp_path / "panel").lengthened(60))


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize(
    "changes",
    [
        {"y": pl.col("y") + 1},
        {"y": pl.when(pl.int_range(pl.len()) == 30).then(None).otherwise("y")},
        {"w": pl.col("w") * 2},
        {"price": pl.col("price") * 2},
        {"visitors": pl.col("visitors") + 1},
        {"size": pl.col("size") * 2},
        {"unique_id": "x" + pl.col("unique_id")},
        {"ds": pl.col("ds").dt.offset_by("1h")},
    ],
)
def test_large_panels_with_other_content_have_other_fingerprints(changes: Any, tmp_path: Path) -> None:
    before, after = made(), made(**changes)
    assert sha(before) != sha(after)
    after.save(tmp_path / "panel")
    assert sha(Panel.open(tmp_path / "panel")) == sha(after)


@pytest.mark.usefixtures("large")
def test_a_stored_panel_whose_values_were_changed_under_its_manifest_is_told_apart(tmp_path: Path) -> None:
    made().save(tmp_path / "panel")
    before = sha(Panel.open(tmp_path / "panel"))
    values = np.memmap(tmp_path / "panel" / "y.float32", np.float32, "r+")
    values[3] += 1
    values.flush()
    assert sha(Panel.open(tmp_path / "panel")) != before


@pytest.mark.usefixtures("large")
def test_a_run_on_a_panel_with_parts_is_recognized_after_they_are_joined(tmp_path: Path) -> None:
    frame = table({"a": 40, "b": 30})
    early, late = frame.filter(pl.col("ds").dt.day() == 1), frame.filter(pl.col("ds").dt.day() > 1)
    build_panel(early, Schema(**ROLES)).save(tmp_path / "panel")
    first = sha(Panel.open(tmp_path / "panel"))
    with_part = Panel.append(tmp_path / "panel", late)
    before = sha(with_part)
    assert before == sha(with_part.lengthened(60)) != first
    compaction.compact(tmp_path / "panel")
    panel = Panel.open(tmp_path / "panel")
    assert sha(panel) == sha(build_panel(frame, Schema(**ROLES)))
    assert sha(panel, before) == before
    assert sha(panel, first) == sha(panel)


def test_the_digest_of_all_content_does_not_depend_on_where_it_lies(tmp_path: Path) -> None:
    panel = made()
    panel.save(tmp_path / "panel")
    stored = Panel.open(tmp_path / "panel")
    assert content_digest(stored) == content_digest(panel)
    assert content_digest(stored.lengthened(50)) == content_digest(panel.lengthened(50))
    assert content_digest(dataclasses.replace(panel, y=panel.y[::-1].copy())) != content_digest(panel)


@pytest.mark.usefixtures("large")
def test_a_run_that_an_earlier_version_began_on_a_large_panel_can_be_resumed(tmp_path: Path) -> None:
    panel = made()
    directory = RunDirectory(tmp_path)
    directory.begin(Schema(), panel)
    document = json.loads((tmp_path / "run.json").read_text())
    directory.require_same_data(panel)
    document["data"]["sha256"] = content_digest(panel)
    (tmp_path / "run.json").write_text(json.dumps(document))
    directory.require_same_data(panel)
    with pytest.raises(DataError, match="the data have changed since the run began"):
        directory.require_same_data(made(y=pl.col("y") + 1))


@pytest.mark.usefixtures("large")
def test_folds_that_an_earlier_version_stored_are_found(tmp_path: Path) -> None:
    panel = made()
    assert FoldStore.of(tmp_path, panel).data == sha(panel)
    (tmp_path / "fold-1").mkdir()
    (tmp_path / "fold-1" / "fold.json").write_text(json.dumps({"made_from": {"data": content_digest(panel)}}))
    assert FoldStore.of(tmp_path, panel).data == content_digest(panel)
