"""Training ends with a model when a file or a signal asks for it: in child processes, as in real life."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import neuro_divergent as nd
from neuro_divergent.training.callbacks.stop_request import StopRequest
from tests.unit.training.callbacks.example import line, trainer

SCRIPT = """
import sys
from pathlib import Path
import torch, neuro_divergent as nd
from neuro_divergent.training.callbacks.stop_request import StopRequest

class Tell(nd.callbacks.Callback):
    def step_end(self, trainer):
        if trainer.state.step == 5:
            Path("training").touch()

torch.manual_seed(0)
inputs = torch.randn(64, 3)
targets = inputs.sum(1, keepdim=True)
request = StopRequest(file="stop", signals=sys.argv[1:])
config = nd.TrainingConfig(max_steps=100_000_000, threads=1, early_stopping=None, optimizer=nd.optimizers.Adam(lr=0.01))
trainer = nd.Trainer(torch.nn.Linear(3, 1), nd.losses.MSE(), config, callbacks=[request, Tell()])
trainer.fit((inputs, targets), (inputs, targets))
print(trainer.state.stop_reason, trainer.history.rows[-1]["step"] == trainer.state.step, trainer.module.training)
"""


def start(place: Path, *signals: str) -> subprocess.Popen[str]:
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(nd.__path__[0]).parent),
        "OMP_NUM_THREADS": "1",
    }
    command = [sys.executable, "-W", "error", "-c", SCRIPT, *signals]
    pipe = subprocess.PIPE
    child = subprocess.Popen(command, cwd=place, env=environment, stdout=pipe, stderr=pipe, text=True)
    end = time.monotonic() + 60
    while not (place / "training").exists():
        if child.poll() is not None or time.monotonic() > end:
            child.kill()
            pytest.fail(child.communicate()[1])
        time.sleep(0.02)
    return child


def finish(child: subprocess.Popen[str]) -> tuple[int, str, str]:
    try:
        output, errors = child.communicate(timeout=30)
    finally:
        child.kill()
    return child.returncode, output, errors


def test_a_file_ends_training_with_a_model(tmp_path: Path) -> None:
    child = start(tmp_path)
    (tmp_path / "stop").touch()
    assert finish(child) == (0, "stop asks for it True False\n", "")
    assert (tmp_path / "stop").exists()


@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="this system has no SIGUSR1")
def test_a_signal_ends_training_with_a_model(tmp_path: Path) -> None:
    child = start(tmp_path, "SIGUSR1", "SIGTERM")
    child.send_signal(signal.SIGUSR1)
    assert finish(child) == (0, "SIGUSR1 was received True False\n", "")


def test_a_file_from_before_is_refused_and_stays(tmp_path: Path) -> None:
    (tmp_path / "stop").touch()
    training = trainer(StopRequest(tmp_path / "stop"))
    with pytest.raises(nd.errors.ConfigError, match="exists already"):
        training.fit(line())
    assert training.state.step == 0
    assert (tmp_path / "stop").exists()


@pytest.fixture(autouse=True)
def usual_interrupt() -> Iterator[None]:
    """Hear Ctrl-C as Python usually does; processes in the background may be set to ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class Send(nd.callbacks.Callback):
    """Sends signals to the process it runs in at some steps."""

    def __init__(self, *steps: int) -> None:
        self.steps = steps

    def step_end(self, trainer: nd.Trainer) -> None:
        if trainer.state.step in self.steps:
            signal.raise_signal(signal.SIGINT)


def test_training_stops_at_the_step_of_the_signal_and_the_handler_is_given_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    training = trainer(Send(7), StopRequest(signals=["SIGINT"]))
    training.fit(line())
    assert (training.state.step, training.state.stop_reason) == (7, "SIGINT was received")
    assert signal.getsignal(signal.SIGINT) is before


def test_a_second_signal_goes_to_the_previous_handler() -> None:
    class Twice(nd.callbacks.Callback):
        def step_end(self, trainer: nd.Trainer) -> None:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)  # right after the first: the same request, sent to all of a group
            assert trainer.state.step == 1
            time.sleep(0.25)
            signal.raise_signal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        trainer(Twice(), StopRequest(signals=["SIGINT"])).fit(line())
    assert signal.getsignal(signal.SIGINT) is before


def test_handlers_are_given_back_after_an_error_and_a_request_can_be_used_again() -> None:
    class Broken(nd.callbacks.Callback):
        def step_end(self, trainer: nd.Trainer) -> None:
            raise RuntimeError("broken")

    before = signal.getsignal(signal.SIGINT)
    request = StopRequest(signals="SIGINT")  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="broken"):
        trainer(request, Broken()).fit(line())
    assert signal.getsignal(signal.SIGINT) is before
    for steps in ((4,), ()):
        training = trainer(Send(*steps), request)
        training.fit(line())
        assert training.state.step == (4 if steps else 30)


def test_signals_need_the_main_thread() -> None:
    errors: list[Exception] = []

    def run() -> None:
        try:
            trainer(StopRequest(signals=["SIGINT"])).fit(line())
        except nd.errors.ConfigError as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert "main thread" in str(errors[0])


def test_files_are_looked_for_twice_a_second_at_most(tmp_path: Path) -> None:
    class Counting(type(tmp_path)):  # type: ignore[misc]
        looks = 0

        def exists(self, **more: bool) -> bool:
            Counting.looks += 1
            return super().exists(**more)

    request = StopRequest(tmp_path / "stop")
    request.file = Counting(tmp_path / "stop")
    training = trainer(request, max_steps=500)
    began = time.monotonic()
    training.fit(line())
    assert 2 <= Counting.looks <= 2 + (time.monotonic() - began) / 0.5


@pytest.mark.parametrize("name", ["SIGUSR", "SIGKILL", "SIGNALLY", "9"])
def test_signals_that_cannot_be_handled_are_refused(name: str) -> None:
    with pytest.raises(nd.errors.ConfigError, match="is not a signal that can be handled"):
        StopRequest(signals=[name])


def test_a_request_listens_to_something() -> None:
    with pytest.raises(nd.errors.ConfigError, match="give a file, signals or both"):
        StopRequest()
