"""How a version is named: ``sales``, ``sales@champion``, ``sales==1.4.2`` or ``sales==v7``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self

from neuro_divergent.core.errors import InputError

CHAMPION, CHALLENGER, PREVIOUS = "champion", "challenger", "previous"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_ALIAS = re.compile(r"[a-z][a-z0-9_-]{0,49}")
_NUMBER = re.compile(r"v?([1-9][0-9]{0,8})")
_VERSION = re.compile(r"([0-9]{1,9})\.([0-9]{1,9})\.([0-9]{1,9})")


@dataclass(frozen=True)
class Address:
    """A parsed address; without alias, number and version it is the newest version that is not archived.

    Attributes:
        name: Name of the model.
        alias: The alias that points at it.
        number: Number of the version.
        version: Major, minor and patch.
    """

    name: str
    alias: str | None = None
    number: int | None = None
    version: tuple[int, int, int] | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read an address.

        Raises:
            InputError: If it is not one.
        """
        name, sign, rest = text, "", ""
        for separator in ("==", "@"):
            if separator in text:
                name, sign, rest = text.partition(separator)
                break
        check_model_name(name)
        if sign == "@":
            check_alias(rest)
            return cls(name, alias=rest)
        if sign == "==" and (match := _NUMBER.fullmatch(rest)):
            return cls(name, number=int(match[1]))
        if sign == "==" and (match := _VERSION.fullmatch(rest)):
            return cls(name, version=(int(match[1]), int(match[2]), int(match[3])))
        if sign:
            raise InputError(f"{text[:120]!r} is no version. Write name==1.4.2, name==v7, name@champion or the name.")
        return cls(name)

    def __str__(self) -> str:
        if self.alias is not None:
            return f"{self.name}@{self.alias}"
        if self.number is not None:
            return f"{self.name}==v{self.number}"
        return self.name if self.version is None else f"{self.name}=={'.'.join(map(str, self.version))}"


def check_model_name(name: str) -> None:
    """Refuse what cannot be the name of a model.

    Raises:
        InputError: With what is accepted.
    """
    if not _NAME.fullmatch(name):
        raise InputError(
            f"{name[:120]!r} cannot be the name of a model: up to 100 letters, digits, '.', '_' and '-', of which the "
            "first is a letter or digit."
        )


def check_alias(alias: str) -> None:
    """Refuse what cannot be an alias.

    Raises:
        InputError: With what is accepted.
    """
    if not _ALIAS.fullmatch(alias) or alias == "latest" or _NUMBER.fullmatch(alias):
        raise InputError(
            f"{alias[:120]!r} cannot be an alias: up to 50 small letters, digits, '_' and '-', of which the first is a "
            "letter, and neither 'latest' nor a number such as 'v7'."
        )
