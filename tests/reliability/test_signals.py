"""A signal ends training at the step it is at, saved; a second one ends it at once; nothing is lost either way."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from tests.reliability.command_run import CommandRun
from tests.reliability.fork_server import ForkServer, Process, running_server
from tests.reliability.trained import STEPS, VARIANTS, PreparedData, assert_same, check_store, moment_later

SOAK = bool(os.environ.get("ND_SOAK"))
SIGNALS = 200 if SOAK else 15
LEAST_IN_EACH_PHASE = 5 if SOAK else 1
SECOND_SIGNALS = 20 if SOAK else 4
SIGNALS_TO_COMMANDS = 12 if SOAK else 2
PHASES = ("training", "validation", "saving")
AIMS = ("", *PHASES[1:])
CODES = {signal.SIGTERM: 143, signal.SIGINT: 130}

Property = Callable[[str, object], None]
Serving = tuple[ForkServer, Path]

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")


@pytest.fixture(scope="module")
def serving() -> Iterator[Serving]:
    with running_server() as found:
        yield found


def interrupt(server: ForkServer, job: PreparedData, draw: Random) -> str | None:
    """Send a signal, check how training ends, and return in which phase it was heard, if it was."""
    number = draw.choice(list(CODES))
    aim = draw.choice(AIMS)
    aimed = replace(job, aim=aim, count=draw.randint(1, 3), delay=moment_later(draw), number=int(number))
    process = Process(server, aimed)
    if not aim:
        process.await_start()
        time.sleep(draw.uniform(0, 0.2))
        process.send(number)
    code = process.wait()
    moment, steps = process.moment, check_store(job)
    if code == 0:
        assert job.result.exists()
        return None
    if not moment.heard:  # training was over, and nobody was listening any more
        assert moment.phase in ("finishing", "finished"), (code, moment.phase, server.errors())
        return None
    assert code == CODES[number], server.errors()
    heard = moment.heard - 1
    assert max(steps) == moment.step
    assert heard <= moment.step <= heard + 1
    return moment.phase_heard


def test_a_signal_in_any_phase_saves_the_step_that_training_is_at(serving: Serving, record_property: Property) -> None:
    server, place = serving
    draw = Random(21)
    heard: Counter[str] = Counter()
    runs = 0
    while sum(heard.values()) < SIGNALS or any(heard[phase] < LEAST_IN_EACH_PHASE for phase in PHASES):
        name = list(VARIANTS)[runs % len(VARIANTS)]
        job = PreparedData(str(place / "interrupted"), name)
        Path(job.place).mkdir()
        attempts = 0
        while not job.result.exists():
            attempts += 1
            assert attempts < 2 * STEPS, f"{name} does not come to its end"
            phase = interrupt(server, job, draw)
            if phase is not None:
                heard[phase] += 1
        assert_same(job, server.whole[name])
        shutil.rmtree(job.place)
        runs += 1
        assert runs < SIGNALS, f"too few signals: {heard}"
    for key, count in {"signals": sum(heard.values()), "runs": runs, **heard}.items():
        record_property(key, count)
    print(f"{sum(heard.values())} signals in {runs} runs, heard in {dict(heard)}")  # noqa: T201


def test_a_second_signal_ends_training_in_the_middle_of_a_step(serving: Serving, record_property: Property) -> None:
    server, place = serving
    draw = Random(22)
    seconds = []
    for attempt in range(SECOND_SIGNALS):
        name = list(VARIANTS)[attempt % len(VARIANTS)]
        number = list(CODES)[attempt % 2]
        job = PreparedData(str(place / "ended"), name, slow_pass=draw.randint(2, 20))  # one of them stops early
        Path(job.place).mkdir()
        process = Process(server, job)
        process.await_slow_pass()
        process.send(number)
        process.await_hearing()
        time.sleep(0.3)  # what comes sooner counts as the same request
        before = process.moment.step
        begin = time.perf_counter()
        process.send(number)
        code = process.wait()
        seconds.append(time.perf_counter() - begin)
        assert code == (-number if number == signal.SIGTERM else 130), server.errors()
        assert process.moment.step == before  # the step was not finished
        steps = check_store(job)
        assert max(steps, default=0) <= before
        assert Process(server, replace(job, slow_pass=0)).wait() == 0, server.errors()
        assert_same(job, server.whole[name])
        shutil.rmtree(job.place)
    seconds.sort()
    median = seconds[len(seconds) // 2]
    record_property("second_signals", SECOND_SIGNALS)
    record_property("median_seconds", median)
    print(f"{SECOND_SIGNALS} second signals: over after {median:.3f} s, at most {seconds[-1]:.3f} s")  # noqa: T201
    assert seconds[-1] < 20  # the step would take half a minute


@pytest.mark.long
def test_a_signal_to_the_command_line_is_answered_with_how_to_go_on(tmp_path: Path, record_property: Property) -> None:
    whole = CommandRun(tmp_path / "whole")
    whole.finish()
    for attempt in range(0, SIGNALS_TO_COMMANDS, 2):
        run = CommandRun(tmp_path / f"interrupted-{attempt}")
        for number, code in CODES.items():
            process = run.start()
            assert run.await_checkpoint(process)
            process.send_signal(number)
            output, errors = process.communicate(timeout=60)
            assert process.returncode == code, errors
            assert output == ""
            step = max(run.check())
            line = f"training was interrupted at step {step} and saved. Resume with: nd train run --resume\n"
            assert errors == line
        run.finish()
        assert run.results() == whole.results()
    record_property("signals_to_commands", SIGNALS_TO_COMMANDS)
    print(f"{SIGNALS_TO_COMMANDS} signals to the command line")  # noqa: T201
