"""``nd models``: lists the architectures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from neuro_divergent.interfaces.cli.options import AsJson

if TYPE_CHECKING:
    from neuro_divergent.interfaces.cli.screen import Screen

EXAMPLES = """\b
Examples:
  nd models
  nd models nhits
  nd models --json
"""


def models(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Architecture to show in full.")] = None,
    as_json: AsJson = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Write the table in Markdown.")] = False,
) -> None:
    """List the architectures and their covariates, or the settings of one."""
    from neuro_divergent.interfaces.cli.screen import Screen
    from neuro_divergent.models.base import Architecture

    screen = Screen(as_json=as_json)
    chosen = None if name is None else Architecture.registry.check(name)
    with screen.messages.status("loading torch"):
        from neuro_divergent.reporting import catalogue

        if chosen is not None:
            cls = Architecture.registry.get(chosen)
            row, settings = catalogue.describe(cls), catalogue.describe_settings(cls)
        else:
            rows = catalogue.describe_all()
    if chosen is not None:
        _show_one(screen, row, settings)
        screen.result({**row, "settings": settings})
    elif as_markdown:
        typer.echo(catalogue.markdown(rows))
    else:
        _show_all(screen, rows)
        screen.result({"models": rows})


def _show_all(screen: Screen, rows: list[dict[str, Any]]) -> None:
    from rich.table import Table

    from neuro_divergent.reporting import catalogue

    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 1, 0, 0))
    for title in catalogue.columns(rows[0]):
        justify: Any = "right" if title == "parameters" else "left"
        table.add_column(title, justify=justify, no_wrap=title != "paper", overflow="fold")
    for row in rows:
        table.add_row(*catalogue.columns(row).values())
    screen.say(
        table, "", f"Parameters: at the defaults, {catalogue.HORIZON} steps from {catalogue.HISTORY}, one series."
    )
    screen.say("Series: whether it forecasts one by itself, or all together, each with a view of the others.")
    screen.say("Covariates: known only in the past, known ahead (future), or static.")
    screen.say("Decoding: all steps at once (direct), or each from the one before.", "")
    screen.say("See the settings of one with 'nd models NAME'.")


def _show_one(screen: Screen, row: dict[str, Any], settings: list[dict[str, Any]]) -> None:
    from rich.table import Table

    from neuro_divergent.reporting import catalogue

    screen.say(row["summary"], "")
    screen.facts([(title, text) for title, text in catalogue.columns(row).items() if text])
    if not settings:
        return
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("setting", no_wrap=True)
    for title in ("default", "search", "meaning"):
        table.add_column(title, overflow="fold")
    for setting in settings:
        default, search = str(setting["default"]), catalogue.show_search(setting["search"])
        table.add_row(setting["name"], default, search, setting["meaning"])
    screen.say("", table)
