"""Widths that follow scores, against a tracker of one width that is written out in plain numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from neuro_divergent.evaluation.conformal.online import scale_of, walk
from neuro_divergent.evaluation.conformal.trackers import Trackers

SPEEDS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2)


class Follower:
    """A quantile tracker for each speed, averaged by exponential weights (Gibbs and Candes 2024)."""

    def __init__(self, start: float, middle: float, scale: float, misses: float) -> None:
        self.widths, self.trust = [start] * 7, [1 / 7] * 7
        self.middle, self.scale, self.misses, self.excess = middle, scale, misses, 0.0
        variance = (1 - misses) ** 2 * misses**3 + misses**2 * (1 - misses) ** 3
        self.rate = math.sqrt(3 / 100 * (math.log(700) + 2) / variance)

    def width(self) -> float:
        average = sum(trust * width for trust, width in zip(self.trust, self.widths, strict=True))
        return average + 0.02 * self.scale * self.excess

    def learn(self, scores: list[float]) -> None:
        """Learn scores of one time, which count as one on average."""
        count, missed = len(scores), sum(score > self.width() for score in scores)
        trust = []
        for place, width in enumerate(self.widths):
            pinball = sum(
                (1 - self.misses) * (score - width) if score > width else self.misses * (width - score)
                for score in scores
            )
            trust.append(self.trust[place] * math.exp(-self.rate * min(pinball / count / self.scale, 1)))
            too_narrow = sum(score > width for score in scores) / count - self.misses
            self.widths[place] = width + SPEEDS[place] * self.scale * too_narrow
        self.trust = [0.995 * share / sum(trust) + 0.005 / 7 for share in trust]
        self.excess += missed / count - self.misses
        distance = sum(abs(score - self.middle) for score in scores) / count
        self.scale += (3 * distance - self.scale) / 100


@pytest.mark.parametrize("together", [1, 3])
def test_trackers_move_as_one_that_is_written_out(together: int) -> None:
    random = np.random.default_rng(together)
    misses = np.array([[0.1], [0.3]])
    start, middle, scale = (random.gamma(2.0, size=(2, 2, 1)) for _ in range(3))
    trackers = Trackers(start, middle, scale, misses)
    followers = {
        (tracker, level): Follower(start[tracker, level, 0], middle[tracker, level, 0], scale[tracker, level, 0], share)
        for tracker in range(2)
        for level, share in enumerate((0.1, 0.3))
    }
    for turn in range(150):
        scores = random.normal(2 + turn / 30, 1 + turn / 50, size=(2 * together, 2, 1))
        which = np.repeat([0, 1], together)
        trackers.learn(which, scores)
        for (tracker, level), follower in followers.items():
            follower.learn(scores[which == tracker, level, 0].tolist())
    for (tracker, level), follower in followers.items():
        assert trackers.current()[tracker, level, 0] == pytest.approx(follower.width(), rel=1e-9)


def test_widths_on_the_way_are_those_of_a_follower_that_waits_for_the_truth() -> None:
    random = np.random.default_rng(0)
    scores, times = random.gamma(2.0, size=(30, 1, 1, 2)), np.arange(30)[:, None] + np.arange(2)
    start, middle, scale = np.full((1, 1, 1, 2), 2.0), np.full((1, 1, 2), 1.5), np.full((1, 1, 2), 3.0)
    found = walk(
        scores,
        times,
        np.zeros(30, np.int64),
        start=start,
        middle=middle,
        scale=scale,
        misses=np.array([[0.2]]),
        by="step",
    )
    for step in range(2):
        follower, learned = Follower(2.0, 1.5, 3.0, 0.2), 0
        for window in range(30):
            while learned < 30 and times[learned, step] < times[window, 0]:
                follower.learn([scores[learned, 0, 0, step]])
                learned += 1
            assert found.widths[window, 0, 0, step] == pytest.approx(follower.width(), rel=1e-9)


def test_scale_is_three_mean_distances_from_the_median_of_each_step() -> None:
    scores = np.random.default_rng(0).normal(size=(2, 1, 9, 4))
    scores[..., 2] = np.nan  # a step that was never observed, and one whose scores are all alike
    scores[..., 3] = 0.7
    middle, scale = scale_of(scores, by="step")
    pooled_middle, pooled = scale_of(scores, by="pooled")
    for level in range(2):
        everything = scores[level, 0][~np.isnan(scores[level, 0])]
        centre = np.median(everything)
        assert pooled_middle[level, 0, 0] == pytest.approx(centre)
        assert pooled[level, 0, 0] == pytest.approx(3 * np.abs(everything - centre).mean())
        for step in (0, 1):
            values = scores[level, 0, :, step]
            assert middle[level, 0, step] == pytest.approx(np.median(values))
            assert scale[level, 0, step] == pytest.approx(3 * np.abs(values - np.median(values)).mean())
        assert scale[level, 0, 2] == scale[level, 0, 3] == pooled[level, 0, 0]
        assert middle[level, 0, 2] == pytest.approx(centre)
