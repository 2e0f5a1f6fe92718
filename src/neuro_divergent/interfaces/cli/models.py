"""``nd models``: which architectures there are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from neuro_divergent.interfaces.cli.options import AsJson

if TYPE_CHECKING:
    from neuro_divergent.models.base import Architecture

EXAMPLES = """\b
Examples:
  nd models
  nd models --json
"""
_HORIZON, _HISTORY = 24, 96


def models(as_json: AsJson = False) -> None:
    """List the architectures and what they can use."""
    from rich.table import Table

    from neuro_divergent.interfaces.cli.screen import Screen
    from neuro_divergent.models.base import Architecture

    screen = Screen(as_json=as_json)
    with screen.messages.status("loading torch"):
        rows = [_describe(Architecture.registry.get(name)) for name in Architecture.registry.names()]
    table = Table(box=None, pad_edge=False, header_style="dim")
    for title in ("model", "family", "covariates", "joint"):
        table.add_column(title, no_wrap=True)
    table.add_column("parameters", justify="right", no_wrap=True)
    table.add_column("paper", overflow="fold")
    for row in rows:
        used = ", ".join(row["covariates"]) or "none"
        mixes = "yes" if row["mixes_channels"] else "no"
        table.add_row(row["name"], row["family"], used, mixes, f"{row['parameters']:,}", _cite(row["paper"]))
    screen.say(table, "", f"Parameters are those of the default settings for {_HORIZON} steps from {_HISTORY}.")
    screen.say("A joint model forecasts all series at once, each with a view of the others.")
    screen.result({"models": rows})


def _cite(paper: str) -> str:
    """Write a link in the short form that papers are known by."""
    return paper.replace("https://arxiv.org/abs/", "arXiv:").replace("https://doi.org/", "doi:")


def _describe(cls: type[Architecture]) -> dict[str, Any]:
    from neuro_divergent.core.spec import TaskSpec

    traits = cls.traits
    network = cls().build(TaskSpec(horizon=_HORIZON, input_size=_HISTORY))
    return {
        "name": cls.name,
        "family": traits.family,
        "covariates": [role for role in ("past", "future", "static") if getattr(traits, f"{role}_x")],
        "mixes_channels": traits.mixes_channels,
        "autoregressive": traits.autoregressive,
        "parameters": sum(parameter.numel() for parameter in network.parameters()),
        "paper": traits.paper,
        "summary": (cls.__doc__ or "").strip().split("\n")[0],
    }
