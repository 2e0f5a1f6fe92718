"""How intervals are calibrated."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import model_validator

from neuro_divergent.core.config import Config


class ConformalSettings(Config):
    """What is measured, what is pooled, and what happens afterwards.

    Attributes:
        method: ``split`` measures how far the point forecast was off; ``cqr`` measures how far the truth lay outside
            the forecaster's own quantiles and moves those; ``adaptive`` starts from one of the two and goes on learning
            from each truth that arrives.
        by: ``step`` calibrates each step of the horizon by itself, with its neighbours where it has few errors;
            ``pooled`` all steps alike.
        per: ``all`` pools the series; ``series`` gives each its own widths, as far as its own errors allow.
        scaled: Whether errors are counted in units of the spread of the history they were forecast from, so that
            those of large and small series compare.
        symmetric: Whether both ends move by the same amount; otherwise each misses half of what the level allows.
        around: With ``adaptive``: whether intervals are built around the ``point`` or around the forecaster's own
            ``quantiles``. The other methods imply it.
        whole: Whether the series are whole numbers: ends become the outermost whole numbers inside the interval, which
            covers the same values.
    """

    method: Literal["split", "cqr", "adaptive"] = "split"
    by: Literal["step", "pooled"] = "step"
    per: Literal["all", "series"] = "all"
    scaled: bool = True
    symmetric: bool = True
    around: Literal["point", "quantiles"] | None = None
    whole: bool = False

    @model_validator(mode="after")
    def _agree(self) -> Self:
        implied = {"split": "point", "cqr": "quantiles"}.get(self.method, self.around)
        if self.around not in (None, implied):
            raise ValueError(
                f"around: {self.around!r} does not go with method={self.method!r}; leave it out, or choose "
                "method='adaptive', 'split' (point) or 'cqr' (quantiles)"
            )
        return self

    @property
    def on_quantiles(self) -> bool:
        """Whether intervals are built around the forecaster's own quantiles."""
        return self.method == "cqr" or self.around == "quantiles"
