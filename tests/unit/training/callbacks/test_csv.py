"""The CSV file holds the history at every moment."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import neuro_divergent as nd
from neuro_divergent.training.callbacks.csv import CSVLog
from tests.unit.training.callbacks.example import config, line, network, trainer


def test_the_file_is_the_history_after_every_row(tmp_path: Path) -> None:
    path = tmp_path / "new" / "history.csv"

    class Compare(nd.callbacks.Callback):
        rows = 0

        def logged(self, trainer: nd.Trainer) -> None:
            # A first row without a validation, so that the metric comes late and the header has to grow.
            found = pl.read_csv(path, schema_overrides=trainer.history.frame().schema)
            assert_frame_equal(found, trainer.history.frame())
            self.rows += 1

    compare = Compare()
    training = nd.Trainer(
        network(),
        nd.losses.MSE(),
        config(log_every=1, validate_every=7, early_stopping=None),
        callbacks=[CSVLog(path), compare],
        metrics={"distance": lambda output, batch: (output - batch[1]).abs()},
    )
    training.fit(line(), line())
    assert compare.rows == 30
    header = path.read_text().splitlines()[0]
    assert header.startswith("step,epoch,seconds,train_loss")
    assert header.endswith("validation_loss,validation_distance")


def test_a_new_training_begins_a_new_file_and_a_resumed_one_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "history.csv"
    path.write_text("something else\n")
    first = trainer(CSVLog(path), max_steps=20, log_every=5)
    first.fit(line())
    assert pl.read_csv(path)["step"].to_list() == [5, 10, 15, 20]

    resumed = trainer(CSVLog(path), max_steps=30, log_every=5)
    resumed.history.load_state_dict({"rows": first.history.rows[:2]})
    resumed.state.step = 10
    resumed.fit(line())
    assert pl.read_csv(path)["step"].to_list() == [5, 10, 15, 20, 25, 30]


def test_the_file_is_closed_after_an_error(tmp_path: Path) -> None:
    class Broken(nd.callbacks.Callback):
        def logged(self, trainer: nd.Trainer) -> None:
            raise RuntimeError("broken")

    log = CSVLog(tmp_path / "history.csv").build()
    with pytest.raises(RuntimeError, match="broken"):
        trainer(log, Broken()).fit(line())
    assert log._file is None
    assert pl.read_csv(log.path)["step"].to_list() == [10]


def test_a_place_that_cannot_be_written_to_is_found_out_before_training(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    training = trainer(CSVLog(tmp_path / "file" / "history.csv"))
    with pytest.raises(nd.errors.StorageError):
        training.fit(line())
    assert training.state.step == 0
