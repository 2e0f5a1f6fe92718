"""One task of a search, as a worker process runs it: a candidate is fitted and forecasts windows it has not seen."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from neuro_divergent.core.arrays import Floats, Floats32, Ints
from neuro_divergent.data.panel import Panel
from neuro_divergent.forecasting.forecaster import Forecaster
from neuro_divergent.search.auto.candidate import Candidate, Setting, build_network, build_statistical, visible
from neuro_divergent.search.auto.cutoffs import Cutoffs
from neuro_divergent.search.auto.member import network_forecast, statistical_forecast
from neuro_divergent.search.auto.naive import naive_forecast


@dataclass(frozen=True, eq=False)
class FitTask:
    """Something to fit, and what to forecast with it.

    Attributes:
        candidate: What to fit.
        setting: What all candidates share.
        round: Name of the round, for tables: ``probe``, ``full`` or ``refit``.
        series: Series to forecast.
        backs: Cut-offs, as rows from the end of a series; empty for none, ``(0,)`` for what follows the data.
        steps: Steps of training of a network; at most if ``validated``.
        validated: Whether a validation part decides the number of steps.
        retrained: Whether it is trained again on all rows once a validation part has given the number of steps.
        history: Rows of history of a network, where they are known already.
        seconds: Time of training after which it is stopped; ``None`` for no limit.
        directory: Where a fitted network is saved; ``None`` for nowhere.
    """

    candidate: Candidate
    setting: Setting
    round: str
    series: Ints
    backs: tuple[int, ...]
    steps: int = 0
    validated: bool = False
    retrained: bool = True
    history: int | None = None
    seconds: float | None = None
    directory: str | None = None


@dataclass(frozen=True, eq=False)
class FitResult:
    """What a task gave.

    Attributes:
        forecasts: ``(cut-offs, series, horizon)``; NaN where a window has no history.
        steps: Steps of training to fit it to all rows with; 0 for models that are not networks.
        history: Rows of history of a network.
        stopped: Why training was stopped early by the clock; ``None`` if it was not.
        wall: Seconds of the task.
        processor: Processor seconds of it.
        work: Units of work: steps of training, or rows that statistical models were estimated from.
        measured: Seconds of that work alone.
        is_cold: Whether it was the first task of its kind in its process, which imports and compiles what it needs.
    """

    forecasts: Floats32
    steps: int = 0
    history: int = 0
    stopped: str | None = None
    wall: float = 0.0
    processor: float = 0.0
    work: float = 0.0
    measured: float = 0.0
    is_cold: bool = False


def run_task(task: FitTask, panel: Panel) -> FitResult:
    """Fit a candidate on what is known at the earliest cut-off, and forecast from all of them.

    Nothing after the earliest cut-off is used to train a network, and nothing after a cut-off to forecast from it.
    """
    began, processor = time.monotonic(), time.process_time()
    kind = task.candidate.kind if task.candidate.kind == "network" else task.candidate.name
    is_cold = kind not in _WARM
    if task.candidate.kind == "network":
        made = _network(task, panel)
    elif task.candidate.kind == "statistical":
        made = _statistical(task, panel)
    else:
        made = _naive(task, panel)
    _WARM.add(kind)
    return FitResult(
        **made,  # type: ignore[arg-type]
        wall=time.monotonic() - began,
        processor=time.process_time() - processor,
        is_cold=is_cold,
    )


def _naive(task: FitTask, panel: Panel) -> dict[str, object]:
    data, cutoffs = _windows(task, panel)
    usable = np.nonzero(cutoffs.usable)
    made = naive_forecast(
        task.candidate.model,
        data,
        cutoffs.series[usable[1]],
        cutoffs.targets[usable],
        task.setting.horizon,
        task.setting.season,
    )
    return {"forecasts": _laid_out(cutoffs, made)}


def _statistical(task: FitTask, panel: Panel) -> dict[str, object]:
    """Forecast with a statistical model; the first window is forecast twice, so that compiling is not measured."""
    data, cutoffs = _windows(task, visible(task.candidate, panel.take(task.series)), np.arange(len(task.series)))
    usable = np.nonzero(cutoffs.usable)
    series, targets = cutoffs.series[usable[1]], cutoffs.targets[usable]
    if not len(series):
        return {"forecasts": _laid_out(cutoffs, np.zeros((0, task.setting.horizon)))}
    model = build_statistical(task.candidate, task.setting)
    if task.candidate.name not in _WARM:
        statistical_forecast(model.clone(), data, series[:1], targets[:1], task.setting.horizon)
    began = time.monotonic()
    made = statistical_forecast(model, data, series, targets, task.setting.horizon)
    work = float((targets - data.offsets[:-1][series]).sum())
    return {"forecasts": _laid_out(cutoffs, made), "work": work, "measured": time.monotonic() - began}


def _network(task: FitTask, panel: Panel) -> dict[str, object]:
    data, cutoffs = _windows(task, visible(task.candidate, panel))
    is_refit = task.backs in ((), (0,))
    train = visible(task.candidate, panel) if is_refit else cutoffs.training_part()
    changes: dict[str, object] = {"task.refit": False}
    if task.history is not None:
        changes["task.input_size"] = task.history
    if task.seconds is not None:
        changes["training.max_seconds"] = max(task.seconds, 0.01)
    forecaster = build_network(
        task.candidate, task.setting, steps=task.steps, validated=task.validated, changes=changes
    )
    forecaster.fit(train)
    work, seconds = _spent(forecaster)
    steps, stopped = _steps(forecaster), None
    if task.validated:
        assert forecaster.split is not None
        has_validation = len(forecaster.split.validation) > 0
        steps = min(task.steps, max(steps, _FEWEST) if has_validation else _UNVALIDATED)
        if task.retrained if has_validation else steps < task.steps:
            if task.seconds is not None:
                changes["training.max_seconds"] = max(task.seconds - seconds, 0.01)
            second = build_network(task.candidate, task.setting, steps=steps, validated=False, changes=changes)
            second.fit(train)
            more, longer = _spent(second)
            work, seconds = work + more, seconds + longer
            if _steps(second) >= steps:
                forecaster = second
            else:
                stopped = "the second training was stopped by the clock"
    usable = np.nonzero(cutoffs.usable)
    made = network_forecast(forecaster, data, cutoffs.series[usable[1]], cutoffs.targets[usable])
    if task.directory is not None:
        forecaster.save(Path(task.directory))
    return {
        "forecasts": _laid_out(cutoffs, made),
        "steps": steps,
        "history": forecaster.task.history,
        "stopped": stopped,
        "work": work,
        "measured": seconds,
    }


def _spent(forecaster: Forecaster) -> tuple[float, float]:
    """Return the steps that a training took until it ended, and their seconds."""
    history = forecaster.history
    rows = history.drop_nulls("seconds") if "seconds" in history.columns else history
    if not rows.height:
        return float(_steps(forecaster)), 0.0
    return float(rows["step"][-1]), float(rows["seconds"][-1])


def _steps(forecaster: Forecaster) -> int:
    """Return the steps of training that the weights have."""
    trained_on = forecaster.fitted.trained_on
    assert trained_on is not None
    return trained_on.steps


def _windows(task: FitTask, panel: Panel, series: Ints | None = None) -> tuple[Panel, Cutoffs]:
    """Return the panel to forecast from and the windows; what follows the data is forecast from a longer panel."""
    chosen, horizon = task.series if series is None else series, task.setting.horizon
    if task.backs != (0,):
        return panel, Cutoffs(panel, chosen, horizon, task.backs)
    longer = panel.extended(horizon)
    return longer, Cutoffs(longer, chosen, horizon, (horizon,))


def _laid_out(cutoffs: Cutoffs, made: Floats) -> Floats32:
    result = np.full((len(cutoffs), len(cutoffs.series), cutoffs.horizon), np.nan, np.float32)
    result[cutoffs.usable] = made
    return result


_FEWEST = 100  # steps of a training on all rows: with few windows, validation may end within the warm-up of the rate
_UNVALIDATED = 200  # steps where the series are too short for a validation part
_WARM: set[str] = set()  # kinds of models that were run in this process before
