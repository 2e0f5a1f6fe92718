"""What is known about a model besides its files: where its data, scores and settings come from."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from neuro_divergent import __version__
from neuro_divergent.core.environment import describe_commit, describe_environment
from neuro_divergent.core.errors import InputError, UntrustedFileError
from neuro_divergent.core.storage import strict_json
from neuro_divergent.core.storage.regular_file import read_file
from neuro_divergent.core.storage.strict_json import finite_or_none
from neuro_divergent.runs.directory import CONFIG, DATA, ENVIRONMENT, RUN, SCORES
from neuro_divergent.runs.tables import BACKTEST

LEDGER = "ledger.jsonl"
_KEPT = (CONFIG, RUN, DATA, SCORES, BACKTEST, ENVIRONMENT, LEDGER)
_SCORES = ("model", "part", "note", "season_length", "windows", "scores", "coverage")


@dataclass(frozen=True)
class Evidence:
    """What goes into the record of a version, and the files that prove it.

    Attributes:
        files: Files of a run, by name.
        data: Fingerprint, times and counts of the data of training.
        scores: Scores, with the windows they are of.
        environment: Versions and machine of training.
        code: Version of this package, and the commit that was checked out.
        privacy: What was charged to a privacy budget.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    data: dict[str, Any] | None = None
    scores: dict[str, Any] | None = None
    environment: dict[str, Any] | None = None
    code: dict[str, Any] | None = None
    privacy: dict[str, Any] | None = None

    @classmethod
    def of_run(cls, run: Path) -> Evidence:
        """Read the evidence of a run directory; what it does not have is left out.

        Raises:
            InputError: If there is no such directory, or it is not that of a run.
            UntrustedFileError: If a file of it is damaged.
        """
        files = {name: read_file(run / name) for name in _KEPT if (run / name).is_file()}
        if not files:
            raise InputError(f"{run}: is not the directory of a run: it has none of {', '.join(_KEPT)}.")
        documents = {name: _document(files, name, run) for name in (RUN, DATA, SCORES, ENVIRONMENT)}
        environment = documents[ENVIRONMENT]
        return cls(
            files=files,
            data=_data_of_run(documents[RUN], documents[DATA]),
            scores=_scores_of_run(documents[SCORES], files.get(BACKTEST)),
            environment=environment or None,
            code=_code(environment.get("project")) if environment else None,
            privacy=_privacy(files.get(LEDGER), run),
        )

    @classmethod
    def of_model(cls, model: Any) -> Evidence:
        """Return what a model in memory knows about the data it was trained on."""
        panel = getattr(model, "panel", None)
        if panel is None:  # a model around another one
            panel = getattr(getattr(model, "forecaster", None), "panel", None)
        return cls() if panel is None else cls(data=describe_panel(panel))

    @classmethod
    def of_evaluation(cls, evaluation: Any) -> Evidence:
        """Return the scores and forecasts of an ``Evaluation``."""
        scores = evaluation.to_dict()
        buffer = io.BytesIO()
        evaluation.forecasts.write_parquet(buffer)
        table = buffer.getvalue()
        files = {SCORES: strict_json.dumps(finite_or_none(scores), indent=1), BACKTEST: table}
        return cls(files=files, scores=_scores_of_run(scores, table))

    def updated(self, other: Evidence) -> Evidence:
        """Return this evidence with what another one has in addition or instead."""
        found = {name: getattr(other, name) for name in _FACTS if getattr(other, name) is not None}
        return replace(self, files={**self.files, **other.files}, **found)


_FACTS = ("data", "scores", "environment", "code", "privacy")


def describe_panel(panel: Any) -> dict[str, Any]:
    """Return fingerprint, times and counts of a panel."""
    from neuro_divergent.data.cleaning.calendar import show_time
    from neuro_divergent.runs.directory import fingerprint

    found = fingerprint(panel)
    ends = panel.frequency.time_at(panel.starts, panel.lengths - 1)
    return {
        "fingerprint": found["sha256"],
        "start": show_time(panel.starts, panel.starts.arg_min() or 0),
        "end": show_time(ends, ends.arg_max() or 0),
        "rows": found["rows"],
        "series": found["series"],
    }


@cache
def present_code() -> dict[str, Any]:
    """Return the version of this package and the commit in the current directory, as this process found them first."""
    return _code(describe_commit())


@cache
def present_environment() -> dict[str, Any]:
    """Return the versions and the machine of this process, for models that do not say what they were made with."""
    described = describe_environment(threads=0, device="")
    return {name: described[name] for name in ("python", "platform", "machine", "packages")}


def plain(value: Any) -> Any:
    """Return a mapping, or what the ``to_dict`` of an object gives, with numbers that JSON has."""
    if value is not None and not isinstance(value, Mapping) and hasattr(value, "to_dict"):
        value = value.to_dict()
    if value is not None and not isinstance(value, Mapping):
        raise InputError(f"{type(value).__name__} is neither a dict nor an object with to_dict().")
    made = finite_or_none(value)
    strict_json.dumps(made)  # refuses what JSON does not have
    return made


def _code(commit: Mapping[str, Any] | None) -> dict[str, Any]:
    return {"version": __version__, **(commit or {"commit": None, "has_changes": None})}


def _document(files: Mapping[str, bytes], name: str, run: Path) -> dict[str, Any]:
    if name not in files:
        return {}
    document = strict_json.loads(files[name], str(run / name))
    if not isinstance(document, dict):
        raise UntrustedFileError(f"{run / name}: is not an object.")
    return document


def _data_of_run(run: Mapping[str, Any], data: Mapping[str, Any]) -> dict[str, Any] | None:
    if not run and not data:
        return None
    found = run.get("data") if isinstance(run.get("data"), dict) else {}
    assert isinstance(found, dict)
    return {
        "fingerprint": found.get("sha256"),
        "start": data.get("begin"),
        "end": data.get("end"),
        "rows": found.get("rows", data.get("rows")),
        "series": found.get("series", data.get("series")),
    }


def _scores_of_run(scores: Mapping[str, Any], backtest: bytes | None) -> dict[str, Any] | None:
    """Return scores with the first and last cutoff of the windows that they are of."""
    if "scores" not in scores:
        return None
    found = {name: scores.get(name) for name in _SCORES}
    return {**found, **_cutoffs(backtest)}


def _cutoffs(backtest: bytes | None) -> dict[str, Any]:
    import polars as pl

    if backtest is None:
        return {"first_cutoff": None, "last_cutoff": None}
    try:
        cutoffs = pl.read_parquet(io.BytesIO(backtest), columns=["cutoff"])["cutoff"]
    except (pl.exceptions.PolarsError, OSError) as error:
        raise UntrustedFileError(f"{BACKTEST}: has no forecasts ({str(error).splitlines()[0]}).") from error
    return {"first_cutoff": _time(cutoffs.min()), "last_cutoff": _time(cutoffs.max())}


def _privacy(ledger: bytes | None, run: Path) -> dict[str, Any] | None:
    if ledger is None:
        return None
    lines = ledger[: ledger.rfind(b"\n") + 1].splitlines()
    return {"charges": [strict_json.loads(line, f"{run / LEDGER}, line {n}") for n, line in enumerate(lines, 1)]}


def _time(value: Any) -> Any:
    return value.isoformat() if hasattr(value, "isoformat") else value
