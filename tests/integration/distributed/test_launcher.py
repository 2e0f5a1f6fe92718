"""Processes that are started together: what happens when one of them fails, hangs or is to end. Real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.integration.distributed.together import ROOT

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="kills as POSIX systems do")

LAUNCHER = """
import sys
from neuro_divergent.interfaces.cli import launcher, this_machine
launcher._SECONDS_TO_FOLLOW, launcher._SECONDS_TO_DIE = 1.0, 1.0
processes, stall, script, *arguments = sys.argv[1:]
with this_machine.this_machine(int(processes)) as host:
    code = launcher.launch_on(host, [sys.executable, "-c", script, *arguments], stall=float(stall) or None)
assert "torch" not in sys.modules and "polars" not in sys.modules
sys.exit(code)
"""
# What a process does that waits for the others until it loses them, as in a collective operation.
WAITS = """
import os, signal, sys, time
rank = int(os.environ["RANK"])
open(f"{sys.argv[1]}/{rank}", "w").write(str(os.getpid()))
def wait(code):
    for _ in range(600):
        time.sleep(0.1)
    sys.exit(code)
"""


def start(
    tmp_path: Path, script: str, processes: int = 2, stall: float = 0.0, launcher: str = LAUNCHER
) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-c", launcher, str(processes), str(stall), WAITS + script, str(tmp_path)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ids(tmp_path: Path, processes: int = 2) -> list[int]:
    """Return the numbers of the processes, once all run."""
    for _ in range(300):
        found = [tmp_path / str(rank) for rank in range(processes)]
        if all(path.exists() and path.read_text() for path in found):
            return [int(path.read_text()) for path in found]
        time.sleep(0.1)
    raise AssertionError("the processes did not start")


def is_alive(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return True


def test_processes_know_their_place_and_the_first_has_the_terminal(tmp_path: Path) -> None:
    names = ["RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR"]
    script = f"""
print(*(os.environ[name] for name in {names}))
print("said", rank, file=sys.stderr)
"""
    said, complaint = (process := start(tmp_path, script, 3)).communicate(timeout=60)
    assert process.returncode == 0
    assert said == "0 3 0 3 127.0.0.1\n"
    assert complaint == "said 0\n"


@pytest.mark.parametrize(
    ("failing", "code", "message"),
    [
        ("print('error: the disk is full.', file=sys.stderr); sys.exit(4)", 4, "failed: the disk is full."),
        ("os.kill(os.getpid(), signal.SIGSEGV)", 139, "was killed by SIGSEGV."),
        (
            "os.kill(os.getpid(), signal.SIGKILL)",
            137,
            "was killed by SIGKILL (the system does that when memory runs out).",
        ),
        ("raise ValueError('odd')", 1, "failed: ValueError: odd"),
    ],
)
def test_one_message_names_the_process_that_failed_and_why(
    tmp_path: Path, failing: str, code: int, message: str
) -> None:
    script = f"if rank == 1: {failing}\nwait(6)"
    began = time.monotonic()
    said, complaint = (process := start(tmp_path, script)).communicate(timeout=60)
    assert process.returncode == code
    assert (said, complaint) == ("", f"error: process 1 of 2 {message}\n")
    assert time.monotonic() - began < 20
    assert not any(map(is_alive, ids(tmp_path)))


def test_others_that_do_not_notice_a_kill_are_ended_without_the_wait_for_what_they_say(tmp_path: Path) -> None:
    script = """
signal.signal(signal.SIGTERM, signal.SIG_IGN)  # as a process that waits inside a library
if rank == 1:
    os.kill(os.getpid(), signal.SIGKILL)
