"""What was published: the figures, and where they come from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl

HORIZONS = (96, 192, 336, 720)
Row = tuple[float, float, float, float]


# Parts of the time with their largest values, which published code scales to -0.5 .. 0.5.
CALENDAR = {
    "minute": (pl.col("date").dt.minute(), 59),
    "hour": (pl.col("date").dt.hour(), 23),
    "day_of_week": (pl.col("date").dt.weekday() - 1, 6),
    "day_of_month": (pl.col("date").dt.day() - 1, 30),
    "day_of_year": (pl.col("date").dt.ordinal_day() - 1, 365),
}


@dataclass(frozen=True, kw_only=True)
class DataSet:
    """A table with one column per channel, and how it is cut by row number.

    Attributes:
        title: Name in the papers.
        channels: Columns.
        train: Rows for training; validation and test follow, and what comes after them is discarded.
        validation: Rows for validation.
        test: Rows for test.
    """

    title: str
    channels: int
    train: int
    validation: int
    test: int

    @property
    def rows(self) -> int:
        """Rows that are used."""
        return self.train + self.validation + self.test

    def read(self, directory: Path, *, calendar: tuple[str, ...] = ()) -> pl.DataFrame:
        """Return the used rows in long form, with the row number as time.

        Row numbers stand in for timestamps because Weather has one timestamp twice and one gap; the published protocol
        counts rows too.

        Args:
            directory: Where the files are.
            calendar: Columns of ``CALENDAR`` to add.
        """
        wide = pl.read_parquet(directory / f"{self.title.lower()}.parquet").head(self.rows)
        known = {name: CALENDAR[name][0] / CALENDAR[name][1] - 0.5 for name in calendar}
        return (
            wide.with_columns(pl.int_range(pl.len()).alias("ds"), **known)
            .drop("date")
            .unpivot(index=["ds", *known], variable_name="unique_id", value_name="y")
            .select("unique_id", "ds", "y", *known)
        )


DATA_SETS = {
    "etth1": DataSet(title="ETTh1", channels=7, train=8640, validation=2880, test=2880),
    "ettm1": DataSet(title="ETTm1", channels=7, train=34560, validation=11520, test=11520),
    # 70 % and 20 % of 52,696 rows, rounded down, for training and test; the rest is for validation.
    "weather": DataSet(title="Weather", channels=21, train=36887, validation=5270, test=10539),
}


@dataclass(frozen=True, kw_only=True)
class Published:
    """The published errors of a model on a data set, by horizon.

    Attributes:
        mse: Mean squared errors; absent where only their average was published.
        mae: Mean absolute errors; absent where they are not known.
        average_mse: Average over the horizons, where only that was published.
        tolerance: How far above a published number counts as reproduced.
        test_batch: Windows in a batch of the published test, if its code leaves out a last batch that is not full.
    """

    mse: Row | None = None
    mae: Row | None = None
    average_mse: float | None = None
    tolerance: float = 0.01
    test_batch: int | None = None


def _linear(mse: Row, mae: Row) -> Published:
    return Published(mse=mse, mae=mae, tolerance=0.005)


PUBLISHED = {
    ("etth1", "dlinear"): _linear((0.375, 0.405, 0.439, 0.472), (0.399, 0.416, 0.443, 0.490)),
    ("etth1", "nlinear"): _linear((0.374, 0.408, 0.429, 0.440), (0.394, 0.415, 0.427, 0.453)),
    ("etth1", "patchtst"): Published(
        mse=(0.375, 0.414, 0.431, 0.449), mae=(0.399, 0.421, 0.436, 0.466), test_batch=128
    ),
    ("etth1", "itransformer"): Published(mse=(0.386, 0.441, 0.487, 0.503), mae=(0.405, 0.436, 0.458, 0.491)),
    ("etth1", "timesnet"): Published(mse=(0.384, 0.436, 0.491, 0.521), mae=(0.402, 0.429, 0.469, 0.500)),
    ("etth1", "tide"): Published(mse=(0.375, 0.412, 0.435, 0.454), mae=(0.398, 0.422, 0.433, 0.465)),
    ("etth1", "nhits"): Published(mse=(0.378, 0.427, 0.458, 0.561), mae=(0.393, 0.436, 0.484, 0.501)),
    ("etth1", "tsmixer"): Published(mse=(0.361, 0.404, 0.420, 0.463)),
    ("etth1", "timemixer"): Published(average_mse=0.447),
    ("ettm1", "dlinear"): _linear((0.299, 0.335, 0.369, 0.425), (0.343, 0.365, 0.386, 0.421)),
    ("ettm1", "nlinear"): _linear((0.306, 0.349, 0.375, 0.433), (0.348, 0.375, 0.388, 0.422)),
    ("ettm1", "patchtst"): Published(
        mse=(0.290, 0.332, 0.366, 0.420), mae=(0.342, 0.369, 0.392, 0.424), test_batch=128
    ),
    ("ettm1", "itransformer"): Published(mse=(0.334, 0.377, 0.426, 0.491), mae=(0.368, 0.391, 0.420, 0.459)),
    ("weather", "dlinear"): _linear((0.176, 0.220, 0.265, 0.323), (0.237, 0.282, 0.319, 0.362)),
    ("weather", "nlinear"): _linear((0.182, 0.225, 0.271, 0.338), (0.232, 0.269, 0.301, 0.348)),
}


@dataclass(frozen=True, order=True)
class Name:
    """Which cell of the published tables."""

    data: str
    model: str
    horizon: int

    def __str__(self) -> str:
        return f"{self.data}/{self.model}/{self.horizon}"

    @property
    def source(self) -> Published:
        """What was published about the model on this data set."""
        return PUBLISHED[self.data, self.model]

    @property
    def published(self) -> tuple[float | None, float | None]:
        """Published MSE and MAE, where there are any."""
        place = HORIZONS.index(self.horizon)
        mse, mae = self.source.mse, self.source.mae
        return None if mse is None else mse[place], None if mae is None else mae[place]


def all_cells() -> list[Name]:
    """Return every cell, in the order of the document."""
    return [Name(data, model, horizon) for data, model in PUBLISHED for horizon in HORIZONS]
