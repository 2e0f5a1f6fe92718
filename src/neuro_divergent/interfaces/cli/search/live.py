"""What a search shows while it runs: the best trials, the course of the best value, and the time left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuro_divergent.core.formatting import format_duration, format_number
from neuro_divergent.search.progress import best_so_far, time_left

if TYPE_CHECKING:
    from rich.console import RenderableType

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


def trial_rows(trials: Sequence[Trial], config: StudyConfig, most: int = _SHOWN) -> RenderableType:
    """Return a table of the best trials, with the settings in which they differ."""
    from neuro_divergent.interfaces.cli.screen import new_table

    goals = config.objectives
    done = [trial for trial in trials if trial.is_candidate]
    ordered = sorted(done, key=lambda trial: [goal.sign * trial.values[goal.name] for goal in goals])[:most]
    names = list(dict.fromkeys(name for trial in ordered for name in trial.settings))
    names = [name for name in names if len({str(trial.settings.get(name)) for trial in ordered}) > 1]
    titles = ["trial", *(goal.name for goal in goals), "settings"]
    table = new_table(*titles, right=titles[:-1], fixed=titles[:-1], overflow="fold")
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


@contextmanager
def watching(directory: Path, screen: Screen, limits: Limits, jobs: int) -> Iterator[None]:
    """Show a study in a terminal while the block runs, read once a second from its storage."""
    if screen.is_silent or not screen.messages.is_terminal:
        yield
        return
    from rich.live import Live

    view = _View(directory, limits, jobs)
    with Live(get_renderable=view.render, console=screen.messages, refresh_per_second=1, transient=True):
        yield


class _View:
    """Reads a study for the thread that draws it, with a storage of its own."""

    def __init__(self, directory: Path, limits: Limits, jobs: int) -> None:
        self._directory, self._limits, self._jobs = directory, limits, jobs
        self._deadline = limits.deadline()
        self._study: Any = None
        self._shown: RenderableType = "starting"

    def render(self) -> RenderableType:
        """Return what is to be shown now; if the study cannot be read at the moment, what was shown before."""
        from rich.console import Group

        from neuro_divergent.search.study import STUDY, Study

        with suppress(Exception):
            if self._study is None and (self._directory / STUDY).is_file():
                self._study = Study.load(self._directory)
            if self._study is not None:
                trials, config = self._study.trials, self._study.config
                left = time_left(trials, self._limits, self._jobs, self._deadline)
                lines = summary(trials, config)
                if left is not None:
                    lines[0] += f", about {format_duration(left)} left"
                self._shown = Group(*lines, trial_rows(trials, config))
        return self._shown
