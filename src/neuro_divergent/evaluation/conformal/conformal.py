"""Conformal prediction: calibrated intervals for the forecasts of any trained forecaster."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import polars as pl

from neuro_divergent.core import html
from neuro_divergent.core.arrays import Array, Floats, Ints
from neuro_divergent.core.errors import ConfigError, InputError, NotFittedError
from neuro_divergent.data.io.source import read_table, to_native
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.windows import Windows
from neuro_divergent.evaluation.arguments import require_counts
from neuro_divergent.evaluation.conformal.artifact import pack_conformal, unpack_conformal
from neuro_divergent.evaluation.conformal.bounds import POINT, Bounds, Pair, bounds_from, pairs_of, quantiles_of, widen
from neuro_divergent.evaluation.conformal.calibration import Calibration
from neuro_divergent.evaluation.conformal.cutoffs import completed_since, end_of, held_out, target_times
from neuro_divergent.evaluation.conformal.request import RequestedLevels
from neuro_divergent.evaluation.conformal.scores import Scores, names
from neuro_divergent.evaluation.conformal.settings import ConformalSettings
from neuro_divergent.evaluation.conformal.spread import spread_before
from neuro_divergent.forecasting.load import rebuilding
from neuro_divergent.forecasting.prediction_context import read_history
from neuro_divergent.forecasting.predictor import WindowForecasts
from neuro_divergent.forecasting.protocol import ForecastModel
from neuro_divergent.forecasting.run_config import own_settings
from neuro_divergent.forecasting.warm_start import InitialLike
from neuro_divergent.forecasting.wrapper import ModelWrapper
from neuro_divergent.training.callbacks.base import CallbackLike

_SERIES = 2**15  # whose intervals are computed together


class _Made(NamedTuple):
    """Forecasts of windows, with the uncalibrated bounds, spreads and conformity scores of each."""

    forecasts: WindowForecasts
    bounds: Bounds
    spread: Floats
    scores: Scores


class Conformal(ModelWrapper[ForecastModel]):
    """Calibrates the intervals of a trained forecaster on windows that training did not fit.

    The guarantee is marginal coverage: on average over series and times like those it was calibrated on; ``adaptive``
    guarantees it on average over time for each step, for any series. None guarantees it for a single series or day.

    Args:
        forecaster: A trained forecaster or ensemble, with any loss.
        method: ``"split"`` (errors of the point forecast), ``"cqr"`` (adjusts the forecaster's own quantiles; Romano,
            Patterson and Candes 2019) or ``"adaptive"`` (widths follow the observed values; see ``update``).
        by: ``"step"`` or ``"pooled"`` over the steps of the horizon.
        per: ``"all"`` series together, or ``"series"``: separately, as far as each series has enough errors.
        scaled: Whether errors are divided by the standard deviation of the history they were forecast from.
        symmetric: Whether both bounds are adjusted by the same amount; ``False`` suits skewed series.
        settings: The other fields of ``ConformalSettings``: ``around``, ``whole``.

    Examples:
        >>> import neuro_divergent as nd
        >>> forecaster = nd.Forecaster("nlinear", horizon=12, training=nd.TrainingConfig(max_steps=20))
        >>> conformal = nd.Conformal(forecaster, by="pooled").fit(nd.datasets.air_passengers())
        >>> forecast = conformal.predict(levels=[50, 90])
        >>> forecast.columns
        ['unique_id', 'ds', 'forecast', 'lo-50', 'hi-50', 'lo-90', 'hi-90']
        >>> (forecast["hi-90"] >= forecast["hi-50"]).all()
        True
    """

    def __init__(
        self,
        forecaster: ForecastModel,
        *,
        method: Literal["split", "cqr", "adaptive"] = "split",
        by: Literal["step", "pooled"] = "step",
        per: Literal["all", "series"] = "all",
        scaled: bool = True,
        symmetric: bool = True,
        **settings: Any,
    ) -> None:
        self.forecaster = forecaster
        self.settings = ConformalSettings(method=method, by=by, per=per, scaled=scaled, symmetric=symmetric, **settings)
        self._pairs: tuple[Pair, ...] = pairs_of(forecaster.task.loss) if self.settings.on_quantiles else POINT
        self._calibration: Calibration | None = None

    def fit(
        self,
        data: Any,
        *,
        callbacks: Sequence[CallbackLike] = (),
        initial: InitialLike | None = None,
        **schema: Any,
    ) -> Self:
        """Train the forecaster, and calibrate its intervals on its validation part.

        Arguments are those of ``Forecaster.fit``.

        Raises:
            InputError: If there is no validation part to calibrate on.
        """
        self.forecaster.fit(data, callbacks=callbacks, initial=initial, **schema)
        return self.calibrate()

    def calibrate(
        self, data: Any = None, *, last: int | float = 0.2, cutoffs: int | None = None, step: int | None = None
    ) -> Self:
        """Compute conformity scores on windows that training did not fit; earlier scores are discarded.

        Without data these are windows of the validation part of the training data; the test part is not used. If
        early stopping used the validation part, its errors are slightly too small.

        Args:
            data: Data that training did not use, as for ``fit``; its end is calibrated on.
            last: With ``data``: fraction of each series (below 1) or number of rows at its end to calibrate on.
            cutoffs: Number of windows of each series to use, the latest; unset, all.
            step: Rows between two windows. If the hour or weekday of a forecast matters, use the distance between the
                forecasts you will make. Unset, one row, or more where that would be over 5,000 windows. Of more than 4
                million rows, if ``cutoffs`` is unset too, at most 32,768 windows, evenly spread over the series.

        Raises:
            InputError: If there is no window to calibrate on.
        """
        if data is not None:
            return self.calibrate_windows(end_of(self.forecaster, data, last, cutoffs=cutoffs, step=step))
        windows = held_out(self.forecaster, cutoffs=cutoffs, step=step)
        self._calibration = self.validated.calibrate_windows(windows)._calibration
        return self

    def calibrate_windows(self, windows: Windows) -> Self:
        """Compute conformity scores on given windows of a panel; earlier scores are discarded."""
        self._calibration = Calibration(self.settings, self._make(windows).scores)
        return self

    def update(self, data: Any, *, step: int = 1) -> Self:
        """Update the intervals with values observed since the last call.

        Every window whose last target is new is used; one that reaches beyond the data is left for a later call.
        ``adaptive`` updates its widths; the other methods add the errors to those they have.

        Args:
            data: The series up to now, as for ``fit``, with the history of those windows.
            step: Rows between two windows, counted from the end.
        """
        require_counts(step=step)
        known = self._known().scores
        if known.ids[0] is None:
            raise InputError("this model was saved without context, so it cannot tell what is new: calibrate again.")
        windows = completed_since(self.forecaster, data, known.last_times(), step)
        return self.update_windows(windows) if len(windows) else self

    def update_windows(self, windows: Windows) -> Self:
        """Update the intervals with given windows of a panel, whose targets have been observed."""
        scores = self._make(windows).scores
        self._calibration = self._known().updated(scores)
        return self

    def predict(
        self,
        data: Any = None,
        *,
        future: Any = None,
        levels: Sequence[float] = (80, 95),
        quantiles: Sequence[float] = (),
    ) -> Any:
        """Forecast what comes after the end of each series, with calibrated intervals.

        Args:
            data: Series to forecast, as for ``Forecaster.predict``.
            future: Table of the covariates known ahead, for the horizon of every series.
            levels: Levels of the central intervals, in percent.
            quantiles: Quantiles between 0 and 1: bounds of central intervals; 0.5 is the point forecast.

        Returns:
            The table of ``Forecaster.predict``. An interval contains all requested narrower ones.
        """
        requested = RequestedLevels(levels, quantiles)
        own = quantiles_of(self._pairs)
        table = read_table(self.forecaster.predict(data, future=future, quantiles=own))
        frame, task, context = table.frame, self.forecaster.task, self.forecaster.fitted.context
        panel = context if data is None else read_history(data, context, task)[0]

        columns: dict[str, Any] = frame.drop([f"q-{quantile:g}" for quantile in own]).to_dict()
        parts: dict[str, list[Array]] = {}
        for first in range(0, panel.num_series, _SERIES):
            some = slice(first, min(first + _SERIES, panel.num_series))
            for name, values in self._bounds_of(some, frame, panel, requested).items():
                parts.setdefault(name, []).append(values)
        return to_native({**columns, **{name: np.concatenate(found) for name, found in parts.items()}}, table.backend)

    def _bounds_of(
        self, some: slice, frame: pl.DataFrame, panel: Panel, requested: RequestedLevels
    ) -> dict[str, Array]:
        """Return the columns of intervals and quantiles for some of the series of a table of forecasts."""
        own, horizon, count = quantiles_of(self._pairs), self.forecaster.task.horizon, some.stop - some.start

        def laid_out(column: str) -> Floats:
            values = frame[column].slice(some.start * horizon, count * horizon).to_numpy()
            return values.astype(np.float64).reshape(count, horizon)

        point = laid_out("forecast")
        base = bounds_from(point, {quantile: laid_out(f"q-{quantile:g}") for quantile in own}, self._pairs)
        spread = self._spread(panel, panel.offsets[1:][some], self.forecaster.task.history)
        ids = names(panel.ids.slice(some.start, count).to_list())
        widths = self._known().widths_now(requested.all, ids)
        bounds = widen(base, self._pairs, requested.all, spread, widths, whole=self.settings.whole)
        found: dict[str, Array] = {}
        for level in requested.levels:
            found |= {f"{end}-{level:g}": values for end, values in zip(("lo", "hi"), bounds[level], strict=True)}
        for quantile in requested.quantiles:
            found[f"q-{quantile:g}"] = requested.quantile(quantile, point, bounds)
        dtype = frame["forecast"].to_numpy().dtype
        return {name: values.reshape(-1).astype(dtype) for name, values in found.items()}

    def forecast_windows(
        self, windows: Windows, levels: Sequence[float] = (), quantiles: Sequence[float] = ()
    ) -> WindowForecasts:
        """Forecast many windows of a panel, with the observed values and calibrated intervals.

        With ``adaptive`` the windows are processed in the order of time, and the widths of each depend on all values
        observed up to its cut-off and on none after it. The state is not changed: see ``update_windows``.

        Raises:
            InputError: With ``adaptive``, if a window begins before a value that the intervals were calibrated on.
        """
        requested = RequestedLevels(levels, quantiles)
        made = self._make(windows)
        if self.settings.method == "adaptive" and requested.all:
            widths = self._known().widths_at_cutoffs(requested.all, made.scores)
        else:
            widths = self._known().widths_now(requested.all, made.scores.ids)
        point = made.forecasts.point
        bounds = widen(made.bounds, self._pairs, requested.all, made.spread, widths, whole=self.settings.whole)
        return dataclasses.replace(
            made.forecasts,
            lower={level: bounds[level][0].astype(point.dtype) for level in requested.levels},
            upper={level: bounds[level][1].astype(point.dtype) for level in requested.levels},
            quantiles={q: requested.quantile(q, point, bounds).astype(point.dtype) for q in requested.quantiles},
        )

    def to_files(self, *, context: bool = True) -> Iterator[tuple[str, bytes]]:
        self._known()
        return pack_conformal(self.forecaster, self.to_dict() if context else self._without_context(), context=context)

    @classmethod
    def from_files(cls, files: dict[str, bytes], place: str) -> Self:
        forecaster, calibration = unpack_conformal(files, place)
        with rebuilding(place, "Conformal"):
            return cls.from_dict(forecaster, calibration)

    def clone(self) -> Self:
        """Return an unfitted copy with the same settings, around a clone of the forecaster."""
        return type(self)(self.forecaster.clone(), **dict(self.settings))

    def with_settings(self, changes: Mapping[str, Any]) -> Self:
        """Return an unfitted copy with some settings changed.

        Args:
            changes: Values by dotted name: those of the forecaster, and ``conformal.method`` and the other fields of
                ``ConformalSettings``.
        """
        own, rest = own_settings(changes, "conformal", ConformalSettings.model_fields)
        return type(self)(self.forecaster.with_settings(rest), **dict(self.settings.replace(**own)))

    def __repr__(self) -> str:
        known = self._calibration
        state = "not calibrated" if known is None else f"calibrated on {len(known.scores):,} windows"
        return f"{type(self).__name__}({self.settings.method}, {state}, {self.forecaster!r})"

    def _repr_html_(self) -> str:
        known, shown = self._calibration, getattr(self.forecaster, "_repr_html_", None)
        inside = html.text(repr(self.forecaster)) if shown is None else html.Html(shown())
        state = "not calibrated: call calibrate()" if known is None else f"calibrated on {len(known.scores):,} windows"
        return html.card(type(self).__name__, state, html.facts([("settings", self.settings)]), inside)

    def widths(self, levels: Sequence[float], ids: Sequence[Any]) -> Floats:
        """Return the widths of intervals of some series, ``(series, levels, sides, horizon)``.

        They are in units of the spread of each window if ``settings.scaled``, else in those of the data. Series without
        scores of their own have the widths of all series together.

        Raises:
            InputError: If there are too few errors for a level.
        """
        return self._known().widths_now(levels, names(list(ids)))

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """Quantiles of the bounds that are calibrated; those of the median for intervals around the point."""
        return self._pairs

    @property
    def is_fitted(self) -> bool:
        """Whether it can forecast."""
        return self._calibration is not None and self.forecaster.is_fitted

    @property
    def holds(self) -> dict[str, str]:
        """What a saved copy contains that comes from the training data, by name; see ``save``."""
        if not self.is_fitted:
            return {}
        known = self._known().scores
        whose = "" if known.ids[0] is None else ", ids and times"
        return {**self.forecaster.holds, "scores": f"calibration errors{whose} of {len(known):,} windows"}

    def _without_context(self) -> dict[str, Any]:
        """Return what ``to_dict`` does without ids and times."""
        if self.settings.method == "adaptive" or self.settings.per == "series":
            raise ConfigError(
                "intervals by series, and adaptive ones, are made from ids and times of past errors: save them with "
                "context, or calibrate with method 'split' or 'cqr' and per='all'."
            )
        return {**self.to_dict(), "calibration": self._known().scores.without_context().to_dict(), "arrived": None}

    def to_dict(self) -> dict[str, Any]:
        """Return the settings and the conformity scores as plain values, for ``from_dict``."""
        known = self._calibration
        calibrated, arrived = (None, None) if known is None else (known.calibrated, known.arrived)
        return {
            "settings": self.settings.to_dict(),
            "calibration": None if calibrated is None else calibrated.to_dict(),
            "arrived": None if arrived is None else arrived.to_dict(),
        }

    @classmethod
    def from_dict(cls, forecaster: ForecastModel, values: Mapping[str, Any]) -> Self:
        """Restore what ``to_dict`` returned, for the same forecaster or a loaded copy of it.

        Raises:
            InputError: If the values are damaged or belong to another forecaster.
        """
        if not isinstance(values, Mapping) or "settings" not in values:
            raise InputError("this is not a calibration: pass what to_dict returned.")
        result = cls(forecaster, **dict(ConformalSettings.from_dict(values["settings"])))
        parts = [values.get(name) for name in ("calibration", "arrived")]
        calibrated, arrived = (None if part is None else Scores.from_dict(part) for part in parts)
        for part in (calibrated, arrived):
            if part is not None and (part.pairs != result._pairs or part.times.shape[1] != forecaster.task.horizon):
                raise InputError("these scores belong to another horizon or loss: calibrate again.")
        result._calibration = None if calibrated is None else Calibration(result.settings, calibrated, arrived)
        return result

    def _known(self) -> Calibration:
        if self._calibration is None:
            raise NotFittedError("these intervals are not calibrated: call calibrate() first.")
        return self._calibration

    def _make(self, windows: Windows) -> _Made:
        """Forecast windows and compute their conformity scores."""
        if not len(windows):
            raise InputError("there are no windows to forecast.")
        panel = windows.panel
        made = self.forecaster.forecast_windows(windows, quantiles=quantiles_of(self._pairs))
        base = bounds_from(made.point, made.quantiles, self._pairs)
        spread = self._spread(panel, made.rows, windows.input_size)
        actual = np.where(made.observed, made.actual.astype(np.float64), np.nan)
        used, places = np.unique(made.series, return_inverse=True)
        ids = names(panel.ids.gather(used.astype(np.uint32)).to_list())[places]
        scores = Scores.of(self._pairs, ids, target_times(panel, made), base, actual, spread)
        return _Made(made, base, spread, scores)

    def _spread(self, panel: Panel, rows: Ints, input_size: int) -> Floats:
        return spread_before(panel, rows, input_size) if self.settings.scaled else np.ones(len(rows))
