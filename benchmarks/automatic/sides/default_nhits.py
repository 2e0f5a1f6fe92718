"""This library: NHITS with nothing set but the horizon, in whatever time it takes."""

from __future__ import annotations

import neuro_divergent as nd
from automatic.sides.task import Task


def main() -> None:
    """Train on what is known at the first cut-off, and forecast from all."""
    task = Task()
    forecaster = nd.Forecaster("nhits", horizon=task.horizon).fit(task.known(0))
    for cutoff in range(task.cutoffs):
        task.write(cutoff, forecaster.predict(task.known(cutoff)), "forecast")


if __name__ == "__main__":
    main()
