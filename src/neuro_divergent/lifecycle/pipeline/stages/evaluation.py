"""Evaluation: scores of a model, and whether they are good enough."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import polars as pl
from pydantic import Field, field_validator

from neuro_divergent.core.config import register
from neuro_divergent.core.errors import InputError, NeuroDivergentError, check_choice
from neuro_divergent.core.formatting import format_number
from neuro_divergent.core.storage.atomic import read_json
from neuro_divergent.lifecycle.pipeline.stage import Port, Stage, StageContext
from neuro_divergent.runs.directory import SCORES
from neuro_divergent.runs.tables import BACKTEST

if TYPE_CHECKING:
    from neuro_divergent.lifecycle.pipeline.artifact import Artifact

METRICS = ("mae", "mse", "rmse", "mape", "smape", "wape", "mase", "bias", "skill")
_KEPT = ("model", "part", "note", "season_length", "windows", "scores", "coverage")
_LIMIT = 64 * 1024**2


class PoorScoresError(NeuroDivergentError):
    """A model does not reach the scores that are demanded."""


@register("evaluation")
class Evaluation(Stage):
    """Scores a model, and fails if the scores are not good enough.

    Without other data these are the scores on the rows that training has held out: its test part, or else the
    validation part.

    Takes ``model``, and ``run`` of its training or ``table``. Gives ``scores`` (of the model and the baselines, with
    the thresholds) and ``forecasts`` (every held-out forecast, with what was observed).

    Attributes:
        on: ``held_out`` for what training has held out; ``table`` for the end of the table that is given, which the
            model must not have seen in training.
        last: With ``table``: fraction of each series, or number of rows at its end, to forecast.
        maximum: Largest values of metrics: ``mae``, ``mse``, ``rmse``, ``mape``, ``smape``, ``wape``, ``mase``,
            ``bias``.
        minimum: Smallest values, such as ``{skill = 0.0}``: no worse than the seasonal naive forecast.
        coverage: Largest difference between the level of an interval and how many values lie in it, in percentage
            points.
        on_failure: Whether a score that is not good enough stops, or only warns.

    Examples:
        >>> import neuro_divergent as nd
        >>> training = nd.lifecycle.Training(model="nlinear", task={"horizon": 12}, training={"max_steps": 5})
        >>> demand = nd.lifecycle.Evaluation(minimum={"skill": 0.9}, on_failure="warn")
        >>> result = nd.Pipeline([training, demand], data=nd.datasets.air_passengers(), directory="flights").run()
        >>> result["evaluation.scores"]["part"], result["evaluation.scores"]["passed"]
        ('validation', False)
    """

    takes: ClassVar[tuple[Port, ...]] = (Port("model"), Port("run", is_required=False), Port("table"))
    gives: ClassVar[tuple[str, ...]] = ("scores", "forecasts")

    on: Literal["held_out", "table"] = "held_out"
    last: float = Field(default=0.2, gt=0)
    maximum: dict[str, float] = Field(default_factory=dict)
    minimum: dict[str, float] = Field(default_factory=dict)
    coverage: float | None = Field(default=None, gt=0)
    on_failure: Literal["stop", "warn"] = "stop"

    @field_validator("maximum", "minimum")
    @classmethod
    def _are_known(cls, value: dict[str, float]) -> dict[str, float]:
        for name in value:
            check_choice("metric", name, METRICS)
        return value

    @property
    def ports(self) -> tuple[Port, ...]:
        unused = "table" if self.on == "held_out" else "run"
        return tuple(port for port in self.takes if port.name != unused)

    def run(self, inputs: Mapping[str, Artifact], context: StageContext) -> dict[str, Any]:
        scores, forecasts = self._held_out(inputs) if self.on == "held_out" else self._on_table(inputs)
        own = next(row for row in scores["scores"] if row["name"] == scores["model"])
        checks = [*self._check_scores(own), *self._check_coverage(scores["coverage"])]
        context.show("Scores", pl.DataFrame(scores["scores"], infer_schema_length=None))
        context.note(scores["note"])
        failed = [check["text"] for check in checks if not check["passed"]]
        if failed:
            message = f"on the {scores['part']} part: {'; '.join(failed)}."
            if self.on_failure == "stop":
                raise PoorScoresError(f"the model is not good enough {message}")
            context.note(f"Not good enough {message}")
        return {"scores": {**scores, "checks": checks, "passed": not failed}, "forecasts": forecasts}

    def _held_out(self, inputs: Mapping[str, Artifact]) -> tuple[dict[str, Any], pl.DataFrame]:
        """Return scores and forecasts that were computed when training ended."""
        run = inputs["run"].file if "run" in inputs else None
        if run is None or not (run / SCORES).is_file() or not (run / BACKTEST).is_file():
            raise InputError(
                "there are no scores of a training: connect run to a training that holds out a part, or set on='table'."
            )
        document = read_json(run / SCORES, _LIMIT)
        return {name: document[name] for name in _KEPT}, pl.read_parquet(run / BACKTEST)

    def _on_table(self, inputs: Mapping[str, Artifact]) -> tuple[dict[str, Any], pl.DataFrame]:
        from neuro_divergent.evaluation.evaluate import evaluate

        last = int(self.last) if self.last >= 1 else self.last
        found = evaluate(inputs["model"].load(), inputs["table"].table(), last=last)
        return {name: found.to_dict()[name] for name in _KEPT}, found.forecasts

    def _check_scores(self, own: Mapping[str, Any]) -> list[dict[str, Any]]:
        limits = [(name, limit, True) for name, limit in self.maximum.items()]
        limits += [(name, limit, False) for name, limit in self.minimum.items()]
        checks = []
        for name, limit, is_maximum in limits:
            value = own[name]
            is_good = value is not None and (value <= limit if is_maximum else value >= limit)
            demand = f"{'at most' if is_maximum else 'at least'} {format_number(limit)} is demanded"
            text = f"{name} is {format_number(value)}, {demand}"
            checks.append({"name": name, "value": value, "limit": limit, "passed": is_good, "text": text})
        return checks

    def _check_coverage(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        if self.coverage is None:
            return []
        if not rows:
            raise InputError("coverage: the model has no intervals whose coverage could be checked.")
        return [
            {
                "name": f"coverage-{row['level']:g}",
                "value": row["coverage"],
                "limit": self.coverage,
                "passed": row["coverage"] is not None and abs(row["coverage"] - row["level"]) <= self.coverage,
                "text": f"the {row['level']:g} % interval covers {format_number(row['coverage'])} % of the values, a "
                f"difference of at most {format_number(self.coverage)} points is demanded",
            }
            for row in rows
        ]
