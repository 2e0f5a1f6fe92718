"""A digest of the code of a function, which changes when what the function does may have changed."""

from __future__ import annotations

import functools
import hashlib
import site
import sys
import sysconfig
import types
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from neuro_divergent.core.config import Config
from neuro_divergent.core.errors import ConfigError
from neuro_divergent.core.function import label_of

_PLAIN = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis))


def code_digest(function: Callable[..., Any]) -> str:
    """Return a SHA-256 of the code of a function.

    It covers the file of its module, the files of modules of one's own that this one imports (those that are not
    installed packages), the compiled functions of these modules as they are loaded, and the values that the function
    keeps: defaults, arguments of a ``functools.partial``, and variables of the function around it.

    Raises:
        ConfigError: If it keeps a value whose content cannot be told.
    """
    reader = _CodeReader(label_of(function))
    reader.add_function(function)
    return reader.digest.hexdigest()


class _CodeReader:
    """Feeds everything that a function consists of to a digest."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.digest = hashlib.sha256()
        self._seen: set[int] = set()

    def add(self, *parts: object) -> None:
        for part in parts:
            self.digest.update(f"{part!s}\0".encode("utf-8", "surrogatepass"))

    def add_function(self, function: Any) -> None:
        if id(function) in self._seen:
            self.add("again", label_of(function))
            return
        self._seen.add(id(function))
        if isinstance(function, functools.partial):
            self.add("partial")
            self.add_function(function.func)
            self.add_value(list(function.args))
            self.add_value(dict(function.keywords))
        elif isinstance(function, types.MethodType):
            self.add_function(function.__func__)
            if not isinstance(function.__self__, type | types.ModuleType):
                self.add_value(function.__self__)
        elif isinstance(function, types.FunctionType):
            self._add_python_function(function)
        elif isinstance(function, type) or not hasattr(function, "__dict__"):
            self.add("callable", label_of(function))
            self._add_module(getattr(function, "__module__", None))
        else:  # an object that can be called
            self.add("object", label_of(function))
            self._add_module(type(function).__module__)
            self.add_value(vars(function))

    def _add_python_function(self, function: types.FunctionType) -> None:
        self.add("function", function.__qualname__)
        self._add_code(function.__code__)
        self.add_value(list(function.__defaults__ or ()))
        self.add_value(dict(function.__kwdefaults__ or {}))
        names = function.__code__.co_freevars
        for name, cell in zip(names, function.__closure__ or (), strict=True):
            self.add("variable", name)
            try:
                content = cell.cell_contents
            except ValueError:
                self.add("not set yet")
            else:
                self.add_value(content)
        wrapped = getattr(function, "__wrapped__", None)
        if callable(wrapped):
            self.add_function(wrapped)
        if not self._add_module(function.__module__):
            # Typed in at a prompt or in a notebook: no file says what the names in it mean.
            for name in _names(function.__code__):
                if name in function.__globals__:
                    self.add("global", name)
                    self.add_value(function.__globals__[name])

    def _add_code(self, code: types.CodeType) -> None:
        self.add("code", code.co_code.hex(), code.co_names, code.co_varnames, code.co_flags)
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self._add_code(constant)
            else:
                self.add_value(constant)

    def _add_module(self, name: str | None) -> bool:
        """Add a module and those of one's own that it imports; return whether a file or a version tells its content."""
        module = sys.modules.get(name or "")
        if module is None:
            return False
        file = getattr(module, "__file__", None)
        if file is None and name == "__main__":
            return False
        if _is_installed(module):
            root = (name or "").partition(".")[0]
            self.add("package", name, getattr(sys.modules.get(root), "__version__", ""))
            return True
        if id(module) in self._seen:
            return True
        self._seen.add(id(module))
        try:
            self.add("module", hashlib.sha256(Path(str(file)).read_bytes()).hexdigest())
        except OSError:
            return False
        for item in list(vars(module).values()):
            if isinstance(item, types.FunctionType) and item.__module__ == name:
                self._add_code(item.__code__)  # as it was loaded, which may be before the file was changed
            elif isinstance(item, types.ModuleType):
                self._add_module(item.__name__)
            elif isinstance(item, (types.FunctionType, type)) and item.__module__ != name:
                self._add_module(item.__module__)
        return True

    def add_value(self, value: Any) -> None:
        if isinstance(value, _PLAIN):
            self.add(type(value).__name__, repr(value))
        elif isinstance(value, Mapping):
            self.add("mapping", len(value))
            for key, item in value.items():
                self.add_value(key)
                self.add_value(item)
        elif isinstance(value, (set, frozenset)):
            self.add("set", *sorted(map(repr, value)))
        elif isinstance(value, (list, tuple)):
            self.add(type(value).__name__, len(value))
            for item in value:
                self.add_value(item)
        elif isinstance(value, Path):
            self.add("path", value)
        elif isinstance(value, Config):
            self.add("config", type(value).__qualname__, repr(value.to_dict()))
        elif isinstance(value, types.ModuleType):
            if not self._add_module(value.__name__):
                self.add("module", value.__name__)
        elif _is_array(value):
            self._add_array(value)
        elif callable(value):
            self.add_function(value)
        else:
            raise ConfigError(
                f"function {self.label}: keeps a {type(value).__name__}, and whether that has changed cannot be told. "
                "Pass it as an input or a setting, or set cache=False."
            )

    def _add_array(self, value: Any) -> None:
        if type(value).__module__.startswith("numpy"):
            self.add("array", value.dtype, getattr(value, "shape", ()))
            self.digest.update(value.tobytes())
            return
        from neuro_divergent.lifecycle.pipeline.artifact import as_frame, table_digest

        frame = value.to_frame() if type(value).__name__ == "Series" else value
        self.add("table", table_digest(as_frame(frame)))


def _is_array(value: Any) -> bool:
    root, name = type(value).__module__.partition(".")[0], type(value).__name__
    is_number = root == "numpy" and (name == "ndarray" or hasattr(value, "dtype")) and not isinstance(value, type)
    return is_number or (root in ("polars", "pandas") and name in ("DataFrame", "Series"))


def _names(code: types.CodeType) -> Iterable[str]:
    """Return the global names that code uses, in order, also those of functions inside it."""
    found = dict.fromkeys(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= dict.fromkeys(_names(constant))
    return sorted(found)


@functools.cache
def _library_directories() -> tuple[Path, ...]:
    import neuro_divergent

    paths = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    paths += [*site.getsitepackages(), *neuro_divergent.__path__]
    return tuple(Path(path).resolve() for path in paths if path)


def _is_installed(module: types.ModuleType) -> bool:
    """Whether a module belongs to Python or to an installed package, whose version tells its content."""
    file = getattr(module, "__file__", None)
    if file is None:
        return getattr(module, "__spec__", None) is not None and module.__name__ != "__main__"
    path = Path(file).resolve()
    return any(path.is_relative_to(place) for place in _library_directories())
