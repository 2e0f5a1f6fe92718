"""New data for a trained model, checked before torch is loaded."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, NamedTuple

from neuro_divergent.core.errors import DataWarning
from neuro_divergent.core.storage import strict_json
from neuro_divergent.core.storage.atomic import read_directory
from neuro_divergent.data.cleaning.frequency import Frequency
from neuro_divergent.data.future import read_future
from neuro_divergent.data.io.source import read_table, read_table_ahead
from neuro_divergent.data.io.table import Table
from neuro_divergent.data.lengths import check_history
from neuro_divergent.data.panel_builder import assemble
from neuro_divergent.data.schema import Schema
from neuro_divergent.interfaces.cli.silence import silenced

_DESCRIPTION = "model.json"
_MANY = 1_000_000  # With more rows, checking them twice takes longer than loading torch.


class NewData(NamedTuple):
    """Tables as they were read: series to forecast, if not those of training, and covariates known ahead, if any."""

    series: Table | None
    future: Table | None


def read_new_data(
    model: Path, data: str | None, future: str | None, *, horizon: int | None, changes: dict[str, Any]
) -> NewData:
    """Read series to forecast and covariates known ahead, and check them against what a model says about itself.

    ``changes`` are fields of ``Schema`` that differ from those of training; without a horizon, that of training counts.
    """
    content = read_directory(model, only=[_DESCRIPTION])[_DESCRIPTION]
    description = strict_json.loads(content, str(model / _DESCRIPTION), constants=True)
    try:
        known = Schema.from_dict(description["schema"])
        frequency, categories = Frequency.parse(description["frequency"]), description["categories"]
        history, steps = description["task"]["input_size"], horizon or description["task"]["horizon"]
    except (KeyError, TypeError, ValueError, AttributeError):
        known = Schema()  # Loading the model will say what is wrong with it, before the data matter.
        data = future = None
    schema = known.replace(**changes)
    with silenced():
        series = None if data is None else read_table(data, schema)
        ahead = None if future is None else read_table_ahead(future, schema)
    with silenced(), warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # The forecast itself will give it again.
        if series is not None and series.frame.height <= _MANY:
            panel = assemble(series, schema, frequency=frequency, categories=categories)
            read_future(ahead, check_history(panel, input_size=history), steps)
    return NewData(series, ahead)
