"""Whatever is done to a CSV, Parquet or TOML file: an error of ours or a table, soon, and never the end of the process.

The files are read in processes of their own, so that one which ends its process is counted and named.
"""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOAK = bool(os.environ.get("ND_SOAK"))
COUNT = 200_000 if SOAK else 3_000
WORKERS = 2
LONGEST = 300  # seconds without a word after which a process counts as hung


def read_mutants(first: int, last: int, place: Path) -> Counter[str]:
    """Read the inputs of a range of numbers, going on behind one that ends or hangs its process."""
    place.mkdir()
    outcomes: Counter[str] = Counter()
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"}
    while first < last:
        batch = min(last, first + 5_000)
        command = [sys.executable, "-m", "tests.reliability.input_mutants", str(first), str(batch), str(place)]
        with (place / "said").open("wb") as said, (place / "errors").open("wb") as errors:
            try:
                limit = LONGEST + (batch - first) // 20
                done = subprocess.run(command, stdout=said, stderr=errors, cwd=ROOT, env=environment, timeout=limit)
                code = done.returncode
            except subprocess.TimeoutExpired:
                code = None
        lines = (place / "said").read_text().splitlines()
        assert lines, (place / "errors").read_text(errors="replace")[-2000:]
        for line in lines:
            number, _, outcome = line.partition(" ")
            if not outcome:
                outcome = "HANG" if code is None else f"ABORT with code {code}"
            outcomes[outcome if outcome in ("accepted", "refused") else f"{number}: {outcome}"] += 1
        first = int(lines[-1].split(" ")[0]) + 1
        assert code in (0, None) or re.search(r"\d $", lines[-1] + " "), code
    return outcomes


def test_no_mutated_input_does_harm(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    edges = [COUNT * part // WORKERS for part in range(WORKERS + 1)]
    with ThreadPoolExecutor(WORKERS) as pool:
        parts = [
            pool.submit(read_mutants, begin, end, tmp_path / str(begin)) for begin, end in itertools.pairwise(edges)
        ]
        outcomes = sum((part.result() for part in parts), Counter())
    harm = [outcome for outcome in outcomes if outcome not in ("accepted", "refused")]
    for outcome, count in (("refused", outcomes["refused"]), ("accepted", outcomes["accepted"]), ("harm", len(harm))):
        record_property(outcome, count)
    assert not harm, "\n".join(harm[:20])
    assert sum(outcomes.values()) == COUNT
    assert min(outcomes["refused"], outcomes["accepted"]) > COUNT / 20
