"""Progress: nothing unless it is asked for, one line that changes on a terminal, few lines in a log."""

from __future__ import annotations

import io
import re
import subprocess
import sys

import pytest

from neuro_divergent.core import progress_display
from neuro_divergent.core.progress import Task, following, is_asked_for, show_progress, track


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Show what takes no time as well."""
    monkeypatch.setattr(progress_display, "_PATIENCE", 0.0)
    monkeypatch.setattr(progress_display, "_BETWEEN", dict.fromkeys(progress_display._BETWEEN, 0.0))


def count(total: int | None = 100, steps: int = 100) -> None:
    with track("Training", total) as task:
        for step in range(steps):
            task.update(step + 1, f"loss {1 / (step + 1):.3g}")


def test_nothing_is_written_unless_it_is_asked_for(capfd: pytest.CaptureFixture[str]) -> None:
    count()
    assert capfd.readouterr() == ("", "")
    assert not is_asked_for()


def test_a_terminal_shows_one_line_that_changes_and_then_the_result() -> None:
    file = Terminal()
    with show_progress(file=file):
        count()
    assert file.getvalue().count("\n") == 1
    states = [part for part in file.getvalue().split("\r\x1b[K") if part]
    assert len(states) > 50
    assert "[########........] 50/100 steps, " in file.getvalue()
    assert re.fullmatch(r"Training: 100 steps in .*, loss 0.01\n", states[-1])


def test_a_log_gets_ten_lines_at_most_and_the_result() -> None:
    file = io.StringIO()
    with show_progress(file=file):
        count(1000, 1000)
    lines = file.getvalue().splitlines()
    assert 2 < len(lines) <= 11
    assert "\r" not in file.getvalue()
    assert "\x1b" not in file.getvalue()
    assert lines[-1].startswith("Training: 1,000 steps in ")


def test_a_task_of_unknown_length_does_not_fill_a_log() -> None:
    file = io.StringIO()
    with show_progress(file=file):
        count(None, 5000)
    assert len(file.getvalue().splitlines()) == 1


def test_what_ends_soon_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_display, "_PATIENCE", 60.0)
    for file in (Terminal(), io.StringIO()):
        with show_progress(file=file):
            count()
        assert file.getvalue() == ""


def test_a_task_inside_of_another_is_shown_in_the_same_line_and_leaves_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    file = Terminal()
    with show_progress(file=file), track("Cross-validation", 2, "fold") as folds:
        for fold in range(2):
            count(4, 4)
            folds.update(fold + 1, f"fold {fold + 1}")
    assert file.getvalue().count("\n") == 1
    assert "1/2 folds" in file.getvalue()
    assert "fold 1 | Training: 4/4 steps" in file.getvalue()


@pytest.mark.parametrize("error", [BrokenPipeError, ValueError])  # nobody reads; the file is closed
def test_work_goes_on_where_its_progress_cannot_be_written(error: type[Exception]) -> None:
    class Gone(Terminal):
        def write(self, text: str) -> int:
            raise error

    with show_progress(file=Gone()), track("Training", 10) as task:
        for step in range(10):
            task.update(step + 1)
    assert task.done == 10


def test_an_error_is_named_at_the_end() -> None:
    file = io.StringIO()

    def fail() -> None:
        with track("Training", 10) as task:
            task.update(3)
            raise KeyboardInterrupt

    with show_progress(file=file), pytest.raises(KeyboardInterrupt):
        fail()
    assert file.getvalue().splitlines()[-1] == "Training: ended after 3 of 10 steps: KeyboardInterrupt"


def test_progress_goes_on_until_it_is_turned_off_and_a_block_restores_what_was() -> None:
    file = io.StringIO()
    show_progress(file=file)
    try:
        assert is_asked_for()
        with show_progress(False):
            assert not is_asked_for()
        assert is_asked_for()
        with following(None) as report:
            assert report is None
            assert is_asked_for()
    finally:
        show_progress(False)
    assert not is_asked_for()


def test_a_function_given_as_progress_is_called_and_nothing_is_shown() -> None:
    def tell(done: int) -> None:
        """Do nothing."""

    with following(tell) as report:
        assert report is tell
        assert not is_asked_for()
    with following(True) as report:
        assert report is None
        assert is_asked_for()
    assert not is_asked_for()


def test_the_time_left_follows_from_what_was_done_since_it_began() -> None:
    task = Task("Training", 100)
    task.done = 50
    with task:
        assert task.estimate() is None  # nothing was done in this process yet
        task._began -= 10.0
        task.update(75)
        assert task.estimate() == pytest.approx(10.0, rel=0.01)


def test_a_forked_process_does_not_write_to_the_line_of_its_parent() -> None:
    code = (
        "import os, sys\n"
        "from neuro_divergent.core import progress_display\n"
        "from neuro_divergent.core.progress import show_progress, track\n"
        "progress_display._PATIENCE = 0\n"
        "show_progress()\n"
        "child = os.fork()\n"
        "with track('Child' if child == 0 else 'Parent', 1) as task:\n"
        "    task.update(1)\n"
        "if child: os.waitpid(child, 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "Parent: 1 step in" in done.stderr
    assert "Child" not in done.stderr
    assert done.stdout == ""
