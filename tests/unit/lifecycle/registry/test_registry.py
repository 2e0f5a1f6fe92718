"""Registering, finding, tagging and archiving versions."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import neuro_divergent as nd
from neuro_divergent.core.errors import InputError, NewerFormatError, NotFittedError, UntrustedFileError
from neuro_divergent.forecasting.load import KINDS
from neuro_divergent.forecasting.protocol import ForecastModel
from neuro_divergent.lifecycle.registry.registry import Registry
from tests.unit.lifecycle.registry.models import SavedModel, forecaster, table


@pytest.mark.parametrize("kind", KINDS.values())
def test_a_version_of_every_kind_loads_and_forecasts_as_before(
    registry: Registry, fitted: dict[str, ForecastModel], kind: str
) -> None:
    version = registry.register(fitted[kind], "sales")
    assert version.kind == kind
    loaded = registry.get("sales").load()
    assert type(loaded).__name__ == kind
    assert_frame_equal(loaded.predict(), fitted[kind].predict())
    assert version.config["kind"] == kind
    assert version.interface["horizon"] == 4
    assert version.formats[kind] >= 1
    if kind == "AutoForecaster":  # which does not keep the data
        assert version.data is None
        return
    assert version.data is not None
    rows, series = (180, 3) if kind == "HINT" else (120, 2)
    assert len(version.data.pop("fingerprint")) == 64
    assert version.data == {"start": "0", "end": "59", "rows": rows, "series": series}


def test_numbers_have_no_gap_and_each_model_counts_for_itself(registry: Registry, saved: SavedModel) -> None:
    paths = [saved.write(n) for n in range(3)]
    assert [registry.register(path, "a").number for path in paths] == [1, 2, 3]
    assert registry.register(paths[0], "b").number == 1
    assert registry.names() == ["a", "b"]
    assert [str(version) for version in registry.list("a")] == ["a==1.0.0 (v1)", "a==1.0.1 (v2)", "a==1.0.2 (v3)"]
    assert len(registry.list()) == 4


def test_the_digest_is_the_sha256_of_the_manifest(registry: Registry, saved: SavedModel) -> None:
    path = saved.write()
    version = registry.register(path, "sales")
    assert version.digest == hashlib.sha256((path / "manifest.json").read_bytes()).hexdigest()
    assert {file.name: file.read_bytes() for file in path.iterdir() if file.name != "manifest.json"} == version.files()


def test_registering_the_same_files_again_returns_the_same_version(registry: Registry, saved: SavedModel) -> None:
    first = registry.register(saved.write(1), "sales", tags={"owner": "me"})
    registry.register(saved.write(2), "sales")
    again = registry.register(saved.write(1), "sales", scores={"mae": 1.0}, tags={"owner": "you"})
    assert again == first
    assert registry.get("sales").number == 2


def test_registering_after_a_crash_between_files_and_row_gives_the_next_number(
    registry: Registry, saved: SavedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry.register(saved.write(1), "sales")

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("neuro_divergent.lifecycle.registry.versions.insert_version", crash)
        with pytest.raises(KeyboardInterrupt):
            registry.register(saved.write(2), "sales")
    assert len(registry.blobs.digests()) == 2
    assert len(registry.list("sales")) == 1
    assert registry.register(saved.write(2), "sales").number == 2


def test_files_that_were_damaged_are_noticed_and_repaired_by_registering_again(
    registry: Registry, saved: SavedModel
) -> None:
    version = registry.register(saved.write(), "sales")
    blob = Path(registry.blobs.place) / version.digest
    (blob / "model.safetensors").write_bytes(b"other")
    with pytest.raises(UntrustedFileError):
        version.load()
    registry.register(saved.write(), "sales")
    version.load()


def test_a_blob_that_was_replaced_by_another_valid_one_is_refused(registry: Registry, saved: SavedModel) -> None:
    first, second = registry.register(saved.write(1), "sales"), registry.register(saved.write(2), "sales")
    place = Path(registry.blobs.place)
    for file in (place / second.digest).iterdir():
        (place / first.digest / file.name).write_bytes(file.read_bytes())
    with pytest.raises(UntrustedFileError, match="not those of this digest"):
        first.load()


def test_a_version_loads_from_the_store_only(registry: Registry, saved: SavedModel) -> None:
    path = saved.write()
    version = registry.register(path, "sales")
    for file in path.iterdir():
        file.unlink()
    version.load()


def test_addresses_name_one_version_each(registry: Registry, saved: SavedModel) -> None:
    for number in range(3):
        registry.register(saved.write(number), "sales")
    registry.promote("sales==v2")
    for address, number in (
        ("sales", 3),
        ("sales@champion", 2),
        ("sales==1.0.0", 1),
        ("sales==v3", 3),
        ("sales==2", 2),
    ):
        assert registry.get(address).number == number


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("saels", "There is no model 'saels' in the registry. Did you mean 'sales'?"),
        ("sales==v9", "sales==v9: there is no such version; sales has 1 version and no aliases."),
        ("sales==2.0.0", "there is no such version"),
        ("sales@champion", "there is no such version"),
    ],
)
def test_an_address_without_a_version_says_what_there_is(
    registry: Registry, saved: SavedModel, address: str, message: str
) -> None:
    registry.register(saved.write(), "sales")
    with pytest.raises(InputError) as error:
        registry.get(address)
    assert message in str(error.value)


def test_the_parent_is_the_champion_unless_given(registry: Registry, saved: SavedModel) -> None:
    assert registry.register(saved.write(1), "sales").parent is None
    registry.promote("sales==v1")
    second = registry.register(saved.write(2), "sales")
    assert second.parent == 1
    assert registry.register(saved.write(3), "sales", parent=second).parent == 2
    assert registry.register(saved.write(4), "sales", parent=3).parent == 3
    with pytest.raises(InputError, match="has no version v9"):
        registry.register(saved.write(5), "sales", parent=9)
    assert registry.register(saved.write(6), "sales").number == 5  # what was refused took no number


def test_a_run_brings_its_evidence(registry: Registry, run: Path) -> None:
    version = registry.register(run, "sales")
    data = json.loads((run / "run.json").read_text())["data"]
    assert version.run == str(run)
    assert version.data == {"fingerprint": data["sha256"], "start": "0", "end": "79", "rows": 160, "series": 2}
    backtest = pl.read_parquet(run / "backtest.parquet")
    assert version.scores is not None
    scores = json.loads((run / "scores.json").read_text())
    assert version.scores["scores"] == scores["scores"]
    assert version.scores["part"] == "validation"
    assert version.scores["windows"] == scores["windows"]
    assert version.scores["first_cutoff"] == backtest["cutoff"].min()
    assert version.scores["last_cutoff"] == backtest["cutoff"].max()
    found = version.backtest()
    assert found is not None
    assert_frame_equal(found, backtest)
    assert set(version.evidence_files()) == {
        "config.toml", "run.json", "data.json", "scores.json", "backtest.parquet", "environment.json",
    }  # fmt: skip
    assert version.environment["packages"]["torch"]
    assert version.code["version"] == nd.__version__


def test_a_model_in_memory_takes_the_evidence_of_its_run(
    registry: Registry, run: Path, fitted: dict[str, ForecastModel]
) -> None:
    version = registry.register(fitted["Forecaster"], "sales", run=run, scores={"mae": 2.0}, data={"fingerprint": "x"})
    assert version.backtest() is not None
    assert version.scores == {"mae": 2.0}
    assert version.data == {"fingerprint": "x"}
    with pytest.raises(InputError, match="is not the directory of a run"):
        registry.register(fitted["Forecaster"], "sales", run=run / "nothing")


def test_without_context_neither_values_nor_ids_are_stored(
    registry: Registry, run: Path, fitted: dict[str, ForecastModel]
) -> None:
    versions = [
        registry.register(run, "from-run", context=False),
        registry.register(fitted["Forecaster"], "from-memory", context=False),
    ]
    for version in versions:
        stored = b"".join((*version.files().values(), *version.evidence_files().values()))
        assert b'"s0"' not in stored
        assert version.backtest() is None
        assert version.load().predict(table()).height == 8
        assert "context" not in version.load().holds


def test_everything_that_is_given_is_recorded(registry: Registry, saved: SavedModel) -> None:
    class Decision:
        def to_dict(self) -> dict[str, object]:
            return {"passed": True, "p": float("nan")}

    version = registry.register(
        saved.write(), "sales", gate=Decision(), privacy={"epsilon": 1.5}, tags={"owner": "me"}, scores={"mae": 1.0}
    )
    again = registry.get("sales")
    assert again == version
    assert again.gate == {"passed": True, "p": None}
    assert again.privacy == {"epsilon": 1.5}
    assert again.tags == {"owner": "me"}
    assert set(again.code) == {"version", "commit", "has_changes"}
    assert again.environment["python"]
    assert again.created.endswith("+00:00")
    assert json.loads(json.dumps(again.to_dict()))["digest"] == version.digest
    with pytest.raises(InputError, match="neither a dict nor"):
        registry.register(saved.write(), "sales", gate=7)


def test_the_ledger_of_a_private_run_is_recorded(registry: Registry, saved: SavedModel, tmp_path: Path) -> None:
    place = tmp_path / "federation"
    place.mkdir()
    (place / "ledger.jsonl").write_text('{"round": 1, "noise_multiplier": 1.1}\n{"round": 2, "cut')
    version = registry.register(saved.write(), "sales", run=place)
    assert version.privacy == {"charges": [{"round": 1, "noise_multiplier": 1.1}]}
    assert "ledger.jsonl" in version.evidence_files()


def test_what_json_or_a_database_does_not_have_is_refused(registry: Registry, saved: SavedModel) -> None:
    path = saved.write()
    other = registry.register(path, "other")
    with pytest.raises(InputError, match="cannot be written as JSON"):
        registry.register(path, "sales", recipe={"rule": {1, 2}})
    with pytest.raises(InputError, match="version of another model"):
        registry.register(path, "sales", parent=other)
    with pytest.raises(InputError, match="without the character 0"):
        registry.promote("other", reason="a\0b")
    assert registry.names() == ["other"]


def test_tags_are_set_and_removed(registry: Registry, saved: SavedModel) -> None:
    registry.register(saved.write(), "sales", tags={"a": "1"})
    assert registry.tag("sales", b="2", a=None).tags == {"b": "2"}
    assert registry.tag("sales==v1", b="3").tags == {"b": "3"}
    with pytest.raises(InputError, match="must be text"):
        registry.tag("sales", b=3)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="a name has"):
        registry.tag("sales", **{"a b": "x"})


def test_an_archived_version_is_found_by_its_number_only(registry: Registry, saved: SavedModel) -> None:
    for number in range(2):
        registry.register(saved.write(number), "sales")
    assert registry.archive("sales==v2").archived
    assert registry.get("sales").number == 1
    assert [version.number for version in registry.list("sales")] == [1]
    assert [version.number for version in registry.list("sales", archived=True)] == [1, 2]
    registry.get("sales==v2").load()
    with pytest.raises(InputError, match="is archived"):
        registry.promote("sales==v2")
    registry.promote("sales==v1")
    with pytest.raises(InputError, match="is champion, so it cannot be archived"):
        registry.archive("sales==v1")
    assert not registry.archive("sales==v2", undo=True).archived
    registry.promote("sales==v2")


def test_an_unfitted_model_a_wrong_name_and_a_directory_without_a_model_leave_nothing(
    registry: Registry, saved: SavedModel, tmp_path: Path
) -> None:
    with pytest.raises(NotFittedError):
        registry.register(forecaster(), "sales")
    with pytest.raises(InputError, match="cannot be the name of a model"):
        registry.register(saved.write(), "../sales")
    with pytest.raises(UntrustedFileError):
        registry.register(tmp_path, "sales")
    assert registry.blobs.digests() == []
    assert registry.names() == []


def test_orphans_are_removed_some_time_after_they_were_found(registry: Registry, saved: SavedModel) -> None:
    version = registry.register(saved.write(1), "sales")
    orphan = registry.blobs.put({"file": b"content"})
    assert registry.remove_orphans() == []
    assert registry.remove_orphans(timedelta(hours=1)) == []
    assert registry.blobs.digests() == sorted([version.digest, orphan])
    assert registry.remove_orphans(timedelta(0)) == [orphan]
    assert registry.blobs.digests() == [version.digest]
    version.load()


def test_registering_files_that_are_marked_as_orphans_gives_them_their_time_again(
    registry: Registry, saved: SavedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = saved.write()
    files = {file.name: file.read_bytes() for file in path.iterdir() if file.name != "manifest.json"}
    digest = registry.blobs.put(files)
    registry.remove_orphans()
    put = registry.blobs.put
    removed: list[list[str]] = []

    def collect_before(files: dict[str, bytes]) -> str:
        # Another process collects after the mark was taken away and before the row is inserted.
        stored = put(files)
        removed.append(registry.remove_orphans(timedelta(seconds=30)))
        return stored

    monkeypatch.setattr(registry.blobs, "put", collect_before)
    monkeypatch.setattr("neuro_divergent.lifecycle.registry.orphans.time.time", lambda: 4e9)  # long after the mark
    version = registry.register(path, "sales")
    assert version.digest == digest
    assert removed == [[]]
    version.load()


def test_a_registry_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    import sqlite3

    Registry(tmp_path / "models").close()
    with sqlite3.connect(tmp_path / "models" / "registry.db") as connection:
        connection.execute("UPDATE nd_schema SET version = 2")
    connection.close()
    with pytest.raises(NewerFormatError):
        Registry(tmp_path / "models")


def test_a_registry_in_postgresql_needs_a_place_for_files() -> None:
    with pytest.raises(InputError, match="blobs"):
        Registry("postgresql://host/models")


def test_places_of_the_database_and_the_files(tmp_path: Path) -> None:
    for location, blobs in (
        (tmp_path / "a", tmp_path / "a" / "blobs"),
        (f"sqlite:///{tmp_path}/b/x.db", tmp_path / "b" / "blobs"),
    ):
        with Registry(location) as registry:
            assert Path(registry.blobs.place) == blobs
    (tmp_path / "empty").mkdir()
    for name in ("none", "empty"):
        with pytest.raises(InputError, match=f"{name}: there is no registry. 'nd registry register"):
            Registry(tmp_path / name, create=False)
    assert not (tmp_path / "none").exists()
    assert list((tmp_path / "empty").iterdir()) == []


def test_files_in_a_remote_store(tmp_path: Path, saved: SavedModel) -> None:
    pytest.importorskip("fsspec")
    with Registry(tmp_path, blobs="memory://registry-test") as registry:
        version = registry.register(saved.write(), "sales")
        assert registry.get("sales").load().is_fitted
        assert registry.register(saved.write(), "sales") == version
        registry.blobs.put({"a": b""})
        assert len(registry.remove_orphans(timedelta(0))) == 1
        version.load()


def test_train_and_register_scores_what_was_held_out(registry: Registry) -> None:
    model = forecaster()
    version = registry.train_and_register(model, table(80), "sales")
    assert version.scores is not None
    assert version.scores["part"] == "validation"
    assert version.scores["first_cutoff"] >= 60
    backtest = version.backtest()
    assert backtest is not None
    assert {"cutoff", "step", "actual", "forecast", "seasonal naive"} <= set(backtest.columns)
    assert version.data is not None
    assert version.data["rows"] == 160
    second = registry.train_and_register(forecaster(), table(90), "sales", initial=version)
    assert second.parent == 1
    assert second.version == "1.0.1"


def test_train_and_register_keeps_the_run(registry: Registry, tmp_path: Path) -> None:
    version = registry.train_and_register(forecaster(), table(80), "sales", run=tmp_path / "run")
    assert version.run == str(tmp_path / "run")
    assert "config.toml" in version.evidence_files()
    statistical = registry.train_and_register(nd.Statistical("naive", horizon=4), table(80), "sales")
    assert statistical.scores is not None


def test_train_and_register_describes_data_that_a_model_does_not_keep(registry: Registry) -> None:
    model = nd.AutoForecaster(horizon=4, budget="1s", models=("naive",), jobs=1)
    version = registry.train_and_register(model, table(80).rename({"y": "units"}), "sales", target="units")
    kept = registry.train_and_register(forecaster(), table(80).rename({"y": "units"}), "other", target="units")
    assert version.data == kept.data
    assert version.interface["columns"]["target"] == "units"


def test_registering_a_directory_imports_no_torch(run: Path, tmp_path: Path) -> None:
    program = (
        "import sys; from neuro_divergent.lifecycle.registry.registry import Registry\n"
        "registry = Registry(sys.argv[1]); registry.register(sys.argv[2], 'sales'); registry.promote('sales')\n"
        "print(registry.get('sales@champion').version, 'torch' in sys.modules)\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "models"), str(run)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.split() == ["1.0.0", "False"]
