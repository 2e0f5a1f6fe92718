"""The part of a graph's output that a caller requests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from neuro_divergent.core.errors import InputError
from neuro_divergent.serving.description import Description

_CLOSE = 1e-9
_SHOWN = 12


@dataclass(frozen=True)
class RequestedOutput:
    """Steps and columns of a forecast.

    Attributes:
        horizon: Steps, at most those of training.
        columns: Names: ``forecast``, then ``lo-80``, ``hi-80`` and ``q-0.1`` for levels and quantiles.
        places: Position of each on the last axis of the output.
    """

    horizon: int
    columns: tuple[str, ...]
    places: tuple[int, ...]

    @classmethod
    def of(
        cls,
        description: Description,
        levels: Sequence[float] = (),
        quantiles: Sequence[float] = (),
        horizon: int | None = None,
    ) -> RequestedOutput:
        """Find what was requested in the output of a graph.

        Raises:
            InputError: If the graph does not have it, with what it has.
        """
        steps = description.horizon if horizon is None else horizon
        if not 1 <= steps <= description.horizon:
            raise InputError(
                f"horizon: {steps} steps requested; the exported model forecasts 1 to {description.horizon}."
            )
        places = {"forecast": 0}
        for level in levels:
            if not 0 < level < 100:
                raise InputError(f"levels are percentages between 0 and 100, such as [80, 95]; got {level!r}.")
            tail = (1 - level / 100) / 2
            for end, quantile in (("lo", tail), ("hi", 1 - tail)):
                places[f"{end}-{level:g}"] = _place(description, quantile, f"level {level:g}")
        for quantile in quantiles:
            if not 0 < quantile < 1:
                raise InputError(f"quantiles are between 0 and 1, such as [0.1, 0.9]; got {quantile!r}.")
            places[f"q-{quantile:g}"] = _place(description, quantile, f"quantile {quantile:g}")
        return cls(steps, tuple(places), tuple(places.values()))


def _place(description: Description, quantile: float, what: str) -> int:
    for place, known in enumerate(description.quantiles, 1):
        if abs(known - quantile) < _CLOSE:
            return place
    shown = ", ".join(f"{known:g}" for known in description.quantiles[:_SHOWN]) or "none"
    more = ", ..." if len(description.quantiles) > _SHOWN else ""
    raise InputError(
        f"{what} is not in the exported model, whose quantiles are: {shown}{more}. Export it again with the levels "
        "that are needed (nd export --levels)."
    )
