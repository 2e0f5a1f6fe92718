"""Options that several commands share, and how their text becomes values."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from neuro_divergent.core.errors import InputError


def option(*names: str, text: str, metavar: str | None = None, panel: str | None = None) -> Any:
    """Declare an option whose default is not shown, in a panel of the help."""
    return typer.Option(*names, help=text, metavar=metavar, show_default=False, rich_help_panel=panel)


Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show only warnings and errors.")]
AsJson = Annotated[bool, typer.Option("--json", help="Write one JSON document to standard output.")]
Levels = Annotated[str, typer.Option("--levels", metavar="PERCENT,...", help="Intervals to give.")]
ModelPath = Annotated[Path, typer.Argument(metavar="MODEL", help="Run directory, or model directory in it.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Directory for tables, JSON and a page.")]
SeasonLength = Annotated[
    int | None, typer.Option("--season-length", help="Rows in a season (from the frequency).", min=1)
]
Jobs = Annotated[int, typer.Option("--jobs", help="Trainings at the same time.", min=1)]
RayAddress = Annotated[
    str | None,
    typer.Option(
        "--ray",
        metavar="ADDRESS",
        help="Run on a Ray cluster: auto, local, host:port or ray://host:port.",
        show_default=False,
    ),
]
Kept = Annotated[
    Path | None, typer.Option("--store", help="Directory of finished folds, to resume after an interruption.")
]


def check_ray(address: str) -> None:
    """Refuse what is no address of a Ray cluster, or that Ray is not installed, before anything is read."""
    from importlib.util import find_spec

    from neuro_divergent.distributed.ray_cluster import check_address, load_ray

    check_address(address)
    if find_spec("ray") is None:
        load_ray()  # which says how to install it; that it can be imported takes seconds to find out


def split_list(values: list[str] | None) -> list[str]:
    """Read an option that may be repeated and may hold several names: ``--past a,b --past c``."""
    return [item.strip() for value in values or [] for item in value.split(",") if item.strip()]


def parse_numbers(text: str | None, name: str) -> list[float]:
    """Read numbers between commas."""
    numbers = []
    for item in split_list([text] if text else []):
        try:
            numbers.append(float(item))
        except ValueError:
            raise InputError(f"{name}: {item!r} is not a number; write numbers between commas.") from None
    return numbers


def parse_amount(text: str) -> int | float:
    """Read ``--last``: a fraction or a number of rows."""
    from neuro_divergent.forecasting.run_config import parse_value

    amount = parse_value(text)
    if isinstance(amount, bool) or not isinstance(amount, (int, float)):
        raise InputError(f"--last: {text!r} is not a number; write a fraction such as 0.2 or a number of rows.")
    return amount


def parse_levels(text: str | None) -> tuple[float, ...]:
    """Read interval levels in percent."""
    levels = parse_numbers(text, "--levels")
    wrong = [level for level in levels if not 0 < level < 100]
    if wrong:
        raise InputError(f"--levels: {wrong[0]:g} is not a percentage between 0 and 100, such as 80,95.")
    fractions = [level for level in levels if level < 1]
    if fractions:
        raise InputError(f"--levels are percentages: for {fractions[0]:.4g} write {100 * fractions[0]:.4g}.")
    return tuple(levels)


def parse_horizon(text: str) -> int:
    """Read a number of steps."""
    if not text.strip().isdecimal() or len(text) > 9 or int(text) < 1:
        raise InputError(f"horizon: {text[:40]} must be an integer of at least 1.")
    return int(text)
