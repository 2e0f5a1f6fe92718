"""Training that is killed, again and again and at any moment, ends with what training leaves that was not."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from neuro_divergent.core.errors import InputError
from neuro_divergent.runs.directory import RunDirectory
from tests.reliability.command_run import CommandRun
from tests.reliability.fork_server import ForkServer, Process, running_server
from tests.reliability.trained import STEPS, VARIANTS, PreparedData, assert_same, check_store, moment_later

SOAK = bool(os.environ.get("ND_SOAK"))
KILLS = 1000 if SOAK else 40
KILLS_OF_COMMANDS = 60 if SOAK else 4
LEAST_IN_EACH_PHASE = 25 if SOAK else 1
PHASES = ("training", "validation", "saving", "marking", "retention")
AIMS = ("", "", *PHASES[1:])  # at any moment, or in a phase
LONGEST = 0.2  # seconds; about what a training takes on a machine that has nothing else to do

Property = Callable[[str, object], None]

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")


class Run:
    """One training, killed until it is over, and what must hold meanwhile."""

    def __init__(self, server: ForkServer, place: Path, variant: str) -> None:
        place.mkdir()
        self.server = server
        self.job = PreparedData(str(place), variant)
        self.kills: Counter[str] = Counter()
        self.last_step = 0
        self.checkpoints_read = 0

    def attempt(self, draw: Random, aim: str) -> bool:
        """Train until a random moment, or one in a phase, and kill; return whether it was over before."""
        job = replace(self.job, aim=aim, count=draw.randint(1, 3), delay=moment_later(draw))
        process = Process(self.server, job)
        if not aim:
            if draw.random() < 0.9:
                process.await_start()
            time.sleep(draw.uniform(0, LONGEST))
            process.send(signal.SIGKILL)
        code = process.wait()
        assert code in (0, -signal.SIGKILL), self.server.errors()
        if code:
            self.kills[process.moment.phase] += 1
        steps = check_store(self.job)
        assert max(steps, default=0) >= self.last_step  # nothing that was saved before is lost
        self.last_step = max(steps, default=0)
        self.checkpoints_read += len(steps)
        return self.job.result.exists()


def test_training_that_is_killed_at_any_moment_leaves_what_training_that_is_not_does(record_property: Property) -> None:
    draw = Random(20)
    kills: Counter[str] = Counter()
    runs = attempts = most = checkpoints = 0
    with running_server() as (server, place):
        while sum(kills.values()) < KILLS or any(kills[phase] < LEAST_IN_EACH_PHASE for phase in PHASES):
            name = list(VARIANTS)[runs % len(VARIANTS)]
            run = Run(server, place / "killed", name)
            while not run.attempt(draw, draw.choice(AIMS)):
                attempts += 1
                many = sum(run.kills.values()) > 100
                assert not many, f"{name} does not come to its end: {run.last_step} of {STEPS} steps are saved"
            assert_same(run.job, server.whole[name])
            shutil.rmtree(run.job.place)
            runs, attempts, most = runs + 1, attempts + 1, max(most, sum(run.kills.values()))
            kills += run.kills
            checkpoints += run.checkpoints_read
            assert runs < KILLS, f"too few kills: {kills}"
    counts = {"kills": sum(kills.values()), "runs": runs, "attempts": attempts, "most_kills_in_a_run": most}
    for key, count in {**counts, "checkpoints_read": checkpoints, "unreadable": 0, **kills}.items():
        record_property(key, count)
    print(f"{counts}, {checkpoints:,} checkpoints read, none unreadable; killed in {dict(kills)}")  # noqa: T201
    assert most > 3


def test_a_run_that_was_killed_before_training_began_can_be_begun_again(tmp_path: Path) -> None:
    for name in ("lock", "status.json", "config.toml", ".run.json.partial-0"):  # all that is written before run.json
        (tmp_path / name).touch()
        RunDirectory(tmp_path).check_free()
    (tmp_path / "lock").unlink()
    with pytest.raises(InputError, match="exists already"):  # somebody else's
        RunDirectory(tmp_path).check_free()


@pytest.mark.long
def test_a_run_of_the_command_line_that_is_killed_gives_the_model_of_one_that_is_not(
    tmp_path: Path, record_property: Property
) -> None:
    draw = Random(23)
    whole = CommandRun(tmp_path / "whole")
    seconds = whole.finish()
    kills = runs = in_training = 0
    while kills < KILLS_OF_COMMANDS:
        run = CommandRun(tmp_path / f"killed-{runs}")
        for _ in range(6 if SOAK else KILLS_OF_COMMANDS):
            process = run.start()
            if draw.random() < 0.7:
                in_training += run.await_checkpoint(process)
                time.sleep(draw.uniform(0, 0.3))
            else:
                time.sleep(draw.uniform(0, seconds / 2))
            process.kill()
            process.communicate()
            kills += process.returncode == -signal.SIGKILL
            run.check()
        run.finish()
        assert run.results() == whole.results()
        runs += 1
    record_property("kills_of_commands", kills)
    print(f"{kills} kills of {runs} runs of the command line, {in_training} of them in training")  # noqa: T201
    assert in_training
