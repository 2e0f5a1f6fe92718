"""Pipelines in processes that end themselves with SIGKILL at a chosen moment.

``python -m tests.integration.lifecycle.killed_pipeline`` imports everything and forks a process for each line that it
reads: what to run, and when to die. Nothing of polars or torch is used before the fork, since their threads would be
missing after it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import traceback
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn, Self

ROOT = Path(__file__).parents[3]
STAGES = ("check", "clean", "square", "features", "tuning", "training", "evaluation", "registration")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_CHANGES = ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate")


@dataclass(frozen=True)
class Job:
    """A run of the pipeline.

    Attributes:
        directory: Where it runs.
        data: The table.
        stages: How many of the stages it has.
        report: File for digests, states and how many times something was written.
        stage: Stage to die in; empty for the whole pipeline. It dies at the start of the next stage at the latest.
        event: Event of the stage to count writes from.
        count: After how many writes from there it dies; 0 at the event itself, -1 for never.
    """

    directory: str
    data: str
    report: str
    stages: int = len(STAGES)
    stage: str = ""
    event: str = "start"
    count: int = -1


def square(table: Any) -> Any:
    """Make the values larger, as a stage of the user."""
    return table.with_columns(y=table["y"] ** 2)


def moving_range(table: Any) -> Any:
    """Return a feature of the user, which looks back only."""
    import polars as pl

    high, low = (getattr(pl.col("y"), name)(4).over("unique_id") for name in ("rolling_max", "rolling_min"))
    return table.select(moving_range=high - low)


def build(directory: Path, data: str, stages: int = len(STAGES)) -> Any:
    """Return a pipeline with the first of all kinds of stages, and tiny models."""
    from neuro_divergent.lifecycle.pipeline.function_stage import stage
    from neuro_divergent.lifecycle.pipeline.pipeline import Pipeline
    from neuro_divergent.lifecycle.pipeline.stages.data_validation import DataValidation
    from neuro_divergent.lifecycle.pipeline.stages.evaluation import Evaluation
    from neuro_divergent.lifecycle.pipeline.stages.feature_engineering import FeatureEngineering
    from neuro_divergent.lifecycle.pipeline.stages.hyperparameter_tuning import HyperparameterTuning
    from neuro_divergent.lifecycle.pipeline.stages.model_registration import ModelRegistration
    from neuro_divergent.lifecycle.pipeline.stages.preprocessing import Preprocessing
    from neuro_divergent.lifecycle.pipeline.stages.training import Training

    task = {"horizon": 4, "input_size": 8, "test": 4}
    training = {"max_steps": 6, "batch_size": 16, "max_epochs": "none", "device": "cpu", "seed": 3}
    tuning = HyperparameterTuning(
        model={"name": "mlp", "hidden_size": 8, "num_layers": 1},
        task=task,
        training=training,
        trials=2,
        space={"training.optimizer.lr": [0.001, 0.01]},
        study={"method": "random"},
    )
    return Pipeline(
        [
            stage(DataValidation(ranges={"y": (0, 1e6)}, on_failure="quarantine"), name="check"),
            stage(Preprocessing(), name="clean"),
            stage(square),
            stage(FeatureEngineering(lags=[1, 2], functions=[moving_range]), name="features"),
            stage(tuning, name="tuning"),
            stage(Training(checkpoints={"every_steps": 2, "every_seconds": "none"}), name="training"),
            stage(Evaluation(), name="evaluation"),
            stage(ModelRegistration(location=str(directory / "models"), model_name="tiny"), name="registration"),
        ][:stages],
        data=data,
        directory=directory / "pipeline",
    )


class Executioner:
    """Counts what is written below a directory, and ends the process at a chosen moment."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._place = job.directory
        self._is_counting = not job.stage
        self.writes = 0

    def observe(self, event: dict[str, Any]) -> None:
        """Begin to count at the event of the stage, and go no further than that stage."""
        kind, stage = event["event"], event.get("stage")
        if not self._job.stage:
            return
        if kind == "stage_start" and STAGES.index(stage) > STAGES.index(self._job.stage):
            os.kill(os.getpid(), signal.SIGKILL)
        if (kind, stage) == (self._job.event, self._job.stage):
            self._is_counting = True
            self._look()

    def audit(self, name: str, arguments: tuple[Any, ...]) -> None:
        """Count a change of the file system, before it happens."""
        if name == "open":
            is_change = isinstance(arguments[2], int) and bool(arguments[2] & _WRITING)
        else:
            is_change = name in _CHANGES
        if is_change and self._is_counting and str(arguments[0]).startswith(self._place):
            self.writes += 1
            self._look()

    def _look(self) -> None:
        if self._job.count == self.writes:
            os.kill(os.getpid(), signal.SIGKILL)


def run(job: Job) -> None:
    """Run the pipeline and write what came out."""
    executioner = Executioner(job)
    sys.addaudithook(executioner.audit)
    result = build(Path(job.directory), job.data, job.stages).run(observe=executioner.observe)
    versions = []
    if job.stages == len(STAGES):
        from neuro_divergent.lifecycle.registry.registry import Registry

        versions = [item.number for item in Registry(Path(job.directory) / "models").list("tiny")]
    report = {"digests": result.digests, "states": result.states, "writes": executioner.writes, "versions": versions}
    Path(job.report).write_text(json.dumps(report))


class PipelineServer:
    """The process that forks, and what it says.

    Args:
        models: Whether to import what trains and searches, which takes some seconds.
    """

    def __init__(self, *, models: bool) -> None:
        self._arguments = ["models"] if models else []

    def __enter__(self) -> Self:
        """Start it."""
        self._errors = tempfile.TemporaryFile("w+")
        self._process = subprocess.Popen(
            [sys.executable, "-W", "error", "-W", "ignore::UserWarning", "-m", __name__, *self._arguments],
            cwd=ROOT,
            env={**os.environ, "OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()
        self._errors.close()

    def run(self, job: Job) -> dict[str, Any] | None:
        """Return what came out of a run; ``None`` if it died as it was told to."""
        Path(job.report).unlink(missing_ok=True)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asdict(job)) + "\n")
        self._process.stdin.flush()
        code = self._process.stdout.readline().strip()
        if code == str(-signal.SIGKILL):
            return None
        self._errors.seek(0)
        assert code == "0", f"{job}: {code}\n{self._errors.read()}"
        return json.loads(Path(job.report).read_text())  # type: ignore[no-any-return]


def _child(line: str) -> NoReturn:
    code = 1
    try:
        signal.alarm(300)
        os.dup2(2, 1)
        run(Job(**json.loads(line)))
        code = 0
    except BaseException:  # noqa: BLE001 - the test shows it
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _serve() -> None:
    import neuro_divergent.lifecycle.pipeline.report
    import neuro_divergent.lifecycle.pipeline.stages.feature_engineering

    if sys.argv[1:]:
        import neuro_divergent.lifecycle.registry.registry
        import neuro_divergent.search.trial_runner
        import neuro_divergent.workflow.results  # noqa: F401
        from neuro_divergent.search.dependency import load_optuna

        load_optuna()
    while line := sys.stdin.readline().strip():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # no thread does anything here
            child = os.fork()
        if not child:
            _child(line)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        sys.stdout.write(f"{code}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _serve()
