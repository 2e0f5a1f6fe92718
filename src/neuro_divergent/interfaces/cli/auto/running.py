"""An automatic search on the command line, from its settings to what is shown and written at its end."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuro_divergent.core.errors import ConfigError, InputError
from neuro_divergent.interfaces.cli.interruption import interruptible

if TYPE_CHECKING:
    import polars as pl

    from neuro_divergent.forecasting.run_config import DataConfig
    from neuro_divergent.interfaces.cli.screen import Screen
    from neuro_divergent.search.auto.forecaster import AutoForecaster

FORECASTS = "forecasts.parquet"


@dataclass(frozen=True)
class AutoOptions:
    """Options of ``nd auto``.

    Attributes:
        data: Fields of ``DataConfig``, the path among them.
        settings: Fields of ``AutoConfig`` that were given.
        plan: The plan of an earlier search, to be fitted without a search; ``None`` to search.
        levels: Intervals to forecast, in percent.
        future: File of the covariates known ahead.
        output: Run directory, or ``None`` for the usual place.
        began: When the command was begun, by the monotonic clock: the budget counts from then.
    """

    data: dict[str, Any]
    settings: dict[str, Any]
    plan: dict[str, Any] | None
    levels: tuple[float, ...]
    future: str | None
    output: Path | None
    began: float


def run_auto(options: AutoOptions, screen: Screen) -> None:
    """Search, or fit a plan, and show and write what came out."""
    from neuro_divergent.forecasting.run_config import DataConfig
    from neuro_divergent.interfaces.cli.run_directory import named_after
    from neuro_divergent.interfaces.cli.session import suggest_horizon
    from neuro_divergent.interfaces.cli.silence import silenced
    from neuro_divergent.search.auto.config import AutoConfig

    data = DataConfig.from_dict(options.data)
    if data.path is None:
        raise InputError("which table to forecast? Name a file, or set data.path.")
    settings = dict(options.settings)
    if options.plan is None and "horizon" not in settings:
        raise InputError(f"how many steps to forecast? {suggest_horizon(options.data)}")
    config = AutoConfig(**settings) if options.plan is None else None
    directory = options.output or named_after(data.path, "auto").path
    with silenced():
        panel = _read(data)
    screen.facts([("data", f"{data.path}: {len(panel):,} rows, {panel.num_series:,} series"), ("run", str(directory))])
    with screen.messages.status("loading torch"):
        from neuro_divergent.search.auto.forecaster import AutoForecaster
    if options.plan is not None:
        unknown = [key for key in settings if key not in ("jobs", "horizon")]
        if unknown:
            raise ConfigError(f"{unknown[0]}: the plan has it; leave it out, or search with a table.")
        forecaster = AutoForecaster.from_plan(options.plan, **{k: v for k, v in settings.items() if k != "horizon"})
    else:
        assert config is not None
        forecaster = AutoForecaster(**dict(config))
    _remember(directory, options)
    _fit(forecaster, panel, directory, screen, options.began)
    conclude(forecaster, directory, data, options, screen)


def _read(data: DataConfig) -> Any:
    from neuro_divergent.data.load import load_panel

    return load_panel(data.path, data.schema_fields)


def _fit(forecaster: AutoForecaster, panel: Any, directory: Path, screen: Screen, began: float) -> None:
    from neuro_divergent.interfaces.cli.auto.live import watching

    with interruptible("nd auto resume", directory), watching(screen) as progress:
        forecaster.fit(panel, directory=directory, progress=progress, began=began)


def _remember(directory: Path, options: AutoOptions) -> None:
    """Note the options, for ``nd auto resume``; where a search is begun already, they stay as they are."""
    from neuro_divergent.core.storage import strict_json
    from neuro_divergent.core.storage.atomic import write_file
    from neuro_divergent.search.auto.files import COMMAND

    if not (directory / COMMAND).is_file() and (not directory.exists() or not any(directory.iterdir())):
        document = {
            "data": options.data,
            "settings": options.settings,
            "plan": options.plan,
            "levels": list(options.levels),
            "future": options.future,
        }
        write_file(directory / COMMAND, strict_json.dumps(document, indent=1))


def conclude(
    forecaster: AutoForecaster, directory: Path, data: DataConfig, options: AutoOptions, screen: Screen
) -> None:
    """Write the plan and the forecasts, and show the leaderboard."""
    from neuro_divergent.core.storage.atomic import write_file
    from neuro_divergent.data.io.source import read_table
    from neuro_divergent.data.io.table_file import write_table
    from neuro_divergent.interfaces.cli.auto.showing import show_results
    from neuro_divergent.search.auto.files import PLAN

    write_file(directory / PLAN, forecaster.to_toml(data.to_dict()).encode("utf-8"))
    frame, note = _forecasts(forecaster, options)
    place = shlex.quote(str(directory))
    facts = []
    if frame is not None:
        write_table(directory / FORECASTS, frame)
        facts.append(("forecasts", str(directory / FORECASTS)))
    facts += [
        ("model", str(directory / "model")),
        ("next", f"nd predict {place}{'' if frame is not None else ' --future FILE'}"),
    ]
    facts.append(("again", f"nd auto show {place} --toml > run.toml && nd auto run.toml"))
    show_results(forecaster, screen)
    if note:
        screen.say(note)
    screen.say("")
    screen.facts(facts)
    forecasts = None if frame is None else read_table(frame).frame.height
    screen.result(
        {
            "run": str(directory),
            "leaderboard": forecaster.results.to_dict(),
            "plan": forecaster.fitted.plan.to_dict(),
            "rows": forecasts,
            "files": {key: value for key, value in facts if key in ("forecasts", "model")},
        }
    )


def _forecasts(forecaster: AutoForecaster, options: AutoOptions) -> tuple[pl.DataFrame | None, str]:
    from neuro_divergent.core.errors import DataError
    from neuro_divergent.data.io.source import read_table

    try:
        return read_table(forecaster.predict(future=options.future, levels=options.levels)).frame, ""
    except DataError as error:
        if options.future is not None or not forecaster.fitted.context.schema.future:
            raise
        return None, f"No forecast yet: {error}"
