"""Plants known bugs in a copy of the package, one at a time, and shows which tests notice.

``mutants.toml`` lists the bugs: a text that occurs exactly once in the sources, what it becomes, and the area whose
tests must fail. The checkout is not touched. The tests must pass without a bug, else nothing is concluded.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any

ROOT = Path(__file__).parent.parent
TABLE = Path(__file__).with_suffix(".toml")
COPIED = ("src", "tests", "pyproject.toml")
SECONDS = 1200  # a bug that hangs is noticed, too


@dataclass(frozen=True)
class Mutant:
    """A bug.

    Attributes:
        name: What is wrong.
        area: Whose tests must notice.
        old: Text in the sources.
        new: What it becomes.
    """

    name: str
    area: str
    old: str
    new: str

    def place_in(self, tree: Path) -> Path:
        """Return the file of the sources that holds the text.

        Raises:
            SystemExit: If it does not occur exactly once.
        """
        found = [(path, path.read_text().count(self.old)) for path in sorted((tree / "src").rglob("*.py"))]
        places = [path for path, count in found for _ in range(count)]
        if len(places) != 1:
            raise SystemExit(
                f"mutant {self.name!r}: its text occurs {len(places)} times in src, not once: {self.old!r}"
            )
        return places[0]


def read_table() -> tuple[dict[str, list[str]], list[Mutant]]:
    """Return the tests of each area, and the mutants."""
    table: dict[str, Any] = tomllib.loads(TABLE.read_text())
    areas: dict[str, list[str]] = table["areas"]
    mutants = [Mutant(**entry) for entry in table["mutants"]]
    for area, tests in areas.items():
        missing = [test for test in tests if not (ROOT / test).exists()]
        if missing:
            raise SystemExit(f"area {area!r}: there is no {missing[0]}")
    for mutant in mutants:
        mutant.place_in(ROOT)
        if mutant.area not in areas:
            raise SystemExit(f"mutant {mutant.name!r}: there is no area {mutant.area!r}")
    if len({mutant.name for mutant in mutants}) != len(mutants):
        raise SystemExit("two mutants have the same name")
    return areas, mutants


def copy_tree(directory: Path) -> Path:
    """Return a copy of what tests need, whose sources are those that a test imports there."""
    directory.mkdir()
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, directory / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, directory / name)
    _python(directory, "-m", "compileall", "-q", "src")
    code = "import neuro_divergent; print(neuro_divergent.__file__)"
    found = _python(directory, "-c", code).stdout.strip()
    if not Path(found).is_relative_to(directory):
        raise SystemExit(f"tests in the copy would import {found}")
    return directory


def first_failure(tree: Path, tests: Sequence[str]) -> str | None:
    """Run tests, one path after the other, up to the first that fails; return its name, or ``None`` if all pass."""
    for test in tests:
        try:
            result = _python(tree, "-m", "pytest", "-x", "-n", "0", "-p", "no:cacheprovider", "--tb=no", test)
        except subprocess.TimeoutExpired:
            return f"{test}: no end within {SECONDS} seconds"
        if result.returncode:
            lines = [line for line in result.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
            return lines[0].split(" ", 1)[1].partition(" - ")[0] if lines else f"{test}: {result.stdout[-300:]}"
    return None


def plant(mutant: Mutant, tree: Path, tests: Sequence[str]) -> str | None:
    """Return the first test that notices a bug, or ``None``; the copy is as before afterwards."""
    path = mutant.place_in(tree)
    text = path.read_text()
    path.write_text(text.replace(mutant.old, mutant.new))
    try:
        return first_failure(tree, tests)
    finally:
        path.write_text(text)


def main() -> None:
    """Plant the bugs and say which survive."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="mutants whose name or area contains this")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1), help="how many at the same time")
    parser.add_argument("--unproved", action="store_true", help="do not run the tests without a bug first")
    options = parser.parse_args()
    areas, mutants = read_table()
    chosen = [mutant for mutant in mutants if options.only in f"{mutant.area} {mutant.name}"]
    with tempfile.TemporaryDirectory(prefix="mutants-") as directory:
        trees: SimpleQueue[Path] = SimpleQueue()
        for index in range(options.jobs):
            trees.put(copy_tree(Path(directory) / str(index)))
        if not options.unproved:
            needed = sorted({test for mutant in chosen for test in areas[mutant.area]})
            tree = trees.get()
            broken = first_failure(tree, needed)
            trees.put(tree)
            if broken:
                raise SystemExit(f"without a bug, {broken} fails: nothing can be concluded")

        def judge(mutant: Mutant) -> bool:
            tree = trees.get()
            noticed = plant(mutant, tree, areas[mutant.area])
            trees.put(tree)
            print(
                f"{'SURVIVES' if noticed is None else 'caught'}\t{mutant.area}: {mutant.name}\t{noticed or ''}",
                flush=True,
            )
            return noticed is not None

        with ThreadPoolExecutor(options.jobs) as pool:
            caught = sum(pool.map(judge, chosen))
    print(f"{caught} of {len(chosen)} mutants caught")
    sys.exit(caught != len(chosen))


def _python(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {
        "PYTHONPATH": str(tree / "src"),
        "PYTHONDONTWRITEBYTECODE": "1",  # of a bug, which would outlive it
        "OMP_NUM_THREADS": "1",
    }
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, cwd=tree, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
    )


if __name__ == "__main__":
    main()
