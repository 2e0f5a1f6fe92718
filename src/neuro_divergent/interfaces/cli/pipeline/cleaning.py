"""``nd pipeline clean``: removes results that are not those of the last run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

EXAMPLES = """\b
Examples:
  nd pipeline clean pipeline.toml
"""


def clean_command(
    file: Annotated[Path, typer.Argument(help="Pipeline file, or directory of a pipeline.")],
) -> None:
    """Remove kept results that the last run did not use; settings of before then have to be computed again."""
    from neuro_divergent.core.errors import InputError
    from neuro_divergent.core.formatting import format_count
    from neuro_divergent.interfaces.cli.pipeline.showing import find_directory
    from neuro_divergent.interfaces.cli.screen import Screen
    from neuro_divergent.lifecycle.pipeline.pipeline_directory import PipelineDirectory
    from neuro_divergent.lifecycle.pipeline.reading import is_pipeline

    path = find_directory(file)
    if not is_pipeline(path):
        raise InputError(f"{file}: is not a pipeline that has been run; 'nd pipeline run FILE' runs one.")
    removed = PipelineDirectory(path).clean()
    Screen().say(f"{format_count(len(removed), 'result')} removed.")
