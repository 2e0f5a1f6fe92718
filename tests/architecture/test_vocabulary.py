"""The package uses the terms of PyTorch, scikit-learn and the forecasting literature, and no private ones."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "src" / "neuro_divergent"
SOURCES = {
    str(path.relative_to(ROOT)): path.read_text("utf-8")
    for path in sorted(ROOT.rglob("*"))
    if path.suffix in (".py", ".pyi", ".js", ".html")
}
NAMES = [
    "Audience",
    "Course",
    "Pace",
    "Wishes",
    "WISHES",
    "settled",
    "Outlook",
    "Outlooks",
    "outlook",
    "Committee",
    "committee",
    "Remains",
    "Job",
    "Gather",
    "CommitteeGather",
    "Measured",
    "Measurement",
    "work_apart",
    "Asked",
    "FoldLooks",
    "Stretches",
    "in_natural_units",
    "are_values",
    "takes_scaled",
    "ends_of",
    "checker",
    "Meter",
    "Tally",
    "laws",
    "sealed",
    "refuse_foreign",
    "plain_file",
    "hush",
    "hushed",
    "set_aside",
    "goes_further",
    "going_on_later",
    "goes_on",
    "decided",
    "place_of",
    "pens",
    "shades",
    "anew",
    "wishes",
    "in_units",
]
PHRASES = [
    "Who hears which event",
    "must survive a restart",
    "Take up a state again",
    "its numbers were lost",
    "Hold the intervals against",
    "change places in one step",
    "What came in goes out",
    "is given up",
    "is it luck",
    "by heart",
    "whole number",
    "the same again",
]
SHARE_SETTINGS = {  # settings of components keep their names, because files hold them
    "data/augment/mask.py",
    "data/augment/window_slice.py",
    "training/teacher_forcing.py",
}


@pytest.mark.parametrize("name", NAMES)
def test_no_source_uses_a_name_that_the_vocabulary_replaced(name: str) -> None:
    word = re.compile(rf"\b{name}\b")
    found = {path for path, text in SOURCES.items() if word.search(text)}
    assert not found


@pytest.mark.parametrize("phrase", PHRASES)
def test_no_source_uses_a_phrase_that_the_vocabulary_replaced(phrase: str) -> None:
    found = {path for path, text in SOURCES.items() if phrase.lower() in " ".join(text.split()).lower()}
    assert not found


def test_fractions_levels_and_quantiles_are_not_called_shares() -> None:
    found = {
        f"{path}:{node.lineno}"
        for path, text in SOURCES.items()
        if path.endswith(".py") and path not in SHARE_SETTINGS
        for node in ast.walk(ast.parse(text))
        if (isinstance(node, ast.Name) and node.id in ("share", "shares"))
        or (isinstance(node, ast.arg) and node.arg in ("share", "shares"))
    }
    assert not found
