"""Numbers of the operating system's generator have the distribution they should, and never come twice."""

from __future__ import annotations

import os

import numpy as np
import pytest
from scipy.stats import kstest

from neuro_divergent.privacy.system_noise import draw_normal, draw_uniform

SIZE = 200_000


def test_normal_numbers_have_the_moments_and_the_distribution_of_a_standard_normal() -> None:
    drawn = draw_normal(SIZE)
    assert kstest(drawn, "norm").pvalue > 1e-6
    assert abs(drawn.mean()) < 6 / SIZE**0.5
    assert drawn.std() == pytest.approx(1.0, abs=6 / (2 * SIZE) ** 0.5)
    assert (drawn**4).mean() == pytest.approx(3.0, abs=6 * (96 / SIZE) ** 0.5)
    assert abs(np.corrcoef(drawn[:-1], drawn[1:])[0, 1]) < 6 / SIZE**0.5


def test_uniform_numbers_are_uniform_from_0_to_below_1() -> None:
    drawn = draw_uniform(SIZE)
    assert kstest(drawn, "uniform").pvalue > 1e-6
    assert drawn.min() >= 0.0
    assert drawn.max() < 1.0


def test_two_calls_differ_whatever_the_seeds() -> None:
    draws = []
    for _ in range(2):
        np.random.seed(0)
        draws.append(draw_normal(8))
    assert not np.isin(draws[0], draws[1]).any()


@pytest.mark.parametrize("byte", [b"\x00", b"\x01", b"\xff", b"\xfe"])
def test_numbers_from_extreme_bits_are_finite(monkeypatch: pytest.MonkeyPatch, byte: bytes) -> None:
    monkeypatch.setattr(os, "urandom", lambda size: byte * size)
    assert np.isfinite(draw_normal(3)).all()
    assert (draw_uniform(3) < 1.0).all()


def test_no_numbers_can_be_drawn() -> None:
    assert draw_normal(0).shape == draw_uniform(0).shape == (0,)
