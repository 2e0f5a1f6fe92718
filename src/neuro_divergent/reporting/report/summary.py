"""The summary of a run in sentences."""

from __future__ import annotations

from typing import Any, NamedTuple

import polars as pl

from neuro_divergent.core.formatting import format_count, format_duration, format_number, format_percent
from neuro_divergent.diagnostics.finding import Diagnosis
from neuro_divergent.reporting.report.facts import best_step, ending
from neuro_divergent.reporting.report.plain import part, text
from neuro_divergent.reporting.report.scores import Scores
from neuro_divergent.runs.status import RunSummary
from neuro_divergent.runs.values import count, number

_STATES = {
    "running": "This run is still training",
    "stalled": "This run has no heartbeat any more, although its process still holds the lock",
    "interrupted": "This run was interrupted",
    "failed": "This run failed",
    "diverged": "Training of this run diverged",
    "killed": "This run was killed before it finished",
    "damaged": "The directory of this run is damaged",
}


class State(NamedTuple):
    """State of a run that is not finished: whether it needs attention, and what it is in a sentence or two."""

    is_bad: bool
    text: str


def describe_state(run: RunSummary) -> State | None:
    """Say that a run is not finished, and how far it is; ``None`` for a finished one."""
    if run.state == "finished":
        return None
    sentence = _STATES[run.state]
    if run.step is not None:
        sentence += f", at step {run.step:,}" + (f" of {run.total_steps:,}" if run.total_steps else "")
    if run.state == "damaged" and run.damaged:
        sentence += f" ({', '.join(run.damaged)} cannot be read)"
    message = f" Message: {text(run.message)}" if run.message else ""
    return State(run.state != "running", f"{sentence}.{message} The page shows its state so far.")


def describe_quality(scores: Scores | None, errors: pl.DataFrame | None, diagnosis: Diagnosis | None) -> list[str]:
    """Return paragraphs on how good the forecasts are, whether the intervals hold, and what the diagnosis found."""
    found = [[] if scores is None else [*_scores(scores, errors), scores.note], [_findings(diagnosis)]]
    joined = [" ".join(sentence for sentence in sentences if sentence) for sentences in found]
    return [paragraph for paragraph in joined if paragraph]


def key_numbers(
    scores: Scores | None, history: pl.DataFrame | None, parameters: int | None
) -> list[tuple[str, str, str]]:
    """Return the numbers that matter most: what it is, how large, and what that means."""
    found = []
    if scores is not None:
        own = scores.own
        found.append(("Mean absolute error", format_number(own["mae"]), f"{scores.part} part"))
        found.append(("Skill", format_percent(own["skill"]), "of the seasonal naive error saved"))
        if scores.coverage:
            row = scores.coverage[0]
            found.append((f"{row['level']:g} % interval", f"{row['coverage']:.1f} %", "of the values inside"))
    elif history is not None and (best := best_step(history)) is not None:
        found.append((best[0].capitalize(), format_number(best[1]), f"lowest, at step {best[2]:,}"))
    last = {} if history is None else history.row(-1, named=True)
    if (seconds := number(last.get("seconds"))) is not None:
        found.append(("Training", format_duration(seconds), format_count(count(last.get("step")) or 0, "step")))
    if parameters is not None:
        found.append(("Parameters", format_number(parameters), "trained weights"))
    return found


def describe_task(config: dict[str, Any], data: dict[str, Any] | None) -> str:
    """Say what the model forecasts, from how much history and data."""
    task, model = part(config, "task"), text(part(config, "model").get("name"))
    horizon, history = count(task.get("horizon")), count(task.get("input_size"))
    if not model or horizon is None:
        return "Its settings cannot be read, so what it was to learn is not known."
    sentence = f"{model} forecasts {format_count(horizon, 'step')} ahead"
    if history:
        sentence += f" from {format_count(history, 'step')} of history"
    size, series = count((data or {}).get("rows")), count((data or {}).get("series"))
    if size is not None and series is not None:
        sentence += f", trained on {format_count(size, 'row')} of {series:,} series"
    return f"{sentence}."


def describe_training(history: pl.DataFrame | None, events: list[dict[str, Any]]) -> str:
    """Say how long training took, when the loss was lowest, and why it ended."""
    if history is None:
        return "The history of its training has no row yet."
    last = history.row(-1, named=True)
    step, seconds, why = count(last.get("step")), number(last.get("seconds")), ending(events)
    sentence = f"Training took {format_count(step or 0, 'step')}"
    if seconds is not None:
        sentence += f" in {format_duration(seconds)}"
    if (best := best_step(history)) is not None:
        sentence += f"; the lowest {best[0]}, {format_number(best[1])}, was at step {best[2]:,}"
    return f"{sentence}." + (f" It ended: {why.rstrip('.')}." if why else "")


def _scores(scores: Scores, errors: pl.DataFrame | None) -> list[str]:
    found = []
    own = scores.own
    if own["bias"] == own["bias"] and own["mae"] > 0:
        side = "high" if own["bias"] > 0 else "low"
        ratio = abs(own["bias"]) / own["mae"]
        bias = "have no notable bias" if ratio < 0.1 else f"are {format_number(abs(own['bias']))} too {side} on average"
        found.append(f"Forecasts {bias}.")
    if errors is not None and errors.height > 1:
        known = errors["relative"].drop_nulls()
        if len(known):
            better = int((known < 1).sum())
            some = "all" if better == len(known) else f"{better:,} of" if better else "none of"
            found.append(f"It is better than the seasonal naive forecast in {some} {len(known):,} series.")
    return [*found, *scores.intervals()]


def _findings(diagnosis: Diagnosis | None) -> str:
    if diagnosis is None:
        return ""
    first = f" First: {diagnosis.findings[0].title.rstrip('.')}." if diagnosis.findings else ""
    return f"Diagnosis: {diagnosis.summary}{first}"
