"""Functions as settings."""

from functools import partial

import pytest

from neuro_divergent.core.errors import ConfigError
from neuro_divergent.core.function import label_of, require


class Thing:
    def __call__(self) -> int:
        return 1

    def method(self) -> int:
        return 2


def test_a_label_names_where_the_function_is() -> None:
    assert label_of(label_of) == "neuro_divergent.core.function:label_of"
    assert label_of(Thing().method) == f"{__name__}:Thing.method"
    assert label_of(Thing()) == f"{__name__}:Thing"
    assert label_of(partial(pow, 2)) == "functools:partial"
    assert label_of("some:label") == "some:label"


def test_function_setting_returns_the_function_and_refuses_a_label() -> None:
    assert require(len, "weight") is len
    with pytest.raises(ConfigError, match="weight: no function was given"):
        require("", "weight")
    with pytest.raises(ConfigError, match="weight: 'os:system' is only the name"):
        require("os:system", "weight")
