from __future__ import annotations

import errno
import hashlib
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from neuro_divergent.core.errors import DataError, InputError, StorageError, UntrustedFileError
from neuro_divergent.core.storage.atomic import new_directory, place_directory, read_directory
from neuro_divergent.core.storage.manifest import entry_of
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.data.panel_store.checking import check_panel
from neuro_divergent.data.panel_store.writing import PanelWriter, write_parts
from neuro_divergent.data.schema import Schema
from tests.unit.data.panel_store.tables import ROLES, assert_same, table


@pytest.fixture
def panel() -> Panel:
    return build_panel(table({"a": 40, "b": 7, "c": 25, "d": 1, "e": 30}), Schema(**ROLES))


def parts_of(panel: Panel) -> list[Panel]:
    return [panel.part(number, number + 1) for number in range(panel.num_series)]


def test_parts_written_one_after_another_are_the_panel(panel: Panel, tmp_path: Path) -> None:
    write_parts(parts_of(panel), tmp_path / "parts")
    panel.save(tmp_path / "whole")
    assert_same(Panel.open(tmp_path / "parts"), panel)
    for path in (tmp_path / "whole").iterdir():
        if path.suffix != ".parquet":
            assert "manifest" in path.name or path.read_bytes() == (tmp_path / "parts" / path.name).read_bytes()
    assert check_panel(tmp_path / "parts").files == 9


def test_no_file_of_values_is_read_again_for_its_digest(
    panel: Panel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = []
    original = hashlib.file_digest

    def note(file: Any, name: str) -> Any:
        read.append(Path(file.name).name)
        return original(file, name)

    monkeypatch.setattr(hashlib, "file_digest", note)
    panel.save(tmp_path / "panel")
    assert sorted(read) == ["index.parquet", "offsets.npy", "panel.json", "static_x.npy"]
    monkeypatch.undo()
    check_panel(tmp_path / "panel")


def test_there_is_no_mask_file_until_a_row_is_hidden(tmp_path: Path) -> None:
    shown = build_panel(table({"a": 30, "b": 20}, missing=0.0), Schema(**ROLES))
    hidden = build_panel(table({"c": 30}, missing=0.5), Schema(**ROLES), categories=shown.categories)
    write_parts([shown], tmp_path / "shown")
    assert not (tmp_path / "shown" / "mask.bool").exists()
    assert Panel.open(tmp_path / "shown").mask is None
    write_parts([shown, hidden, build_panel(table({"d": 9}, missing=0), Schema(**ROLES), categories=shown.categories)],
                tmp_path / "both")  # fmt: skip
    found = Panel.open(tmp_path / "both")
    assert found.mask is not None
    assert hidden.mask is not None
    assert found.mask.tolist() == [True] * 50 + hidden.mask.tolist() + [True] * 9


@pytest.mark.parametrize("done", [1, 3, 5])
@pytest.mark.parametrize("more", [0, 1])
def test_a_writer_resumed_from_a_position_writes_the_same_files(
    panel: Panel, done: int, more: int, tmp_path: Path
) -> None:
    parts = parts_of(panel)
    work = tmp_path / ".work"
    work.mkdir()
    with PanelWriter(work) as writer:
        writer.append(parts[0])
        writer.state()
        for part in parts[1:done]:
            writer.append(part)
        position = json.loads(json.dumps(writer.state()))
        for part in parts[done : done + more]:
            writer.append(part)  # which is lost
        writer.state()
    with PanelWriter.resume(work, position) as writer:
        assert (writer.rows, writer.series) == (int(panel.offsets[done]), done)
        for part in parts[done:]:
            writer.append(part)
        entries = writer.finish()
    place_directory(work, tmp_path / "panel", entries)
    assert not work.exists()
    assert_same(Panel.open(tmp_path / "panel"), panel)
    check_panel(tmp_path / "panel")
    panel.save(tmp_path / "whole")
    for name in ("y.float32", "mask.bool", "past_x.float32", "offsets.npy", "panel.json"):
        assert (tmp_path / "panel" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


@pytest.mark.parametrize("harm", ["cut", "alter", "remove"])
def test_a_writer_does_not_go_on_from_other_files(panel: Panel, harm: str, tmp_path: Path) -> None:
    with PanelWriter(tmp_path) as writer:
        writer.append(panel)
        position = writer.state()
    path = tmp_path / "y.float32"
    content = path.read_bytes()
    path.unlink()
    if harm != "remove":
        path.write_bytes(content[:-4] if harm == "cut" else content[:-1] + b"x")
    with pytest.raises(UntrustedFileError, match=r"[Bb]egin it again"):
        PanelWriter.resume(tmp_path, position)


def test_parts_that_differ_are_refused(panel: Panel, tmp_path: Path) -> None:
    other = build_panel(table({"z": 9}), Schema(**{**ROLES, "past": ("visitors",)}))
    categories = build_panel(table({"z": 2}, missing=0), Schema(**ROLES))
    with pytest.raises(DataError, match="the schema of a part is"):
        write_parts([panel, other], tmp_path / "panel")
    with pytest.raises(DataError, match="the categories of a part differ from those before"):
        write_parts([panel, categories], tmp_path / "panel")
    with pytest.raises(DataError, match="no data rows"):
        write_parts([], tmp_path / "panel")
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_leaves_nothing_behind(panel: Panel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    panel.save(tmp_path / "panel")

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("neuro_divergent.data.panel_store.writing._ValueFile.write", full)
    with pytest.raises(StorageError, match="No space left on device"):
        panel.take([0]).save(tmp_path / "panel")
    monkeypatch.undo()
    assert [path.name for path in tmp_path.iterdir()] == ["panel"]
    assert_same(Panel.open(tmp_path / "panel"), panel)


def test_digests_that_are_known_are_listed_without_reading(tmp_path: Path) -> None:
    entry = entry_of(b"12345")
    with new_directory(tmp_path / "made", {"file": entry}) as work:
        (work / "file").write_bytes(b"12345")
        (work / "other").write_bytes(b"6")
    assert read_directory(tmp_path / "made") == {"file": b"12345", "other": b"6"}
    with pytest.raises(UntrustedFileError, match="bytes"), new_directory(tmp_path / "wrong", {"file": entry}) as work:
        (work / "file").write_bytes(b"1234")
    assert not (tmp_path / "wrong").exists()


def test_a_filled_directory_does_not_replace_what_is_not_ours(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a").write_bytes(b"1")
    (tmp_path / "place").mkdir()
    (tmp_path / "place" / "letter.txt").write_text("dear")
    with pytest.raises(InputError, match="holds something else"):
        place_directory(tmp_path / "work", tmp_path / "place")
    assert (tmp_path / "work" / "a").exists()


def test_frames_of_panels_with_unsorted_or_repeated_names_are_saved_as_they_are(panel: Panel, tmp_path: Path) -> None:
    odd = panel.take([2, 0, 0])
    odd.save(tmp_path / "panel")
    assert_same(Panel.open(tmp_path / "panel"), odd)
    with pytest.raises(DataError, match="not sorted by name"):
        Panel.append(tmp_path / "panel", pl.DataFrame(table({"x": 3})))
