"""Compare the reconciliations of HINT on public hierarchies: one network, every method.

Each network is trained once per seed on all nodes and asked for 8 steps at several origins after training, or at one
where the data set is short; methods differ only in what is done with its forecasts. Printed per level of the hierarchy,
averaged over seeds: the squared error relative to that of the seasonal naive forecast; the scaled CRPS, which is twice
the mean pinball loss of the quantiles 0.05, 0.10, ..., 0.95 divided by the mean size of what happened; and the share of
what happened that lies between the quantiles 0.1 and 0.9.

    python benchmarks/hierarchy.py --data ../shared/data
    python benchmarks/hierarchy.py --data ../shared/data --steps 20 --seeds 1      # shows that it runs
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

import neuro_divergent as nd
from neuro_divergent.forecasting.hierarchy.hierarchy import Hierarchy
from neuro_divergent.forecasting.hierarchy.hint import HINT
from neuro_divergent.forecasting.hierarchy.reconciliation import METHODS

HORIZON = 8
QUANTILES = [round(0.05 * place, 2) for place in range(1, 20)]
Values = NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    """A data set and what fits its length: 514 months, or 36 quarters."""

    name: str
    season: int
    input_size: int
    validation: int
    origins: int
    noise: Any
    levels: tuple[str, ...]


CASES = (
    Case("labour", 12, 36, 96, 10, "bootstrap", ("total", "state", "gender", "bottom")),
    Case("tourism", 4, 8, 10, 1, "normal", ("total", "purpose", "state", "bottom")),
)


def main() -> None:
    """Run both data sets and print a table for each measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="directory of hier_*.parquet")
    parser.add_argument("--steps", type=int, default=400, help="training steps")
    parser.add_argument("--seeds", type=int, default=5, help="networks to train")
    options = parser.parse_args()
    for case in CASES:
        began = time.perf_counter()
        scores = [run(case, options.data, options.steps, seed) for seed in range(options.seeds)]
        for place, measure in enumerate(
            ("squared error / seasonal naive", "scaled CRPS", "coverage of 80 % intervals")
        ):
            show(case, measure, {row: np.array([score[row][place] for score in scores]) for row in scores[0]})
        print(f"{case.name}: {time.perf_counter() - began:.0f} s\n", flush=True)


def run(case: Case, data: Path, steps: int, seed: int) -> dict[str, tuple[Values, ...]]:
    """Train one network; return the measures ``(levels + 1,)`` for each method."""
    hierarchy = Hierarchy.from_frame(data / f"hier_{case.name}_S.parquet")
    table = pl.read_parquet(data / f"hier_{case.name}.parquet")
    times = table["ds"].unique().sort()
    begins = [len(times) - HORIZON * ahead for ahead in range(case.origins, 0, -1)]
    forecaster = nd.Forecaster(
        nd.NHITS(hidden_size=128),
        horizon=HORIZON,
        input_size=case.input_size,
        validation=case.validation,
        training=nd.TrainingConfig(max_steps=steps, seed=seed, threads=1),
    )
    hint = HINT(forecaster, hierarchy).fit(table.filter(pl.col("ds") < times[begins[0]]))
    ways: dict[str, HINT | None] = {"none": None, **{method: hint.with_method(method) for method in METHODS}}
    actual = spread(table, "y", hierarchy)
    found: dict[str, list[tuple[Values, ...]]] = {name: [] for name in ways}
    naive = []
    for begin in begins:
        came = actual[:, begin : begin + HORIZON]
        naive.append(came - seasonal_naive(actual[:, :begin], case.season))
        past = table.filter(pl.col("ds") < times[begin])
        for name, way in ways.items():
            if way is None:
                made = forecaster.predict(past, quantiles=QUANTILES)
            else:
                made = way.predict(past, quantiles=QUANTILES, noise=case.noise)
            above = {share: came - spread(made, f"q-{share:g}", hierarchy) for share in QUANTILES}
            crps = 2 * np.mean([pinball(errors, share) for share, errors in above.items()], axis=0)
            inside = (above[0.1] >= 0) & (above[0.9] <= 0)
            found[name].append((came - spread(made, "forecast", hierarchy), crps, inside.astype(np.float64)))
    came = np.concatenate([actual[:, begin : begin + HORIZON] for begin in begins], axis=1)
    levels = members(hierarchy)
    scores = {}
    for name, parts in found.items():
        errors, crps, inside = (np.concatenate(items, axis=1) for items in zip(*parts, strict=True))
        squares, before = np.square(errors), np.square(np.concatenate(naive, axis=1))
        relative = [squares[level].sum() / before[level].sum() for level in levels]
        scaled = [crps[level].sum() / np.abs(came[level]).sum() for level in levels]
        covered = [inside[level].mean() for level in levels]
        scores[name] = tuple(np.array([*values, np.mean(values)]) for values in (relative, scaled, covered))
    return scores


def members(hierarchy: Hierarchy) -> list[NDArray[np.bool_]]:
    """Return which nodes belong to each level, the total first: those that have equally many parts."""
    counts = (hierarchy.summing != 0).sum(1)
    return [counts == count for count in sorted(set(counts.tolist()), reverse=True)]


def spread(table: pl.DataFrame, column: str, hierarchy: Hierarchy) -> Values:
    """Return a column of a long table as ``(nodes, times)``."""
    parts = table.sort("ds").partition_by("unique_id", as_dict=True)
    return np.stack([parts[(node,)][column].to_numpy().astype(np.float64) for node in hierarchy.nodes])


def seasonal_naive(past: Values, season: int) -> Values:
    """Return the last season again, as often as needed."""
    return np.stack([past[:, past.shape[1] - season + step % season] for step in range(HORIZON)], axis=1)


def pinball(errors: Values, share: float) -> Values:
    """Return the cost of missing a quantile by so much."""
    return np.maximum(share * errors, (share - 1) * errors)


def show(case: Case, measure: str, rows: dict[str, Values]) -> None:
    """Print a table: a method per row, a level per column, and the spread over seeds of their mean."""
    print(f"{case.name}, {measure}:\n")
    print(f"| method | {' | '.join(case.levels)} | mean of levels | over seeds |")
    print("|---|" + "---:|" * (len(case.levels) + 2))
    digits = 4 if "CRPS" in measure else 3
    for name, values in rows.items():
        cells = [f"{value:.{digits}f}" for value in values.mean(0)]
        print(f"| `{name}` | {' | '.join(cells)} | ± {values[:, -1].std(ddof=min(1, len(values) - 1)):.{digits}f} |")
    print()


if __name__ == "__main__":
    main()
