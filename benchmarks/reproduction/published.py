"""What was published, and under which protocol.

Zeng et al., "Are Transformers Effective for Time Series Forecasting?", AAAI 2023, with a look-back of 336.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl

INPUT_SIZE = 336
HORIZONS = (96, 192, 336, 720)
MODELS = ("dlinear", "nlinear")
TOLERANCE = 0.005
SEED = 2021  # that of the published scripts


@dataclass(frozen=True, kw_only=True)
class DataSet:
    """A table with one column per channel, and how it is cut by row number.

    Attributes:
        title: Name in the paper.
        train: Rows for training; validation and test follow, and what comes after them is discarded.
        validation: Rows for validation.
        test: Rows for test.
        batch_size: Windows with all channels in a step.
        rate: Learning rate of the first epoch.
    """

    title: str
    train: int
    validation: int
    test: int
    batch_size: int
    rate: float

    @property
    def rows(self) -> int:
        """Rows that are used."""
        return self.train + self.validation + self.test

    def read(self, directory: Path) -> pl.DataFrame:
        """Return the used rows in long form, with the row number as time.

        Row numbers stand in for timestamps because Weather has one timestamp twice and one gap; the published protocol
        counts rows too.
        """
        wide = pl.read_parquet(directory / f"{self.title.lower()}.parquet").head(self.rows).drop("date")
        return (
            wide.with_columns(pl.int_range(pl.len()).alias("ds"))
            .unpivot(index="ds", variable_name="unique_id", value_name="y")
            .select("unique_id", "ds", "y")
        )


DATA_SETS = {
    "etth1": DataSet(title="ETTh1", train=8640, validation=2880, test=2880, batch_size=32, rate=5e-3),
    "ettm1": DataSet(title="ETTm1", train=34560, validation=11520, test=11520, batch_size=8, rate=1e-4),
    # 70 % and 20 % of 52,696 rows, rounded down, for training and test; the rest is for validation.
    "weather": DataSet(title="Weather", train=36887, validation=5270, test=10539, batch_size=32, rate=5e-4),
}

MSE = {
    ("etth1", "dlinear"): (0.375, 0.405, 0.439, 0.472),
    ("ettm1", "dlinear"): (0.299, 0.335, 0.369, 0.425),
    ("weather", "dlinear"): (0.176, 0.220, 0.265, 0.323),
    ("etth1", "nlinear"): (0.374, 0.408, 0.429, 0.440),
    ("ettm1", "nlinear"): (0.306, 0.349, 0.375, 0.433),
    ("weather", "nlinear"): (0.182, 0.225, 0.271, 0.338),
}
MAE = {
    ("etth1", "dlinear"): (0.399, 0.416, 0.443, 0.490),
    ("ettm1", "dlinear"): (0.343, 0.365, 0.386, 0.421),
    ("weather", "dlinear"): (0.237, 0.282, 0.319, 0.362),
    ("etth1", "nlinear"): (0.394, 0.415, 0.427, 0.453),
    ("ettm1", "nlinear"): (0.348, 0.375, 0.388, 0.422),
    ("weather", "nlinear"): (0.232, 0.269, 0.301, 0.348),
}


@dataclass(frozen=True, order=True)
class Name:
    """Which cell of the published table."""

    data: str
    model: str
    horizon: int

    def __str__(self) -> str:
        return f"{self.data}/{self.model}/{self.horizon}"

    @property
    def published(self) -> tuple[float, float]:
        """Published MSE and MAE."""
        place = HORIZONS.index(self.horizon)
        return MSE[self.data, self.model][place], MAE[self.data, self.model][place]


def all_cells() -> list[Name]:
    """Return every cell, in the order of the document."""
    return [Name(data, model, horizon) for data in DATA_SETS for model in MODELS for horizon in HORIZONS]
