"""From histories to the inputs of a graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from neuro_divergent.core.arrays import Array, Bools, Floats, Floats32, Ints
from neuro_divergent.core.errors import DataError
from neuro_divergent.serving.calendar.features import calendar_features
from neuro_divergent.serving.calendar.step import Step
from neuro_divergent.serving.description import Description, ExportedFeature
from neuro_divergent.serving.filling import fill_covariate, fill_target
from neuro_divergent.serving.histories import Histories

LARGEST = 1e17  # As in data.scaling.base: the squares of larger values do not fit float32.
_MOST_KEPT = 4096


class WindowBuilder:
    """Cuts the last rows of each series, fills what is missing, and lays them out as a graph expects them.

    Args:
        description: Of the exported model.
        step: Between its times.
    """

    def __init__(self, description: Description, step: Step) -> None:
        self._description, self._step = description, step
        self._calendars: dict[tuple[int, int], Floats32] = {}
        self._places = {str(name): place for place, name in enumerate(description.series)}
        self._rows = np.arange(-description.input_size, 0)

    def inputs(self, histories: Histories, horizon: int) -> dict[str, Array]:
        """Return arrays by the names of the inputs, one row for each series.

        Raises:
            DataError: If a value is too large, missing where that is refused, or a series is not known.
        """
        description = self._description
        y, observed = self._target(histories)
        places = histories.offsets[1:, None] + self._rows
        begins = histories.offsets[:-1, None]
        inside = places >= begins
        places = np.maximum(places, begins)
        mask = inside if observed is None else inside & observed[places]
        inputs: dict[str, Array] = {
            "past_y": np.where(mask if observed is not None else inside, y[places], 0).astype(np.float32)[..., None],
            "past_mask": mask.astype(np.float32)[..., None],
        }
        if description.past:
            self._complete(histories.past, histories, description.past, "past")
            inputs["past_x"] = histories.past[places].astype(np.float32)
        if description.future or description.calendar:
            inputs["future_x"] = self._known_ahead(histories, places, horizon)
        if description.static:
            self._complete_static(histories)
            inputs["static_x"] = histories.static.astype(np.float32)
        if description.takes_series:
            inputs["series"] = self.series_places(histories.ids)
        return inputs

    def joined(self, inputs: dict[str, Array], ids: tuple[Any, ...]) -> tuple[dict[str, Array], Ints]:
        """Return the inputs of a joint model, which are one row with a channel for each series of training.

        Covariates are those of the first series of training.

        Returns:
            The inputs, and the channel of each series of the request.

        Raises:
            DataError: If the series are not those of training.
        """
        channels = self.series_places(ids)
        expected = self._description.channels
        if len(channels) != expected or len(np.unique(channels)) != expected or channels.min(initial=0) < 0:
            missing = [name for name in self._description.series if str(name) not in set(map(str, ids))]
            lacks = f"; {str(missing[0])[:40]!r} is missing" if missing else ""
            raise DataError(
                f"this model forecasts {expected} series at once, and the request has {len(ids)}{lacks}. Send the "
                "series of training, each once."
            )
        order = np.argsort(channels)
        joint = {name: array[order[:1]] for name, array in inputs.items() if name not in ("past_y", "past_mask")}
        for name in ("past_y", "past_mask"):
            joint[name] = np.ascontiguousarray(inputs[name][order, :, 0].T)[None]
        if "series" in joint:
            joint["series"] = np.zeros(1, np.int64)
        return joint, channels

    def series_places(self, ids: tuple[Any, ...]) -> Ints:
        """Return the place of series in training; -1 for others.

        Raises:
            DataError: If there are others and the model cannot forecast them.
        """
        description = self._description
        own = description.target if description.id is None else None
        places = [self._places.get(str(own if name is None else name), -1) for name in ids]
        if description.requires_known_series and -1 in places:
            name = ids[places.index(-1)]
            what = "a series without id" if name is None else f"series {str(name)[:40]!r}"
            raise DataError(f"{what} not in training data, and this model knows only those. Train on it.")
        return np.array(places, np.int64)

    def _target(self, histories: Histories) -> tuple[Floats, Bools | None]:
        y, offsets = histories.y, histories.offsets
        if (np.abs(y) <= LARGEST).all():
            return y, None
        _refuse_large(y, histories, "y")
        missing = np.isnan(y)
        observed = None
        for series in _affected(missing, offsets):
            rows = slice(offsets[series], offsets[series + 1])
            seen = fill_target(y[rows], missing[rows], self._description.missing, f"{histories.label(series)}, y")
            if seen is not None:
                observed = np.ones(len(y), np.bool_) if observed is None else observed
                observed[rows] = seen
        return y, observed

    def _complete(self, table: Floats, histories: Histories, features: tuple[ExportedFeature, ...], role: str) -> None:
        """Fill covariates in place."""
        for position, feature in enumerate(features):
            column = table[:, position]
            if (np.abs(column) <= LARGEST).all():
                continue
            _refuse_large(column, histories, f"{role}[{feature.name!r}]")
            missing = np.isnan(column)
            for series in _affected(missing, histories.offsets):
                rows = slice(histories.offsets[series], histories.offsets[series + 1])
                place = f"{histories.label(series)}, {role}[{feature.name!r}]"
                categorical = feature.categories is not None
                fill_covariate(column[rows], missing[rows], self._description.missing, place, categorical=categorical)

    def _complete_static(self, histories: Histories) -> None:
        policy = self._description.missing
        wrong = np.argwhere(~(np.abs(histories.static) <= LARGEST))
        for series, position in wrong.tolist():
            place = f"{histories.label(series)}, static[{self._description.static[position].name!r}]"
            if not np.isnan(histories.static[series, position]):
                raise DataError(f"{place}: {_too_large(float(histories.static[series, position]))}")
            if policy not in ("zero", "mask"):
                raise DataError(f"{place}: missing. Send a value")
            histories.static[series, position] = 0

    def _known_ahead(self, histories: Histories, places: Ints, horizon: int) -> Floats32:
        """Return covariates known ahead, calendar features last; steps that are not requested repeat the last one."""
        description = self._description
        length, total = description.input_size, description.input_size + description.horizon
        width = len(description.future)
        values = np.empty((len(places), total, width + len(description.calendar)), np.float32)
        if width:
            self._complete(histories.future, histories, description.future, "future")
            wrong = np.argwhere(~(np.abs(histories.ahead) <= LARGEST))
            if len(wrong):
                series, step, position = (int(number) for number in wrong[0])
                value = float(histories.ahead[series, step, position])
                problem = "missing" if np.isnan(value) else _too_large(value)
                name = description.future[position].name
                raise DataError(f"{histories.label(series)}, future[{name!r}]: {problem} for step {step + 1} ahead")
            values[:, :length, :width] = histories.future[places]
            values[:, length : length + horizon, :width] = histories.ahead
        for row, end in enumerate(histories.ends):
            if description.calendar and end is None:
                raise DataError(
                    f"{histories.label(row)}: end is missing. The model has calendar features, so send the time of the "
                    "last value"
                )
            if description.calendar and end is not None:
                values[row, : length + horizon, width:] = self._calendar(end, horizon)
        values[:, length + horizon :] = values[:, length + horizon - 1 : length + horizon]
        return values

    def _calendar(self, end: int, horizon: int) -> Floats32:
        key = (end, horizon)
        found = self._calendars.get(key)
        if found is None:
            if len(self._calendars) >= _MOST_KEPT:
                self._calendars.clear()
            step = self._step.ending(np.array([end]))
            steps = np.arange(1 - self._description.input_size, horizon + 1)
            times = step.time_at(np.full(len(steps), end), steps)
            found = calendar_features(times, self._description.calendar, self._step.type)
            self._calendars[key] = found
        return found


def _affected(missing: Bools, offsets: Ints) -> list[int]:
    """Return the series that have a missing value."""
    found = np.searchsorted(offsets, np.flatnonzero(missing), side="right") - 1
    return [int(series) for series in np.unique(found)]


def _refuse_large(values: Floats, histories: Histories, what: str) -> None:
    wrong = np.flatnonzero(np.abs(values) > LARGEST)
    if len(wrong):
        row = int(wrong[0])
        series = int(np.searchsorted(histories.offsets, row, side="right")) - 1
        place = f"{histories.label(series)}, {what}, position {row - int(histories.offsets[series]) + 1}"
        raise DataError(f"{place}: {_too_large(float(values[row]))}")


def _too_large(value: float) -> str:
    if np.isinf(value):
        return "infinite"
    if abs(value) > float(np.finfo(np.float32).max):
        return f"{value:.8g} exceeds float32, which ends at 3.4e38"
    return f"{value:.8g} exceeds {LARGEST:g}, beyond which float32 cannot hold squares; divide by a power of ten"
