"""An exported model as an MLflow pyfunc: ``python mlflow_model.py model.onnx saved``, then ``mlflow models serve``."""

import sys

import mlflow

from neuro_divergent.serving import load


class ExportedForecaster(mlflow.pyfunc.PythonModel):
    """Takes a list of series as ``nd serve`` does, and returns a list of forecasts."""

    def load_context(self, context):
        """Open the exported file."""
        self.model = load(context.artifacts["model"])

    def predict(self, context, model_input, params=None):
        """Forecast each series: ``[{"id": "A", "end": "2024-01-31", "y": [...]}]``."""
        forecasts = self.model.forecast(model_input)
        return [{"id": item.id, "times": item.times, "forecast": item.point.tolist()} for item in forecasts]


if __name__ == "__main__":
    mlflow.pyfunc.save_model(sys.argv[2], python_model=ExportedForecaster(), artifacts={"model": sys.argv[1]})
