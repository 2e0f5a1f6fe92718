"""Figures of the architecture of a network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from neuro_divergent.core.arrays import Array
from neuro_divergent.core.errors import InputError
from neuro_divergent.core.formatting import format_count
from neuro_divergent.reporting.figures.figure import Axis, Bars, Figure

_MOST_BLOCKS = 60
_INDENT = "\u203a"  # seen whichever way names are aligned


def architecture_figure(network: Mapping[str, Any], *, most: int = _MOST_BLOCKS) -> Figure:
    """Show the blocks of a network from the input to the output, with their shapes and parameters.

    Names are indented by how deep a block lies in others. Bars are the percentage of the parameters that a block holds
    without those of the blocks in it that are shown; the number next to a bar counts them all.

    Args:
        network: What ``analyse_network`` returns; its ``blocks`` are a list with ``name``, ``kind``, ``depth``,
            ``inputs``, ``outputs`` and ``parameters`` of each.
        most: How many blocks to show; where there are more, the deepest are left out.
    """
    blocks = list(network.get("blocks") or ())
    if not blocks:
        raise InputError("network: there are no blocks.")
    total = len(blocks)
    depth = max(int(block["depth"]) for block in blocks)
    while len(blocks) > most and depth > 0:
        depth -= 1
        blocks = [block for block in blocks if int(block["depth"]) <= depth]
    blocks = blocks[:most]
    depths = [int(block["depth"]) for block in blocks]
    own = _own([float(block["parameters"] or 0) for block in blocks], depths)
    parameters = float(network.get("parameters") or own.sum()) or 1.0
    names = [
        f"{_INDENT * (depth - min(depths))} {_last_part(str(block['name']))}".lstrip()
        for block, depth in zip(blocks, depths, strict=True)
    ]
    largest = blocks[int(own.argmax())]
    return Figure(
        title="Architecture",
        marks=(Bars(names, 100 * own / parameters, tone="train", notes=[_note(block) for block in blocks]),),
        x=Axis("% of the parameters", limits=(0.0, 100.0)),
        note=(f"The {len(blocks)} outermost of {total:,} blocks. " if len(blocks) < total else "")
        + "Next to each: its kind, the shapes of its input and output, and the number of its parameters.",
        alt_text=f"{format_count(total, 'block')} with {format_count(round(parameters), 'parameter')}. The largest is "
        f"{largest['name']}: {_note(largest)} parameters.",
    )


def _own(parameters: list[float], depths: list[int]) -> Array:
    """Return the parameters of blocks without those of the blocks in them, which follow them and lie deeper."""
    own: Array = np.array(parameters)
    around: list[int] = []  # places of the blocks that the next one may lie in
    for place, depth in enumerate(depths):
        while around and depths[around[-1]] >= depth:
            around.pop()
        if around:
            own[around[-1]] -= parameters[place]
        around.append(place)
    return own.clip(min=0)


def _note(block: Mapping[str, Any]) -> str:
    shapes = [_shape(block.get(name)) for name in ("inputs", "outputs")]
    flow = f" {' → '.join(shapes)}" if all(shapes) else ""
    parameters = int(block["parameters"] or 0)
    return f"{block['kind']}{flow}" + (f", {parameters:,}" if parameters else "")


def _shape(value: Any) -> str:
    """Write a shape without the number of windows: ``24 x 512``."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return " \u00d7 ".join(str(size) for size in value if size is not None)
    return "" if value is None else str(value)


def _last_part(name: str) -> str:
    """Return the last part of a dotted name, with the one before it where it is only a number."""
    parts = name.split(".")
    return ".".join(parts[-2:]) if parts[-1].isdigit() else parts[-1]
