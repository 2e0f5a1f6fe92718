"""``nd pipeline init``: writes a commented pipeline file, and the data it runs on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

EXAMPLES = """\b
Examples:
  nd pipeline init
  nd pipeline init sales/pipeline.toml --data sales.csv --horizon 28
"""
_USUAL = Path("pipeline.toml")
_BUNDLED = "air_passengers.csv"
_TEMPLATE = """# A pipeline: run it with  nd pipeline run {file}
# Stages run in the order of what they need. A stage whose code, settings and inputs are as before is not run again.
# Paths are seen from the directory of this file. docs/guides/pipeline.md explains every setting.

directory = "{stem}-pipeline"     # results, events and report.html
on_error = "stop"                 # or "continue", or "retry(3, 10)": 3 more times, after 10, 20 and 40 seconds

[data]
path = {data}                     # CSV or Parquet, or a pattern such as "sales/*.parquet"
target = "y"                      # column to forecast
time = "ds"                       # column of times
# id = "unique_id"                # column that names the series
# past = ["price"]                # covariates known only in the past; also: future, static

# [sources]                       # further tables, for stages of your own
# stores = "stores.csv"

[[stages]]
stage = "data_validation"
on_failure = "stop"               # or "warn", or "quarantine", which removes rows or series and goes on
max_missing = 0.1                 # of the target of a series
min_rows = {min_rows}
# required = ["price"]
# types = {{ price = "number" }}
# ranges = {{ y = [0, 1e6] }}       # "none" for no limit
# freshness = "2d"                # age of the last row
# unit_jump = 100                 # values that are suddenly 100 times larger or smaller
# actions = {{ freshness = "warn" }}

[[stages]]
stage = "preprocessing"
missing = "interpolate"           # or "error", "forward", "zero", "mask"
gaps = "interpolate"              # missing rows, the same
outliers = "keep"                 # or "clip", "missing", "error"

[[stages]]
stage = "feature_engineering"
calendar = {calendar}
# lags = [1, 12]                  # of the target; of other columns: {{ price = [1] }}
# rolling = {{ windows = [12], statistics = ["mean", "std"] }}
# holidays = "DE"                 # needs: pip install "neuro-divergent[holidays]"
# functions = ["my_features:moving_range"]   # a function in my_features.py next to this file

# [[stages]]                      # a stage of your own: def add_stores(table, stores): ... return table
# function = "my_stages:add_stores"

# [[stages]]                      # finds settings, which the training takes
# stage = "hyperparameter_tuning"
# model = "mlp"
# task = {{ horizon = {horizon} }}
# training = {{ max_steps = 200 }}
# trials = 20
# space = {{ "training.optimizer.lr" = {{ low = 1e-4, high = 1e-2, log = true }} }}

[[stages]]
stage = "training"
model = {{ name = "mlp", hidden_size = 64 }}   # nd models lists all
task = {{ horizon = {horizon}, test = {horizon} }}
training = {{ max_steps = 200 }}

[[stages]]
stage = "evaluation"
minimum = {{ skill = 0.0 }}         # no worse than the seasonal naive forecast
# maximum = {{ mase = 1.0 }}
# coverage = 10                   # percentage points

# [[stages]]                      # needs: pip install "neuro-divergent[lifecycle]"
# stage = "model_registration"
# location = "models"
# model_name = "{stem}"
# alias = "challenger"
"""


def init_command(
    path: Annotated[Path, typer.Argument(metavar="[PATH]", help="File to write.", show_default=True)] = _USUAL,
    data: Annotated[
        str | None, typer.Option(help="Table to train on; monthly airline passengers if left out.", show_default=False)
    ] = None,
    horizon: Annotated[int, typer.Option(help="Steps to forecast.", min=1)] = 12,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that exists.")] = False,
) -> None:
    """Write a pipeline file with every stage explained; without --data also a small table that it runs on."""
    from neuro_divergent.core.errors import InputError
    from neuro_divergent.core.storage.atomic import write_file

    if path.is_dir():
        path = path / _USUAL
    if path.suffix != ".toml":
        raise InputError(f"{path}: a pipeline is a .toml file, such as pipeline.toml.")
    if path.exists() and not force:
        raise InputError(f"{path}: exists already; choose another name, or pass --force to write over it.")
    write_file(path, _fill_in(path, data, horizon).encode("utf-8"))
    table = path.parent / _BUNDLED
    if data is None and not table.exists():
        from neuro_divergent.data.datasets.bundled import air_passengers
        from neuro_divergent.data.io.table_file import write_table

        write_table(table, air_passengers())
        typer.echo(f"{table} written.")
    typer.echo(f"{path} written. Look through it, then: nd pipeline run {path}")


def _fill_in(path: Path, data: str | None, horizon: int) -> str:
    import tomli_w

    place = _BUNDLED if data is None else str(Path(data).absolute())
    written = tomli_w.dumps({"path": place}).removeprefix("path = ").strip()  # quotes what TOML needs quoted
    return _TEMPLATE.format(
        file=path.name,
        stem=path.stem,
        data=written,
        horizon=horizon,
        min_rows=4 * horizon,
        calendar='["month_sin", "month_cos"]' if data is None else "[]",
    )
