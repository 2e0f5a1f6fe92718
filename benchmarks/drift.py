"""Measure false alarms, detection and speed of drift detection on simulated panels.

Each panel has 50 series. A linear forecaster (12 steps at once, pooled over the series) is fitted on the first 560
rows; its errors on the next 400 rows are the reference, and those on the last 200 rows are new. Goals: at most 3 % of
healthy panels alarm, of seven kinds; at least 95 % alarm after a shift of one standard deviation of the noise and after
noise times 1.5; no alarm in two healthy seasonal years at 5 % a year; 10,000 series in under 2 s on one thread.

    OMP_NUM_THREADS=1 python benchmarks/drift.py --panels 300 --years 100
    OMP_NUM_THREADS=1 python benchmarks/drift.py --panels 5 --years 2                    # shows that it runs
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Floats, Ints
from neuro_divergent.lifecycle.drift.alpha_spending import AlphaSpending
from neuro_divergent.lifecycle.drift.detection import ALPHA, detect_drift
from neuro_divergent.lifecycle.drift.drift_result import DriftResult
from neuro_divergent.lifecycle.drift.errors import Errors
from neuro_divergent.lifecycle.drift.feed import find_incidents
from neuro_divergent.lifecycle.drift.input_drift import seasonal_differences
from neuro_divergent.lifecycle.drift.series_matrix import SeriesMatrix

RESULTS = Path(__file__).resolve().parent / "results" / "drift.json"
SERIES, FIT, REFERENCE, NEW, HORIZON = 50, 560, 400, 200, 12
WARM_UP = 200
NAMED = 30  # panels whose series are named too, which takes longer than all the rest
KINDS = ("white", "AR(0.7)", "season 24", "season 168", "trend", "volatility clusters", "common shock")
HARDER = ("common volatility", "heavy tails", "slow common factor")
CHANGES: dict[str, dict[str, float]] = {
    "healthy": {},
    "level +1 sd": {"level": 1.0},
    "noise x1.5": {"noise": 1.5},
    "level +0.3 sd": {"level": 0.3},
    "noise x1.2": {"noise": 1.2},
    "a tenth of the series, noise x2": {"noise": 2.0, "fraction": 0.1},
    "half +1 sd, half -1 sd": {"level": 1.0, "signs": 1.0},
}


def autoregression(noise: Floats, memory: float) -> Floats:
    """Filter noise along its last axis."""
    made = noise.copy()
    for place in range(1, made.shape[-1]):
        made[..., place] += memory * made[..., place - 1]
    return made


def simulate(
    kind: str,
    rng: np.random.Generator,
    *,
    level: float = 0.0,
    noise: float = 1.0,
    fraction: float = 1.0,
    signs: float = 0.0,
    series: int = SERIES,
) -> Floats:
    """Return a panel, ``(series, rows)``, whose last rows change."""
    rows, at = FIT + REFERENCE + NEW, FIT + REFERENCE
    shocks = rng.standard_normal((series, rows + WARM_UP))
    if kind == "heavy tails":
        shocks = rng.standard_t(3, shocks.shape) / np.sqrt(3)
    if kind == "common volatility":
        shocks *= np.exp(autoregression(0.25 * np.sqrt(1 - 0.95**2) * rng.standard_normal(rows + WARM_UP), 0.95))
    if kind == "volatility clusters":
        shocks = garch(shocks)
    hit = np.arange(series) < max(1, round(fraction * series))
    shocks[hit, WARM_UP + at :] *= noise
    values = autoregression(shocks, {"AR(0.7)": 0.7, "trend": 0.3}.get(kind, 0.0))[:, WARM_UP:]
    times = np.arange(rows)
    if kind.startswith("season"):
        season = int(kind.split()[1])
        profile = np.stack(
            [np.convolve(row, np.ones(5) / 2, "same") for row in rng.standard_normal((series, 3 * season))]
        )
        values += 1.5 * profile[:, season : 2 * season][:, times % season]
    if kind == "trend":
        values += rng.uniform(0.01, 0.05, (series, 1)) * times
    if kind in ("common shock", "slow common factor"):
        memory = 0.9 if kind == "common shock" else 0.98
        factor = autoregression(np.sqrt(1 - memory**2) * rng.standard_normal(rows + 5 * WARM_UP), memory)[-rows:]
        values += factor * rng.uniform(0.5, 1.5, (series, 1))
    sides = np.where(signs * np.arange(series) % 2, -1.0, 1.0)[:, None]
    values[hit, at:] += level * sides[hit]
    return values * 10 ** rng.uniform(-3, 3, (series, 1))  # scales differ a million times


def garch(shocks: Floats, arch: float = 0.1, memory: float = 0.85) -> Floats:
    """Give each series volatility clusters of its own, with mean variance 1."""
    variance, made = np.ones(len(shocks)), np.empty_like(shocks)
    for place in range(shocks.shape[1]):
        made[:, place] = np.sqrt(variance) * shocks[:, place]
        variance = 1 - arch - memory + arch * made[:, place] ** 2 + memory * variance
    return made


def errors_of(values: Floats, season: int) -> tuple[Floats, Ints]:
    """Forecast from the end of the fitted part on, one horizon after another, and return errors and steps."""
    scale = values[:, :FIT].std(1, keepdims=True)
    scaled = (values - values[:, :FIT].mean(1, keepdims=True)) / scale
    sums = np.cumsum(np.pad(scaled, ((0, 0), (1, 0))), axis=1)

    def features(cuts: Ints, step: int) -> Floats:
        back = cuts + step - season * -(-step // season)
        columns = [scaled[:, cuts], scaled[:, back], scaled[:, np.maximum(back - season, 0)]]
        columns += [(sums[:, cuts + 1] - sums[:, cuts + 1 - width]) / width for width in (8, 24)]
        return np.stack([*columns, np.ones((len(values), len(cuts)))], axis=-1)

    first = max(season, 30)
    fitted, cuts = np.arange(first, FIT - HORIZON, 2), np.arange(FIT - 1, values.shape[1] - 1, HORIZON)
    made = np.full((len(values), REFERENCE + NEW), np.nan)
    steps = np.zeros(REFERENCE + NEW, np.int64)
    for step in range(1, HORIZON + 1):
        inputs = features(fitted, step).reshape(-1, 6)
        targets = scaled[:, fitted + step].reshape(-1)
        weights = np.linalg.solve(inputs.T @ inputs + 1e-6 * np.eye(6), inputs.T @ targets)
        used = cuts[cuts + step < values.shape[1]]
        made[:, used + step - FIT] = scaled[:, used + step] - features(used, step) @ weights
        steps[used + step - FIT] = step
    return made * scale, np.broadcast_to(steps, made.shape)


def part(values: Floats, steps: Ints | None, begin: int, end: int, season: int) -> Errors:
    """Return some columns as errors."""
    return Errors(
        ids=pl.Series([f"s{row:05d}" for row in range(len(values))]),
        times=pl.Series(np.arange(begin, end)),
        values=values[:, begin:end],
        season_length=season,
        steps=None if steps is None else steps[:, begin:end],
        horizon=HORIZON,
    )


def season_of(kind: str) -> int:
    """Return the rows in a season of a kind of panel."""
    return int(kind.split()[1]) if kind.startswith("season") else 24


def check_errors(values: Floats, kind: str, new: int, false_discoveries: float) -> DriftResult:
    """Compare the errors of the forecaster on the last rows with those before."""
    season = season_of(kind)
    errors, steps = errors_of(values, season)
    old, fresh = part(errors, steps, 0, REFERENCE, season), part(errors, steps, REFERENCE, REFERENCE + new, season)
    return detect_drift(old, fresh, false_discoveries=false_discoveries)


def check_inputs(values: Floats, kind: str, new: int, false_discoveries: float) -> DriftResult:
    """Compare seasonal differences of the last rows with those before."""
    ids = pl.Series([f"s{row:05d}" for row in range(len(values))])
    length = FIT + REFERENCE + new
    times = pl.Series(np.arange(length))
    matrix = SeriesMatrix(ids=ids, times=times, values=values[:, :length], season_length=season_of(kind))
    return detect_drift(*seasonal_differences(matrix, FIT + REFERENCE), false_discoveries=false_discoveries)


def table(
    check: Callable[[Floats, str, int, float], DriftResult],
    panels: int,
    kinds: tuple[str, ...],
    new: int,
    changes: list[str],
) -> dict[str, dict[str, dict[str, float]]]:
    """Print and return which fraction of panels alarm, by kind and change."""
    print(f"\n{'kind':22}" + "".join(f"{change[:22]:>24}" for change in changes), flush=True)
    found: dict[str, dict[str, dict[str, float]]] = {}
    for kind in kinds:
        line = f"{kind:22}"
        for change in changes:
            results = []
            for panel in range(panels):
                rng = np.random.default_rng([panel, len(change), len(kind), new])
                fraction = 0.05 if panel < NAMED else 0.0
                results.append(check(simulate(kind, rng, **CHANGES[change]), kind, new, fraction))
            alarms = float(np.mean([result.is_drift for result in results]))
            named = float(np.mean([len(result.series) / max(result.num_series, 1) for result in results[:NAMED]]))
            some = float(np.mean([bool(result.series) for result in results[:NAMED]]))
            found.setdefault(kind, {})[change] = {"alarms": alarms, "named": named, "names any": some}
            line += f"{100 * alarms:10.1f} % ({100 * named:4.1f} %)"
        print(line, flush=True)
    return found


def seasonal_years(seed: int, *, every: int, window: int, past: int) -> tuple[int, int, float]:
    """Watch two healthy years of 50 daily series with a yearly and a weekly season; return looks, alarms and alpha."""
    rng = np.random.default_rng(seed)
    fit, ahead, horizon = 2 * 365, 2 * 365, 7
    rows = fit + past + ahead
    days = np.arange(rows)
    yearly = 2 * np.pi * days / 365
    phase = rng.uniform(-0.5, 0.5, (SERIES, 1))
    spread = 1 + 0.4 * np.cos(yearly)  # noisier in winter
    noise = autoregression(rng.standard_normal((SERIES, rows)) * spread, 0.5)
    factor = autoregression(0.3 * rng.standard_normal(rows), 0.7)
    values = 10 + 3 * np.cos(yearly + phase) + rng.normal(0, 1, (SERIES, 7))[:, days % 7] + noise + factor
    calendar = np.stack(
        [f(k * yearly) for k in (1, 2) for f in (np.sin, np.cos)] + [days % 7 == k for k in range(7)], -1
    )
    errors = np.full((SERIES, rows - fit), np.nan)
    smooth = np.linalg.lstsq(calendar[:fit], values[:, :fit].T, rcond=None)[0]
    rest = values - (calendar @ smooth).T
    cuts = np.arange(fit - 1, rows - 1, horizon)
    for step in range(1, horizon + 1):
        memory = (rest[:, : fit - step] * rest[:, step:fit]).sum() / np.square(rest[:, : fit - step]).sum()
        used = cuts[cuts + step < rows]
        errors[:, used + step - fit] = rest[:, used + step] - memory * rest[:, used]
    spending = AlphaSpending(0.05, start=past, year=365.25)
    reference = part(errors, None, 0, past, 365)
    looks = alarms = 0
    for today in range(past + every, past + ahead + 1, every):
        alpha = spending.look(today)
        result = detect_drift(
            reference, part(errors, None, max(past, today - window), today, 365), alpha=alpha, false_discoveries=0.0
        )
        looks += result.verdict != "not judged"
        alarms += result.is_drift
    return looks, alarms, spending.spent


def years(repeats: int) -> dict[str, dict[str, float]]:
    """Print and return how many of many pairs of healthy years have an alarm."""
    found = {}
    for name, every, window, past in (
        ("every day, last 28 days, reference of a year", 1, 28, 365),
        ("every day, last 28 days, reference of two years", 1, 28, 730),
        ("every week, last 28 days, reference of a year", 7, 28, 365),
        ("every week, last 7 days, reference of a year", 7, 7, 365),
    ):
        runs = [seasonal_years(seed, every=every, window=window, past=past) for seed in range(repeats)]
        fraction = float(np.mean([alarms > 0 for _, alarms, _ in runs]))
        found[name] = {"looks": runs[0][0], "with an alarm": fraction, "alpha spent": runs[0][2], "repeats": repeats}
        print(
            f"two healthy years, {name}: {runs[0][0]} looks, an alarm in {100 * fraction:.1f} % of {repeats}",
            flush=True,
        )
    return found


def speed() -> dict[str, float]:
    """Print and return seconds of one thread for 10,000 series, 400 errors of the reference and 200 new ones."""
    values = np.random.default_rng(0).standard_normal((10_000, 600))
    old, new = part(values, None, 0, 400, 24), part(values, None, 400, 600, 24)
    seconds: dict[str, list[float]] = {"detect_drift": [], "find_incidents": []}
    for _ in range(4):
        began = time.process_time()
        detect_drift(old, new)
        seconds["detect_drift"].append(time.process_time() - began)
        began = time.process_time()
        find_incidents(values[:, :400], values[:, 400:], old.ids, new.times, season_length=24)
        seconds["find_incidents"].append(time.process_time() - began)
    for name, taken in seconds.items():
        print(f"{name}: 10,000 series, 400 + 200 values: {min(taken):.2f} s of processor time, best of 4", flush=True)
    return {name: min(taken) for name, taken in seconds.items()}


def main() -> None:
    """Run all parts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--panels", type=int, default=300)
    parser.add_argument("--years", type=int, default=100)
    parser.add_argument("--output", type=Path, default=None, help=f"Where to write the numbers, such as {RESULTS}.")
    given = parser.parse_args()
    numbers: dict[str, object] = {"alpha": ALPHA, "panels": given.panels, "speed": speed()}
    print(f"\nPercent of {given.panels} panels that alarm at alpha {ALPHA}, and of series named (of {NAMED} panels).")
    print(f"\nErrors, {NEW} new rows")
    numbers["errors"] = table(check_errors, given.panels, KINDS + HARDER, NEW, list(CHANGES))
    for new in (48, 12, 3):
        print(f"\nErrors, {new} new rows")
        numbers[f"errors, {new} new rows"] = table(check_errors, given.panels, KINDS, new, list(CHANGES)[:3])
    print(f"\nSeasonal differences of the inputs, {NEW} new rows")
    numbers["inputs"] = table(check_inputs, given.panels, KINDS, NEW, list(CHANGES)[:3])
    print()
    numbers["years"] = years(given.years)
    if given.output is not None:
        given.output.parent.mkdir(parents=True, exist_ok=True)
        given.output.write_text(json.dumps(numbers, indent=1) + "\n")


if __name__ == "__main__":
    main()
