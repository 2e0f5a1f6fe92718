"""Finding a browser and printing with it, also where there is none."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from neuro_divergent.core.errors import InputError, MissingDependencyError, StorageError
from neuro_divergent.reporting.browser import find_browser, print_page

needs_shell = pytest.mark.skipif(sys.platform == "win32", reason="the stand-ins are shell scripts")


def program(path: Path, script: str) -> Path:
    path.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("CHROME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("neuro_divergent.reporting.browser._PLACES", ())
    return tmp_path


def test_find_browser_without_any_returns_none(nowhere: Path) -> None:
    assert find_browser() is None
    with pytest.raises(MissingDependencyError, match="Open the page and print it"):
        print_page(nowhere / "a.html", nowhere / "a.pdf")


@needs_shell
def test_the_names_are_looked_for_in_their_order(nowhere: Path) -> None:
    edge = program(nowhere / "microsoft-edge", "exit 0")
    assert find_browser() == edge
    chromium = program(nowhere / "chromium", "exit 0")
    assert find_browser() == chromium


@needs_shell
def test_the_one_that_is_named_comes_first(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(nowhere / "chromium", "exit 0")
    own = program(nowhere / "mine", "exit 0")
    monkeypatch.setenv("CHROME", str(own))
    assert find_browser() == own
    monkeypatch.setenv("CHROME", "mine")
    assert find_browser() == own
    monkeypatch.setenv("CHROME", "not-there")
    with pytest.raises(InputError, match="not-there is no program"):
        find_browser()


@needs_shell
def test_failing_browser_is_reported_in_the_error(nowhere: Path) -> None:
    program(nowhere / "chromium", "echo first >&2; echo it broke >&2; exit 3")
    with pytest.raises(StorageError, match=r"did not print the page \(it broke\)"):
        print_page(nowhere / "a.html", nowhere / "a.pdf")
    assert not (nowhere / "a.pdf").exists()


@needs_shell
def test_a_browser_that_hangs_is_ended_with_all_it_started(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alive = nowhere / "alive"
    monkeypatch.setenv("PATH", f"{nowhere}:/usr/bin:/bin")
    program(nowhere / "chromium", f"(while true; do date +%s%N > {alive}; sleep 0.05; done) & sleep 60")
    with pytest.raises(StorageError, match=r"within 0\.5 seconds"):
        print_page(nowhere / "a.html", nowhere / "a.pdf", seconds=0.5)
    time.sleep(0.2)
    seen = alive.read_text()
    time.sleep(0.3)
    assert alive.read_text() == seen


@needs_shell
def test_what_is_printed_replaces_what_was_there(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{nowhere}:/usr/bin:/bin")
    program(
        nowhere / "chromium",
        'for word in "$@"; do case $word in --print-to-pdf=*) printf %%PDF > "${word#--print-to-pdf=}";; esac; done',
    )
    (nowhere / "a.pdf").write_text("old")
    print_page(nowhere / "a.html", nowhere / "a.pdf")
    assert (nowhere / "a.pdf").read_text() == "%PDF"
