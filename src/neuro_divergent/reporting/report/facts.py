"""Facts about a run, as pairs of term and description."""

from __future__ import annotations

import shlex
import statistics
from typing import Any

import polars as pl

from neuro_divergent.core.formatting import format_count, format_duration, format_number, format_percent
from neuro_divergent.reporting.report.plain import names, part, rows, text
from neuro_divergent.runs.values import count, number

Facts = list[tuple[str, str]]


def data_facts(data: dict[str, Any] | None, config: dict[str, Any]) -> Facts:
    """Describe the data, as far as its profile is known."""
    facts = [("File", text(part(config, "data").get("path")) or "a table in memory")]
    if data is None:
        return facts
    lengths, seasonality = part(data, "lengths"), part(data, "seasonality")
    fractions = {name: number(data.get(f"{name}_share")) for name in ("missing", "zero", "negative", "outlier")}
    least, middle, most = (number(lengths.get(name)) for name in ("min", "median", "max"))
    size = format_count(count(data.get("rows")) or 0, "row") + f" in {count(data.get('series')) or 0:,} series"
    if least is not None and middle is not None and most is not None:
        several = f", from {least:,.0f} to {most:,.0f} rows long (median {middle:,.0f})"
        size += f" of {least:,.0f} each" if least == most else several
    span = f"{text(data.get('begin'))} to {text(data.get('end'))}, one row every {text(data.get('frequency'))}"
    facts += [("Size", size), ("Time", span)]
    if (missing := fractions["missing"]) is not None:
        facts.append(("Missing", f"{format_percent(missing)} of the values" if missing else "nothing"))
    if fractions["zero"] is not None and fractions["negative"] is not None:
        zero, negative = format_percent(fractions["zero"]), format_percent(fractions["negative"])
        facts.append(("Signs", f"{zero} zero, {negative} negative"))
    if (outliers := fractions["outlier"]) is not None:
        largest = number(data.get("largest_outlier"))
        # A single far outlier is worth mentioning, too.
        far = "" if largest is None else f"; the farthest is {format_number(largest)} usual spreads away"
        facts.append(("Outliers", f"{format_percent(outliers)} of the values{far}" if outliers else "none"))
    if (ratio := number(data.get("scale_ratio"))) is not None and (count(data.get("series")) or 0) > 1:
        facts.append(("Scale", f"the largest series is {format_number(ratio)} times as large as the smallest"))
    if (strength := number(seasonality.get("strength"))) is not None:
        period = count(seasonality.get("period")) or 0
        meaning = "(1 repeats itself exactly, 0 not)"
        facts.append(("Season", f"{format_count(period, 'row')}, strength {strength:.2f} {meaning}"))
    if constant := count(data.get("constant_series")):
        named = names(data, "short_names")
        some = f": {', '.join(named)}" + (", …" if len(named) < constant else "") if named else ""
        facts.append(("Constant", f"{constant:,} series never change{some}"))
    looked_at = count(part(data, "looked_at").get("rows"))
    if looked_at is not None and looked_at < (count(data.get("rows")) or 0):
        facts.append(("Profiled", f"{format_count(looked_at, 'row')}; fractions and sizes are of these"))
    return facts


def covariate_rows(data: dict[str, Any] | None) -> list[list[str]]:
    """Return the covariates as rows of text: name, role, kind, missing, correlation, correlation one step ahead."""
    return [
        [
            text(row.get("name")),
            text(row.get("role")),
            text(row.get("kind")),
            "yes" if row.get("constant") is True else "no",
            format_percent(number(row.get("missing_share"))),
            *(format_number(number(row.get(name))) for name in ("correlation", "lead_correlation")),
        ]
        for row in rows(data, "covariates")
    ]


def task_facts(config: dict[str, Any], parameters: int | None) -> Facts:
    """Describe the task and the model."""
    task, model = part(config, "task"), part(config, "model")
    known = "" if parameters is None else f" with {format_count(parameters, 'parameter')}"
    horizon, history = count(task.get("horizon")), count(task.get("input_size"))
    facts = [("Model", f"{text(model.get('name')) or 'unknown'}{known}")]
    if settings := _settings(model):
        facts.append(("Its settings", settings))
    if horizon is not None:
        source = f" from {format_count(history, 'step')} of history" if history else ""
        facts.append(("Task", f"{format_count(horizon, 'step')} ahead{source}"))
    for word, name in (("Loss", "loss"), ("Scaler", "scaler"), ("Series scaler", "series_scaler")):
        if shown := show_component(task.get(name)):
            facts.append((word, shown))
    held_out = [f"{_amount(task.get(name))} for {name}" for name in ("validation", "test") if number(task.get(name))]
    return [*facts, ("Held out", ", ".join(held_out) or "nothing")]


def training_facts(
    config: dict[str, Any], history: pl.DataFrame | None, events: list[dict[str, Any]], total_steps: int | None
) -> Facts:
    """Describe the training settings, its progress and why it ended."""
    training = part(config, "training")
    words = {"clip": "Clipping"}
    facts = [
        (words.get(name, name.capitalize().replace("_", " ")), shown)
        for name in ("optimizer", "schedule", "clip", "early_stopping", "batch_size", "precision")
        if (shown := show_component(training.get(name)))
    ]
    starts = [event for event in events if event["event"] == "start"]
    if starts:
        device, threads = text(starts[-1].get("device")), count(starts[-1].get("threads"))
        facts.append(("Device", device + (f", {format_count(threads, 'thread')}" if threads else "")))
    if history is not None:
        facts += _progress(history, total_steps)
    if len(starts) > 1:
        facts.append(("Starts", f"{len(starts)}; it was interrupted and resumed"))
    if ended := ending(events):
        facts.append(("Ended", ended))
    return facts


