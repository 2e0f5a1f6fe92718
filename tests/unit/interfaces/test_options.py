"""Text of options as values."""

import pytest

from neuro_divergent.core.errors import InputError
from neuro_divergent.interfaces.cli.options import parse_levels, parse_numbers, split_list


def test_lists_and_levels_are_split_at_commas() -> None:
    assert split_list(["a,b", " c "]) == ["a", "b", "c"]
    assert split_list(None) == []
    assert parse_numbers("0.1, 0.9", "--quantiles") == [0.1, 0.9]
    assert parse_levels("80,95") == (80.0, 95.0)
    assert parse_levels("") == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [("80;95", "is not a number"), ("0", "percentage"), ("101", "percentage"), ("0.95", "write 95")],
)
def test_wrong_levels_are_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_levels(text)
