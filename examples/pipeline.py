"""A pipeline from a table to a model, which computes nothing twice."""

import tempfile
from pathlib import Path

import polars as pl

import neuro_divergent as nd
from neuro_divergent.data.datasets.bundled import air_passengers


def growth(table: pl.DataFrame) -> pl.DataFrame:
    """Return by how much the last year changed: a feature that looks back only, which is checked."""
    return table.select(growth=pl.col("y") / pl.col("y").shift(12))


def best_month(table: pl.DataFrame, model: nd.Forecaster) -> str:
    """Return the month with the largest forecast, as a stage of one's own."""
    forecasts = model.predict()
    return str(forecasts.sort("forecast")["ds"][-1])


def pipeline(directory: Path, data: pl.DataFrame, *, threshold: float = 0.0) -> nd.Pipeline:
    """Put the stages together; each takes what the nearest one before it gives."""
    return nd.Pipeline(
        [
            nd.lifecycle.DataValidation(ranges={"y": (0, 1000)}, max_missing=0.0),
            nd.lifecycle.Preprocessing(outliers="clip"),
            nd.lifecycle.FeatureEngineering(functions=[growth], calendar=["month_sin", "month_cos"]),
            nd.lifecycle.Training(
                model=nd.MLP(hidden_size=32), task={"horizon": 12, "test": 12}, training={"max_steps": 100}
            ),
            nd.lifecycle.Evaluation(minimum={"skill": threshold}),
            nd.lifecycle.stage(best_month, outputs="month"),
        ],
        data=data,
        directory=directory,
    )


def main() -> None:
    """Run a pipeline three times: everything, nothing, and what another threshold changes."""
    with tempfile.TemporaryDirectory() as place:
        directory, data = Path(place) / "flights", air_passengers()
        result = pipeline(directory, data).run()
        print(result.states)
        print("best month:", result["best_month.month"])
        print(pipeline(directory, data).run().states)
        print(pipeline(directory, data, threshold=-1.0).run().states)


if __name__ == "__main__":
    main()
