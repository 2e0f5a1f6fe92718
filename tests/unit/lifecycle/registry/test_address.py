"""Names of versions."""

from __future__ import annotations

import pytest

from neuro_divergent.core.errors import InputError
from neuro_divergent.lifecycle.registry.address import Address, check_alias


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("sales", Address("sales")),
        ("sales@champion", Address("sales", alias="champion")),
        ("a.b_c-1@eu-west", Address("a.b_c-1", alias="eu-west")),
        ("sales==1.4.2", Address("sales", version=(1, 4, 2))),
        ("sales==v7", Address("sales", number=7)),
        ("sales==7", Address("sales", number=7)),
    ],
)
def test_an_address_is_read(text: str, address: Address) -> None:
    assert Address.parse(text) == address
    assert Address.parse(str(address)) == address


@pytest.mark.parametrize(
    "text",
    [
        "", "@champion", "==1.0.0", "sales@", "sales==", "sales==1.4", "sales==v0", "sales==v-1", "../x", "a/b", "a b",
        "sales@Champion", "sales@latest", "sales@v7", "sales==1.2.3.4", "sales@a@b", ".hidden", "x" * 101, "ä",
    ],
)  # fmt: skip
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        Address.parse(text)


@pytest.mark.parametrize("alias", ["latest", "v7", "7", "A", "", "a" * 51, "a/b"])
def test_what_cannot_be_an_alias_is_refused(alias: str) -> None:
    with pytest.raises(InputError, match="cannot be an alias"):
        check_alias(alias)
