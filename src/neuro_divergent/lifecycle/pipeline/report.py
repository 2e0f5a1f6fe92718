"""The report of a pipeline: what its directory says, as one page."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from neuro_divergent import __version__
from neuro_divergent.core.formatting import format_bytes, format_count, format_duration, format_timestamp
from neuro_divergent.core.storage.atomic import write_file
from neuro_divergent.lifecycle.pipeline.drawing import STYLE, draw_graph
from neuro_divergent.lifecycle.pipeline.pipeline_directory import REPORT
from neuro_divergent.lifecycle.pipeline.reading import PipelineSummary, StageSummary, read_pipeline_state

_MOST_LETTERS = 200


def write_pipeline_report(directory: Path) -> Path:
    """Write the page of a pipeline into its directory, and return its path.

    Raises:
        StorageError: If the disk refuses.
    """
    page = directory / REPORT
    write_file(page, render_pipeline(read_pipeline_state(directory)).encode("utf-8"))
    return page


def render_pipeline(pipeline: PipelineSummary) -> str:
    """Return the page of a pipeline."""
    return _template().render(
        title=pipeline.name,
        version=__version__,
        style=Markup(STYLE),
        pipeline=pipeline,
        state=_ending(pipeline),
        graph=draw_graph(pipeline),
        text=_summary(pipeline),
        begun=format_timestamp(pipeline.begun),
        stages=[_describe(stage) for stage in pipeline.stages],
        sources=list(pipeline.sources.items()),
    )


def _ending(pipeline: PipelineSummary) -> str:
    """Return the state of the pipeline; a report is written while the process still holds it."""
    states = {stage.state for stage in pipeline.stages}
    if pipeline.state != "running":
        return pipeline.state
    return "failed" if states & {"failed", "skipped"} else "running" if "running" in states else "finished"


def _summary(pipeline: PipelineSummary) -> str:
    counts = [f"{total:,} {state}" for state, total in pipeline.counts.items()]
    seconds = sum(stage.seconds or 0.0 for stage in pipeline.stages if stage.state == "done")
    time = f" Computing took {format_duration(seconds)}." if seconds else ""
    return f"{format_count(len(pipeline.stages), 'stage')}: {', '.join(counts)}.{time}"


def _describe(stage: StageSummary) -> dict[str, Any]:
    return {
        "stage": stage,
        "seconds": "" if stage.seconds is None else format_duration(stage.seconds),
        "inputs": ", ".join(dict.fromkeys(reference.partition(".")[0] for reference in stage.inputs.values())),
        "outputs": [
            (output["name"], output["kind"], format_bytes(output["bytes"] or 0), output["digest"][:12], output["path"])
            for output in stage.outputs
        ],
        "settings": [(name, _shorten(value)) for name, value in stage.settings.items()],
        "tables": [
            {**table, "rows": [[_shorten(cell) for cell in row] for row in table["rows"]]} for table in stage.tables
        ],
    }


def _shorten(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MOST_LETTERS else f"{text[: _MOST_LETTERS - 1]}…"


@cache
def _template() -> Template:
    environment = Environment(
        loader=ChoiceLoader(
            [
                PackageLoader("neuro_divergent.lifecycle.pipeline", "page"),
                PackageLoader("neuro_divergent.reporting", "report"),
            ]
        ),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("pipeline.html")
