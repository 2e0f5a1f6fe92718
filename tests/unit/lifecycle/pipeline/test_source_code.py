"""When the digest of the code of a function changes."""

from __future__ import annotations

import functools
import importlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from neuro_divergent.core.errors import ConfigError
from neuro_divergent.lifecycle.pipeline.source_code import code_digest


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Callable[..., Any]]]:
    """Write modules and return the function ``work`` of the module ``mine``, loaded anew."""
    monkeypatch.syspath_prepend(str(tmp_path))
    names = ("mine", "mine_too")

    def forget() -> None:
        for name in names:
            sys.modules.pop(name, None)
        importlib.invalidate_caches()

    def load(mine: str, mine_too: str = "") -> Callable[..., Any]:
        forget()
        (tmp_path / "mine.py").write_text(mine)
        (tmp_path / "mine_too.py").write_text(mine_too)
        for cache in tmp_path.glob("__pycache__/*"):
            cache.unlink()
        return importlib.import_module("mine").work  # type: ignore[no-any-return]

    yield load
    forget()


def test_digest_is_the_same_for_the_same_files(write: Callable[..., Any]) -> None:
    text = "def work(x):\n    return x + 1\n"
    assert code_digest(write(text)) == code_digest(write(text))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("def work(x):\n    return x + 1\n", "def work(x):\n    return x + 2\n"),
        ("N = 1\ndef work(x):\n    return x + N\n", "N = 2\ndef work(x):\n    return x + N\n"),
        (
            "def part(x):\n    return x\ndef work(x):\n    return part(x)\n",
            "def part(x):\n    return -x\ndef work(x):\n    return part(x)\n",
        ),
        ("def work(x, y=1):\n    return x + y\n", "def work(x, y=2):\n    return x + y\n"),
    ],
)
def test_digest_changes_with_the_file(before: str, after: str, write: Callable[..., Any]) -> None:
    assert code_digest(write(before)) != code_digest(write(after))


@pytest.mark.parametrize("how", ["import mine_too\nuse = mine_too.part", "from mine_too import part as use"])
def test_digest_changes_with_a_module_that_is_imported(how: str, write: Callable[..., Any]) -> None:
    text = f"{how}\ndef work(x):\n    return use(x)\n"
    first = code_digest(write(text, "def part(x):\n    return x\n"))
    assert first == code_digest(write(text, "def part(x):\n    return x\n"))
    assert first != code_digest(write(text, "def part(x):\n    return -x\n"))


def test_digest_is_that_of_the_loaded_code_when_a_file_is_edited_later(
    write: Callable[..., Any], tmp_path: Path
) -> None:
    old = write("def part(x):\n    return x\ndef work(x):\n    return part(x)\n")
    (tmp_path / "mine.py").write_text("def part(x):\n    return -x\ndef work(x):\n    return part(x)\n")
    edited = code_digest(old)
    new = write("def part(x):\n    return -x\ndef work(x):\n    return part(x)\n")
    assert edited != code_digest(new)  # the old function must not get the result of the new one


def make(value: Any) -> Callable[..., Any]:
    def work(x: Any) -> Any:
        return value, x

    return work


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (1, 2),
        ("a", "b"),
        ([1], [2]),
        ({"a": 1}, {"a": 2}),
        ({1, 2}, {1, 3}),
        (np.ones(2), np.zeros(2)),
        (len, max),
        (pl.DataFrame({"a": [1]}), pl.DataFrame({"a": [2]})),
        (Path("a"), Path("b")),
    ],
)
def test_digest_changes_with_values_that_a_function_keeps(one: Any, two: Any) -> None:
    assert code_digest(make(one)) == code_digest(make(one)) != code_digest(make(two))
    assert code_digest(functools.partial(make, one)) == code_digest(functools.partial(make, one))
    assert code_digest(functools.partial(make, one)) != code_digest(functools.partial(make, two))


def test_function_that_keeps_something_unknown_is_refused() -> None:
    with pytest.raises(ConfigError, match="keeps a object, and whether that has changed cannot be told"):
        code_digest(make(object()))


def test_objects_that_can_be_called_count_by_class_and_content() -> None:
    class Scale:
        def __init__(self, by: float) -> None:
            self.by = by

        def __call__(self, x: float) -> float:
            return x * self.by

    assert code_digest(Scale(2)) == code_digest(Scale(2)) != code_digest(Scale(3))


SCRIPT = """
from neuro_divergent.lifecycle.pipeline.source_code import code_digest
def work(x, names=frozenset(["a", "b", "c", "d"])):
    return x in {"one", "two", "three", "four"}
print(code_digest(work))
"""


def test_digest_is_the_same_in_every_process(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    found = {
        subprocess.run(
            [sys.executable, str(tmp_path / "script.py")],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(Path("src").resolve())},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1


def test_function_without_a_file_counts_by_its_code_and_names() -> None:
    def load(text: str) -> Callable[..., Any]:
        space: dict[str, Any] = {"__name__": "nowhere_to_be_found"}
        exec(text, space)
        return space["work"]  # type: ignore[no-any-return]

    first = "N = 1\ndef part(x):\n    return x + N\ndef work(x):\n    return part(x)\n"
    assert code_digest(load(first)) == code_digest(load(first))
    assert code_digest(load(first)) != code_digest(load(first.replace("N = 1", "N = 2")))
    assert code_digest(load(first)) != code_digest(load(first.replace("x + N", "x - N")))
