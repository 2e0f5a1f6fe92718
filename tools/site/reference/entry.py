"""The description of one public class or function."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from neuro_divergent.core.config import Config
from neuro_divergent.core.errors import NeuroDivergentError
from tools.site.reference.annotations import describe_written_type, show_value
from tools.site.reference.calls import show_call, show_class, signature_of, stars_of
from tools.site.reference.docstring import Docstring, docstring_of, read_docstring
from tools.site.reference.fields import settings_table
from tools.site.reference.markdown import code, code_block, heading, table
from tools.site.reference.members import Member, attributes_of, fields_of, members_of
from tools.site.reference.names import PublicName
from tools.site.reference.texts import Texts

_EMPTY = inspect.Parameter.empty
_ARGUMENTS = ("argument", "type", "default", "meaning")


class Entry:
    """Writes the section of a public name.

    Args:
        name: The class or function.
        texts: Writer of the page's texts.
        level: Level of the heading.
        settings: Where the settings of this class have a table already, as a link, instead of a table here.
    """

    def __init__(self, name: PublicName, texts: Texts, *, level: int = 2, settings: str = "") -> None:
        self.name = name
        self.texts = texts
        self.level = level
        self.settings = settings

    def write(self) -> str:
        """Return the section."""
        return "\n".join(part for part in self._parts() if part)

    def _parts(self) -> Iterator[str]:
        name, value = self.name, self.name.value
        for other in name.paths[1:]:
            yield f'<span id="{other}"></span>\n'
        yield heading(self.level, code(name.path), name.path, name.name)
        yield from self._text(docstring_of(value) if not inspect.isclass(value) else read_docstring(value.__doc__))
        where = f"Source: {code(name.source)}"
        yield f"{where}, also {', '.join(map(code, name.paths[1:]))}\n" if name.paths[1:] else f"{where}\n"

    def _text(self, text: Docstring) -> Iterator[str]:
        value = self.name.value
        yield f"{self.texts.line(text.summary, self.name.path)}\n"
        if inspect.isclass(value):
            yield from self._class(value, text)
        else:
            yield code_block(show_call(self.name.path, value), "python")
            yield self.texts.paragraphs(text.body, self.name.path)
            yield from self._function(signature_of(value), text, self.name.path)

    def _class(self, cls: type, text: Docstring) -> Iterator[str]:
        path = self.name.path
        if not issubclass(cls, BaseException):
            yield code_block(show_class(path, cls), "python")
        yield self.texts.paragraphs(text.body, path)
        if issubclass(cls, NeuroDivergentError):
            yield f"Exit code of the command line: {cls.exit_code}.\n"
        if issubclass(cls, Config):
            yield self.settings or settings_table(cls, self.texts, path)
            yield self._attributes(text, cls.model_fields)
        else:
            yield from self._arguments_of_class(cls, text)
        if text.examples:
            yield self._examples(text)
        yield from self._members(cls)

    def _arguments_of_class(self, cls: type, text: Docstring) -> Iterator[str]:
        described = {**attributes_of(cls), **text.arguments}
        fields = list(fields_of(cls))
        if fields:
            rows = [
                (self._anchored(name), self._type(kind), _show_default(default), self._line(described.get(name, "")))
                for name, kind, default in fields
            ]
            yield table(("field", *_ARGUMENTS[1:]), rows)
        elif not issubclass(cls, BaseException):
            yield self._table_of_arguments(signature_of(cls), text.arguments)
        yield self._attributes(text, {name for name, _, _ in fields})

    def _attributes(self, text: Docstring, known: Collection[str]) -> str:
        """Return a table of the attributes that are not in a table yet."""
        rows = [
            (self._anchored(name), self._line(words)) for name, words in text.attributes.items() if name not in known
        ]
        return table(("attribute", "meaning"), rows)

    def _anchored(self, name: str) -> str:
        return f"`{name}`{{ #{self.name.path}.{name} }}"

    def _function(self, signature: inspect.Signature | None, text: Docstring, owner: str) -> Iterator[str]:
        yield self._table_of_arguments(signature, text.arguments)
        kind = "" if signature is None else self._returned(signature)
        if text.returns or kind:
            between = ": " if kind and text.returns else ""
            yield f"**Returns** {kind}{between}{self.texts.line(text.returns, owner)}\n"
        if text.raises:
            rows = [(self.texts.code(error), self._line(words)) for error, words in text.raises]
            yield table(("raises", "when"), rows)
        if text.examples:
            yield self._examples(text)

    def _returned(self, signature: inspect.Signature) -> str:
        if signature.return_annotation in (_EMPTY, None, "None", "NoReturn"):
            return ""
        return self._type(signature.return_annotation)

    def _table_of_arguments(self, signature: inspect.Signature | None, described: Mapping[str, str]) -> str:
        if signature is None:
            return ""
        rows = []
        for name, parameter in signature.parameters.items():
            words = described.get(name, described.get(f"*{name}", described.get(f"**{name}", "")))
            stars = stars_of(parameter)
            default = "" if stars else _show_default(parameter.default)
            rows.append((code(f"{stars}{name}"), self._type(parameter.annotation), default, self._line(words)))
        return table(_ARGUMENTS, rows)

    def _members(self, cls: type) -> Iterator[str]:
        members = members_of(cls, self.texts.links)
        own = [member for member in members if member.base is None]
        properties = [member for member in own if member.kind == "property"]
        yield table(("property", "type", "meaning"), [self._property(member) for member in properties])
        for member in own:
            if member.kind != "property":
                yield from self._method(member)
        inherited: dict[PublicName, list[str]] = {}
        for member in members:
            if member.base is not None:
                inherited.setdefault(member.base, []).append(member.name)
        yield from self._inherited(inherited, is_config=issubclass(cls, Config))

    def _inherited(self, inherited: Mapping[PublicName, list[str]], *, is_config: bool) -> Iterator[str]:
        """Yield a line that leads to what base classes describe."""
        parts = []
        for base, names in inherited.items():
            links = ", ".join(self.texts.to(base.page, code(name), f"{base.path}.{name}") for name in names)
            parts.append(f"from {self.texts.to(base.page, code(base.name), base.path)}: {links}")
        if is_config:
            parts.append(self.texts.to("settings.md", "what every class of settings has", "every-class-of-settings"))
        if parts:
            yield f"Also {'; '.join(parts)}.\n"

    def _property(self, member: Member) -> tuple[str, str, str]:
        text = read_docstring(member.text)
        return self._anchored(member.name), self._returned(inspect.signature(member.value)), self._line(text.text)

    def _method(self, member: Member) -> Iterator[str]:
        path = f"{self.name.path}.{member.name}"
        text = read_docstring(member.text)
        yield heading(self.level + 1, code(f"{self.name.name}.{member.name}"), path, member.name)
        yield f"{self.texts.line(text.summary, self.name.path)}\n"
        called = path if member.kind != "method" else f"{_instance(self.name.name)}.{member.name}"
        is_bound = member.kind != "staticmethod"
        yield code_block(show_call(called, member.value, bound=is_bound), "python")
        yield self.texts.paragraphs(text.body, self.name.path)
        yield from self._function(signature_of(member.value, bound=is_bound), text, self.name.path)

    def _examples(self, text: Docstring) -> str:
        blocks = [self.texts.paragraphs(part, self.name.path) for part in text.examples]
        return "\n".join(["**Example**\n", *blocks])

    def _type(self, annotation: Any) -> str:
        return describe_written_type(annotation, self.texts)

    def _line(self, text: str) -> str:
        return self.texts.line(text, self.name.path)


def anchors_of(name: PublicName, links: Any) -> Iterator[tuple[str, str]]:
    """Yield the paths of what a class has and that has an anchor of its own, with that anchor."""
    if inspect.isclass(name.value):
        own = [member.name for member in members_of(name.value, links) if member.base is None]
        for member in own:
            for path in name.paths:
                yield f"{path}.{member}", f"{name.path}.{member}"


def _instance(name: str) -> str:
    """Return what an object of a class is called in a line of code: ``forecaster`` for ``Forecaster``."""
    return name.lower() if name.isupper() else "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")


def _show_default(default: Any) -> str:
    return "required" if default is _EMPTY else code(show_value(default))
