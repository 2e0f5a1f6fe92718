"""The OpenAPI document matches what the models take and return."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import numpy as np
import pytest

from neuro_divergent.serving.description import Description
from neuro_divergent.serving.exported_model import ExportedModel
from neuro_divergent.serving.server.openapi import answer_schema, example_request, levels_of, request_schema
from neuro_divergent.serving.server.settings import ServerSettings
from tests.integration.serving.small_graph import describe

FEATURE = [{"name": "price"}, {"name": "kind", "categories": ("a", "b")}]
CASES: dict[str, dict[str, Any]] = {
    "plain": {},
    "covariates": {"past": FEATURE[:1], "future": FEATURE, "static": FEATURE[1:]},
    "calendar": {"calendar": ("hour",)},
    "joint": {"joint": True, "channels": 2, "series": ("A", "B"), "quantiles": ()},
    "integers": {"time_type": "integer", "time_unit": None, "frequency": "1"},
    "dates": {"time_type": "date", "time_unit": None, "frequency": "1d", "time": "day"},
    "zoned": {"time_zone": "Europe/Vienna"},
    "known": {"takes_series": True, "requires_known_series": True, "series": ("A", "B")},
}


class ZeroRunner:
    """Returns zeros of the right shape."""

    def __init__(self, description: Description) -> None:
        self._shape = (description.horizon, description.channels, 1 + len(description.quantiles))

    def run(self, inputs: Any) -> Any:
        """Return zeros."""
        return np.zeros((len(inputs["past_y"]), *self._shape), np.float32)


@pytest.mark.parametrize("case", CASES)
def test_example_fits_its_schema_and_is_answered_as_the_schema_says(case: str) -> None:
    description = msgspec.convert(msgspec.to_builtins(describe()) | CASES[case], Description)
    schema = request_schema(description, ServerSettings())
    jsonschema.Draft202012Validator.check_schema(schema)
    example = example_request(description)
    jsonschema.validate(example, schema)
    model = ExportedModel(description, ZeroRunner(description))
    answer = msgspec.json.decode(model.answer(msgspec.json.encode(example)))
    jsonschema.Draft202012Validator.check_schema(answer_schema(description))
    jsonschema.validate(answer, answer_schema(description))
    for broken in ({}, {"series": []}, {**example, "horizon": 99}, {"series": [{}]}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(broken, schema)


def test_levels_are_those_whose_two_quantiles_are_exported() -> None:
    assert levels_of(describe(quantiles=(0.1, 0.25, 0.5, 0.9))) == [80]
    assert levels_of(describe(quantiles=(0.025, 0.1, 0.9, 0.975))) == [80, 95]
    assert levels_of(describe(quantiles=())) == []


def test_files_of_the_page_load_nothing_from_elsewhere() -> None:
    place = Path(__file__).parents[4] / "src/neuro_divergent/serving/server/docs_page"
    for path in place.glob("page.*"):
        text = path.read_text()
        assert not re.search(r"(?:https?:)?//(?!\s)[a-z]", text.replace("${location.origin}", "")), path
        assert "style=" not in text
        assert "onclick" not in text
