"""A run of the real command line, in processes that can be ended."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from neuro_divergent.core.storage.local import LocalStore
from neuro_divergent.data.datasets.synthetic import Synthetic
from neuro_divergent.training.checkpointing.checkpoint import read_checkpoint
from neuro_divergent.training.checkpointing.resume import step_of
from tests.integration.test_command_line import start
from tests.reliability.trained import lost_numbers

STEPS = 2000  # over a second also on a fast machine: a signal after a checkpoint comes before the end
_COMMAND = (
    "train", "sales.csv", "--horizon", "7", "--input-size", "21", "--model", "mlp", "--set", "model.hidden_size=32",
    "--set", "model.dropout=0.1", "--average", "ema", "--max-steps", str(STEPS), "--threads", "1",
    "--set", "training.early_stopping=none", "--set", "checkpoints.every_seconds=0.1",
    "--output", "run", "--resume", "--quiet",
)  # fmt: skip


class CommandRun:
    """A training of a small table, begun or taken up again by each process that is started.

    Args:
        place: Directory for the table and the run; made.
    """

    def __init__(self, place: Path) -> None:
        place.mkdir()
        self.place = place
        self.run = place / "run"
        self._known = -1
        Synthetic(num_series=3, length=120).frame().write_csv(place / "sales.csv")

    def start(self) -> subprocess.Popen[str]:
        """Begin it, or go on with it: the first time by its settings, then by its directory."""
        self._known = max(self.steps(), default=-1)
        is_begun = (self.run / "run.json").exists()
        return start(*(("train", "run", "--resume", "--quiet") if is_begun else _COMMAND), cwd=self.place)

    def finish(self) -> float:
        """Go on to the end, and return how many seconds that took."""
        begin = time.monotonic()
        process = self.start()
        output, errors = process.communicate(timeout=300)
        assert process.returncode == 0, errors
        assert (output, errors) == ("", "")
        return time.monotonic() - begin

    def await_checkpoint(self, process: subprocess.Popen[str]) -> bool:
        """Wait until a process has written a checkpoint, and return whether it is still at work then."""
        while process.poll() is None and max(self.steps(), default=-1) <= self._known:
            time.sleep(0.005)
        return process.poll() is None

    def steps(self) -> list[int]:
        """Return the steps of the checkpoints that are there."""
        return [step for step in map(step_of, LocalStore(self.run / "checkpoints").names()) if step is not None]

    def check(self) -> list[int]:
        """Read all checkpoints, and return their steps."""
        for step in self.steps():
            assert not lost_numbers(read_checkpoint(self.run / "checkpoints" / f"step-{step:09d}"))
        return self.steps()

    def results(self) -> dict[str, bytes]:
        """Return what the run gives, byte for byte."""
        return {name: (self.run / name).read_bytes() for name in ("model/model.safetensors", "forecasts.csv")}
