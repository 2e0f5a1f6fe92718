"""A part of a source, whose forecasts become one file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from neuro_divergent.serving.scoring.block import Block


class Part(Protocol):
    """Series that no other part of the source has.

    Attributes:
        name: Of the file of forecasts, without its ending.
        fingerprint: Changes when the rows of the part do.
    """

    @property
    def name(self) -> str:
        """Name of the file of forecasts, without its ending."""

    @property
    def fingerprint(self) -> str:
        """Text that changes when the rows of the part do."""

    def blocks(self) -> Iterator[Block]:
        """Yield the series, some at a time."""


class UnsortedError(Exception):
    """The rows of a file are not sorted by series and time, so that it must be read in another way.

    Args:
        path: The file.
    """

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path
