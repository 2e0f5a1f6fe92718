"""Which candidates are tried on which series."""

from __future__ import annotations

import numpy as np
import pytest

from neuro_divergent.core.errors import InputError
from neuro_divergent.data.panel import Panel
from neuro_divergent.forecasting.task import Task
from neuro_divergent.search.auto.groups import SeriesTraits
from neuro_divergent.search.auto.portfolio import Portfolio, choose_portfolio, find_candidate
from neuro_divergent.search.auto.preset import PRESETS
from tests.unit.search.auto.test_cutoffs import panel_of


def portfolio_of(panel: Panel) -> Portfolio:
    traits = SeriesTraits.of(panel, np.arange(panel.num_series), panel.offsets[1:], horizon=6, season=12)
    return choose_portfolio(panel, traits, PRESETS["balanced"], statistical=True)


def test_zero_is_a_candidate_for_intermittent_series_only() -> None:
    demand = np.where(np.arange(120) % 4 == 0, 5.0, 0.0)
    assert "zero" in [item.name for item in portfolio_of(panel_of(demand, demand)).candidates]
    assert "zero" not in [item.name for item in portfolio_of(panel_of(demand + 1, demand + 1)).candidates]


def test_small_networks_come_before_those_of_the_usual_size() -> None:
    panel = panel_of(*(np.arange(120.0) + place for place in range(8)))
    networks = [item for item in portfolio_of(panel).candidates if item.kind == "network"]
    names = [item.name for item in networks]
    assert names.index("nhits_small") < names.index("nhits")
    assert names.index("nbeats_small") < names.index("nbeats")
    by_name = {item.name: item for item in networks}
    assert by_name["nhits_small"].model == by_name["nhits"].model == "nhits"
    usual = Task(horizon=6, season_length=12).history_for(panel)
    assert by_name["nhits_long"].settings["task.input_size"] == 2 * usual


def test_variants_of_networks_can_be_named_and_unknown_ones_are_refused_with_a_hint() -> None:
    assert find_candidate("nhits_small").settings == {"model.hidden_size": 128}
    with pytest.raises(InputError, match="nhits_small"):
        find_candidate("nhits_smal")
