"""Settings that hold for all tests."""

from __future__ import annotations

import os
import re
import reprlib
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import pytest
from hypothesis import settings

from neuro_divergent.core.instructions import find_instructions, limit_instructions
from neuro_divergent.core.processor import read_processor

# Two test processes share the cores; threads of torch that wait for each other would make both crawl.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Before torch is loaded, here and in test processes: a processor may show instructions that it does not run.
if read_processor().shows_tiles:
    limit_instructions("bf16")
_SHORT_TYPE = re.compile(r"bf16|fp16|bfloat16|float16")

# A machine that is busy for a moment is no failure. `make soak` looks much harder.
settings.register_profile("usual", deadline=None)
settings.register_profile("soak", deadline=None, max_examples=2000)
settings.load_profile("soak" if os.environ.get("ND_SOAK") else "usual")

# What drives a browser is installed by `make test-browser`.
collect_ignore = [] if find_spec("playwright") else ["browser"]


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip tests that compute in short types which do not work here: those of parameters, and those marked."""
    shown = reprlib.Repr()  # parameters may be nested as deeply as anything
    shown.maxdict = 50
    text = shown.repr(getattr(item, "callspec", None) and item.callspec.params)  # type: ignore[attr-defined]
    text += repr([mark.args for mark in item.iter_markers("precision")])
    for name in {"bf16" if "b" in found else "fp16" for found in _SHORT_TYPE.findall(text)}:
        if (problem := find_instructions().problems.get(name)) is not None:
            pytest.skip(f"{name} does not work on this processor: {problem}")


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """Start a PostgreSQL and give its address."""
    from tests.postgresql import find_binaries, running_postgresql

    binaries = find_binaries()
    if binaries is None:
        pytest.skip("PostgreSQL is not installed; tools/install-postgresql does that")
    pytest.importorskip("psycopg")
    with running_postgresql(binaries) as address:
        yield address


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
