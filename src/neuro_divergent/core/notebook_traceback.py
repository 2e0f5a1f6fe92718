"""What a notebook shows of an error whose message says what to do: the lines of the user, and the message."""

from __future__ import annotations

import os
import traceback
from pathlib import Path


class ShortTraceback(BaseException):
    """An error that IPython shows without the lines of this and of other packages; ``ND_TRACEBACK=1`` shows all."""

    def _render_traceback_(self) -> list[str]:
        """Return the lines that IPython shows, which asks errors for them by this name."""
        if os.environ.get("ND_TRACEBACK"):
            return "".join(traceback.format_exception(self)).splitlines()
        others = _installed()
        frames = [frame for frame in traceback.extract_tb(self.__traceback__) if not frame.filename.startswith(others)]
        lines = "".join(traceback.format_list(frames)).splitlines()
        return [*lines, f"{type(self).__name__}: {self}", *getattr(self, "__notes__", ())]


def _installed() -> tuple[str, ...]:
    """Return how the names of all files begin that are of Python, of installed packages or of this one."""
    import sysconfig

    places = (sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    return tuple(f"{place}{os.sep}" for place in (*places, Path(__file__).resolve().parent.parent))
