"""Descriptions of the architectures and the statistical models, for the command line and the documentation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from neuro_divergent.core.errors import ConfigError
from neuro_divergent.reporting.config_document import choices, describe_fields

if TYPE_CHECKING:
    from neuro_divergent.core.config import Component
    from neuro_divergent.forecasting.statistical.methods.base import StatisticalMethod
    from neuro_divergent.models.base import Architecture

HORIZON, HISTORY = 24, 96
FAMILIES = ("linear", "mlp", "recurrent", "convolutional", "transformer", "graph")
_ROLES = ("past", "future", "static")


def describe_all() -> list[dict[str, Any]]:
    """Describe every architecture, by family."""
    from neuro_divergent.models.base import Architecture

    rows = [describe(Architecture.registry.get(name)) for name in Architecture.registry.names()]
    return sorted(rows, key=lambda row: (FAMILIES.index(row["family"]), row["name"]))


def describe(cls: type[Architecture]) -> dict[str, Any]:
    """Describe an architecture in plain values."""
    traits = cls.traits
    either = "decoding" in cls.model_fields
    return {
        "name": cls.name,
        "class": cls.__name__,
        "family": traits.family,
        "mixes_channels": traits.mixes_channels,
        "covariates": [role for role in _ROLES if getattr(traits, f"{role}_x")],
        "autoregressive": traits.autoregressive,
        "decoding": "either" if either else "autoregressive" if traits.autoregressive else "direct",
        "parameters": count_parameters(cls),
        "paper": traits.paper,
        "summary": (cls.__doc__ or "").strip().split("\n")[0],
    }


def describe_all_statistical() -> list[dict[str, Any]]:
    """Describe every statistical model: those without an extra first, those for intermittent demand last."""
    from neuro_divergent.forecasting.statistical.methods.base import StatisticalMethod

    registry = StatisticalMethod.registry
    rows = [describe_statistical(registry.get(name)) for name in registry.names()]
    return sorted(rows, key=lambda row: (row["extra"] is not None, row["intermittent"], row["name"]))


def describe_statistical(cls: type[StatisticalMethod]) -> dict[str, Any]:
    """Describe a statistical model in plain values."""
    return {
        "name": cls.name,
        "extra": cls.extra,
        "intermittent": cls.intermittent,
        "paper": cls.paper,
        "summary": (cls.__doc__ or "").strip().split("\n")[0],
    }


def statistical_columns(row: dict[str, Any]) -> dict[str, str]:
    """Return what a row of the table of statistical models shows, by column."""
    return {
        "statistical model": row["name"],
        "extra": row["extra"] or "none",
        "series": "intermittent" if row["intermittent"] else "any",
        "paper": cite(row["paper"]),
    }


def describe_settings(cls: type[Component]) -> list[dict[str, Any]]:
    """Return the settings of a model: name, default, what a search tries (if anything) and meaning."""
    meanings = describe_fields(cls)
    default = cls().to_dict()
    rows = []
    for name, field in cls.model_fields.items():
        extra = field.json_schema_extra
        search = extra.get("search") if isinstance(extra, dict) else None
        row = {"name": name, "default": default.get(name), "search": search, "meaning": meanings.get(name, "")}
        rows.append({**row, "choices": choices(field.annotation)})
    return rows


def count_parameters(cls: type[Architecture]) -> int | None:
    """Return the parameters at the default settings, if those are enough to build a network."""
    from neuro_divergent.core.spec import TaskSpec

    try:
        network = cls().build(TaskSpec(horizon=HORIZON, input_size=HISTORY))
    except ConfigError:  # it is around something on the user's disk, such as a language model
        return None
    return sum(parameter.numel() for parameter in network.parameters())


def columns(row: dict[str, Any]) -> dict[str, str]:
    """Return what a row of the table shows, by column."""
    return {
        "model": row["name"],
        "family": row["family"],
        "series": "all" if row["mixes_channels"] else "one",
        "covariates": "all" if row["covariates"] == list(_ROLES) else ", ".join(row["covariates"]) or "none",
        "decoding": row["decoding"],
        "parameters": "" if row["parameters"] is None else f"{row['parameters']:,}",
        "paper": cite(row["paper"]),
    }


def show_search(search: Any) -> str:
    """Return the search range of a setting; an empty text without one."""
    if not search:
        return ""
    if "choices" in search:
        return ", ".join(map(_value, search["choices"]))
    shown = f"{search['low']:g} to {search['high']:g}{' (logarithmic)' if search['log'] else ''}"
    return f"{shown} {search['unit']}s" if search.get("unit") else shown


def cite(paper: str) -> str:
    """Return the short form of a link to a paper."""
    return paper.replace("https://arxiv.org/abs/", "arXiv:").replace("https://doi.org/", "doi:")


def markdown(rows: Iterable[dict[str, Any]]) -> str:
    """Return the table of architectures in Markdown, with links to the papers."""
    lines: list[str] = []
    for row in rows:
        shown = columns(row)
        shown |= {"model": f'`{row["class"]}`, `"{row["name"]}"`', "paper": f"[{shown['paper']}]({row['paper']})"}
        if not lines:
            lines += [f"| {' | '.join(shown)} |", f"|{'---|' * len(shown)}"]
        lines.append(f"| {' | '.join(shown.values())} |")
    return "\n".join(lines)


def _value(value: Any) -> str:
    return f"({', '.join(map(_value, value))})" if isinstance(value, (list, tuple)) else str(value)
