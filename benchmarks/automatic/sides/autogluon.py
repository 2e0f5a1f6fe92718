"""AutoGluon-TimeSeries with its models that are trained on the panel itself, and their ensemble."""

from __future__ import annotations

import tempfile

from automatic.sides.task import Task

_MODELS = (
    "SeasonalNaive",
    "AutoETS",
    "NPTS",
    "DynamicOptimizedTheta",
    "RecursiveTabular",
    "DirectTabular",
    "TemporalFusionTransformer",
    "DeepAR",
    "PatchTST",
    "TiDE",
)


def main() -> None:
    """Search on what is known at the first cut-off, and forecast from all; the median is the point forecast."""
    from autogluon.timeseries import TimeSeriesDataFrame, TimeSeriesPredictor

    task = Task()

    def table(cutoff: int) -> TimeSeriesDataFrame:
        names = {"unique_id": "item_id", "ds": "timestamp", "y": "target"}
        return TimeSeriesDataFrame.from_data_frame(task.known(cutoff).rename(columns=names))

    with tempfile.TemporaryDirectory() as place:
        predictor = TimeSeriesPredictor(
            prediction_length=task.horizon,
            freq=task.frequency,
            eval_metric="MASE",
            eval_metric_seasonal_period=task.season,
            path=place,
            verbosity=0,
        )
        hyperparameters = {name: {} for name in _MODELS}
        predictor.fit(table(0), hyperparameters=hyperparameters, time_limit=task.budget, random_seed=1)
        for cutoff in range(task.cutoffs):
            made = predictor.predict(table(cutoff)).reset_index()
            made = made.rename(columns={"item_id": "unique_id", "timestamp": "ds"})
            task.write(cutoff, made, "0.5")


if __name__ == "__main__":
    main()
