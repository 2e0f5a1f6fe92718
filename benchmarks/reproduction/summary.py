"""Mean and deviation of the runs of a cell."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from reproduction.trial import Result


@dataclass(frozen=True)
class Spread:
    """Mean of an error over seeds, and its standard deviation where there are at least two."""

    mean: float
    deviation: float | None

    def __str__(self) -> str:
        return f"{self.mean:.3f}" if self.deviation is None else f"{self.mean:.3f} ± {self.deviation:.3f}"


@dataclass(frozen=True)
class Summary:
    """The runs of a cell, at least one, each with another seed."""

    runs: list[Result]

    @property
    def mse(self) -> Spread:
        """MSE over the seeds."""
        return spread([run.mse for run in self.runs])

    @property
    def mae(self) -> Spread:
        """MAE over the seeds."""
        return spread([run.mae for run in self.runs])

    @property
    def full_batches(self) -> tuple[Spread, Spread] | None:
        """MSE and MAE on the test windows of the published code, where that was measured for every seed."""
        mse = [run.full_batches_mse for run in self.runs if run.full_batches_mse is not None]
        mae = [run.full_batches_mae for run in self.runs if run.full_batches_mae is not None]
        return (spread(mse), spread(mae)) if len(mse) == len(mae) == len(self.runs) else None

    @property
    def epochs(self) -> str:
        """Epochs that were trained: one number, or the least and the most."""
        least, most = min(run.epochs for run in self.runs), max(run.epochs for run in self.runs)
        return str(least) if least == most else f"{least}-{most}"

    @property
    def seconds(self) -> float:
        """Time of all runs together."""
        return sum(run.seconds for run in self.runs)

    @property
    def rounded(self) -> bool:
        """Whether a run was copied from an earlier page."""
        return any(run.rounded is not None for run in self.runs)


def spread(values: list[float]) -> Spread:
    """Return mean and sample standard deviation (divisor n - 1)."""
    return Spread(statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else None)


def verdict(ours: float, published: float | None, tolerance: float) -> str:
    """Say how a result compares with the published one."""
    if published is None:
        return ""
    difference = round(round(ours, 3) - published, 6)
    if difference <= 0:
        return "better" if difference < 0 else "equal"
    return "within" if difference <= tolerance else f"off by {difference:.3f}"
