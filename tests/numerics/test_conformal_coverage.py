"""Coverage of conformal intervals against what theory says it is."""

import math
from statistics import NormalDist

import numpy as np
import pytest

from neuro_divergent.evaluation.conformal.online import scale_of, walk
from neuro_divergent.evaluation.conformal.pool import widths


@pytest.mark.parametrize("count", [40, 200])
@pytest.mark.parametrize("share", [0.8, 0.9, 0.95])
def test_split_coverage_is_that_of_the_rank(count: int, share: float) -> None:
    """With uniform scores a width is the probability that it covers; its mean over calibrations is rank / (n + 1)."""
    made = widths(np.random.default_rng(count).random((count, 1500)), share, by="step")[-1]
    mean = math.ceil((count + 1) * share - 1e-9) / (count + 1)
    deviation = math.sqrt(mean * (1 - mean) / (count + 2) / 1500)
    assert made.mean() == pytest.approx(mean, abs=4 * deviation)
    assert mean >= share - 1e-9


def test_series_of_different_noise_are_each_covered() -> None:
    """Pooled widths cover the quiet series always and the loud one too rarely; their own cover both.

    The pool counts for 40 of 440 scores, which leaves the quiet series a little wider than need be.
    """
    random = np.random.default_rng(0)
    noise, count = np.array([1.0, 2.0, 8.0]), 400
    groups = np.repeat(np.arange(3), count)
    scores = np.abs(random.normal(size=(3 * count, 50))) * noise[groups, None]
    made = widths(scores, 0.9, by="step", groups=groups).mean(1)
    covered = [2 * NormalDist(0, sigma).cdf(width) - 1 for sigma, width in zip(noise, made, strict=False)]
    assert covered == pytest.approx([0.9] * 3, abs=0.04)
    assert 2 * NormalDist(0, 8).cdf(made[-1]) - 1 < 0.75


@pytest.mark.parametrize("kind", ["calm", "jump", "drift", "waves", "dependent"])
def test_adaptive_long_run_coverage_is_nominal_for_any_series(kind: str) -> None:
    random = np.random.default_rng(7)
    length, levels = 2000, np.array([0.8, 0.9, 0.95])
    time = np.arange(length)
    noise = {
        "calm": np.ones(length),
        "jump": np.where(time < 700, 1.0, 5.0),
        "drift": np.exp(time / 800),
        "waves": 1.5 + np.sin(time / 60),
        "dependent": np.ones(length),
    }[kind]
    errors = random.normal(size=length)
    if kind == "dependent":
        for now in range(1, length):
            errors[now] = 0.9 * errors[now - 1] + math.sqrt(1 - 0.81) * errors[now]
    scores = np.abs(errors * noise)
    calibration = np.abs(random.normal(size=(300, 1)))
    start = np.array([widths(calibration, share, by="step")[0, 0] for share in levels]).reshape(1, 3, 1, 1)
    middle, scale = scale_of(np.broadcast_to(calibration, (3, 1, 300, 1)), by="step")
    made = walk(
        np.broadcast_to(scores[:, None, None, None], (length, 3, 1, 1)),
        time[:, None],
        np.zeros(length, np.int64),
        start=start,
        middle=middle,
        scale=scale,
        misses=1 - levels[:, None],
        by="step",
    ).widths[:, :, 0, 0]
    covered = (scores[:, None] <= made).mean(0)
    assert covered == pytest.approx(levels, abs=0.01)
    if kind in ("jump", "drift"):  # widths that stay do not manage that
        assert (scores[:, None] <= start[0, :, 0, 0]).mean(0)[0] < 0.6
