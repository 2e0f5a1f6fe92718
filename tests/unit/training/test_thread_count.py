"""Training whose threads wait for each other goes on with one, says so, and does it again when it is resumed.

Two threads are kept waiting by giving both the same core, in a process of its own: no other load has a say in it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import neuro_divergent as nd
from neuro_divergent.core.errors import UntrustedFileError
from neuro_divergent.runs.directory import RunDirectory
from neuro_divergent.training.thread_count import ThreadCount

SOURCE = str(Path(nd.__path__[0]).parent)
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
needs_cores = pytest.mark.skipif(
    CORES < 2 or not Path("/proc/self/schedstat").exists(),
    reason="two cores and a kernel that tells who waits for them",
)

TRAINING = """
import hashlib, json, os, sys, warnings
from pathlib import Path
import torch
import neuro_divergent as nd
from neuro_divergent.core import threads
from neuro_divergent.training.callbacks.checkpointing import Checkpointing
from neuro_divergent.training.callbacks.events import EventLog
from neuro_divergent.training.checkpointing.checkpoint import read_checkpoint

wish = json.loads(sys.argv[1])
if not wish["crowded"]:
    threads._KEPT_WAITING = 2.0  # more than all the time there is: whatever else this machine does, nobody waits
run = Path(wish["run"])


class Watched(nd.callbacks.Callback):
    '''Lets threads be kept waiting from some step on, and ends training soon after one goes on.'''

    def fit_start(self, trainer):
        if wish["crowded"]:
            for task in os.listdir("/proc/self/task"):
                os.sched_setaffinity(int(task), {min(os.sched_getaffinity(0))})

    def step_end(self, trainer):
        if trainer.state.step == wish["lowered_from"] and not wish["in_validation"]:
            self.keep_waiting(trainer)

    def validation_batch(self, trainer):
        if trainer.state.step == wish["lowered_from"] and wish["in_validation"]:
            self.keep_waiting(trainer)

    def keep_waiting(self, trainer):
        threads._KEPT_WAITING = -1.0
        trainer._thread_count._contention._next = 0.0  # two seconds need not pass

    def threads_lowered(self, trainer):
        self.end = trainer.state.step + 4

    def checkpoint_safe(self, trainer):
        if trainer.state.step == getattr(self, "end", None):
            trainer.stop("seen enough")


class Sum(torch.nn.Module):
    '''Adds up so many numbers that the bits of the sum depend on the number of threads.'''

    def __init__(self):
        super().__init__()
        self.first, self.last = torch.nn.Linear(64, 512), torch.nn.Linear(512, 8)
        self.middle = torch.nn.Linear(512, 512)

    def forward(self, x):
        hidden = torch.relu(self.middle(torch.relu(self.first(x))))
        return self.last(hidden) * (1 + (hidden * 0.001).sum().sin())


random = torch.Generator().manual_seed(0)
data = torch.randn(4096, 64, generator=random), torch.randn(4096, 8, generator=random)
config = nd.TrainingConfig(
    max_steps=wish["steps"], threads=wish["threads"], batch_size=1024, early_stopping=None, validate_every=4,
    schedule=nd.schedules.Constant(), log_every=1000,
)
torch.manual_seed(0)
kept = [EventLog(run / "events.jsonl"), Checkpointing(every_steps=1, keep=8, directory=run / "checkpoints").build()]
trainer = nd.Trainer(Sum(), nd.losses.MSE(), config, callbacks=[Watched(), *(kept if wish["keep"] else [])])
state = None
if wish["resume"] is not None:
    state = read_checkpoint(run / "checkpoints" / f"step-{wish['resume']:09d}")
    state["threads"]["one_after"] = wish["one_after"]
    state["callbacks"] = []  # checkpoints are not written a second time
with warnings.catch_warnings(record=True) as heard:
    warnings.simplefilter("always")
    trainer.fit(data, data, resume=state)
