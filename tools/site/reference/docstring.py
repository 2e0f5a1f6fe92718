"""Docstrings in the style of Google, read by griffe."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import griffe

_KIND = griffe.DocstringSectionKind


@dataclass
class Docstring:
    """The parts of a docstring.

    Attributes:
        text: What comes before and between the sections.
        arguments: What is said of each argument.
        attributes: What is said of each attribute.
        returns: What is returned, or yielded.
        raises: Names of errors, each with when it is raised.
        examples: Text and interpreter sessions, in order.
    """

    text: str = ""
    arguments: dict[str, str] = field(default_factory=dict)
    attributes: dict[str, str] = field(default_factory=dict)
    returns: str = ""
    raises: list[tuple[str, str]] = field(default_factory=list)
    examples: list[str] = field(default_factory=list)

    @property
    def summary(self) -> str:
        """The first paragraph."""
        return self.text.partition("\n\n")[0]

    @property
    def body(self) -> str:
        """The other paragraphs."""
        return self.text.partition("\n\n")[2]


@lru_cache(maxsize=4096)
def read_docstring(text: str | None) -> Docstring:
    """Read a docstring; one that is missing is empty."""
    found = Docstring()
    texts: list[str] = []
    docstring = griffe.Docstring(inspect.cleandoc(text or ""))
    sections = griffe.parse_google(
        docstring, returns_multiple_items=False, returns_named_value=False, warn_unknown_params=False, warnings=False
    )
    for section in sections:
        if section.kind is _KIND.text:
            texts.append(section.value)
        elif section.kind in (_KIND.parameters, _KIND.other_parameters):
            found.arguments |= {item.name: _joined(item) for item in section.value}
        elif section.kind is _KIND.attributes:
            found.attributes |= {item.name: _joined(item) for item in section.value}
        elif section.kind in (_KIND.returns, _KIND.yields):
            found.returns = "\n\n".join(map(_joined_value, section.value))
        elif section.kind is _KIND.raises:
            found.raises += [(str(item.annotation), item.description.strip()) for item in section.value]
        elif section.kind is _KIND.examples:
            found.examples += [part.strip("\n") for _, part in section.value]
        elif section.kind is _KIND.admonition and section.value.kind in ("example", "examples"):
            found.examples.append(section.value.contents)
        elif section.kind is _KIND.admonition:
            texts.append(f"**{section.title}**: {section.value.contents}")
        else:
            raise ValueError(f"a section of kind {section.kind.value} in the docstring {text!r}")
    found.text = "\n\n".join(texts)
    return found


def docstring_of(value: Any) -> Docstring:
    """Read the docstring of an object, which a method may have from a base class."""
    return read_docstring(inspect.getdoc(value))


def _joined(item: Any) -> str:
    return str(item.description).strip()


def _joined_value(item: Any) -> str:
    """Put a sentence together again that begins with a few words and a colon, which griffe reads as a type."""
    before = "" if item.annotation is None else f"{item.annotation}: "
    return f"{before}{item.description}".strip()
