"""Settings of conformal prediction."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import model_validator

from neuro_divergent.core.config import Config


class ConformalSettings(Config):
    """How conformity scores are computed, pooled and updated.

    Attributes:
        method: ``split`` uses the errors of the point forecast; ``cqr`` the distances of the observed values from the
            forecaster's own quantiles, which it adjusts; ``adaptive`` starts from one of the two and updates the widths
            with each new observed value.
        by: ``step`` calibrates each step of the horizon separately, with its neighbours where it has few errors;
            ``pooled`` all steps together.
        per: ``all`` pools the series; ``series`` gives each its own widths, as far as it has enough errors.
        scaled: Whether errors are divided by the standard deviation of the history they were forecast from, so that
            those of large and small series are comparable.
        symmetric: Whether both bounds are adjusted by the same amount; otherwise each has half of the miscoverage.
        around: With ``adaptive``: whether intervals are built around the ``point`` or around the forecaster's own
            ``quantiles``. The other methods imply it.
        whole: Whether the series are integers: bounds become the outermost integers inside the interval, which covers
            the same values.
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
