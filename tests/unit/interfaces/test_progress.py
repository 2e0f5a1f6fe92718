"""Progress of what takes long, on a terminal and elsewhere."""

import io
import time

import pytest
from rich.console import Console

from neuro_divergent.core.progress import track
from neuro_divergent.interfaces.cli.interruption import ends_with
from neuro_divergent.interfaces.cli.progress import LinesNowAndThen, shown_progress


def terminal() -> Console:
    return Console(file=io.StringIO(), force_terminal=True, width=100, color_system=None)


def test_a_terminal_gets_one_line_with_the_time_left_that_is_taken_away_again() -> None:
    console = terminal()
    with shown_progress(console), track("Cross-validation", 4, "fold") as task:
        task._began -= 10  # as if it had begun ten seconds ago
        task.update(1, "nlinear, fold 1")
        time.sleep(0.6)  # until it is drawn again
    text = console.file.getvalue()
    assert "1/4 folds, 32 s left, nlinear, fold 1" in text or "1/4 folds, 31 s left, nlinear, fold 1" in text
    assert text.count("\x1b[?25h") == 1  # the cursor is shown again
    assert "\x1b[2K" in text.rpartition("nlinear, fold 1")[2]


def test_what_takes_less_than_half_a_second_shows_nothing() -> None:
    console = terminal()
    with shown_progress(console), track("Forecasting", 10, "series") as task:
        for done in range(10):
            task.update(done)
    assert "Forecasting" not in console.file.getvalue()


def test_a_pipe_gets_lines_now_and_then() -> None:
    console = Console(file=io.StringIO(), width=100)
    display = LinesNowAndThen(console, seconds=0.0)
    with track("Auditing", 1000, "training") as task:
        for done in range(1001):
            task.done = done
            display.update((task,))
    lines = console.file.getvalue().splitlines()
    assert 9 <= len(lines) <= 12
    assert "\x1b" not in "".join(lines)
    assert lines[1].startswith("Auditing: 100/1,000 trainings")


def test_a_pipe_gets_nothing_of_what_takes_seconds() -> None:
    console = Console(file=io.StringIO(), width=100)
    with shown_progress(console), track("Auditing", 3, "training") as task:
        for done in range(4):
            task.update(done)
    assert console.file.getvalue() == ""


def test_a_quiet_console_shows_nothing_and_asks_for_nothing() -> None:
    with shown_progress(Console(quiet=True)), track("Auditing", 3) as task:
        assert not task.is_shown


def test_what_is_shown_ends_with_the_block() -> None:
    with shown_progress(terminal(), "Exporting"), track("inside", 3) as task:
        assert task.is_shown
    with track("after", 3) as task:
        assert not task.is_shown


def test_an_interruption_takes_the_line_away_and_says_how_to_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    console = terminal()
    with (
        pytest.raises(SystemExit) as ending,
        ends_with("Interrupted; the same command goes on."),
        shown_progress(console),
        track("Training", 10),
    ):
        raise KeyboardInterrupt
    assert ending.value.code == 130
    assert capsys.readouterr().err == "Interrupted; the same command goes on.\n"
    assert console.file.getvalue().count("\x1b[?25h") == 1
