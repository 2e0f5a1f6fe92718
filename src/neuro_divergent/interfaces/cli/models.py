"""``nd models``: lists the architectures and the statistical models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from neuro_divergent.interfaces.cli.options import AsJson

if TYPE_CHECKING:
    from neuro_divergent.forecasting.statistical.methods.base import StatisticalMethod
    from neuro_divergent.interfaces.cli.screen import Screen
    from neuro_divergent.search.space import Space

EXAMPLES = """\b
Examples:
  nd models
  nd models nhits
  nd models auto_ets
  nd models --json
"""


def models(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Model to show in full.")] = None,
    as_json: AsJson = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Write the table in Markdown.")] = False,
) -> None:
    """List architectures and statistical models, or show one."""
    from neuro_divergent.forecasting.statistical.methods.base import StatisticalMethod
    from neuro_divergent.interfaces.cli.screen import Screen
    from neuro_divergent.models.base import Architecture

    screen = Screen(as_json=as_json)
    if name in StatisticalMethod.registry.names():
        _show_statistical(screen, StatisticalMethod.registry.get(name))
        return
    chosen = None if name is None else Architecture.registry.check(name)
    with screen.messages.status("loading torch"):
        from neuro_divergent.reporting import catalogue

        cls = None if chosen is None else Architecture.registry.get(chosen)
        rows = catalogue.describe_all() if cls is None else [catalogue.describe(cls)]
    if cls is not None:
        from neuro_divergent.search.space import Space

        row, settings, space = rows[0], catalogue.describe_settings(cls), Space.of(cls.name)
        _show_one(screen, row, settings)
        _show_space(screen, space)
        screen.result({**row, "settings": settings, "space": space.to_dict()})
    elif as_markdown:
        typer.echo(catalogue.markdown(rows))
    else:
        statistical = catalogue.describe_all_statistical()
        _show_all(screen, rows, statistical)
        screen.result({"models": rows, "statistical": statistical})


def _show_all(screen: Screen, rows: list[dict[str, Any]], statistical: list[dict[str, Any]]) -> None:
    from neuro_divergent.interfaces.cli.screen import new_table
    from neuro_divergent.reporting import catalogue

    titles = list(catalogue.columns(rows[0]))
    table = new_table(*titles, right=["parameters"], fixed=set(titles) - {"paper"}, overflow="fold")
    table.padding = (0, 1, 0, 0)
    for row in rows:
        table.add_row(*catalogue.columns(row).values())
    screen.say(
        table, "", f"Parameters: at the defaults, {catalogue.HORIZON} steps from {catalogue.HISTORY}, one series."
    )
    screen.say("Series: whether it forecasts one by itself, or all together, each with a view of the others.")
    screen.say("Covariates: known only in the past, known ahead (future), or static.")
    screen.say("Decoding: all steps at once (direct), or each from the one before.", "")
    titles = list(catalogue.statistical_columns(statistical[0]))
    table = new_table(*titles, fixed=set(titles) - {"paper"}, overflow="fold")
    table.padding = (0, 1, 0, 0)
    for row in statistical:
        table.add_row(*catalogue.statistical_columns(row).values())
    screen.say(table, "", "Statistical models have no training: nd.Statistical(NAME, horizon=...) in Python.", "")
    screen.say("See the settings of one with 'nd models NAME'.")


def _show_one(screen: Screen, row: dict[str, Any], settings: list[dict[str, Any]]) -> None:
    from neuro_divergent.reporting import catalogue

    screen.say(row["summary"], "")
    screen.facts([(title, text) for title, text in catalogue.columns(row).items() if text])
    _show_settings(screen, settings)


def _show_statistical(screen: Screen, cls: type[StatisticalMethod]) -> None:
    from neuro_divergent.reporting import catalogue

    row, settings = catalogue.describe_statistical(cls), catalogue.describe_settings(cls)
    screen.say(row["summary"], "")
    screen.facts(list(catalogue.statistical_columns(row).items()))
    _show_settings(screen, settings)
    screen.result({**row, "settings": settings})


def _show_settings(screen: Screen, settings: list[dict[str, Any]]) -> None:
    from neuro_divergent.interfaces.cli.screen import new_table
    from neuro_divergent.reporting import catalogue

    if not settings:
        return
    table = new_table("setting", "default", "search", "meaning", fixed=["setting"], overflow="fold")
    for setting in settings:
        default, search = str(setting["default"]), catalogue.show_search(setting["search"])
        table.add_row(setting["name"], default, search, setting["meaning"])
    screen.say("", table)


def _show_space(screen: Screen, space: Space) -> None:
    """Show what a search tries besides the settings of the architecture."""
    from neuro_divergent.interfaces.cli.screen import new_table

    table = new_table("searched besides", "values", "where", fixed=["searched besides"], overflow="fold")
    for item in space:
        if item.setting.partition(".")[0] != "model":
            where = f"{item.parent.rpartition('.')[2]} {' or '.join(item.only)}" if item.only else ""
            table.add_row(item.setting, str(item.dimension), where)
    screen.say("", table)
