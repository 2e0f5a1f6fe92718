"""Compares runs: their states, results and scores, and the settings in which they differ.

Nothing here needs torch. Whatever is in a directory, reading it raises no error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neuro_divergent.core.config import read_toml
from neuro_divergent.core.errors import NeuroDivergentError
from neuro_divergent.core.storage.regular_file import read_file
from neuro_divergent.runs.directory import CONFIG, RUN, SCORES
from neuro_divergent.runs.renamed import with_present_names
from neuro_divergent.runs.status import RunSummary
from neuro_divergent.runs.values import number, part, read_object, rows

_MOST_BYTES = 1024**2
_MOST_BYTES_OF_RUN = 16 * 1024**2


@dataclass(frozen=True)
class Fact:
    """One value of each of several runs.

    Attributes:
        name: What it is.
        values: That of each run, in their order; ``None`` where it is not known.
        best: Which of them are the best; none where better has no meaning or the runs cannot be compared.
    """

    name: str
    values: list[Any]
    best: list[int]


@dataclass(frozen=True)
class RunDiff:
    """Several runs and how they differ.

    Attributes:
        facts: State, steps, times, results and scores.
        differences: Settings in which they differ, as ``config_differences`` gives them.
        notes: Why numbers cannot be compared, where they cannot.
    """

    facts: list[Fact]
    differences: list[dict[str, Any]]
    notes: list[str]


def read_config(run: Path) -> dict[str, Any]:
    """Return the settings of a run as nested plain values: those of ``config.toml``, or else those in ``run.json``.

    Numbers are finite; one that is not is the text ``"inf"``, ``"-inf"`` or ``"nan"``, and so are dates texts, so that
    all of it can be written as JSON. A directory without them has no settings.
    """
    try:
        values: Any = read_toml(read_file(run / CONFIG, limit=_MOST_BYTES).decode("utf-8"))
    except (NeuroDivergentError, ValueError):
        values = (read_object(run / RUN, _MOST_BYTES_OF_RUN) or {}).get("config")
    return _plain(with_present_names(values)) if isinstance(values, dict) else {}


def flatten_config(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return nested settings by their dotted names: ``{"training.optimizer.lr": 0.001}``.

    A part that is only a name, as in ``model = "nhits"``, is its ``name``.
    """
    model = values.get("model")
    return dict(_walk({**values, "model": {"name": model}} if isinstance(model, str) else values, ""))


def config_differences(configs: Mapping[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the settings in which runs differ, from those of each as ``read_config`` gives them.

    Each has its dotted name, ``setting``, and its ``values`` in the order of the runs: ``None`` where one has it not.
    """
    flat = [flatten_config(config) for config in configs.values()]
    names = dict.fromkeys(name for config in flat for name in config)
    found = {name: [config.get(name) for config in flat] for name in names}
    return [
        {"setting": name, "values": values}
        for name, values in found.items()
        if any((isinstance(value, bool), value) != (isinstance(values[0], bool), values[0]) for value in values)
    ]


def read_scores(run: Path) -> dict[str, Any]:
    """Return the scores of a finished model by their names, the part of the data they are of, ``part``, and more.

    ``parameters`` is the size of the network, ``seconds`` the time of training, and ``coverage-80`` the fraction of
    values in the interval of 80 percent. A directory without scores has none.
    """
    content = read_object(run / SCORES, _MOST_BYTES) or {}
    named = [row for row in rows(content.get("scores")) if row.get("name") == content.get("model")]
    found = {key: value for row in named[:1] for key, value in row.items() if number(value) is not None}
    for row in rows(content.get("coverage")):
        if number(row.get("level")) is not None and number(row.get("coverage")) is not None:
            found[f"coverage-{row['level']:g}"] = row["coverage"]
    found |= {key: content[key] for key in ("parameters", "seconds") if number(content.get(key)) is not None}
    return {"part": content["part"], **found} if isinstance(content.get("part"), str) else found


def diff_runs(runs: Sequence[RunSummary]) -> RunDiff:
    """Compare runs.

    Scores are only called best where all are of the same part of the same data and as many steps ahead.
    """
    configs = [read_config(run.path) for run in runs]
    scores = [read_scores(run.path) for run in runs]
    data = [_fingerprint(run.path) for run in runs]
    parts = [score.get("part") for score in scores]
    modes = [flatten_config(config).get("checkpoints.mode", "min") for config in configs]
    notes = []
    if len({item for item in data if item is not None}) > 1:
        notes.append("They were trained on different data, so their numbers do not compare.")
    if len({run.horizon for run in runs if run.horizon is not None}) > 1:
        notes.append("They forecast different numbers of steps, so their numbers do not compare.")
    is_same_task = not notes
    if len({part for part in parts if part is not None}) > 1:
        notes.append("Their scores are of different parts of the data, so they do not compare.")
    is_same_part = is_same_task and len({part for part in parts if part is not None}) == 1
    is_same_metric = is_same_task and len({(run.metric, mode) for run, mode in zip(runs, modes, strict=True)}) == 1

    def known(*fields: str) -> list[Fact]:
        return [Fact(name, [getattr(run, name) for run in runs], []) for name in fields]

    is_over = all(run.state == "finished" for run in runs)
    facts = [
        *known("state", "model", "horizon", "step", "total_steps"),
        _fact("seconds", [_seconds(run, score) for run, score in zip(runs, scores, strict=True)], _lower, is_over),
        Fact("parameters", [score.get("parameters") for score in scores], []),
        *known("metric"),
        _fact("best", [run.best for run in runs], _higher if "max" in modes else _lower, is_same_metric),
        Fact("part", parts, []),
    ]
    names = dict.fromkeys(name for score in scores for name in score if name not in ("part", "parameters", "seconds"))
    facts += [_fact(name, [score.get(name) for score in scores], _goodness(name), is_same_part) for name in names]
    configured = {str(place): config for place, config in enumerate(configs)}
    return RunDiff(facts, config_differences(configured), notes)


def _fact(name: str, values: list[Any], goodness: Callable[[float], float], comparable: bool) -> Fact:
    """Return a number of each run, with the best of them if there are several to choose from."""
    rated = {place: goodness(value) for place, value in enumerate(values) if number(value) is not None}
    best = [place for place, value in rated.items() if value == max(rated.values())]
    is_ranked = comparable and len(rated) > 1 and len(best) < len(rated)
    return Fact(name, values, best if is_ranked else [])


def _goodness(name: str) -> Callable[[float], float]:
    if name == "skill":
        return _higher
    if name == "bias":  # near zero is best
        return lambda value: -abs(value)
    if name.startswith("coverage-"):
        level = float(name.removeprefix("coverage-"))
        return lambda value: -abs(value - level)
    return _lower


def _higher(value: float) -> float:
    return value


def _lower(value: float) -> float:
    return -value


def _seconds(run: RunSummary, scores: Mapping[str, Any]) -> float | None:
    """Return how long a run has trained, by its scores or by the last row of its history."""
    if "seconds" in scores and run.state == "finished":
        return float(scores["seconds"])
    from neuro_divergent.runs.history_reader import read_history

    seconds = read_history(run.path)["seconds"].drop_nulls()
    return None if seconds.is_empty() else float(seconds[-1])


def _fingerprint(run: Path) -> str | None:
    found = part(read_object(run / RUN, _MOST_BYTES_OF_RUN), "data").get("sha256")
    return found if isinstance(found, str) else None


def _walk(values: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from _walk(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)
