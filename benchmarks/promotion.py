"""How often a shadow test promotes a challenger that is equal, and one that is better, by simulation.

Differences of the losses of two versions are simulated at each step: those of one series have a standard deviation of
1, two series are correlated by 0.5, and a gain of 0.1 is a mean of 0.1. They are averaged over the series, then over a
block of one horizon (12 steps), with a gap of a horizon between blocks; the test is looked at after each of 60 blocks.
Goals: an equal challenger is promoted in at most 5 %, and one with a gain of 0.1 in at least 80 %.

    python benchmarks/promotion.py                          # about three minutes on one core
    python benchmarks/promotion.py --repetitions 200        # shows that it runs
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
from scipy.signal import lfilter
from scipy.stats import ttest_1samp

from neuro_divergent.evaluation.comparison.significance import diebold_mariano
from neuro_divergent.lifecycle.promotion.block import Block
from neuro_divergent.lifecycle.promotion.shadow_test import ShadowTest

Floats = npt.NDArray[np.float64]
HORIZON, BLOCKS = 12, 60
GAINS = (0.0, 0.1, 0.2, 0.5)


def normal(generator: np.random.Generator, repetitions: int, steps: int) -> Floats:
    """Independent steps."""
    return generator.standard_normal((repetitions, steps))


def heavy_tails(generator: np.random.Generator, repetitions: int, steps: int) -> Floats:
    """Independent steps with heavy tails."""
    return generator.standard_t(3, (repetitions, steps)) / np.sqrt(3)


def skewed(generator: np.random.Generator, repetitions: int, steps: int) -> Floats:
    """Losses that are now and then much larger, with the same mean."""
    return 1 - generator.exponential(1.0, (repetitions, steps))


def autoregressive(coefficient: float) -> Callable[[np.random.Generator, int, int], Floats]:
    """Steps that are correlated with the one before."""

    def draw(generator: np.random.Generator, repetitions: int, steps: int) -> Floats:
        noise = generator.standard_normal((repetitions, steps + 300))
        filtered: Floats = lfilter([np.sqrt(1 - coefficient**2)], [1, -coefficient], noise)
        return filtered[:, 300:]

    return draw


def garch(generator: np.random.Generator, repetitions: int, steps: int) -> Floats:
    """Volatility clusters."""
    noise, variance = normal(generator, repetitions, steps), np.ones(repetitions)
    for step in range(steps):
        noise[:, step] *= np.sqrt(variance)
        variance = 0.05 + 0.15 * noise[:, step] ** 2 + 0.80 * variance
    return noise


def slow_volatility(generator: np.random.Generator, repetitions: int, steps: int) -> Floats:
    """Volatility that changes slowly, by a factor of about 2 to either side."""
    logarithm = lfilter([0.15], [1, -0.98], generator.standard_normal((repetitions, steps)))
    return normal(generator, repetitions, steps) * np.exp(logarithm - logarithm.var())


def rare_losses(generator: np.random.Generator, repetitions: int, steps: int) -> Floats:
    """A little better, but much worse in one block of 15, so that the mean is 0."""
    period = steps // BLOCKS
    worse = np.repeat(generator.random((repetitions, BLOCKS)) < 1 / 15, period, axis=1)
    return np.where(worse, -14.0, 1.0) * 0.3 + 0.3 * normal(generator, repetitions, steps)


PANELS: dict[str, tuple[Callable[[np.random.Generator, int, int], Floats], int]] = {
    "20 series": (normal, 20),
    "1,000 series": (normal, 1000),
    "1 series": (normal, 1),
    "heavy tails (t, 3 degrees)": (heavy_tails, 20),
    "skewed (exponential losses)": (skewed, 20),
    "volatility clusters (GARCH)": (garch, 20),
    "slow volatility, factor 4": (slow_volatility, 20),
    "autocorrelated, 0.5": (autoregressive(0.5), 20),
    "autocorrelated, 0.8": (autoregressive(0.8), 20),
    "autocorrelated, 0.9": (autoregressive(0.9), 20),
    "autocorrelated, 0.95": (autoregressive(0.95), 20),
    "rare large losses": (rare_losses, 20),
}


def draw(panel: str, repetitions: int, gap: int, seed: int) -> Floats:
    """Return differences averaged over the series, ``(repetitions, steps)``."""
    generator = np.random.default_rng(seed)
    source, series = PANELS[panel]
    return np.sqrt(0.5 + 0.5 / series) * source(generator, repetitions, BLOCKS * (HORIZON + gap))


def block_means(differences: Floats, gap: int) -> Floats:
    """Average each block; gaps are left out."""
    return differences.reshape(len(differences), BLOCKS, HORIZON + gap)[:, :, :HORIZON].mean(2)


def decided_after(means: Floats) -> Floats:
    """Return the number of blocks after which the challenger takes over, infinite where it does not."""
    test, counts = ShadowTest(), []
    for row in means:
        state = test.start()
        for index, mean in enumerate(row):
            state = test.update(state, [Block(index, index + 1, "", "", 5.0 + float(mean), 5.0, 10.0, 1)])
            if state.outcome:
                break
        counts.append(state.process.blocks if state.outcome == "switch" else np.inf)
    return np.array(counts)


def simulate(repetitions: int, seed: int) -> Iterator[str]:
    """Say how often the shadow test promotes."""
    yield f"Shadow test, share promoted within {BLOCKS} blocks ({repetitions:,} repetitions)"
    yield f"{'differences':30} {'gap':>4} {'no gain':>8} {'0.1':>8} {'0.2':>8} {'0.5':>8}   median blocks at 0.2, 0.5"
    for panel in PANELS:
        for gap in (HORIZON, 0):
            differences = draw(panel, repetitions, gap, seed)
            found = [decided_after(block_means(differences + gain, gap)) for gain in GAINS]
            shares = " ".join(f"{np.isfinite(counts).mean():8.3f}" for counts in found)
            yield f"{panel:30} {gap:4} {shares}   {np.median(found[-2]):g}, {np.median(found[-1]):g}"


def other_rules(repetitions: int, seed: int) -> Iterator[str]:
    """Say how often simpler rules would promote."""
    yield ""
    yield "Other rules, 20 series, share promoted"
    means = {gain: block_means(draw("20 series", repetitions, HORIZON, seed) + gain, HORIZON) for gain in GAINS}
    looked = {gain: _looked_at(values) for gain, values in means.items()}
    yield f"{'t test, after each block':35} " + " ".join(f"{looked[gain]:8.3f}" for gain in GAINS)
    better = {gain: (values.mean(1) > 0).mean() for gain, values in means.items()}
    yield f"{'mean over 60 blocks is better':35} " + " ".join(f"{better[gain]:8.3f}" for gain in GAINS)
    for origins in (60, 200):
        steps = draw("20 series", min(repetitions, 2000), HORIZON, seed)[:, : origins + HORIZON - 1]
        sums = np.cumsum(np.pad(steps, ((0, 0), (1, 0))), axis=1)
        overlapping = (sums[:, HORIZON:] - sums[:, :-HORIZON]) / HORIZON
        for rule, passes in (("better", _is_better), ("no_worse", _is_no_worse)):
            shares = [np.mean([passes(row + gain) for row in overlapping]) for gain in GAINS]
            label = f"gate, {rule}, {origins} overlapping origins"
            yield f"{label:35} " + " ".join(f"{share:8.3f}" for share in shares)


def _looked_at(means: Floats) -> float:
    hits = np.zeros(len(means), bool)
    for count in range(3, BLOCKS + 1):
        hits |= ttest_1samp(means[:, :count], 0, axis=1, alternative="greater").pvalue < 0.05
    return float(hits.mean())


def _is_better(differences: Floats) -> bool:
    test = diebold_mariano(-differences, HORIZON)
    return test.statistic < 0 and test.p_value / 2 < 0.05


def _is_no_worse(differences: Floats) -> bool:
    test = diebold_mariano(-differences, HORIZON)
    return not (test.statistic > 0 and test.p_value / 2 < 0.05)


def guards(repetitions: int, seed: int) -> Iterator[str]:
    """Say how often two equal versions are rolled back by the limit to the naive forecast alone.

    Errors of both versions and of the naive forecast are correlated by 0.5, and from step to step by 0 or 0.8.
    """
    yield ""
    yield f"Rolled back by the naive limit within {BLOCKS} blocks, both versions equal"
    limit = ShadowTest().naive_limit or np.inf
    for series in (1, 20):
        for persistence in (0.0, 0.8):
            losses = _losses(np.random.default_rng(seed), repetitions // 4, series, persistence)
            for ratio in (0.6, 0.8, 1.0):
                serving, shadow, naive = ratio * losses[..., 0], ratio * losses[..., 1], losses[..., 2]
                usual = np.cumsum(naive, 1) / np.arange(1, BLOCKS + 1)
                alone = (serving > limit * naive).any(1).mean()
                used = (serving > limit * np.maximum.reduce([naive, usual, shadow])).any(1).mean()
                label = f"{series} series, steps correlated {persistence:g}, error {ratio:g} of naive"
                yield f"{label:60} {used:.3f}   by the naive loss of one block alone: {alone:.3f}"


def _losses(generator: np.random.Generator, repetitions: int, series: int, persistence: float) -> Floats:
    """Return mean absolute errors of two versions and of the naive forecast: ``(repetitions, blocks, 3)``."""

    def draw(*shape: int) -> Floats:
        noise = generator.standard_normal((repetitions * BLOCKS, *shape, HORIZON + 30))
        filtered: Floats = lfilter([np.sqrt(1 - persistence**2)], [1, -persistence], noise)
        return filtered[..., 30:]

    parts = []
    for _ in range(series):
        errors = np.sqrt(0.5) * draw(1) + np.sqrt(0.5) * draw(3)
        parts.append(np.abs(errors).mean(-1).reshape(repetitions, BLOCKS, 3))
    mean: Floats = np.mean(parts, axis=0)
    return mean


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    for part in (simulate, other_rules, guards):
        for line in part(arguments.repetitions, arguments.seed):
            print(line, flush=True)


if __name__ == "__main__":
    main()
