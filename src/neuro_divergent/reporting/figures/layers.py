"""Figures of gradients, updates and weights by layer.

Norms by layer are what ``runs.events.layers_of`` returns: ``step``, ``layer`` (name of a parameter), ``gradient``,
``weight`` and ``update``, null where a layer was not trained. Parameters of one module are shown as one, and modules of
one block too where there would be too many to read: the norm of several is the root of the sum of their squares.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Array
from neuro_divergent.core.errors import InputError
from neuro_divergent.core.formatting import format_count, format_number
from neuro_divergent.reporting.figures.columns import floats_of, pivot, read_columns, segments
from neuro_divergent.reporting.figures.figure import Axis, Figure, Heatmap, Mark, Rule, Spans, Tone

MOST_ROWS = 40
HEALTHY = (1e-4, 1e-2)
"""Ratios of update to weight norm that are usual for a layer that learns well."""

_NORMS = ("gradient", "weight", "update")
_MOST_STEPS = 200
_BINS = 41
_REACH = 4.0  # standard deviations to either side
_LEAST_WIDTH = 1.07  # a bar reaches this much to either side of the median, so that it can be seen


def gradient_flow_figure(layers: Any) -> Figure:
    """Show the norm of the gradient of each layer over training, from the first layer to the last.

    Colours are powers of ten above the smallest. A gradient of zero is shown as a tenth of the smallest that is not.
    """
    frame, names, prefix = _grouped(layers)
    steps = frame["step"].unique().sort()
    chosen = steps.gather(np.unique(np.linspace(0, len(steps) - 1, min(len(steps), _MOST_STEPS)).round().astype(int)))
    frame = frame.filter(pl.col("step").is_in(chosen.implode()))
    norms = pivot(frame, "layer", names, "step", chosen, "gradient")
    positive = norms[norms > 0]
    if not positive.size:
        raise InputError("layers: no gradient was measured.")
    norms = np.where(norms == 0, positive.min() / 10, norms)
    smallest = float(np.nanmin(norms))
    sizes = {name: float(np.nanmedian(row)) for name, row in zip(names, norms, strict=True) if np.isfinite(row).any()}
    small, large = min(sizes, key=sizes.__getitem__), max(sizes, key=sizes.__getitem__)
    powers = np.log10(norms / smallest).round(3)  # smaller differences have the same colour
    return Figure(
        title="Gradient by layer",
        marks=(Heatmap(floats_of(chosen), names, powers, f"powers of ten above {format_number(smallest)}"),),
        x=Axis("steps of training"),
        note=_prefix_note(prefix),
        alt_text=f"By their median over training, gradients are largest in {large} ({format_number(sizes[large])}) and "
        f"smallest in {small} ({format_number(sizes[small])}).",
    )


def update_ratio_figure(layers: Any) -> Figure:
    """Show the ratio of update to weight norm of each layer: the middle half of the measured steps."""
    frame, names, prefix = _grouped(layers)
    ratio = pl.col("update") / pl.col("weight")
    frame = frame.with_columns(ratio.alias("ratio")).filter(pl.col("ratio").is_finite() & (pl.col("ratio") > 0))
    if not frame.height:
        raise InputError("layers: no change of a layer was measured.")
    quartiles = [pl.col("ratio").quantile(level, "linear").alias(f"{level}") for level in (0.25, 0.5, 0.75)]
    table = frame.group_by("layer").agg(quartiles)
    table = pl.DataFrame({"layer": names}).join(table, on="layer", how="inner", maintain_order="left")
    low, middle, high = (floats_of(table[name]) for name in table.columns[1:])
    is_usual = (middle >= HEALTHY[0]) & (middle <= HEALTHY[1])
    shown = table["layer"].to_list()
    begin, end = np.minimum(low, middle / _LEAST_WIDTH), np.maximum(high, middle * _LEAST_WIDTH)
    marks: list[Mark] = []
    seen: set[bool] = set()
    for first, last in segments(is_usual.tolist()):
        usual = bool(is_usual[first])
        label = "" if usual in seen else "usual" if usual else "unusually small or large"
        tone: Tone = "good" if usual else "bad"
        marks.append(Spans(shown[first:last], begin[first:last], end[first:last], label=label, tone=tone))
        seen.add(usual)
    least, most = int(middle.argmin()), int(middle.argmax())
    return Figure(
        title="Change of each layer in a step",
        marks=(*marks, *(Rule(x=ratio) for ratio in HEALTHY)),
        x=Axis("norm of the change / norm of the weights", logarithmic=True),
        note="Bars are the middle half of the measured steps. Layers that learn well usually change by 0.0001 to 0.01 "
        f"of their size in a step. {_prefix_note(prefix)}".strip(),
        alt_text=f"{int(is_usual.sum())} of {format_count(len(shown), 'layer')} change as usual. {shown[least]} "
        f"changes least ({format_number(float(middle[least]))}), {shown[most]} most "
        f"({format_number(float(middle[most]))}).",
    )


def weight_figure(network: Mapping[str, Any]) -> Figure:
    """Show how the weights of each layer are distributed, around their mean and by their standard deviation.

    Args:
        network: What ``analyse_network`` returns; its ``weights`` are a list with ``layer``, ``mean``, ``std``,
            ``shape``, ``edges`` and ``counts`` of each. Vectors are left out where there are matrices, and of more than
            40 layers those with most weights are shown.
    """
    found = [item for item in network.get("weights") or () if sum(item["counts"]) and item["std"]]
    matrices = [item for item in found if len(item.get("shape") or ()) > 1]
    vectors = "Vectors, such as biases, are left out." if matrices and len(matrices) < len(found) else ""
    found = matrices or found
    if not found:
        raise InputError("network: there are no distributions of weights.")
    ranked = sorted(range(len(found)), key=lambda place: -sum(found[place]["counts"]))
    shown = [found[place] for place in sorted(ranked[:MOST_ROWS])]
    edges = np.linspace(-_REACH, _REACH, _BINS + 1)
    percentages = np.array([_rebinned(item, edges) for item in shown])
    names, prefix = _short([str(item["layer"]) for item in shown])
    spreads = [float(item["std"]) for item in shown]
    least, most = int(np.argmin(spreads)), int(np.argmax(spreads))
    left_out = f"The {len(shown)} largest of {format_count(len(found), 'layer')}." if len(shown) < len(found) else ""
    return Figure(
        title="Weights by layer",
        marks=(Heatmap((edges[:-1] + edges[1:]) / 2, names, percentages, label="% of the weights"),),
        x=Axis("distance from the mean, in standard deviations"),
        note=" ".join(filter(None, (left_out, vectors, _prefix_note(prefix)))),
        alt_text=f"The standard deviation of the weights is largest in {names[most]} "
        f"({format_number(spreads[most])}) and smallest in {names[least]} ({format_number(spreads[least])}).",
    )


def _rebinned(item: Mapping[str, Any], edges: Array) -> Array:
    """Return the percentages of the weights in other bins, what lies beyond them in the outer ones."""
    counts = np.asarray(item["counts"], np.float64)
    places = (np.asarray(item["edges"], np.float64) - float(item["mean"])) / float(item["std"])
    below = np.interp(edges[1:-1], places, np.concatenate([[0.0], counts.cumsum()]))
    fractions: Array = np.diff(np.concatenate([[0.0], below, [counts.sum()]])) / counts.sum()
    return 100 * fractions


def _grouped(layers: Any) -> tuple[pl.DataFrame, list[str], str]:
    """Return norms of modules or blocks, their names in the order of the network, and what all names began with."""
    frame = read_columns(layers, ("step", "layer", *_NORMS), "layers")
    parameters = frame["layer"].unique(maintain_order=True).drop_nulls().cast(pl.String).to_list()
    groups = _groups(parameters)
    short, prefix = _short(list(dict.fromkeys(groups)))
    shown = dict(zip(dict.fromkeys(groups), short, strict=True))
    named = pl.DataFrame({"layer": parameters, "group": [shown[group] for group in groups]})
    frame = frame.with_columns(pl.col("layer").cast(pl.String)).join(named, on="layer", how="inner")
    # A parameter that is not trained has no norm; a group of such ones has none either.
    squares = [
        pl.when(pl.col(name).is_finite().any()).then(pl.col(name).filter(pl.col(name).is_finite()).pow(2).sum().sqrt())
        for name in _NORMS
    ]
    frame = frame.with_columns(pl.col(name).cast(pl.Float64, strict=False) for name in _NORMS)
    frame = frame.group_by("step", "group").agg(part.alias(name) for part, name in zip(squares, _NORMS, strict=True))
    return frame.rename({"group": "layer"}), short, prefix


def _groups(parameters: Sequence[str]) -> list[str]:
    """Return for each parameter its module, or the block around it where there are too many modules."""
    parts = [name.split(".") for name in parameters]
    modules = [part[:-1] or part for part in parts]
    depth = max((len(module) for module in modules), default=1)
    while depth > 1 and len({tuple(module[:depth]) for module in modules}) > MOST_ROWS:
        depth -= 1
    return [".".join(module[:depth]) for module in modules]


def _short(names: list[str]) -> tuple[list[str], str]:
    """Return names without the parts that all of them begin with, and those parts."""
    parts = [name.split(".") for name in names]
    shared = 0
    while len(names) > 1 and len({tuple(part[: shared + 1]) for part in parts}) == 1:
        shared += 1
    shared = min(shared, min((len(part) for part in parts), default=1) - 1)
    return [".".join(part[shared:]) for part in parts], ".".join(parts[0][:shared]) if parts else ""


def _prefix_note(prefix: str) -> str:
    return f"The names of all layers begin with {prefix}." if prefix else ""
