"""The public names: which there are, on which page each is, and links to them."""

from __future__ import annotations

import inspect
import posixpath
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import neuro_divergent as nd
from neuro_divergent.models.base import Architecture
from tools.site.reference.markdown import code

ROOT = Path(__file__).parents[3]
ARCHITECTURES, ERRORS = "architectures.md", "errors.md"

# Where names are that no namespace has besides the top, by the module they are from; the longest that fits.
_PAGES = {
    "core.config": "models",
    "core.progress": "training",
    "data": "data",
    "diagnostics": "diagnostics",
    "evaluation": "evaluation",
    "forecasting": "forecasting",
    "lifecycle": "lifecycle",
    "losses": "losses",
    "models": "models",
    "search": "search",
    "training": "training",
    "training.callbacks": "callbacks",
    "training.optimizers": "optimizers",
    "training.schedules": "schedules",
}
_CALL = re.compile(r"(?:nd\.|neuro_divergent\.)?([A-Za-z_][\w.]*)(?:\(.*\))?", re.DOTALL)


@dataclass(frozen=True)
class PublicName:
    """Something that users import.

    Attributes:
        paths: Where it is found, such as ``nd.NHITS`` and ``nd.models.NHITS``; the shortest first.
        value: The class or function.
        page: The page it is described on, below the reference.
    """

    paths: tuple[str, ...]
    value: Any
    page: str

    @property
    def path(self) -> str:
        """The shortest name, which is its anchor too."""
        return self.paths[0]

    @property
    def name(self) -> str:
        """The last part of the name."""
        return self.path.rpartition(".")[2]

    @property
    def room(self) -> str:
        """The module it is from, without the name of the package."""
        return str(self.value.__module__).partition(".")[2]

    @property
    def source(self) -> str:
        """The file it is from, seen from the root of the project."""
        return f"src/{Path(inspect.getfile(self.value)).relative_to(Path(nd.__file__).parents[1]).as_posix()}"


def namespaces() -> dict[str, ModuleType]:
    """Return the namespaces, such as ``nd.losses``, by name."""
    top: ModuleType = nd
    found = {name: getattr(top, name) for name in sorted(top.__all__)}
    return {name: value for name, value in found.items() if isinstance(value, ModuleType)}


def find_public_names() -> list[PublicName]:
    """Return every public name once, in order of the alphabet."""
    paths: dict[int, list[str]] = defaultdict(list)
    values: dict[int, Any] = {}
    for space, module in {"": nd, **namespaces()}.items():
        for name in sorted(module.__all__):
            value = getattr(module, name)
            if not isinstance(value, ModuleType):
                paths[id(value)].append(".".join(filter(None, ("nd", space, name))))
                values[id(value)] = value
    found = [PublicName(tuple(paths[key]), value, _page_of(value, paths[key])) for key, value in values.items()]
    return sorted(found, key=lambda name: name.name.lower())


def _page_of(value: Any, paths: list[str]) -> str:
    spaces = [path.split(".")[1] for path in paths if path.count(".") == 2]
    if "errors" in spaces:
        return ERRORS
    if inspect.isclass(value) and issubclass(value, Architecture) and value.name:
        return ARCHITECTURES
    if spaces:
        return f"api/{spaces[0]}.md"
    room = value.__module__.partition(".")[2]
    fitting = [prefix for prefix in _PAGES if f"{room}.".startswith(f"{prefix}.")]
    if not fitting:
        raise ValueError(f"{paths[0]}: no page for names from {value.__module__}")
    return f"api/{_PAGES[max(fitting, key=len)]}.md"


class Links:
    """Finds the page and the anchor of whatever a text names.

    Args:
        names: The public names.
    """

    def __init__(self, names: list[PublicName]) -> None:
        self.names = names
        self._places = {path: (name.page, name.path) for name in names for path in name.paths}
        self._objects: dict[int, tuple[str, str]] = {id(name.value): (name.page, name.path) for name in names}
        self._bare: dict[str, list[PublicName]] = defaultdict(list)
        for name in names:
            self._bare[name.name].append(name)

    def add(self, path: str, page: str, anchor: str) -> None:
        """Make something known that has an anchor: a method, a setting, or a command such as ``nd runs delete``."""
        self._places[path] = (page, anchor)

    def add_object(self, value: Any, page: str, anchor: str) -> None:
        """Make the place of something known that is not public."""
        self._objects[id(value)] = (page, anchor)

    def place_of(self, value: Any) -> tuple[str, str] | None:
        """Return page and anchor of an object, if it is described."""
        return self._objects.get(id(value))

    @cached_property
    def _by_value(self) -> dict[int, PublicName]:
        return {id(name.value): name for name in self.names}

    def name_of(self, value: Any) -> PublicName | None:
        """Return the public name of an object, if it has one."""
        return self._by_value.get(id(value))

    def find(self, text: str, page: str, owner: str = "") -> tuple[str, str] | None:
        """Return page and anchor of what a piece of code names, or nothing.

        A name in small letters may be anything, so it must have its namespace, or be a method of ``owner``. What begins
        with ``nd`` and a space is a command.
        """
        if text.startswith("nd "):
            words = text.split()
            commands = (" ".join(words[:count]) for count in range(len(words), 1, -1))
            return next((self._places[command] for command in commands if command in self._places), None)
        matched = _CALL.fullmatch(text)
        if matched is None:
            return None
        head = matched[1]
        explicit = not text.startswith(head)
        if explicit or "." in head:
            candidates = [f"nd.{head}", *(f"{name.path}.{head.partition('.')[2]}" for name in self._named(head, page))]
        elif head[0].isupper():
            candidates = [name.path for name in self._named(head, page)]
        else:
            candidates = [f"{owner}.{head}"] if owner and "(" in text else []
        return next((self._places[path] for path in candidates if path in self._places), None)

    def _named(self, head: str, page: str) -> Iterator[PublicName]:
        """Yield what a name without a namespace stands for: on this page, or the only one of that name."""
        found = self._bare.get(head.partition(".")[0], [])
        here = [name for name in found if name.page == page]
        yield from here or (found if len(found) == 1 else ())

    def link(self, text: str, page: str, owner: str = "") -> str:
        """Return a piece of code, as a link where it names something that is described elsewhere."""
        found = self.find(text, page, owner)
        if found is None or (owner and found[1] == owner):
            return code(text)
        anchor = f"#{found[1]}" if found[1] else ""
        return f"[{code(text)}]({relative(found[0], page)}{anchor})"


def relative(target: str, page: str) -> str:
    """Return the way from one page to another, both seen from the directory of the reference."""
    return "" if target == page else posixpath.relpath(target, posixpath.dirname(page) or ".")
