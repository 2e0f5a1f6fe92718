"""Settings that hold for all tests."""

from __future__ import annotations

import os
from collections import Counter
from importlib.util import find_spec
from typing import Any

from hypothesis import settings

# Two test processes share the cores; threads of torch that wait for each other would make both crawl.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# A machine that is busy for a moment is no failure. `make soak` looks much harder.
settings.register_profile("usual", deadline=None)
settings.register_profile("soak", deadline=None, max_examples=2000)
settings.load_profile("soak" if os.environ.get("ND_SOAK") else "usual")

# What drives a browser is installed by `make test-browser`.
collect_ignore = [] if find_spec("playwright") else ["browser"]


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Show the counts that tests of reliability recorded, added up over the cases of each test."""
    totals: dict[str, Counter[str]] = {}
    for report in terminalreporter.getreports(""):  # the ends of tests that passed and failed
        if report.when == "teardown" and "reliability" in report.nodeid and report.user_properties:
            name = report.nodeid.rpartition("::")[2].partition("[")[0].removeprefix("test_").replace("_", " ")
            totals.setdefault(name, Counter()).update(dict(report.user_properties))
    if totals:
        terminalreporter.section("reliability")
    for name, counts in totals.items():
        shown = ", ".join(f"{key.replace('_', ' ')} {value:,.7g}" for key, value in counts.items())
        terminalreporter.write_line(f"{name}: {shown}")
