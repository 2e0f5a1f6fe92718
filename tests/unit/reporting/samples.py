"""A figure of each kind, with names that somebody might want to do harm with."""

import numpy as np

from neuro_divergent.reporting.figures.figure import Axis, Band, Bars, Figure, Heatmap, Line, Points, Rule, Spans

HOSTILE = "<script>alert(1)</script>"
_RANDOM = np.random.default_rng(7)
_DAYS = np.datetime64("2023-02-01") + np.arange(60).astype("timedelta64[D]")
_VALUES = 100 + 20 * np.sin(np.arange(60) / 7)
_PAST = np.where(np.arange(60) < 40, _VALUES, np.nan)
_FUTURE = np.where(np.arange(60) >= 40, _VALUES, np.nan)

FORECAST = Figure(
    f"Forecast of {HOSTILE}",
    (
        Band(_DAYS, _FUTURE - 20, _FUTURE + 20, "95 %", level=95),
        Band(_DAYS, _FUTURE - 8, _FUTURE + 8, "80 %"),
        Line(_DAYS, _PAST, f"observed {HOSTILE}", "actual"),
        Line(_DAYS, np.where(np.arange(60) >= 30, _PAST + 1, np.nan), "held out", "backtest"),
        Line(_DAYS, _FUTURE, "forecast", "forecast"),
        Rule(x=_DAYS[40], label=f"forecasts begin {HOSTILE}"),
    ),
    x=Axis(f"day {HOSTILE}"),
    y=Axis(f"units {HOSTILE}"),
    note=f"What to know {HOSTILE} & more.",
    alt_text=f'Up and down "quoted" {HOSTILE}.',
)
LOSS = Figure(
    "Loss",
    (
        Line(np.arange(200), np.exp(-np.arange(200) / 30.0) + 1e-3, "training", "train"),
        Line(np.arange(0, 200, 20), np.exp(-np.arange(0, 200, 20) / 30.0) + 2e-3, "validation", "validation"),
        Line(np.arange(200), np.full(200, 0.1), "held", steps=True, dashed=True),
        Rule(y=0.01, label="goal"),
    ),
    x=Axis("step"),
    y=Axis("loss", logarithmic=None),
)
DOTS = Figure(
    "Residuals",
    tuple(Points(_RANDOM.normal(size=50), _RANDOM.normal(size=50), f"group {at}") for at in range(5)),
    y=Axis("residual"),
)
HISTOGRAM = Figure(
    "Histogram", (Bars(np.arange(-3.0, 4.0), np.array([1.0, 4, 9, 12, 9, 4, 1]), "residuals", notes=["*"] * 7),)
)
_SCORES = np.array([1.2, 1.5, 2.0])
MODELS = Figure(
    "Models",
    (
        Bars(
            ["nhits", HOSTILE, "blocks.0.encoder.attention.projection.weight"],
            _SCORES,
            "MAE",
            low=_SCORES - 0.2,
            high=_SCORES + 0.3,
            notes=["best", f"note {HOSTILE}", ""],
        ),
        Rule(x=1.5, label="naive"),
    ),
    x=Axis("MAE"),
)
GROUPS = Figure(
    "Groups",
    (
        Bars(["mae", "rmse"], np.array([1.0, 2.0]), "model", "forecast"),
        Bars(["mae", "rmse"], np.array([1.5, np.nan]), "naive", "neutral"),
    ),
)
FOLDS = Figure(
    "Folds",
    (
        Spans(["one", HOSTILE], _DAYS[[0, 0]], _DAYS[[20, 40]], "train", "train"),
        Spans(["one", HOSTILE], _DAYS[[20, 40]], _DAYS[[30, 50]], "test", "validation"),
    ),
)
HEAT = Figure(
    "Heatmap", (Heatmap([HOSTILE, "b", "c"], ["x", HOSTILE], np.array([[1.0, -2, 3], [np.nan, 0, -1]]), "shade"),)
)
FLOW = Figure(
    "Flow", (Heatmap(np.arange(0, 1000, 10), ["first", "second"], np.abs(_RANDOM.normal(size=(2, 100))), "norm"),)
)
EMPTY = Figure("Nothing", (Line(np.array([]), np.array([]), "empty"), Points(np.arange(2.0), np.full(2, np.nan))))

ALL = {
    "forecast": FORECAST,
    "loss": LOSS,
    "dots": DOTS,
    "histogram": HISTOGRAM,
    "models": MODELS,
    "groups": GROUPS,
    "folds": FOLDS,
    "heat": HEAT,
    "flow": FLOW,
    "empty": EMPTY,
}
