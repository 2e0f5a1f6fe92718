"""Files that match a pattern."""

from __future__ import annotations

import glob
import os


def matching_files(pattern: str) -> list[str]:
    """Return the files that a path or pattern names, sorted; none is no error."""
    if os.path.lexists(pattern):
        return [pattern]
    found = glob.glob(pattern, recursive=True)  # noqa: PTH207 (Path.glob refuses absolute patterns)
    return sorted(path for path in found if os.path.isfile(path))  # noqa: PTH113
