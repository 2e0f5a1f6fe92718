"""The report: escaped, self-contained, and plain about a model that is no good."""

import re
from html.parser import HTMLParser

import polars as pl
import pytest

from neuro_divergent.data.frame import build_panel
from neuro_divergent.data.synthetic import Synthetic
from neuro_divergent.forecasting.run import RunConfig
from neuro_divergent.interfaces.outcome import Outcome, train
from neuro_divergent.interfaces.report.page import render

EVIL = "<script>alert('x')</script>"


def outcome_of(frame: pl.DataFrame, **task: object) -> Outcome:
    config = RunConfig.from_dict(
        {
            "data": {"path": f"{EVIL}.csv"},
            "model": "nlinear",
            "task": {"horizon": 4, "input_size": 12, **task},
            "training": {"max_steps": 10, "threads": 1},
        }
    )
    return train(config, build_panel(frame, config.data.schema_fields), levels=(80.0, 99.9))


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    frame = Synthetic(num_series=8, length=60).frame()
    return frame.with_columns(pl.col("unique_id").replace("series-0", EVIL))


@pytest.fixture(scope="module")
def outcome(frame: pl.DataFrame) -> Outcome:
    return outcome_of(frame, test=8)


@pytest.fixture(scope="module")
def page(outcome: Outcome) -> str:
    return render(outcome, name="a run", command="nd train 'a b.toml'")


class Tags(HTMLParser):
    VOID = ("meta", "line", "path", "link")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += attrs
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag


def test_names_are_escaped(page: str) -> None:
    assert "<script" not in page
    assert page.count("&lt;script&gt;") >= 2


def test_it_is_well_formed_and_needs_nothing_else(page: str) -> None:
    tags = Tags()
    tags.feed(page)
    assert not tags.open
    assert not {name for name, _ in tags.attributes} & {"src", "href", "onclick", "onload"}
    assert "url(" not in page
    assert "@import" not in page


def test_it_has_every_part(page: str, outcome: Outcome) -> None:
    for heading in ("Scores beside", "Forecasts", "Intervals", "Training", "The same again"):
        assert heading in page
    assert page.count("<figure>") == 6 + 2
    assert "seasonal naive" in page
    assert "nd train &#39;a b.toml&#39;" in page
    assert "nothing in training saw these values" in page
    assert "No 99.9 % interval" in page
    assert "prefers-color-scheme: dark" in page
    assert "@media print" in page
    assert "name = &#34;nlinear&#34;" in page
    assert outcome.forecaster.environment["python"] in page


def test_a_model_that_is_worse_is_called_worse(outcome: Outcome) -> None:
    import dataclasses

    assert outcome.evaluation is not None
    table = outcome.evaluation.table.with_columns(
        mae=pl.when(pl.col("name") == "nlinear").then(1e6).otherwise(pl.col("mae"))
    )
    bad = dataclasses.replace(outcome, evaluation=dataclasses.replace(outcome.evaluation, table=table))
    page = render(bad, name="a run", command="")
    assert "is worse than a forecast that needs no training" in page
    assert 'class="verdict bad"' in page


def test_without_anything_held_out(frame: pl.DataFrame) -> None:
    page = render(outcome_of(frame, validation=0), name="a run", command="")
    assert "Nothing was held out" in page
    assert "Scores beside" not in page


def test_one_series_without_a_name(frame: pl.DataFrame) -> None:
    single = frame.filter(pl.col("unique_id") == "series-1").drop("unique_id")
    page = render(outcome_of(single, test=8), name="a run", command="")
    assert page.count("<figure>") == 1 + 2
    assert re.search(r'class="backtest"', page)
