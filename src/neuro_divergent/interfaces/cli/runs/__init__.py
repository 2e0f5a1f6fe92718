"""``nd runs``: which runs there are, how far they are, what differs between them; and clearing and sending them."""

from neuro_divergent.interfaces.cli.runs.display import next_step, show_progress
from neuro_divergent.interfaces.cli.runs.group import app
from neuro_divergent.interfaces.cli.runs.listing import Stale

__all__ = ["Stale", "app", "next_step", "show_progress"]