weights = b"".join(value.numpy().tobytes() for value in trainer.module.state_dict().values())
print(json.dumps({
    "loss": trainer.state.metrics["validation_loss"],
    "weights": hashlib.sha256(weights).hexdigest(), "step": trainer.state.step, **trainer.state_dict()["threads"],
    "warnings": [str(item.message) for item in heard], "after": torch.get_num_threads(),
}))
"""


def train(run: Path, **wishes: Any) -> dict[str, Any]:
    """Train in a process of its own, in which two threads are the choice for the size of the work."""
    wish = {"run": str(run), "steps": 2000, "threads": "auto", "keep": False, "resume": None}
    wish |= {"crowded": False, "lowered_from": None, "in_validation": False, "one_after": None, **wishes}
    done = subprocess.run(
        [sys.executable, "-c", TRAINING, json.dumps(wish)],
        env={**os.environ, "OMP_NUM_THREADS": "2", "PYTHONPATH": SOURCE},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


@pytest.mark.long
@needs_cores
@pytest.mark.parametrize(("in_validation", "lowered_from", "step"), [(False, 5, 6), (True, 4, 4)])
def test_resume_from_before_the_switch_repeats_it_and_gives_identical_weights(
    tmp_path: Path, in_validation: bool, lowered_from: int, step: int
) -> None:
    whole = train(tmp_path, lowered_from=lowered_from, in_validation=in_validation, keep=True)
    assert (whole["count"], whole["one_after"], whole["step"]) == (1, step, step + 4)
    assert whole["after"] == 2
    assert [text for text in whole["warnings"] if f"one after step {step}" in text] == whole["warnings"]
    assert len(whole["warnings"]) == 1
    events = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert [(event["step"], event["threads"]) for event in events if event["event"] == "threads"] == [(step, 1)]

    for checkpoint in (step - 2, step):
        again = train(tmp_path, steps=whole["step"], resume=checkpoint, one_after=step)
        assert (again["weights"], again["loss"]) == (whole["weights"], whole["loss"])
        assert (again["count"], again["one_after"]) == (1, step)
        assert not again["warnings"]
    without = train(tmp_path, steps=whole["step"], resume=step - 2)
    assert without["count"] == 2
    assert without["weights"] != whole["weights"]  # else this test would see nothing


@needs_cores
def test_two_threads_on_one_core_are_noticed_and_one_goes_on(tmp_path: Path) -> None:
    done = train(tmp_path, crowded=True)
    assert done["count"] == 1
    assert done["step"] == done["one_after"] + 4


@needs_cores
def test_threads_that_the_user_gave_stay_also_when_they_wait(tmp_path: Path) -> None:
    done = train(tmp_path, crowded=True, threads=2, steps=4)
    assert (done["count"], done["one_after"], done["warnings"]) == (2, None, [])


def test_run_directory_tells_a_resumed_run_after_which_step_one_thread_goes_on(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path / "run")
    trained = training_run(directory)
    assert directory.latest(trained)["threads"] == {"count": 1, "one_after": None}
    with (directory.path / "events.jsonl").open("a") as file:
        file.writelines(f'{{"event":"threads","time":0,"step":{step},"threads":1}}\n' for step in (3, 4, 9))
    assert directory.latest(trained)["threads"] == {"count": 1, "one_after": 9}


def training_run(directory: RunDirectory) -> Any:
    """Train for six steps with checkpoints, and return the settings of those."""
    frame = pl.DataFrame({"ds": range(60), "y": [float(item % 7) for item in range(60)]})
    checkpoints = nd.callbacks.Checkpointing(every_steps=3)
    training = nd.TrainingConfig(max_steps=6, threads=1)
    nd.Forecaster("nlinear", horizon=4, training=training).fit(frame, run=directory.path, checkpoints=checkpoints)
    return checkpoints


@pytest.mark.parametrize("told", [{}, {"count": 0}, {"count": "2"}, {"count": True}, {"count": 2.0}, "2", []])
def test_forged_count_in_a_checkpoint_is_refused(told: Any) -> None:
    with pytest.raises(UntrustedFileError, match="threads"):
        ThreadCount("auto").started(told, lambda: 1, may_change=True)


def test_resumed_training_takes_no_more_threads_than_there_are_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    subject = ThreadCount("auto")
    with subject.started({"count": 64, "one_after": None}, lambda: 3, may_change=True):
        assert subject.count == 1


def test_checkpoint_of_an_older_version_leaves_the_choice_to_the_work() -> None:
    subject = ThreadCount("auto")
    with subject.started(None, lambda: 1, may_change=True):
        assert subject.state_dict() == {"count": 1, "one_after": None}
