"""Building the site: what is wrong with a page is said."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tools.site import build

pytestmark = pytest.mark.usefixtures("staged")


@pytest.fixture
def staged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "STAGED", tmp_path / "docs")
    for name in ("reference", "decisions"):
        (tmp_path / "docs" / name).mkdir(parents=True)


def test_failed_build_names_the_page_and_the_link(monkeypatch: pytest.MonkeyPatch) -> None:
    warning = (
        "\x1b[33mWarning:\x1b[0m page does not exist\n  [ guides/data.md:7:10 ]\nTraceback (most recent call last):"
    )
    made = subprocess.CompletedProcess(["zensical"], 1, "Build started\n", warning)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: made)
    with pytest.raises(build.BuildError) as raised:
        build._run_zensical(strict=True)
    assert "Warning: page does not exist\n  [ guides/data.md:7:10 ]" in str(raised.value)
    assert "Traceback" not in str(raised.value)
