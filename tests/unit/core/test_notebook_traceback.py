"""What IPython shows of an error of this package."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import neuro_divergent as nd


def shown(call: Callable[[], object]) -> list[str]:
    """Return the lines that IPython shows of the error that a call raises."""
    with pytest.raises(nd.errors.NeuroDivergentError) as caught:
        call()
    lines: list[str] = caught.value._render_traceback_()
    return lines


def test_an_error_is_shown_with_the_line_of_the_user_and_its_message_alone() -> None:
    lines = shown(lambda: nd.Forecaster("nlinaer", horizon=12))
    assert [line for line in lines if 'nd.Forecaster("nlinaer", horizon=12)' in line]
    assert lines[-1].startswith("ConfigError: Unknown model 'nlinaer'. Did you mean 'nlinear'?")
    assert not [line for line in lines if "src/neuro_divergent" in line or "site-packages" in line]


def test_notes_of_an_error_follow_its_message() -> None:
    def call() -> None:
        error = nd.errors.DataError("the table is wrong")
        error.add_note("then: something else")
        raise error

    assert shown(call)[-2:] == ["DataError: the table is wrong", "then: something else"]


def test_all_lines_are_shown_where_the_environment_asks_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ND_TRACEBACK", "1")
    lines = shown(lambda: nd.Forecaster("nlinaer", horizon=12))
    assert [line for line in lines if "neuro_divergent" in line and line.lstrip().startswith("File")]
