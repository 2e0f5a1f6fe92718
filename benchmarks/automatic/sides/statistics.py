"""statsforecast: the mean of AutoETS, AutoTheta and AutoCES, in whatever time it takes."""

from __future__ import annotations

import warnings

from automatic.sides.task import Task

_LONGEST = 1000  # rows that models are fitted to
_MODELS = ("AutoETS", "AutoTheta", "AutoCES")


def main() -> None:
    """Fit and forecast at every cut-off."""
    import statsforecast.models
    from statsforecast import StatsForecast

    warnings.simplefilter("ignore")
    task = Task()
    models = [getattr(statsforecast.models, name)(season_length=task.season, alias=name) for name in _MODELS]
    forecaster = StatsForecast(models, freq=task.frequency, fallback_model=statsforecast.models.Naive(), n_jobs=2)
    for cutoff in range(task.cutoffs):
        known = task.known(cutoff).groupby("unique_id", sort=False).tail(_LONGEST)
        made = forecaster.forecast(df=known, h=task.horizon).reset_index()
        made["forecast"] = made[list(_MODELS)].mean(axis=1)
        task.write(cutoff, made, "forecast")


if __name__ == "__main__":
    main()
