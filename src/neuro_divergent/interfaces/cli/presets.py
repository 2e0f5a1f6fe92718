"""``nd presets``: named training configurations."""

from __future__ import annotations

from typing import Annotated

import typer

EXAMPLES = """\b
Examples:
  nd presets
  nd presets best
  nd train sales.csv --horizon 24 --preset best
"""


def presets(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Preset to print in full.")] = None,
) -> None:
    """List named training configurations, or print one as TOML."""
    import tomli_w

    from neuro_divergent.training.config import TrainingConfig
    from neuro_divergent.training.presets import PRESETS, find_preset

    if name is None:
        width = max(map(len, PRESETS)) + 2
        for key, (summary, _) in PRESETS.items():
            typer.echo(f"{key:{width}}{summary}")
        typer.echo("\nSee one with 'nd presets NAME', train with 'nd train FILE --preset NAME'.")
        return
    changed = find_preset(name)
    lines = [line for line in tomli_w.dumps({"training": TrainingConfig.preset(name).to_dict()}).splitlines() if line]
    typer.echo(f"# {PRESETS[name.lower().replace('-', '_')][0]}")
    typer.echo(f"# It changes {', '.join(changed)}; the rest is the default.")
    typer.echo("\n".join(lines))
    if "recommended" in changed:
        typer.echo("\n".join(["", "# What is recommended for a family:", *_recipes()]))


def _recipes() -> list[str]:
    from neuro_divergent.training.presets import FAMILY_SETTINGS

    width = max(map(len, FAMILY_SETTINGS)) + 2
    lines = []
    for family, recipe in FAMILY_SETTINGS.items():
        settings = ", ".join(f"{key} = {value}" for key, value in recipe.items())
        lines.append(f"# {family:{width}}{settings or 'the defaults'}")
    return lines
