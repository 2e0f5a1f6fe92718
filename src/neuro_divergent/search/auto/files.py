"""Names of the files in the directory of an automatic search."""

from __future__ import annotations

SETTINGS = "auto.json"
"""Settings, and the fingerprint of the data."""

PROGRESS = "progress.json"
"""Time spent, and how many series are judged on."""

PLAN = "auto.toml"
"""The plan, which ``nd auto`` fits without a search."""

LEADERBOARD = "leaderboard.json"
"""All candidates; it is written last."""

COMMAND = "command.json"
"""The options of ``nd auto``, which are written before the search is begun."""
