"""The error of a change that somebody else's change has overtaken."""

from __future__ import annotations

from neuro_divergent.core.errors import NeuroDivergentError


class ConflictError(NeuroDivergentError):
    """The aliases of a model changed since they were read; nothing was changed.

    Attributes:
        expected: The revision that the caller had seen.
        found: The present one.
    """

    def __init__(self, name: str, *, expected: int, found: int) -> None:
        super().__init__(
            f"{name}: the aliases are at revision {found}, not {expected}: somebody changed them. Look at the history "
            "and decide again."
        )
        self.expected = expected
        self.found = found
