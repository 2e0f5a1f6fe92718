"""Figures of a federation show what its table of rounds holds."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest

from neuro_divergent.core.errors import InputError
from neuro_divergent.reporting.figures.federation import (
    budget_figure,
    participation_figure,
    round_loss_figure,
    update_norm_figure,
)
from neuro_divergent.reporting.figures.figure import Line, Rule
from neuro_divergent.reporting.svg.inline import render_inline_svg

ROUNDS = pl.DataFrame(
    {
        "round": [1, 2, 3],
        "loss": [3.0, 1.0, 2.0],
        "mean_norm": [0.5, None, 0.25],
        "max_norm": [1.0, None, 0.5],
        "change": [0.4, 0.0, 0.2],
        "participants": [4, 0, 3],
        "dropped": [0, 4, 0],
        "refused": [0, 0, 0],
        "epsilon": [2.0, 3.0, 4.0],
    }
)


def test_loss_is_drawn_over_rounds_and_its_lowest_is_told() -> None:
    figure = round_loss_figure(ROUNDS)
    (line,) = figure.marks
    assert isinstance(line, Line)
    assert line.x.tolist() == [1, 2, 3]
    assert line.y.tolist() == [3, 1, 2]
    assert figure.alt_text == "The loss went from 3 to 2 and was lowest in round 2 with 1."


def test_rounds_without_a_norm_are_left_out_of_its_line() -> None:
    figure = update_norm_figure(ROUNDS, max_norm=2.0)
    lines = {mark.label: mark.x.tolist() for mark in figure.marks if isinstance(mark, Line)}
    assert lines == {
        "mean of the updates": [1, 3],
        "largest update": [1, 3],
        "change of the shared weights": [1, 2, 3],
    }
    assert [mark.y for mark in figure.marks if isinstance(mark, Rule)] == [2.0]


def test_clients_that_were_never_refused_have_no_line() -> None:
    figure = participation_figure(ROUNDS)
    assert [mark.label for mark in figure.marks] == ["took part", "did not answer"]
    assert figure.alt_text == "In 3 rounds, 7 updates counted; 0 did not count, and 4 answers did not come."


def test_budget_is_a_rule_above_what_was_spent() -> None:
    figure = budget_figure(ROUNDS, 8.0)
    spent, budget = figure.marks
    assert spent.y.tolist() == [2, 3, 4]
    assert (budget.y, budget.label) == (8.0, "budget 8")
    assert figure.y.limits is not None
    assert figure.y.limits[1] > 8
    assert figure.alt_text == "An epsilon of 4 of 8 is spent after round 3."


@pytest.mark.parametrize(
    "draw", [round_loss_figure, update_norm_figure, participation_figure, lambda rounds: budget_figure(rounds, 8.0)]
)
def test_figure_without_its_column_is_refused_and_one_of_one_round_is_drawn(draw: object) -> None:
    with pytest.raises(InputError):
        draw(ROUNDS.select("round"))
    ElementTree.fromstring(render_inline_svg(draw(ROUNDS[:1])))


def test_thousands_of_rounds_are_thinned_without_losing_the_lowest() -> None:
    loss = np.linspace(3, 2, 20_000)
    loss[777] = 0.5
    (line,) = round_loss_figure(pl.DataFrame({"round": np.arange(1, 20_001), "loss": loss})).marks
    assert len(line.x) <= 2500
    assert line.y.min() == 0.5
