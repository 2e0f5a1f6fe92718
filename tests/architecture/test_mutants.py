"""The bugs of `make mutants` can still be planted."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
TABLE = tomllib.loads((ROOT / "tools" / "mutants.toml").read_text("utf-8"))


def test_every_mutant_replaces_a_text_that_occurs_once_in_the_sources() -> None:
    sources = "\0".join(path.read_text("utf-8") for path in sorted((ROOT / "src").rglob("*.py")))
    counts = {mutant["name"]: sources.count(mutant["old"]) for mutant in TABLE["mutants"]}
    assert {name: count for name, count in counts.items() if count != 1} == {}


def test_every_area_of_mutants_names_tests_that_exist() -> None:
    assert [path for paths in TABLE["areas"].values() for path in paths if not (ROOT / path).exists()] == []
    assert {mutant["area"] for mutant in TABLE["mutants"]} == set(TABLE["areas"])
