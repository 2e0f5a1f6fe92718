"""What a search shows while it runs: the best trials, the course of the best value, and the time left."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuro_divergent.core.formatting import format_duration, format_number
from neuro_divergent.interfaces.cli.progress import shown_progress
from neuro_divergent.search.progress import best_so_far, time_left

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from neuro_divergent.interfaces.cli.screen import Screen
    from neuro_divergent.search.config import StudyConfig
    from neuro_divergent.search.limits import Limits
    from neuro_divergent.search.trial import Trial

_BARS, _PLAIN_BARS = "▁▂▃▄▅▆▇█", "_.-=+*#@"
_SHOWN = 5
_SPARK_WIDTH = 40


def sparkline(values: Sequence[float], *, plain: bool = False) -> str:
    """Return numbers as a line of bars, at most 40 of them."""
    bars = _PLAIN_BARS if plain else _BARS
    if len(values) > _SPARK_WIDTH:
        values = [values[place * (len(values) - 1) // (_SPARK_WIDTH - 1)] for place in range(_SPARK_WIDTH)]
    if not values:
        return ""
    low, high = min(values), max(values)
    size = (high - low) or 1.0
    return "".join(bars[round((value - low) / size * (len(bars) - 1))] for value in values)


def trial_rows(trials: Sequence[Trial], config: StudyConfig, most: int = _SHOWN, *, one_line: bool = False) -> Table:
    """Return a table of the best trials, with the settings in which they differ.

    With ``one_line`` each trial has a line, which is cut at the width of the terminal; else settings are wrapped.
    """
    from neuro_divergent.interfaces.cli.screen import new_table

    goals = config.objectives
    done = [trial for trial in trials if trial.is_candidate]
    ordered = sorted(done, key=lambda trial: [goal.sign * trial.values[goal.name] for goal in goals])[:most]
    names = list(dict.fromkeys(name for trial in ordered for name in trial.settings))
    names = [name for name in names if len({str(trial.settings.get(name)) for trial in ordered}) > 1]
    titles = ["trial", *(goal.name for goal in goals), "settings"]
    fixed = titles if one_line else titles[:-1]
    table = new_table(*titles, right=titles[:-1], fixed=fixed, overflow="ellipsis" if one_line else "fold")
    if one_line:  # the settings give way, and no number is cut
        table.expand, table.columns[-1].ratio = True, 1
    for trial in ordered:
        values = [format_number(trial.values[goal.name]) for goal in goals]
        table.add_row(str(trial.number), *values, describe_settings(trial.settings, names))
    return table


def describe_settings(settings: dict[str, Any], names: Sequence[str] | None = None) -> str:
    """Return settings as ``name=value``, without the sections that their names begin with."""
    shown = {name: settings[name] for name in (settings if names is None else names) if name in settings}
    return ", ".join(
        f"{name.partition('.')[2] or name}={format_number(value) if isinstance(value, float) else value}"
        for name, value in shown.items()
    )


def summary(trials: Sequence[Trial], config: StudyConfig, *, plain: bool = False) -> list[str]:
    """Return how many trials there are in each state, and the course of the best value."""
    counts = Counter(trial.state for trial in trials)
    lines = [", ".join(f"{count} {state}" for state, count in sorted(counts.items())) or "no trials yet"]
    course = best_so_far(trials, config)
    if course:
        lines.append(f"best {config.objectives[0].name} {format_number(course[-1])}  {sparkline(course, plain=plain)}")
    return lines


def running_rows(trials: Sequence[Trial], now: float) -> list[str]:
    """Return a line for each trial that runs: since when, what it has reported, and its settings."""
    lines = []
    for trial in trials:
        if trial.state == "running":
            since = "" if trial.started is None else f" for {format_duration(max(0.0, now - trial.started))}"
            last = f", {format_number(trial.reports[max(trial.reports)])} so far" if trial.reports else ""
            lines.append(f"trial {trial.number} runs{since}{last}: {describe_settings(trial.settings)}")
    return lines


@contextmanager
def watching(directory: Path, screen: Screen, limits: Limits, jobs: int) -> Iterator[None]:
    """Show a study in a terminal while the block runs, read once a second from its files.

    A terminal that cannot move its cursor gets a line for each trial that ends instead, and what is no terminal a line
    now and then.
    """
    if screen.is_silent or not screen.messages.is_terminal:
        with shown_progress(screen.messages):
            yield
        return
    from rich.live import Live

    plain = not (screen.messages.encoding or "").lower().startswith("utf")
    view = _View(directory, limits, jobs, plain=plain)
    if screen.messages.is_dumb_terminal:
        with _telling(view, screen):
            yield
        return
    with Live(get_renderable=view.render, console=screen.messages, refresh_per_second=1, transient=True):
        yield


@contextmanager
def _telling(view: _View, screen: Screen) -> Iterator[None]:
    """Write what is new once a second while the block runs."""
    is_over = threading.Event()
    view.news()  # trials of a study that is resumed are not new

    def tell() -> None:
        while not is_over.wait(1.0):
            for line in view.news():
                screen.messages.print(line, markup=False)

    thread = threading.Thread(target=tell, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


class _View:
    """Reads a study for the thread that draws it, without taking part in it."""

    def __init__(self, directory: Path, limits: Limits, jobs: int, *, plain: bool = False) -> None:
        self._directory, self._limits, self._jobs, self._plain = directory, limits, jobs, plain
        self._deadline = limits.deadline()
        self._study: Any = None
        self._shown: RenderableType = "starting"
        self._told: set[int] = set()

    def render(self) -> RenderableType:
        """Return what is to be shown now; if the study cannot be read at the moment, what was shown before."""
        from rich.console import Group
        from rich.text import Text

        with suppress(Exception):
            trials = self._trials()
            if trials is not None:
                config = self._study.config
                left = time_left(trials, self._limits, self._jobs, self._deadline)
                lines = summary(trials, config, plain=self._plain)
                remaining = f", about {format_duration(left)} left" if left else ""
                lines[0] = f"{self._progress(trials)}{remaining}: {lines[0]}"
                running = running_rows(trials, time.time())[:_SHOWN]
                cut = [Text(line, no_wrap=True, overflow="ellipsis") for line in (*lines, *running)]
                best = trial_rows(trials, config, one_line=True)
                self._shown = Group(*cut, *([best] if best.row_count else []))
        return self._shown

    def news(self) -> list[str]:
        """Return a line for each trial that has ended since the last call."""
        with suppress(Exception):  # it cannot be read at the moment
            done = [trial for trial in self._trials() or [] if trial.is_done and trial.number not in self._told]
            self._told.update(trial.number for trial in done)
            return [self._line(trial) for trial in done]
        return []

    def _line(self, trial: Trial) -> str:
        goals = self._study.config.objectives
        values = ", ".join(f"{goal.name} {format_number(trial.values[goal.name])}" for goal in goals if trial.values)
        return f"trial {trial.number} {trial.state}: {values or trial.reason}"

    def _progress(self, trials: Sequence[Trial]) -> str:
        done = sum(trial.counts and trial.is_done for trial in trials)
        return f"{done} trials" if self._limits.trials is None else f"{done} of {self._limits.trials} trials"

    def _trials(self) -> list[Trial] | None:
        """Return the trials now; ``None`` before the study has begun."""
        from neuro_divergent.search.reading.recorded_study import RecordedStudy
        from neuro_divergent.search.study import STUDY, Study

        if self._study is None and (self._directory / STUDY).is_file():
            recorded = RecordedStudy.load(self._directory)
            # Trials in a database elsewhere are read from there: whoever runs the study can reach it.
            self._study = Study.load(self._directory) if recorded.note else recorded
        return None if self._study is None else self._study.trials
