"""Colours that can be seen, and told apart, by everybody."""

import re
from itertools import combinations

import numpy as np
import pytest

from neuro_divergent.reporting.plotly.palette import RULE, TONES
from neuro_divergent.reporting.svg.inline import stylesheet

# How the cones of the three kinds see red, green and blue (Machado, Oliveira and Fernandes, 2009, severity 1).
DEFICIENCIES = {
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}
TOGETHER = [("actual", "forecast", "backtest"), ("train", "validation"), ("good", "bad"), ("above", "below")]


def themes() -> dict[str, dict[str, str]]:
    css = stylesheet()
    blocks = re.findall(r"\.figure \{\s*(--figure-page[^}]*)\}", css)
    names = ("light", "dark", "print")
    return {
        name: {key.removeprefix("--figure-"): value for key, value in re.findall(r"(--[\w-]+): (#\w{6})", block)}
        for name, block in zip(names, blocks, strict=True)
    }


def linear(colour: str) -> np.ndarray:
    share = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    """As in the Web Content Accessibility Guidelines."""
    bright, dark = sorted((linear(colour) @ [0.2126, 0.7152, 0.0722] for colour in (one, other)), reverse=True)
    return float((bright + 0.05) / (dark + 0.05))


def lab(colour: str, seen: str) -> np.ndarray:
    rgb = np.clip(np.array(DEFICIENCIES[seen]) @ linear(colour), 0, 1) if seen else linear(colour)
    matrix = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    xyz = np.array(matrix) @ rgb / [0.9505, 1, 1.089]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("theme", ["light", "dark", "print"])
def test_text_and_lines_stand_out(theme: str) -> None:
    colours = themes()[theme]
    assert set(colours) == set(themes()["light"])
    page = colours.pop("page")
    for name, colour in colours.items():
        least = {"ink": 7.0, "quiet": 4.5, "line": 1.2}.get(name, 3.0)
        assert contrast(colour, page) >= least, name


@pytest.mark.parametrize("theme", ["light", "dark", "print", "interactive"])
@pytest.mark.parametrize("seen", ["", *DEFICIENCIES])
def test_colours_of_one_figure_are_distinguishable(theme: str, seen: str) -> None:
    colours = TONES if theme == "interactive" else themes()[theme]
    for group in TOGETHER:
        for one, other in combinations([name for name in group if name in colours], 2):
            assert np.linalg.norm(lab(colours[one], seen) - lab(colours[other], seen)) > 15, (one, other)


@pytest.mark.parametrize("page", ["#ffffff", "#14171b"])
def test_interactive_colours_can_be_seen_on_white_and_on_black(page: str) -> None:
    for name, colour in {**TONES, "rule": RULE}.items():
        assert contrast(colour, page) >= 3, name
    assert set(TONES) == {name for name in themes()["light"] if f".tone-{name} " in stylesheet()}
