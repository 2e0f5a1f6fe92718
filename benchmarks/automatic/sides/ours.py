"""This library: ``nd.AutoForecaster`` with a budget and nothing else set."""

from __future__ import annotations

import neuro_divergent as nd
from automatic.sides.task import Task


def main() -> None:
    """Search on what is known at the first cut-off, and forecast from all."""
    task = Task()
    forecaster = nd.AutoForecaster(horizon=task.horizon, budget=task.budget).fit(task.known(0))
    task.write(0, forecaster.predict(), "forecast")
    for cutoff in range(1, task.cutoffs):
        task.write(cutoff, forecaster.predict(task.known(cutoff)), "forecast")
    print(f"neuro_divergent: {nd.__file__}")
    print(forecaster.leaderboard().to_string())
    print(forecaster.results.reason, *forecaster.results.notes, sep="\n")


if __name__ == "__main__":
    main()
