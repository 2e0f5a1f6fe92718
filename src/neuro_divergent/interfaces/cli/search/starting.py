"""``nd search FILE``: from a table to the best settings."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from neuro_divergent.core.errors import InputError
from neuro_divergent.interfaces.cli.config_options import TRAIN_OPTIONS, with_config_options
from neuro_divergent.interfaces.cli.options import AsJson, Quiet, RayAddress, check_ray, option, split_list

if TYPE_CHECKING:
    from neuro_divergent.forecasting.run_config import RunConfig
    from neuro_divergent.search.space import Space

EXAMPLES = """\b
Examples:
  nd search sales.csv --horizon 28 --model nhits --trials 50
  nd search sales.csv --horizon 28 --model lstm,patchtst --space space.toml --jobs 2
  nd search sales.csv --horizon 28 --objective mase --constraint parameters=200000 --budget 30m
  nd search sales.csv --horizon 28 --objective mae --objective latency --method nsga2
  nd search sales.csv --horizon 28 --trials 200 --jobs 16 --ray auto --output /shared/studies/sales
  nd search show studies/sales-nhits-20260101-120000
"""
_SEARCHED = tuple(item for item in TRAIN_OPTIONS if item.key not in ("model", "teacher", "task.refit"))
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
Trials = Annotated[int | None, option("--trials", "-n", text="Trials to run (50).", panel="Search")]
Time = Annotated[
    str | None,
    option("--budget", metavar="30m", text="Time after which the search ends: 90s, 30m, 8h.", panel="Search"),
]
Target = Annotated[float | None, option("--target-value", text="Value that is good enough.", panel="Search")]
Patience = Annotated[int | None, option("--patience", text="Trials without a better one.", panel="Search")]
Jobs = Annotated[int, typer.Option("--jobs", "-j", help="Trials at the same time; -1 for one per core.")]

Vectorized = Annotated[
    bool | None,
    typer.Option(
        "--vectorize/--no-vectorize",
        help="Train seeds, folds and trials that are alike in one step (where it is faster).",
        show_default=False,
    ),
]


@with_config_options(_SEARCHED)
def start_command(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Table, a quoted glob, or a run as TOML ('nd init').")],
    fields: dict[str, Any],
    model: Annotated[
        list[str] | None,
        option("--model", "-m", metavar="NAME,...", text="Models to choose from (nhits).", panel="Model"),
    ] = None,
    settings: Annotated[
        list[str] | None, option("--set", "-s", metavar="KEY=VALUE", text="Any other setting; it is not searched.")
    ] = None,
    space: Annotated[
        Path | None, option("--space", metavar="FILE", text="Space as TOML; else the default one.", panel="Search")
    ] = None,
    method: Annotated[
        str,
        option(
            "--method", metavar="NAME", text="tpe, gp, cmaes, nsga2, nsga3, qmc, random or grid (tpe).", panel="Search"
        ),
    ] = "",
    pruner: Annotated[
        str | None,
        option(
            "--pruner",
            metavar="NAME",
            text="median, successive_halving, hyperband, wilcoxon or none (median).",
            panel="Search",
        ),
    ] = None,
    objective: Annotated[
        list[str] | None,
        option(
            "--objective",
            metavar="NAME[:WEIGHT]",
            text="Metric, seconds, latency or parameters; several for a front (mase).",
            panel="Search",
        ),
    ] = None,
    constraint: Annotated[
        list[str] | None,
        option(
            "--constraint",
            metavar="NAME=LIMIT",
            text="Most of a metric, seconds, latency or parameters.",
            panel="Search",
        ),
    ] = None,
    folds: Annotated[
        int | None,
        option("--folds", text="Folds of one horizon to score on; else the validation part.", panel="Search"),
    ] = None,
    seeds: Annotated[
        int | None, option("--seeds", text="Trainings of each trial, of which the mean counts.", panel="Search")
    ] = None,
    trials: Trials = None,
    seconds: Time = None,
    target: Target = None,
    patience: Patience = None,
    search_seed: Annotated[
        int | None, option("--search-seed", text="Seed of the proposals (1).", panel="Search")
    ] = None,
    storage: Annotated[
        str | None,
        option("--storage", text="journal, sqlite or postgresql://user@host/database (journal).", panel="Search"),
    ] = None,
    keep: Annotated[
        str | None,
        option(
            "--keep", metavar="N", text="Models to keep: a number of the best trials, best or all (5).", panel="Search"
        ),
    ] = None,
    jobs: Jobs = 1,
    ray: RayAddress = None,
    vectorize: Vectorized = None,
    fit_best: Annotated[
        bool, option("--fit-best", text="Train the best one on all rows at the end, with a report.")
    ] = False,
    output: Annotated[
        Path | None, option("--output", "-o", metavar="DIRECTORY", text="Study (studies/<file>-<model>-<time>).")
    ] = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Search for the best settings; trials are runs in a study."""
    from neuro_divergent.core.config import read_toml
    from neuro_divergent.data.io.source import check_source
    from neuro_divergent.data.panel_store.stored import is_stored_panel
    from neuro_divergent.forecasting.run_config import override, parse_setting
    from neuro_divergent.interfaces.cli import session
    from neuro_divergent.interfaces.cli.screen import Screen
    from neuro_divergent.search.methods.base import Method
    from neuro_divergent.search.pruners.base import Pruner

    if ray is not None:
        check_ray(ray)
    values = read_toml(Path(file)) if file.lower().endswith(".toml") else {"data": {"path": file}}
    written = values.pop("space", None)
    models = split_list(model)
    given = dict(parse_setting(text) for text in settings or [])
    if models:
        override(values, "model", models[0])
    for key in sorted(fields):
        override(values, key, fields[key])
    for key, value in given.items():
        override(values, key, value)
    run = session.check(values, ())
    if not is_stored_panel(run.data.path):
        check_source(str(run.data.path))
    limits = {"trials": trials, "seconds": parse_duration(seconds), "target_value": target, "patience": patience}
    objectives = [_objective(text) for text in objective or []]
    constraints = dict(map(_constraint, constraint or []))
    if method:
        Method.registry.check(method)
    if pruner not in (None, "none"):
        Pruner.registry.check(str(pruner))

    from neuro_divergent.interfaces.cli.search.running import run_study
    from neuro_divergent.search.study import Study

    chosen = _space(run, models, written if space is None else read_toml(space), {*fields, *given})
    config: dict[str, Any] = {
        "method": method or None,
        "objectives": objectives or None,
        "constraints": constraints or None,
        "splitter": None
        if folds is None
        else {"name": "time_series", "n_splits": folds, "test_size": run.task.horizon},
        "seeds": seeds,
        "seed": search_seed,
        "storage": storage,
        "keep": int(keep) if keep is not None and keep.isdecimal() else keep,
    }
    config = {key: value for key, value in config.items() if value is not None}
    if pruner is not None:
        config["pruner"] = None if pruner == "none" else pruner
    study = Study(run, output or _directory(str(run.data.path), models or [run.model["name"]]), chosen, **config)
    screen = Screen(quiet=quiet, as_json=as_json)
    run_study(study, limits, jobs=jobs, fit_best=fit_best, screen=screen, ray=ray, vectorize=vectorize)


