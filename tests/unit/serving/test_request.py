"""Requests of all sorts are answered or refused; nothing else happens."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuro_divergent import MLP
from neuro_divergent.core.errors import InputError
from neuro_divergent.serving.exported_model import ExportedModel, load
from neuro_divergent.serving.request import Series, to_series
from tests.unit.serving.conftest import SavedModel
from tests.unit.serving.small_models import INPUT_SIZE, exported, fit, series_table

NUMBERS = st.one_of(
    st.none(), st.floats(-1e3, 1e3), st.integers(-5, 5), st.sampled_from([1e17, 1e18, 1e39, 1e308, 10**30, -(10**400)])
)
TEXTS = st.one_of(
    st.sampled_from(["", "A", "rain", "2024-02-01", "2024-02-01T05:00:00", "9999-12-31T23:00", "\0"]), st.text()
)
VALUES = st.one_of(NUMBERS, TEXTS, st.booleans())
LISTS = st.one_of(
    st.lists(VALUES, max_size=40),
    st.lists(NUMBERS, min_size=INPUT_SIZE, max_size=INPUT_SIZE),
    st.just([1.0] * INPUT_SIZE),
)
NAMES = st.sampled_from(["price", "promo", "event", "region", "weather", "wind", ""])
SERIES = st.fixed_dictionaries(
    {"y": LISTS},
    optional={
        "id": VALUES,
        "end": VALUES,
        "past": st.dictionaries(NAMES, LISTS),
        "future": st.dictionaries(NAMES, st.one_of(LISTS, st.just([1.0] * (INPUT_SIZE + 6)))),
        "static": st.dictionaries(NAMES, VALUES),
        "other": VALUES,
    },
)
REQUESTS = st.one_of(
    st.fixed_dictionaries(
        {"series": st.lists(SERIES, max_size=3)},
        optional={"levels": st.one_of(st.just([80]), LISTS), "quantiles": LISTS, "horizon": VALUES},
    ),
    st.recursive(VALUES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=10),
)


@pytest.fixture(scope="module")
def models() -> tuple[ExportedModel, ...]:
    """A model without and one with covariates."""
    table = series_table()
    roles: dict[str, Any] = {"past": ("price", "weather"), "future": ("promo", "event"), "static": ("region",)}
    full = fit(MLP(hidden_size=4), table.drop("size"), **roles, calendar="hour", missing="interpolate")
    return exported(fit("nlinear", table.select("unique_id", "ds", "y"))), exported(full)


def check(model: ExportedModel, body: bytes) -> None:
    """Refuse anything but an answer or an error for the user."""
    try:
        document = json.loads(model.answer(body))
    except InputError as error:
        if len(str(error)) > 600:
            pytest.fail(f"long message: {error}")
        return
    assert document["series"]
    assert document["model_version"] == model.version


@settings(max_examples=200)
@given(REQUESTS, st.integers(0, 1))
def test_generated_request_is_answered_or_refused(models: tuple[ExportedModel, ...], request: Any, place: int) -> None:
    check(models[place], json.dumps(request).encode())


@settings(max_examples=100)
@given(st.binary(max_size=200), st.integers(0, 1), st.integers(0, 400), st.integers(0, 400))
def test_damaged_request_is_answered_or_refused(
    models: tuple[ExportedModel, ...], noise: bytes, place: int, first: int, second: int
) -> None:
    body = json.dumps({"series": [{"id": "A", "end": "2024-02-01T05:00:00", "y": [1.5] * INPUT_SIZE}]}).encode()
    check(models[place], body[:first] + noise + body[second:])


@pytest.mark.long
@settings(max_examples=3000)
@given(REQUESTS, st.integers(0, 1))
def test_many_generated_requests_are_answered_or_refused(
    models: tuple[ExportedModel, ...], request: Any, place: int
) -> None:
    check(models[place], json.dumps(request).encode())


@pytest.mark.parametrize(
    "body",
    [
        b'{"series": [{"id": ' + b"9" * 5000 + b', "y": [1]}]}',
        b'{"series": [{"end": ' + b"9" * 5000 + b', "y": [1]}]}',
        b'{"series": [{"id": "\\ud800", "y": [1]}]}',
        b'{"series": [{"y": [' + b"9" * 5000 + b"]}]}",
        b'{"series": [], "horizon": ' + b"9" * 5000 + b"}",
        b'{"series": ' + b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"series": [{"y": [1]}], "levels": [1e308, -1e308, 1e-308]}',
    ],
    ids=["id", "end", "surrogate", "number", "horizon", "brackets", "braces", "levels"],
)
def test_extreme_request_is_refused_or_answered(models: tuple[ExportedModel, ...], body: bytes) -> None:
    check(models[0], body)


def test_threads_that_share_a_model_get_the_answers_of_one(saved: SavedModel) -> None:
    model = load(saved.path)
    ends = [f"2024-06-{day:02d}T{hour:02d}:00:00" for day in range(1, 29) for hour in range(24)]
    bodies = [
        json.dumps({"series": [{"id": "A", "end": end, "y": np.sin(np.arange(INPUT_SIZE) + row).tolist()}]}).encode()
        for row, end in enumerate(ends)
    ]
    expected = [model.answer(body) for body in bodies]
    other, barrier = load(saved.path), threading.Barrier(4)

    def work(_: int) -> list[bytes]:
        barrier.wait()
        return [other.answer(body) for body in bodies]

    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(work, range(4)):
            assert found == expected


def test_series_are_made_from_dictionaries_of_arrays() -> None:
    found = to_series({"y": np.array([1.0, np.nan]), "static": {"size": np.float32(2)}, "past": {"a": np.arange(2)}})
    assert isinstance(found, Series)
    assert found.static == {"size": 2.0}
    assert found.past == {"a": [0, 1]}
    with pytest.raises(InputError, match="unknown field `x`"):
        to_series({"y": [1], "x": 2})
