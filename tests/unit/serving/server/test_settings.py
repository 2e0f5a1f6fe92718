"""Settings refuse what would be unsafe."""

from __future__ import annotations

from typing import Any

import pytest

from neuro_divergent.core.errors import InputError
from neuro_divergent.serving.server.settings import ServerSettings

TOKEN = "0123456789abcdef0123456789abcdef"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"host": "0.0.0.0"}, "give a token"),
        ({"allowed_hosts": ("models.example.org",)}, "give a token"),
        ({"token": "short"}, "at least 128 bits"),
        ({"allowed_hosts": ("http://x",), "token": TOKEN}, "not the name of a host"),
        ({"poll_seconds": -1}, "must be 0 or above"),
        ({"log_inputs": True}, "needs the directory"),
        ({"threads": 0}, "must be 1 or above"),
    ],
)
def test_settings_that_cannot_be_used_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ServerSettings(**options)


def test_token_is_needed_beyond_this_machine_and_never_shown() -> None:
    assert not ServerSettings().needs_token
    assert not ServerSettings(host="::1").needs_token
    settings = ServerSettings(host="10.0.0.7", token=TOKEN)
    assert settings.needs_token
    assert TOKEN not in repr(settings)
    assert settings.hosts == {"10.0.0.7:8080", "localhost:8080"}
