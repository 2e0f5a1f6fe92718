"""Charts made of characters."""

import dataclasses

import numpy as np
import pytest
from rich.console import Console

from neuro_divergent.reporting.terminal import ASCII, BRAILLE, character_set_for, draw
from tests.unit.reporting.charts import AHEAD, PAST, chart


@pytest.mark.parametrize("width", [30, 57, 80, 200])
@pytest.mark.parametrize("characters", [BRAILLE, ASCII])
def test_chart_fits_the_width(width: int, characters: object) -> None:
    lines = draw(chart(), width=width, height=10, characters=characters).plain.split("\n")
    assert len(lines) == 10 + 4
    assert max(map(len, lines[:12])) <= width


def test_plain_characters_where_the_terminal_knows_no_others() -> None:
    text = draw(chart(), characters=character_set_for("ascii")).plain
    assert text.isascii()
    assert all(letter in text for letter in "*o.|")
    assert character_set_for("utf-8") is BRAILLE
    assert character_set_for(None) is ASCII


def test_the_past_is_left_of_the_border_and_the_forecast_right_of_it() -> None:
    lines = draw(chart(), width=54, height=12, characters=ASCII).plain.split("\n")[1:13]
    margin = lines[0].index("|") + 1
    border = PAST / (PAST + AHEAD) * (54 - margin)
    columns = {letter: [line[margin:].index(letter) for line in lines if letter in line[margin:]] for letter in "*o"}
    assert max(columns["*"]) < border <= min(columns["o"]) + 1


def test_a_line_goes_where_its_values_are() -> None:
    flat = dataclasses.replace(
        chart(), actual=np.linspace(0, 10, 48), forecast=np.full(48, np.nan), bands={}, future=48
    )
    lines = draw(flat, width=60, height=11, characters=ASCII).plain.split("\n")[1:12]
    assert "*" in lines[0][50:]
    assert "*" in lines[10][:20]
    assert "*" not in lines[0][:40]


def test_no_colour_no_escape_codes() -> None:
    console = Console(no_color=True, width=80, file=open("/dev/null", "w"), record=True)  # noqa: SIM115, PTH123
    console.print(draw(chart(), width=80))
    assert "\x1b" not in console.export_text()
    console.file.close()


def test_values_that_never_change_and_values_that_are_missing() -> None:
    same = dataclasses.replace(chart(), actual=np.full(48, 5.0), forecast=np.full(48, np.nan), bands={}, future=48)
    assert "5" in draw(same, characters=ASCII).plain
    nothing = dataclasses.replace(same, actual=np.full(48, np.nan))
    assert "*" not in draw(nothing, characters=ASCII).plain.rsplit("\n", 1)[0]
