"""The settings of a config class: type, default, range, what a search tries, and meaning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args

from neuro_divergent.core.config import Component, Config
from neuro_divergent.reporting.catalogue import show_search
from neuro_divergent.reporting.config_document import choices
from tools.site.reference.annotations import describe_range, describe_type, show_default
from tools.site.reference.docstring import read_docstring
from tools.site.reference.markdown import table
from tools.site.reference.texts import Texts

# More columns would leave no room for the meaning.
COLUMNS = ("setting", "type and range", "default", "meaning")
_MANY = 8


@dataclass(frozen=True)
class Setting:
    """A field of a config class, in Markdown.

    Attributes:
        name: Its name.
        type: What it accepts.
        default: The default; "required" where a value must be given.
        range: The values that are valid.
        searched: What a search tries, if anything.
        meaning: What the docstring of the class says.
    """

    name: str
    type: str
    default: str
    range: str
    searched: str
    meaning: str

    def row(self, anchor: str) -> tuple[str, ...]:
        """Return the row of a table; the name has an anchor."""
        accepted = "; ".join(filter(None, (self.type, self.range)))
        searched = f"\n\n*Search:* {self.searched}" if self.searched else ""
        return f"`{self.name}`{{ #{anchor} }}", accepted, self.default, f"{self.meaning}{searched}"


def meanings_of(cls: type[Config]) -> dict[str, str]:
    """Return what the docstrings of a config class, and of those it is made from, say about each field."""
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if issubclass(base, Config):
            found |= read_docstring(base.__doc__).attributes
    return {name: found.get(name, "") for name in cls.model_fields}


def settings_of(cls: type[Config], texts: Texts, owner: str = "") -> list[Setting]:
    """Return the settings of a config class."""
    meanings = meanings_of(cls)
    rows = []
    for name, field in cls.model_fields.items():
        extra: Any = field.json_schema_extra
        search = extra.get("search") if isinstance(extra, dict) else None
        rows.append(
            Setting(
                name,
                describe_type(field.annotation, texts),
                show_default(field) or "required",
                describe_range(field.annotation, field.metadata) or _names(field.annotation, texts),
                show_search(search),
                texts.line(meanings[name], owner),
            )
        )
    return rows


def settings_table(cls: type[Config], texts: Texts, owner: str) -> str:
    """Return the table of the settings of a class; anchors begin with the owner."""
    return table(COLUMNS, [row.row(f"{owner}.{row.name}") for row in settings_of(cls, texts, owner)])


def _names(annotation: Any, texts: Texts) -> str:
    """Return the names of the components that a field accepts, or where they are listed if they are many."""
    names = choices(annotation) if families_of(annotation) else []
    if len(names) <= _MANY:
        return ", ".join(f'`"{name}"`' for name in names)
    (family, *_) = families_of(annotation)
    place = texts.links.place_of(family.registry)
    return f"{len(names)} names" if place is None else texts.to(place[0], f"{len(names)} names", place[1])


def families_of(annotation: Any) -> list[type[Component]]:
    """Return the families whose members a field accepts by name."""
    if isinstance(annotation, type) and issubclass(annotation, Component):
        return [] if annotation.name else [annotation]
    return list(dict.fromkeys(family for item in get_args(annotation) for family in families_of(item)))