wait(6)
"""
    patient = LAUNCHER.replace("1.0, 1.0", "1000.0, 1000.0")
    complaint = (process := start(tmp_path, script, launcher=patient)).communicate(timeout=60)[1]
    assert process.returncode == 137
    assert complaint.startswith("error: process 1 of 2 was killed by SIGKILL")


def test_a_process_that_lost_contact_is_not_taken_for_the_one_that_failed(tmp_path: Path) -> None:
    script = "if rank == 0: sys.exit(6)\ntime.sleep(0.5)\nprint('error: odd.', file=sys.stderr); sys.exit(5)"
    complaint = (process := start(tmp_path, script)).communicate(timeout=60)[1]
    assert process.returncode == 5
    assert complaint == "error: process 1 of 2 failed: odd.\n"


def test_the_first_process_speaks_for_itself(tmp_path: Path) -> None:
    script = "if rank == 0: print('error: odd.', file=sys.stderr); sys.exit(2)\nwait(6)"
    complaint = (process := start(tmp_path, script)).communicate(timeout=60)[1]
    assert process.returncode == 2
    assert complaint == "error: odd.\n"


def test_a_mistake_that_all_processes_find_is_said_once(tmp_path: Path) -> None:
    script = "time.sleep(0.5 * (rank == 0))\nprint('error: odd.', file=sys.stderr); sys.exit(2)"
    complaint = (process := start(tmp_path, script)).communicate(timeout=60)[1]
    assert process.returncode == 2
    assert complaint == "error: odd.\n"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_reaches_every_process_once(tmp_path: Path, number: signal.Signals, code: int) -> None:
    script = f"""
heard = []
def hear(number, frame):
    heard.append(number)
    open(f"{{sys.argv[1]}}/heard-{{rank}}", "a").write("x")
signal.signal({int(number)}, hear)
os.rename(f"{{sys.argv[1]}}/{{rank}}", f"{{sys.argv[1]}}/ready-{{rank}}")
while not heard:
    time.sleep(0.05)
time.sleep(0.3)
sys.exit({code})
"""
    process = start(tmp_path, script)
    while not all((tmp_path / f"ready-{rank}").exists() for rank in range(2)):
        time.sleep(0.05)
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == code
    assert [(tmp_path / f"heard-{rank}").read_text() for rank in range(2)] == ["x", "x"]


def test_a_process_that_ignores_the_end_is_killed(tmp_path: Path) -> None:
    script = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nif rank == 1: sys.exit(4)\nwait(6)"
    process = start(tmp_path, script)
    process.communicate(timeout=60)
    assert process.returncode == 4
    assert not any(map(is_alive, ids(tmp_path)))


def require_end(numbers: list[int]) -> None:
    """Wait until processes have ended."""
    until = time.monotonic() + 60
    while any(map(is_alive, numbers)) and time.monotonic() < until:
        time.sleep(0.1)
    assert not any(map(is_alive, numbers))


def test_processes_end_when_the_launcher_is_killed(tmp_path: Path) -> None:
    script = "from neuro_divergent.interfaces.cli.supervised import attend\nattend()\nwait(6)"
    process = start(tmp_path, script)
    numbers = ids(tmp_path)
    time.sleep(1.0)  # until they watch the launcher
    process.kill()
    process.communicate()
    require_end(numbers)


def test_a_process_of_torchrun_ends_when_its_agent_is_killed(tmp_path: Path) -> None:
    worker = """
import os, sys, time
from neuro_divergent.interfaces.cli.supervised import attend_agent
attend_agent()
open(f"{sys.argv[1]}/0", "w").write(str(os.getpid()))
time.sleep(600)
"""
    agent = "import subprocess, sys\nsubprocess.run([sys.executable, '-c', *sys.argv[1:]])"
    told = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "TORCHELASTIC_RUN_ID": "run"}
    process = subprocess.Popen([sys.executable, "-c", agent, worker, str(tmp_path)], env=told)
    numbers = ids(tmp_path, 1)
    process.kill()
    process.wait()
    require_end(numbers)


def test_a_process_that_hangs_is_named_and_all_end(tmp_path: Path) -> None:
    script = """
from neuro_divergent.core.call_counter import CallCounter
counter = CallCounter.told(rank)
for call in range(5 if rank == 0 else 3):
    counter.add()
    time.sleep(0.05)
wait(6)
"""
    complaint = (process := start(tmp_path, script, stall=1.0)).communicate(timeout=60)[1]
    assert process.returncode == 134
    assert complaint == "error: process 1 of 2 hung: the others waited for it, and it was aborted.\n"
    assert not any(map(is_alive, ids(tmp_path)))


def test_processes_that_hang_in_the_same_place_are_all_ended(tmp_path: Path) -> None:
    script = """
from neuro_divergent.core.call_counter import CallCounter
CallCounter.told(rank).add()
wait(6)
"""
    complaint = (process := start(tmp_path, script, stall=1.0)).communicate(timeout=60)[1]
    assert process.returncode == 134
    reason = "and all others hung in the same place, and were aborted; which one did first is not known."
    assert complaint == f"error: process 0 of 2 {reason}\n"
    assert not any(map(is_alive, ids(tmp_path)))