def ending(events: list[dict[str, Any]]) -> str:
    """Return why training ended the last time; an empty text if it has not."""
    for event in reversed(events):
        if event["event"] == "end":
            return text(event.get("reason"))
        if event["event"] == "failed":
            return text(event.get("message")) or text(event.get("error"))
        if event["event"] == "interrupted":
            return "it was interrupted"
        if event["event"] == "start":
            return ""
    return ""


def best_step(history: pl.DataFrame) -> tuple[str, float, int] | None:
    """Return the lowest validation loss (training loss, without one): what it is, its value, and its step."""
    for column, word in (("validation_loss", "validation loss"), ("train_loss", "training loss")):
        if column not in history.columns or "step" not in history.columns:
            continue
        found = history.select("step", column).filter(pl.col(column).is_finite())
        if found.height:
            step, value = found.sort(column, "step").row(0)
            return word, float(value), int(step)
    return None


def environment_facts(environment: dict[str, Any] | None, run: dict[str, Any], config: dict[str, Any]) -> Facts:
    """Return what must be equal for two runs to give identical weights."""
    seed = count(part(config, "training").get("seed"))
    data, known = part(run, "data"), environment or {}
    facts = [("Begun", text(run.get("created"))), ("Seed", "" if seed is None else str(seed))]
    facts += [
        (word, text(known.get(name)))
        for word, name in (("Python", "python"), ("System", "platform"), ("Device", "device"))
    ]
    facts += [(name.capitalize(), str(count(known.get(name)) or "")) for name in ("cores", "threads")]
    packages = ((text(name), text(version)) for name, version in part(known, "packages").items())
    facts.append(("Packages", ", ".join(f"{name} {version}" for name, version in packages if version)))
    project = part(known, "project")
    if commit := text(project.get("commit")):
        changed = " with changes that are not committed" if project.get("has_changes") is True else ""
        facts.append(("Commit", f"{commit}{changed}"))
    if digest := text(data.get("sha256")):
        facts.append(("Data", f"SHA-256 {digest}"))
    return [(word, meaning) for word, meaning in facts if meaning]


def typed_command(environment: dict[str, Any] | None) -> str:
    """Return the command that started the run, if it was one of ours."""
    arguments = (environment or {}).get("command")
    if not isinstance(arguments, list) or not arguments or not all(isinstance(word, str) for word in arguments):
        return ""
    program = arguments[0].replace("\\", "/").rpartition("/")[2]
    is_ours = program in ("nd", "nd.exe", "neuro_divergent", "__main__.py")
    return shlex.join(["nd", *arguments[1:]])[:4000] if is_ours and len(arguments) > 1 else ""


def show_component(value: object) -> str:
    """Write a setting that may be a component: ``adamw (lr 0.001, weight_decay 0.01)``."""
    if isinstance(value, dict):
        settings = _settings(value)
        return text(value.get("name")) + (f" ({settings})" if settings and text(value.get("name")) else settings)
    return "" if value is None else _show(value)


def _progress(history: pl.DataFrame, total_steps: int | None) -> Facts:
    facts = []
    last = history.row(history.height - 1, named=True)
    if (step := count(last.get("step"))) is not None:
        epoch = count(last.get("epoch"))
        planned = f" of {total_steps:,} planned" if total_steps and total_steps != step else ""
        during = f", in epoch {epoch:,}" if epoch else ""
        facts.append(("Steps", f"{step:,}{planned}{during}"))
    if (seconds := number(last.get("seconds"))) is not None:
        facts.append(("Time", format_duration(seconds)))
    if "samples_per_second" in history.columns:
        speeds = [value for value in history["samples_per_second"].to_list() if number(value)]
        if speeds:
            facts.append(("Speed", f"{statistics.median(speeds):,.0f} windows a second (median)"))
    if (best := best_step(history)) is not None:
        facts.append(("Best", f"{best[0]} {format_number(best[1])} at step {best[2]:,}"))
    return facts


def _settings(component: dict[str, Any]) -> str:
    found = ((text(name), _show(value)) for name, value in component.items() if name != "name")
    return ", ".join(f"{name} {shown}" for name, shown in found if shown)


def _show(value: object) -> str:
    """Write a plain setting; nothing for what is not set or is empty."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, float)):
        return f"{value:g}" if isinstance(value, float) else str(value)[:40]
    if isinstance(value, dict):
        return show_component(value)
    if isinstance(value, list):
        found = [shown for item in value if (shown := _show(item))]
        return f"[{', '.join(found[:12])}{', …' if len(found) > 12 else ''}]" if found else ""
    return "" if value == "none" else text(value)


def _amount(value: object) -> str:
    amount = number(value) or 0.0
    rows_or_fraction = f"{100 * amount:g} %" if amount < 1 else f"the last {format_count(int(amount), 'row')}"
    return f"{rows_or_fraction} of each series"
