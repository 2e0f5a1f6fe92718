"""Panels, and directories of stored panels, as new data for a trained model."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from neuro_divergent.core.arrays import Floats32
from neuro_divergent.core.errors import DataError
from neuro_divergent.core.spec import Feature
from neuro_divergent.data.io.table import describe
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.panel_store.stored import is_stored_panel

_ROLES = ("past", "future", "static")


def as_panel(data: Any, context: Panel, *, last: int | None = None) -> Panel | None:
    """Return data that are a panel or the path of a stored one as new data for a model; ``None`` for other data.

    A panel on disk whose categories differ from those of training, as after new ones were appended, is coded again in
    memory, which only its last rows are.

    Args:
        data: Any data.
        context: The panel that the model holds, with its roles, frequency and categories. Its policy for short series
            counts.
        last: Rows at the end of each series that are enough.

    Raises:
        DataError: If the panel does not have what the model was trained with.
    """
    if isinstance(data, Panel):
        panel = data
    elif is_stored_panel(data):
        panel = Panel.open(data)
    else:
        return None
    panel = panel.without_weights().without_covariates(*(role for role in _ROLES if not getattr(context, role)))
    _check(panel, context)
    if panel.is_memory_mapped and last is not None and panel.categories != context.categories:
        panel = panel.tail(last)
    panel = _with_codes_of(panel, context)
    if panel.schema.short != context.schema.short:
        panel = dataclasses.replace(panel, schema=panel.schema.replace(short=context.schema.short))
    return panel


def with_categories_of(panel: Panel, context: Panel) -> Panel:
    """Return a panel to go on training with, coded like the one that a model was trained on.

    Raises:
        DataError: If it has other covariates, or is on disk and has other categories.
    """
    if panel.categories == context.categories:
        return panel
    _check(panel, context)
    return _with_codes_of(panel, context)


def _check(panel: Panel, context: Panel) -> None:
    if str(panel.frequency) != str(context.frequency):
        message = f"rows are {panel.frequency} apart; in training they were {context.frequency} apart"
        raise DataError(describe(panel.source, message))
    for role in _ROLES:
        own, known = ([_kind(feature) for feature in getattr(item, role)] for item in (panel, context))
        if own != known:
            names = [", ".join(f"{name} ({kind})" for name, kind in found) or "none" for found in (own, known)]
            message = f"the panel has the {role} covariates {names[0]}; the model was trained with {names[1]}"
            raise DataError(describe(panel.source, f"{message}. Build the panel with the same columns"))


def _kind(feature: Feature) -> tuple[str, str]:
    return feature.name, "numbers" if feature.cardinality is None else "categories"


def _with_codes_of(panel: Panel, context: Panel) -> Panel:
    """Return the panel with its categories coded as in training."""
    if panel.categories == context.categories:
        return dataclasses.replace(panel, past=context.past, future=context.future, static=context.static)
    if panel.is_memory_mapped:
        name = next(name for name, values in context.categories.items() if panel.categories.get(name) != values)
        message = f"column {name!r} has other categories than in training, and a panel on disk is not changed"
        raise DataError(describe(panel.source, f"{message}. Pass the table itself, or build the panel for this model"))
    arrays: dict[str, Any] = {}
    for role in _ROLES:
        values: Floats32 | None = getattr(panel, f"{role}_x")
        if values is None:
            continue
        values = np.array(values)
        for place, feature in enumerate(getattr(panel, role)):
            if feature.cardinality is not None:
                values[:, place] = _recode(values[:, place], feature.name, panel, context)
        arrays[f"{role}_x"] = values
    features: dict[str, Any] = {role: getattr(context, role) for role in _ROLES}
    return dataclasses.replace(panel, categories=context.categories, **arrays, **features)


def _recode(codes: Floats32, name: str, panel: Panel, context: Panel) -> Floats32:
    known = {value: code for code, value in enumerate(context.categories[name], 1)}
    own = panel.categories[name]
    table = np.array([0, *(known.get(value, 0) for value in own)], np.float32)
    found: Floats32 = table[codes.astype(np.int64)]
    unknown = np.flatnonzero((found == 0) & (codes > 0))
    if len(unknown) and context.schema.unknown_category == "error":
        value = own[int(codes[unknown[0]]) - 1]
        message = f"column {name!r}: category {value!r} not in training data. Pass unknown_category='unknown'"
        raise DataError(describe(panel.source, message))
    return found