def parse_duration(text: str | None) -> float | None:
    """Read ``90s``, ``30m``, ``8h``, ``1d`` or a number of seconds."""
    if text is None:
        return None
    number, unit = (text[:-1], text[-1]) if text[-1:] in _UNITS else (text, "s")
    try:
        return float(number) * _UNITS[unit]
    except ValueError:
        raise InputError(f"--budget: {text!r} is not a time; write 90s, 30m or 8h.") from None


def _space(run: RunConfig, models: list[str], written: dict[str, Any] | None, given: set[str]) -> Space:
    """Return the space of a file, or the default one of some models without what was set on the command line."""
    from neuro_divergent.search.space import Space

    if written is not None:
        return Space.from_dict(written.get("space", written))
    space = Space.of(*models, base=run)
    return space.without(*given.intersection(item.setting for item in space))


def _objective(text: str) -> dict[str, Any]:
    name, _, weight = text.partition(":")
    try:
        return {"name": name, **({"weight": float(weight)} if weight else {})}
    except ValueError:
        raise InputError(f"--objective: {weight!r} is not a weight; write for instance mae:1.") from None


def _constraint(text: str) -> tuple[str, float]:
    name, _, limit = text.partition("=")
    try:
        return name.strip(), float(limit)
    except ValueError:
        raise InputError(f"--constraint: {text!r}; write a limit such as parameters=200000.") from None


def _directory(data: str, models: list[str]) -> Path:
    """Return a new directory named after the table, the models and the time."""
    stem = Path(data).name.split(".")[0].strip("*?[]") or "data"
    name = f"{stem}-{'-'.join(models[:3])}-{time.strftime('%Y%m%d-%H%M%S')}"
    path, count = Path("studies") / name, 1
    while path.exists():
        count += 1
        path = Path("studies") / f"{name}-{count}"
    return path
