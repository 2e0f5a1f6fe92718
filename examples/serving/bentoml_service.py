"""An exported model as a BentoML service: ``bentoml serve bentoml_service:Sales`` beside model.onnx."""

import bentoml

from neuro_divergent.serving import load


@bentoml.service(resources={"cpu": "1"}, traffic={"timeout": 30})
class Sales:
    """Forecasts series: ``POST /forecast`` with ``{"series": [{"id": "A", "end": "2024-01-31", "y": [...]}]}``."""

    def __init__(self) -> None:
        self.model = load("model.onnx")

    @bentoml.api
    def forecast(self, series: list[dict], levels: list[float] = []) -> list[dict]:  # noqa: B006
        """Return the forecast of each series."""
        forecasts = self.model.forecast(series, levels=levels)
        return [
            {"id": item.id, "times": item.times, **{name: values.tolist() for name, values in item.values.items()}}
            for item in forecasts
        ]
