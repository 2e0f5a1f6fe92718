"""Addresses of Ray clusters, and what is said where Ray or a cluster is missing. No cluster is started."""

from __future__ import annotations

import sys
import time

import pytest

from neuro_divergent.core.errors import InputError, MissingDependencyError
from neuro_divergent.distributed.ray_cluster import check_address, connected, load_ray
from neuro_divergent.distributed.ray_executor import RayExecutor
from tests.integration.distributed.together import free_port


@pytest.mark.parametrize(
    "address", ["auto", "local", "10.0.0.1:6379", "head.example.com:6379", "ray://head:10001", "[::1]:6379"]
)
def test_addresses_of_ray_are_accepted(address: str) -> None:
    assert check_address(address) == address
    assert RayExecutor(address).address == address


@pytest.mark.parametrize(
    "address", ["", "Auto", "head", "head:", ":6379", "head:port", "http://head:10001", "head:70000", "head:0", "a b:1"]
)
def test_what_is_no_address_is_refused_with_those_that_are(address: str) -> None:
    with pytest.raises(InputError, match=r"write auto, local, host:port or ray://host:port\.") as refused:
        RayExecutor(address)
    assert repr(address) in str(refused.value)


def test_missing_ray_is_an_error_that_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingDependencyError, match=r'pip install "neuro-divergent\[ray\]"'):
        load_ray()


def test_address_where_nobody_listens_is_refused_at_once() -> None:
    pytest.importorskip("ray")
    began = time.monotonic()
    address = f"127.0.0.1:{free_port()}"
    with pytest.raises(InputError, match=f"there is no cluster at '{address}'"), connected(address):
        pass
    assert time.monotonic() - began < 60  # Ray itself tries for minutes; most of this is its import
