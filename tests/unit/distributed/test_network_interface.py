"""The network interface towards another machine."""

from __future__ import annotations

import sys

import pytest

from neuro_divergent.distributed.network_interface import interface_towards

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks Linux")


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.77"])
def test_this_machine_is_reached_through_loopback(host: str) -> None:
    assert interface_towards(host) == "lo"


@pytest.mark.parametrize("host", ["", "no-such-host.invalid"])
def test_a_host_that_nobody_knows_has_no_interface(host: str) -> None:
    assert interface_towards(host) is None
