"""Figures in a notebook: with plotly and a picture besides, and without plotly."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest

import neuro_divergent as nd
from neuro_divergent.reporting.figures.figure import Figure
from neuro_divergent.reporting.plotly.palette import TEXT
from tests.unit.reporting.test_colours import contrast

graph_objects = pytest.importorskip("plotly.graph_objects")
PLOTLY = "application/vnd.plotly.v1+json"


@pytest.fixture
def displayed(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Return what is displayed, as in a notebook that leaves plotly to an extension."""
    display = pytest.importorskip("IPython.display")
    found: list[dict[str, Any]] = []
    monkeypatch.setattr(display, "display", lambda bundle, raw: found.append(bundle))
    import plotly.io

    monkeypatch.setattr(plotly.io.renderers, "default", "plotly_mimetype")
    monkeypatch.setattr("plotly.io._renderers.ipython_display", display)
    return found


def test_a_notebook_gets_the_interactive_figure_a_picture_and_a_sentence(displayed) -> None:
    figure = nd.plots.plot_schedule("warmup_cosine")
    assert isinstance(figure, graph_objects.Figure)
    figure._ipython_display_()
    (bundle,) = displayed
    assert len(bundle[PLOTLY]["data"]) == 1
    assert ElementTree.fromstring(bundle["image/svg+xml"]).tag.endswith("svg")
    assert "learning rate" in bundle["text/plain"].lower()


def test_a_figure_that_was_changed_has_no_picture_of_what_it_was(displayed) -> None:
    figure = nd.plots.plot_schedule("warmup_cosine")
    figure.update_layout(title="mine")
    figure._ipython_display_()
    assert PLOTLY in displayed[0]
    assert "image/svg+xml" not in displayed[0]


def test_without_plotly_a_figure_is_a_picture_that_can_be_written(monkeypatch, tmp_path) -> None:
    monkeypatch.setitem(sys.modules, "plotly", None)
    figure = nd.plots.plot_schedule(["warmup_cosine", "constant"])
    assert isinstance(figure, Figure)
    drawn = figure._repr_svg_()
    assert ElementTree.fromstring(drawn).tag.endswith("svg")
    nd.plots.write_figure(figure, tmp_path / "schedule.svg")
    assert (tmp_path / "schedule.svg").read_text("utf-8") == drawn


@pytest.mark.parametrize("page", ["#ffffff", "#111111"])  # of the notebook in light and in dark
def test_text_can_be_read_in_light_and_dark_notebooks(page: str) -> None:
    assert nd.plots.plot_schedule("constant").layout.font.color == TEXT
    assert contrast(TEXT, page) > 4


def test_a_file_has_darker_text_on_its_white_page(tmp_path) -> None:
    figure = nd.plots.plot_schedule("constant")
    nd.plots.write_figure(figure, tmp_path / "schedule.html")
    page = (tmp_path / "schedule.html").read_text("utf-8")
    assert TEXT not in page.rpartition("Plotly.newPlot")[2]
    assert figure.layout.font.color == TEXT  # the figure itself stays as it is


def test_every_kind_of_model_can_be_plotted_with_a_short_call() -> None:
    table = nd.datasets.air_passengers()
    training = nd.TrainingConfig(max_steps=3, threads=1)
    forecaster = nd.Forecaster("nlinear", horizon=6, training=training).fit(table)
    for model in (
        forecaster,
        nd.Conformal(forecaster).calibrate(),
        nd.Ensemble([forecaster]),
        nd.Statistical("naive", horizon=6).fit(table),
    ):
        figure = model.plot()
        assert {"observed", "forecast", "80 %", "95 %"} <= {trace.name for trace in figure.data}, model
    assert "50 %" in {trace.name for trace in forecaster.plot(levels=[50]).data}
    given = forecaster.predict(levels=[90])
    assert "90 %" in {trace.name for trace in forecaster.plot(given).data}
