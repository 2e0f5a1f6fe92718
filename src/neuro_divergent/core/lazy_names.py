"""Public names that are imported when they are first used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lazy_loader

Attached = tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]


def attach(module: str, file: str, *, package: str | None = None) -> Attached:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a module whose stub says where its names are.

    A name that is not there is answered with the closest one.

    Args:
        module: Its ``__name__``.
        file: Its ``__file__``; the stub lies beside it.
        package: The package that the imports of the stub are relative to, where that is not the module.
    """
    find, names, public = lazy_loader.attach_stub(package or module, file)

    def get(name: str) -> Any:
        if name in public:
            return find(name)
        message = f"module {module!r} has no attribute {name!r}"
        if not name.startswith("_"):
            from neuro_divergent.core.errors import did_you_mean

            close = did_you_mean(name, public)
            message += f".{close}" if close else ""
        raise AttributeError(message)

    return get, names, public
