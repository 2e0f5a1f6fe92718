"""Hosts, tokens and origins that servers accept."""

from __future__ import annotations

import pytest

from neuro_divergent.core.errors import InputError
from neuro_divergent.core.http_access import (
    TokenCheck,
    check_host_names,
    check_token,
    host_names,
    is_loopback,
    is_own_address,
    is_same_origin,
    is_wildcard,
    listen,
    new_token,
    url_of,
)


def test_own_names_are_accepted_with_the_port_and_others_as_given() -> None:
    names = host_names("127.0.0.1", 8080, ["Models.example.org", "proxy:443"])
    assert names == {
        "127.0.0.1:8080", "localhost:8080", "[::1]:8080", "models.example.org", "models.example.org:8080", "proxy:443",
    }  # fmt: skip
    assert "localhost" in host_names("localhost", 80, [])
    assert host_names("10.0.0.7", 1, []) == {"10.0.0.7:1", "localhost:1"}


def test_address_of_the_connection_counts_only_where_all_addresses_are_listened_at() -> None:
    assert is_own_address("10.0.0.7:80", "0.0.0.0", 80, ("10.0.0.7", 80))
    assert is_own_address("[fe80::1]:80", "::", 80, ("fe80::1", 80))
    assert not is_own_address("10.0.0.8:80", "0.0.0.0", 80, ("10.0.0.7", 80))
    assert not is_own_address("10.0.0.7:81", "0.0.0.0", 80, ("10.0.0.7", 81))
    assert not is_own_address("10.0.0.7:80", "10.0.0.7", 80, ("10.0.0.7", 80))
    assert not is_own_address("10.0.0.7:80", "0.0.0.0", 80, None)


def test_loopback_and_wildcard_addresses_are_told_apart() -> None:
    assert [is_loopback(host) for host in ("127.9.0.1", "::1", "LOCALHOST", "0.0.0.0", "example.org")] == [
        True, True, True, False, False,
    ]  # fmt: skip
    assert [is_wildcard(host) for host in ("0.0.0.0", "::", "127.0.0.1", "x")] == [True, True, False, False]
    assert url_of("0.0.0.0", 7) == "http://127.0.0.1:7/"
    assert url_of("::1", 7) == "http://[::1]:7/"


def test_token_must_be_the_only_one_and_a_bearer() -> None:
    token = new_token()
    check = TokenCheck(token)
    assert check.accepts([f"bearer  {token}".encode()])
    for wrong in ([], [b""], [token.encode()], [f"Basic {token}".encode()], [f"Bearer {token}x".encode()]):
        assert not check.accepts(wrong)
    assert not check.accepts([f"Bearer {token}".encode()] * 2)


@pytest.mark.parametrize("token", ["", "short", "abcdef0" * 4, "x" * 600, "ä" * 40, "with space" * 5])
def test_token_that_can_be_guessed_is_refused(token: str) -> None:
    with pytest.raises(InputError, match="at least 128 bits"):
        check_token(token)


def test_pages_of_other_origins_are_told_from_own_ones() -> None:
    host = b"Localhost:80"
    assert is_same_origin([], [], host)
    assert is_same_origin([b"http://localhost:80"], [b"same-origin"], host)
    assert is_same_origin([b"https://LOCALHOST:80"], [b"none"], host)
    assert not is_same_origin([b"http://localhost"], [], host)
    assert not is_same_origin([b"null"], [], host)
    assert not is_same_origin([], [b"cross-site"], host)


@pytest.mark.parametrize("name", ["http://x", "*", "a b", "x:123456", "-x", ""])
def test_what_is_no_host_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="not the name of a host"):
        check_host_names([name])


def test_taken_port_names_who_may_have_it() -> None:
    with listen("127.0.0.1", 0) as taken, pytest.raises(InputError, match="perhaps by another server"):
        listen("127.0.0.1", taken.getsockname()[1])
