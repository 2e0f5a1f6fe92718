"""Rows of the list for what is no run."""

from __future__ import annotations

from typing import Any

from neuro_divergent.interfaces.dashboard.passwords import without_passwords

_EMPTY: dict[str, Any] = {
    "message": "", "step": None, "total_steps": None, "phase": None, "quiet": None, "time": 0.0, "model": None,
    "data": None, "horizon": None, "metric": None, "best": None, "score": None, "seconds_left": None,
    "samples_per_second": None,
}  # fmt: skip


def list_row(kind: str, key: str, name: str, state: str, **values: Any) -> dict[str, Any]:
    """Return what a list shows of something, with the fields that it shows of a run."""
    shown: dict[str, Any] = without_passwords({**_EMPTY, **values})
    return {"kind": kind, "id": key, "name": name, "state": state, **shown}
