"""How a panel shows itself: in a line, and in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from neuro_divergent.core import html
from neuro_divergent.core.formatting import format_bytes, format_count
from neuro_divergent.data.cleaning.calendar import show_time

if TYPE_CHECKING:
    from neuro_divergent.core.spec import Feature
    from neuro_divergent.data.panel import Panel

_SERIES = 5  # that are named
_ROWS = 500  # at the end of a series that are drawn


def describe_panel(panel: Panel) -> str:
    """Return series, rows, times and the step between them in a few words."""
    if not panel.num_series:
        return "no series"
    rows = format_count(len(panel), "row")
    return f"{panel.num_series:,} series, {rows}, {' to '.join(_span(panel))}, every {panel.frequency}"


def panel_html(panel: Panel) -> html.Html:
    """Return a panel as HTML: what there is of it, and its first series."""
    if not panel.num_series:
        return html.card("Panel", "no series")
    schema, lengths = panel.schema, panel.lengths
    shortest, longest = int(lengths.min()), int(lengths.max())
    pairs: list[tuple[str, object]] = [
        ("target", schema.target),
        ("time", f"{schema.time}, {' to '.join(_span(panel))}, every {panel.frequency}"),
        ("rows of a series", f"{shortest:,}" if shortest == longest else f"{shortest:,} to {longest:,}"),
        ("past covariates", _names(panel.past)),
        ("future covariates", _names(panel.future)),
        ("static covariates", _names(panel.static)),
        ("not observed", _not_observed(panel)),
        ("on disk", None if panel.directory is None else f"{panel.directory}, {format_bytes(panel.nbytes)}"),
    ]
    count = min(panel.num_series, _SERIES)
    ends = panel.frequency.time_at(panel.starts[:count], lengths[:count] - 1)
    rows = [
        (
            str(panel.ids[place]),
            show_time(panel.starts, place),
            show_time(ends, place),
            int(lengths[place]),
            html.sparkline(_end_of(panel, place), f"the end of series {place + 1}"),
        )
        for place in range(count)
    ]
    left = panel.num_series - count
    return html.card(
        "Panel",
        f"{panel.num_series:,} series, {format_count(len(panel), 'row')}",
        html.facts(pairs),
        html.table([schema.id or "series", "first", "last", "rows", schema.target], rows),
        html.paragraph(f"{left:,} more series" if left else ""),
    )


def _span(panel: Panel) -> tuple[str, str]:
    """Return the first and the last time of all series."""
    ends = panel.frequency.time_at(panel.starts, panel.lengths - 1)
    first, last = panel.starts.arg_min(), ends.arg_max()
    assert first is not None
    assert last is not None
    return show_time(panel.starts, first), show_time(ends, last)


def _names(features: tuple[Feature, ...]) -> str:
    return ", ".join(feature.name for feature in features)


def _not_observed(panel: Panel) -> str | None:
    """Return how many targets are missing; ``None`` if none is, or where the disk would have to be read for it."""
    if panel.mask is None or panel.is_memory_mapped:
        return None
    missing = len(panel) - int(np.count_nonzero(panel.mask))
    return format_count(missing, "value") if missing else None


def _end_of(panel: Panel, place: int) -> list[float | None]:
    """Return the last values of a series; ``None`` where they were not observed."""
    end = int(panel.offsets[place + 1])
    rows = slice(max(int(panel.offsets[place]), end - _ROWS), end)
    values = np.asarray(panel.y[rows], np.float64)
    seen = np.ones(len(values), np.bool_) if panel.mask is None else np.asarray(panel.mask[rows])
    return [float(value) if is_seen else None for value, is_seen in zip(values, seen, strict=True)]
