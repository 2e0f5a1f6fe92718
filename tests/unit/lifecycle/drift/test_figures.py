"""Figures and the page of a result."""

from __future__ import annotations

import dataclasses
from datetime import datetime, timedelta
from xml.etree import ElementTree as ET

import numpy as np
import polars as pl
import pytest

from neuro_divergent.core.errors import InputError
from neuro_divergent.lifecycle.drift.detection import detect_drift
from neuro_divergent.lifecycle.drift.figures import drift_figure, drift_figures, series_figure
from neuro_divergent.lifecycle.drift.incident import Incident
from neuro_divergent.lifecycle.drift.page import render_drift
from neuro_divergent.reporting.figures.figure import Rule
from neuro_divergent.reporting.plotly.figure import to_json
from neuro_divergent.reporting.svg.file import render_svg
from tests.unit.lifecycle.drift.panels import split


@pytest.fixture(scope="module")
def drifted():
    values = np.random.default_rng(0).standard_normal((30, 600))
    values[:, 500:] += 1
    times = pl.Series([datetime(2024, 1, 1) + timedelta(hours=hour) for hour in range(600)])
    old, new = split(values)
    return detect_drift(dataclasses.replace(old, times=times[:400]), dataclasses.replace(new, times=times[400:]))


def test_figure_marks_the_change_and_says_it_in_words(drifted):
    figure = drift_figure(drifted)
    rules = [mark for mark in figure.marks if isinstance(mark, Rule)]
    assert [rule.label for rule in rules] == ["change"]
    assert abs(rules[0].x - np.datetime64("2024-01-21T20")) <= np.timedelta64(3, "h")
    assert "drift since 2024-01-21" in figure.alt_text


def test_figures_can_be_drawn_as_svg_and_plotly(drifted):
    figures = drift_figures(drifted)
    assert list(figures) == ["level", "size", "series"]
    for figure in figures.values():
        ET.fromstring(render_svg(figure))
        assert to_json(figure)["data"]


def test_figure_of_a_healthy_panel_marks_where_the_new_part_begins():
    result = detect_drift(*split(np.random.default_rng(1).standard_normal((30, 600))))
    figure = drift_figure(result, "size")
    assert [mark.label for mark in figure.marks if isinstance(mark, Rule)] == ["new"]
    assert "no drift" in figure.alt_text


def test_figure_of_what_was_not_judged_is_refused():
    result = detect_drift(*split(np.zeros((3, 30)), reference=10))
    with pytest.raises(InputError, match="no figure"):
        drift_figure(result)
    with pytest.raises(InputError, match="no series"):
        series_figure(result)


def test_page_escapes_names_and_shows_words_and_tables():
    values = np.random.default_rng(2).standard_normal((30, 600))
    values[4, 400:] += 3
    old, new = split(values)
    ids = pl.Series([f"<b>{row}</b>" for row in range(30)])
    result = detect_drift(dataclasses.replace(old, ids=ids), dataclasses.replace(new, ids=ids))
    page = render_drift([result], title="a & b")
    assert "&lt;b&gt;4&lt;/b&gt;" in page
    assert "<b>4</b>" not in page
    assert "<h1>a &amp; b</h1>" in page
    assert page.count("<figure") == 3
    assert "<script" not in page


def test_page_of_an_incident_has_words_only():
    incident = Incident("constant", ("s0001", "s0002"), 3, 400, None, 30.0)
    result = detect_drift(*split(np.zeros((3, 600))), incidents=[incident])
    page = render_drift([result], title="x")
    assert "no reason to train again" in page
    assert "<figure" not in page
