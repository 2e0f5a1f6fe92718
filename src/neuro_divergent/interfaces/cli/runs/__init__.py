"""``nd runs``: lists, compares, deletes and exports runs."""

from neuro_divergent.interfaces.cli.runs.display import next_step, show_progress
from neuro_divergent.interfaces.cli.runs.group import app
from neuro_divergent.interfaces.cli.runs.options import Stale

__all__ = ["Stale", "app", "next_step", "show_progress"]
