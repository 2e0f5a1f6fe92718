"""Policies for missing values and missing rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from neuro_divergent.core.arrays import Bools, Floats32, Ints
from neuro_divergent.core.errors import DataError
from neuro_divergent.core.spec import Feature
from neuro_divergent.data.cleaning.calendar import show_time
from neuro_divergent.data.cleaning.frequency import Frequency, infer, pairs
from neuro_divergent.data.io.table import take_rows
from neuro_divergent.data.schema import Policy

if TYPE_CHECKING:
    from neuro_divergent.data.layout import Layout


_MOST_NEW_ROWS = 100  # Filling gaps may lengthen a table this many times; beyond it the frequency is surely wrong.


@dataclass(frozen=True)
class Grid:
    """Where the rows of a table go when missing ones are put between them.

    Attributes:
        offsets: Where each series begins, and the end, with the missing rows.
        positions: The place of each row of the table; None where no row is missing.
        inserted: The places of the missing rows.
    """

    offsets: Ints
    positions: Ints | None = None
    inserted: Ints = field(default_factory=lambda: np.empty(0, np.int64))


def find_frequency(layout: Layout, known: Frequency | None) -> Frequency:
    """Return the step between rows: the known one, the one in the schema, or the one that most rows have."""
    times, column = layout.times, layout.schema.time
    given = known or layout.schema.frequency
    if given is not None:
        frequency = Frequency.parse(given)
        try:
            frequency.check(times.dtype, column)
        except DataError as error:
            raise layout.table.error(str(error)) from None
        return frequency if times.dtype.is_integer() else frequency.ending(times)
    inferred = infer(times, layout.offsets)
    if inferred is None:
        raise layout.table.error(
            'no series has two rows to tell the frequency from. Pass it, such as frequency="1d" (--frequency 1d)'
        )
    return inferred


def find_grid(layout: Layout, frequency: Frequency) -> Grid:
    """Check that the rows of each series are one step apart and make room for missing ones if the schema asks for it.

    Raises:
        DataError: If a series has another frequency, rows between two steps, or gaps that must not be.
    """
    size = frequency.size(layout.times.dtype)
    if size is None:
        _refuse_starts(layout, frequency)
    if layout.spread is None or (size is not None and layout.spread == (size, size)):
        return Grid(layout.offsets)
    steps = np.concatenate([frequency.between(a, b) for a, b, _ in pairs(layout.times, layout.offsets)])
    steps[layout.offsets[1:-1] - 1] = 1  # between two series
    if (steps == 1).all():
        return Grid(layout.offsets)
    if layout.schema.gaps == "error" or (steps < 1).any():
        raise _explain_steps(layout, frequency, steps)
    if steps.sum(dtype=np.float64) > _MOST_NEW_ROWS * (len(steps) + 1):
        worst = int(steps.argmax())
        raise _gap(layout, frequency, worst, int(steps[worst]) - 1, "that is too much to fill in")
    positions = np.concatenate([[0], np.cumsum(steps)])
    rows = int(positions[-1]) + 1
    inserted = np.ones(rows, np.bool_)
    inserted[positions] = False
    return Grid(np.append(positions[layout.offsets[:-1]], rows), positions, np.flatnonzero(inserted))


def _refuse_starts(layout: Layout, frequency: Frequency) -> None:
    """Refuse series that begin between two steps of the calendar, such as business days on a Sunday."""
    starts = take_rows(layout.times, layout.offsets[:-1])
    wrong = np.flatnonzero(frequency.between(starts, starts) < 0)
    if len(wrong):
        series = int(wrong[0])
        place = f"{layout.label(series)}: ".removeprefix(": ")
        row, time = layout.row(int(layout.offsets[series])), show_time(starts, series)
        raise layout.table.error(f"{place}row {row}, {time} is not on the calendar of the frequency ({frequency})")


def _explain_steps(layout: Layout, frequency: Frequency, steps: Ints) -> DataError:
    """Return the error for steps that are not 1: another frequency, a time between two steps, or a gap."""
    wrong = np.flatnonzero(steps < 1)
    first = int(wrong[0]) if len(wrong) else int(np.flatnonzero(steps > 1)[0])
    series = int(layout.series(first))
    begin, end = layout.offsets[series], layout.offsets[series + 1]
    times = layout.times.slice(begin, end - begin)
    own = infer(times, np.array([0, len(times)]))
    if own is not None and own != frequency and len(times) > 2:
        earlier, later = times.slice(0, len(times) - 1), times.slice(1)
        if (own.between(earlier, later) == 1).all():
            return _mixed(layout, frequency, steps, series, own)
    if _is_monthly(layout):
        return layout.table.error(
            f"there is one row for each month, on different days such as {show_time(layout.times, 0)} and "
            f"{show_time(layout.times, 1)}. Write each time as its month, such as 2024-03, or as the first or last day"
        )
    if not len(wrong):
        missing, rows = int((steps[steps > 1] - 1).sum()), int(layout.offsets[-1])
        total = f"{missing} missing rows in all" if missing > 1 else "1 missing row"
        if missing > rows:  # to interpolate would make up most of the table
            cure = 'Pass gaps="zero" (--gaps zero) if no row means zero'
            check = "or check how times are written (--date-format) and their step (--frequency)"
            total = f"{total}, more than the {rows} there are. {cure}, {check}"
            return _gap(layout, frequency, first, int(steps[first]) - 1, total)
        cure = 'Pass gaps="interpolate" (--gaps interpolate) to fill them, or "zero" if no row means zero'
        error = _gap(layout, frequency, first, int(steps[first]) - 1, f"{total}. {cure}")
        return error.offering(gaps="interpolate")
    place = f"{layout.label(series)}: ".removeprefix(": ")
    if jump := frequency.explain_jump(layout.times.slice(first, 1)):
        return layout.table.error(f"{place}row {layout.row(first + 1)}: {jump}; convert the times to UTC")
    here, there = show_time(layout.times, first + 1), show_time(layout.times, first)
    return layout.table.error(
        f"{place}row {layout.row(first + 1)}, {here} is not an integer number of steps ({frequency}) after {there}; "
        f"{len(wrong)} such row{'s' * (len(wrong) > 1)}. Resample the series, or pass the right frequency (--frequency)"
    )


def _is_monthly(layout: Layout) -> bool:
    """Whether every month of each series has one row, as where times are the last business day or a day of payment."""
    if layout.times.dtype.is_integer() or layout.spread is None:
        return False
    months = (layout.times.dt.year() * 12 + layout.times.dt.month()).to_numpy()
    between_series = layout.offsets[1:-1] - 1
    return bool((np.delete(np.diff(months), between_series) == 1).all()) and len(layout.times) > 2 * len(layout.ids)


def _mixed(layout: Layout, frequency: Frequency, steps: Ints, series: int, own: Frequency) -> DataError:
    # Name a series whose most common step is the frequency.
    single = np.setdiff1d(np.flatnonzero(steps == 1), layout.offsets[1:-1] - 1)
    counts = np.bincount(layout.series(single), minlength=len(layout.ids))
    usual = 2 * counts > np.diff(layout.offsets) - 1
    if usual.any():
        message = f"{layout.label(int(usual.argmax()))} is {frequency}, {layout.ids[series]!r} is {own}"
    else:
        message = f"{layout.label(series) or 'the series'} is {own}, not {frequency}"
    return layout.table.error(f"{message}. All series need one frequency")


def _gap(layout: Layout, frequency: Frequency, position: int, missing: int, consequence: str) -> DataError:
    place = f"{layout.label(int(layout.series(position)))}: ".removeprefix(": ")
    plural = "s" if missing > 1 else ""
    return layout.table.error(
        f"{place}gap after {show_time(layout.times, position)} ({missing} step{plural} at {frequency}); {consequence}"
    )


def complete(
    layout: Layout, grid: Grid, name: str, values: Floats32, feature: Feature | None
) -> tuple[Floats32, Bools | None]:
    """Fill the holes (NaN) of a column, by the policy for missing values and by the one for missing rows.

    ``feature`` is ``None`` for the target. Returns the values on the grid, and which of them were observed if some are
    to be hidden.
    """
    missing = np.flatnonzero(np.isnan(values))
    if len(missing):
        if feature is None:
            _refuse_unobserved(layout, missing)
        refuse_holes(layout, name, values, feature)
    if grid.positions is not None:
        longer = np.full(grid.offsets[-1], np.nan, np.float32)
        longer[grid.positions] = values
        values, missing = longer, grid.positions[missing]
    if not (len(missing) or len(grid.inserted)):
        return values, None
    categorical = feature is not None and feature.cardinality is not None
    observed, mask = ~np.isnan(values), None
    for holes, policy in ((missing, layout.schema.missing), (grid.inserted, layout.schema.gaps)):
        if policy == "mask" and feature is None and len(holes):
            mask = np.ones(len(values), np.bool_) if mask is None else mask
            mask[holes] = False
        # Covariates have no mask. The last value is a better guess than 0.
        chosen: Policy = "forward" if policy == "mask" and feature is not None and not categorical else policy
        fill(values, grid.offsets, holes, chosen, observed=observed, categorical=categorical)
    return values, mask


def _refuse_unobserved(layout: Layout, missing: Ints) -> None:
    counts = np.bincount(layout.series(missing), minlength=len(layout.ids))
    empty = np.flatnonzero(counts == np.diff(layout.offsets))
    if len(empty):
        place = layout.label(int(empty[0])) or f"column {layout.schema.target!r}"
        others = f"; {len(empty)} series affected" if len(empty) > 1 else ""
        raise layout.table.error(f"{place}: no observed values{others}. Leave such series out")


def refuse_holes(layout: Layout, name: str, values: Floats32, feature: Feature | None, *, static: bool = False) -> None:
    """Raise an error where a column has holes that its policy does not allow or cannot fill."""
    policy, holes = layout.schema.missing, np.flatnonzero(np.isnan(values))
    series = layout.series(holes)
    if policy == "error":
        first = int(series[0])
        own = holes[series == first]
        plural = "s" if len(own) > 1 else ""
        affected = len(np.unique(series))
        others = f"; {affected} series affected" if affected > 1 else ""
        offer = 'Pass missing="interpolate" (--missing interpolate) to fill them.'
        cure = "Fill them in the table." if static else offer
        place, row = layout.place(name, int(own[0])), layout.row(layout.earliest(own))
        error = layout.table.error(f"{place}: {len(own)} missing value{plural}, first at row {row}{others}. {cure}")
        raise error if static else error.offering(missing="interpolate")
    if policy in ("zero", "mask"):
        return
    empty = np.flatnonzero(np.bincount(series, minlength=len(layout.ids)) == np.diff(layout.offsets))
    if len(empty):
        place = layout.place(name, int(layout.offsets[empty[0]]))
        raise layout.table.error(f'{place}: no observed values, so missing="{policy}" has nothing to fill them with')
    begins = layout.offsets[:-1][np.isnan(values[layout.offsets[:-1]])]
    if policy == "forward" and not static and len(begins):
        place = layout.place(name, int(begins[0]), row=True)
        raise layout.table.error(
            f'{place}: missing at the beginning, where missing="forward" has nothing to repeat. '
            'Pass missing="interpolate" or missing="mask", or cut the beginning off'
        )


def fill(
    values: Floats32, offsets: Ints, holes: Ints, policy: Policy, *, observed: Bools, categorical: bool = False
) -> None:
    """Fill missing values of a column, all series end to end, at ascending positions, in place.

    ``interpolate`` draws a straight line between the observed neighbours and repeats the nearest one at the ends;
    ``forward`` repeats the last observed value, or the next one where a series begins with a hole; ``zero`` and
    ``mask`` put 0. Categories have no in-between, so ``interpolate`` is ``forward`` for them, and 0 is their slot for
    unknown values. Where a series has no observed value at all, the result is 0. Only ``observed`` values are
    neighbours.
    """
    if policy in ("zero", "mask", "error") or not len(holes):
        values[holes] = 0
        return
    before, after = _neighbours(observed, offsets, holes)
    left = np.where(before >= 0, values[before], np.where(after >= 0, values[after], 0))
    if policy == "forward" or categorical:
        values[holes] = left
        return
    between = (before >= 0) & (after >= 0)
    right = np.where(between, values[after], left)
    fraction = (holes - before) / np.where(between, after - before, 1)
    # In 64 bits: the difference of two large values may not fit 32.
    values[holes] = np.where(between, left + fraction * (right.astype(np.float64) - left), left)


def _neighbours(observed: Bools, offsets: Ints, holes: Ints) -> tuple[Ints, Ints]:
    """Return the nearest observed positions before and after each hole within its series, or -1."""
    known = np.flatnonzero(observed)
    place = np.searchsorted(known, holes)
    series = np.searchsorted(offsets, holes, side="right") - 1
    padded = np.concatenate([[-1], known, [-1]])
    before, after = padded[place], padded[place + 1]
    return np.where(before >= offsets[series], before, -1), np.where(after < offsets[series + 1], after, -1)
