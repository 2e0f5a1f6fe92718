"""The table of architectures says what they do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from neuro_divergent.interfaces.cli.main import app
from neuro_divergent.models.base import Architecture
from neuro_divergent.models.deepar import DeepAR
from neuro_divergent.models.nlinear import NLinear
from neuro_divergent.models.recurrent import LSTM
from neuro_divergent.reporting.catalogue import (
    FAMILIES,
    columns,
    describe,
    describe_all,
    describe_settings,
    markdown,
    show_search,
)

PAGE = Path(__file__).parents[3] / "docs" / "guides" / "models.md"


def test_the_page_holds_the_table_as_it_is_now() -> None:
    """When this fails, put what 'nd models --markdown' writes at the end of the page."""
    _, _, table = PAGE.read_text("utf-8").partition("\n| model |")
    assert f"| model |{table}".rstrip("\n") == markdown(describe_all())


def test_every_architecture_is_listed_once_family_by_family() -> None:
    rows = describe_all()
    assert sorted(row["name"] for row in rows) == Architecture.registry.names()
    families = [FAMILIES.index(row["family"]) for row in rows]
    assert families == sorted(families)


def test_a_row_says_what_the_class_declares() -> None:
    row = describe(NLinear)
    assert row["parameters"] == 24 * 96 + 24
    assert columns(row) == {
        "model": "nlinear",
        "family": "linear",
        "series": "one",
        "covariates": "none",
        "decoding": "direct",
        "parameters": "2,328",
        "paper": "arXiv:2205.13504",
    }
    assert describe(DeepAR)["decoding"] == "autoregressive"
    assert describe(LSTM)["decoding"] == "either"
    assert columns(describe(LSTM))["covariates"] == "all"


@pytest.mark.parametrize("name", Architecture.registry.names())
def test_every_setting_is_explained_and_sizes_have_a_range(name: str) -> None:
    settings = describe_settings(Architecture.registry.get(name))
    assert [row["name"] for row in settings if not row["meaning"]] == []
    without = {row["name"] for row in settings if not row["search"]}
    assert not {item for item in without if item.endswith(("_size", "num_layers", "dropout"))}


def test_search_range_is_shown_as_text() -> None:
    assert show_search(None) == ""
    assert show_search({"low": 32, "high": 1024, "log": True}) == "32 to 1024 (logarithmic)"
    assert show_search({"low": 0.0, "high": 0.5, "log": False}) == "0 to 0.5"
    assert show_search({"choices": [(2, 2, 1), "none"]}) == "(2, 2, 1), none"


def test_the_command_shows_all_or_the_settings_of_one() -> None:
    listed = CliRunner().invoke(app, ["models"]).stdout
    assert [line.split()[0] for line in listed.splitlines()[1:3]] == ["dlinear", "nlinear"]
    assert all(name in listed for name in Architecture.registry.names())
    shown = CliRunner().invoke(app, ["models", "DLinear"]).stdout
    assert "kernel_size 25" in " ".join(shown.split())
    assert "5, 13, 25, 51" in shown
    written = json.loads(CliRunner().invoke(app, ["models", "lstm", "--json"]).stdout)
    sizes = {row["name"]: row for row in written["settings"]}
    assert sizes["hidden_size"]["search"] == {"low": 32, "high": 512, "log": True}
    assert sizes["decoding"]["choices"] == ["direct", "autoregressive"]
    assert CliRunner().invoke(app, ["models", "--markdown"]).stdout.rstrip("\n") == markdown(describe_all())
