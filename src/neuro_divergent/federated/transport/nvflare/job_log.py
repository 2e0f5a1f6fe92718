"""Lines in the log of a job that whoever submitted it looks for."""

from __future__ import annotations

import re
from typing import Any

_PROBLEM = "neuro_divergent cannot go on:"
_COMPLETE = re.compile(r"neuro_divergent: round (\d+) is next")


def problem_line(error: Exception) -> str:
    """Return the line for an error that another job would meet as well."""
    return f"{_PROBLEM} {error}"


def problem_in(log: str) -> str:
    """Return the last such error in a log; nothing if there is none."""
    found = [line for line in log.splitlines() if _PROBLEM in line]
    return found[-1].partition(_PROBLEM)[2].strip() if found else ""


def begin_line(complete: int) -> str:
    """Return the line for the beginning of a job, after some complete rounds."""
    return f"neuro_divergent: round {complete + 1} is next"


def round_line(row: dict[str, Any], rounds: int) -> str:
    """Return the line for a round that is about to be complete."""
    return f"round {row['round']} of {rounds}: loss {row['loss']}; neuro_divergent: round {row['round'] + 1} is next"


def rounds_in(log: str) -> int:
    """Return how many rounds are complete according to a log, give or take the last one."""
    return max((int(found) - 1 for found in _COMPLETE.findall(log)), default=0)
