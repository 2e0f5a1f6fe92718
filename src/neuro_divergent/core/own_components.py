"""Files of the user's own, whose components are found by name as those of the package are.

Importing a file runs it, so only the user names such files: by ``nd --import FILE``, or by the environment variable
``ND_IMPORT``, through which processes that this one starts know them as well. Nothing that is read from a run, a saved
model or a file of settings can add to them.
"""

from __future__ import annotations

import importlib
import os
import shlex
import sys
from collections.abc import Iterable
from pathlib import Path

from neuro_divergent.core.errors import ConfigError, InputError, NeuroDivergentError

VARIABLE = "ND_IMPORT"
"""Environment variable with the files, or names of installed modules, separated as in ``PATH``."""

_SUFFIX = ".py"
_imported: set[str] = set()


def name_files(files: Iterable[str]) -> None:
    """Make files known to this process and to those that it starts; nothing is imported yet.

    Args:
        files: Python files, or names of installed modules.

    Raises:
        InputError: If there is no such file.
    """
    known = dict.fromkeys(_located(file) for file in [*_named(), *files])
    if known:
        os.environ[VARIABLE] = os.pathsep.join(known)


def import_files() -> None:
    """Import the files that are named, each once.

    Raises:
        ConfigError: If one of them cannot be imported, with the reason.
    """
    for file in _named():
        if file in _imported:
            continue
        _imported.add(file)  # before it runs, since it may look names up itself
        try:
            _import(file)
        except BaseException:
            _imported.discard(file)
            raise


def import_options() -> str:
    """Return the options that name the same files to another command, such as ``" --import my_model.py"``."""
    here = Path.cwd()
    shown = [str(Path(file).relative_to(here)) if Path(file).is_relative_to(here) else file for file in _named()]
    return "".join(f" --import {shlex.quote(file)}" for file in shown)


def _located(file: str) -> str:
    """Return a file by its whole path, since other processes may run in another directory."""
    if file.endswith(_SUFFIX):
        if not Path(file).is_file():
            raise InputError(f"--import: {file}: there is no such file.")
        path = str(Path(file).resolve())
        if os.pathsep in path:
            raise InputError(f"--import: {path}: {os.pathsep!r} separates files; rename the file or its directory.")
        return path
    if not all(part.isidentifier() for part in file.split(".")):
        raise InputError(f"--import: {file!r} is neither a Python file ({_SUFFIX}) nor the name of a module.")
    return file


def _named() -> list[str]:
    return [file for file in os.environ.get(VARIABLE, "").split(os.pathsep) if file]


def _import(file: str) -> None:
    path = Path(file) if file.endswith(_SUFFIX) else None
    name = file if path is None else path.stem
    if path is not None:
        if not path.is_file():
            raise ConfigError(f"{VARIABLE}: {file}: there is no such file.")
        if not name.isidentifier():
            raise ConfigError(f"{file}: cannot be imported under this name; use letters, digits and _ only.")
        # Workers import what they are sent by the name of its module, so its directory has to be found there too. It
        # comes last: a file of the user must not take the place of an installed module that others import.
        if str(path.parent) not in sys.path:
            sys.path.append(str(path.parent))
    try:
        module = importlib.import_module(name)
    except NeuroDivergentError:
        raise
    except Exception as error:
        raise ConfigError(f"{file}: cannot be imported: {type(error).__name__}: {error}") from error
    found = getattr(module, "__file__", None)
    if path is not None and (found is None or Path(found).resolve() != path.resolve()):
        raise ConfigError(f"{file}: another module is called {name!r}; give the file another name.")
