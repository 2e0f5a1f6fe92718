"""The graph of a pipeline as inline SVG: a box for each stage and source, a line for each connection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from neuro_divergent.core.formatting import format_duration
from neuro_divergent.lifecycle.pipeline.reading import PipelineSummary

_WIDTH, _HEIGHT = 168, 46  # of a box
_ACROSS, _DOWN = 56, 22  # between boxes
_MARGIN = 12
_MOST_LETTERS = 20
SOURCE = "source"

STYLE = """
.graph { overflow-x: auto; }
.graph svg { max-width: max(100%, 48rem); height: auto; }
.graph rect { fill: var(--soft); stroke: var(--line); stroke-width: 1.5; }
.graph .done rect, .graph .cached rect { fill: var(--good-soft); stroke: var(--good); }
.graph .cached rect { stroke-dasharray: 5 3; }
.graph .failed rect { fill: var(--bad-soft); stroke: var(--bad); stroke-width: 2.5; }
.graph .running rect, .graph .interrupted rect { fill: var(--warn-soft); stroke: var(--warn); }
.graph .skipped rect, .graph .waiting rect { stroke-dasharray: 2 3; }
.graph text { fill: var(--ink); font: 13px system-ui, sans-serif; }
.graph .state { fill: var(--quiet); font-size: 11px; }
.graph path { fill: none; stroke: var(--quiet); stroke-width: 1.5; }
.graph .tip { fill: var(--quiet); stroke: none; }
"""


@dataclass(frozen=True)
class _Box:
    """A box of the graph.

    Attributes:
        name: What it stands for.
        state: State of the stage, or ``source``.
        below: What is written below the name.
        x: Left edge.
        y: Upper edge.
    """

    name: str
    state: str
    below: str
    x: int
    y: int


def draw_graph(pipeline: PipelineSummary) -> Markup:
    """Return the graph of a pipeline as SVG whose colours are those of the page; ``STYLE`` is its style sheet."""
    states = {stage.name: stage.state for stage in pipeline.stages}
    below = {
        stage.name: stage.state + ("" if stage.seconds is None else f", {format_duration(stage.seconds)}")
        for stage in pipeline.stages
    }
    links = list(dict.fromkeys((edge["producer"], edge["stage"]) for edge in pipeline.edges if edge["stage"] in states))
    names = [*dict.fromkeys(producer for producer, _ in links if producer not in states), *states]
    layers = arrange(names, links)
    tallest = max((len(layer) for layer in layers), default=1)
    boxes = {}
    for column, layer in enumerate(layers):
        top = _MARGIN + (tallest - len(layer)) * (_HEIGHT + _DOWN) // 2
        for row, name in enumerate(layer):
            x, y = _MARGIN + column * (_WIDTH + _ACROSS), top + row * (_HEIGHT + _DOWN)
            boxes[name] = _Box(name, states.get(name, SOURCE), below.get(name, SOURCE), x, y)
    width = 2 * _MARGIN + len(layers) * (_WIDTH + _ACROSS) - _ACROSS
    height = 2 * _MARGIN + tallest * (_HEIGHT + _DOWN) - _DOWN
    label = escape("; ".join(f"{stage.name}: {stage.state}" for stage in pipeline.stages))
    parts = [
        Markup('<div class="graph" tabindex="0" role="region" aria-label="Graph">'),
        Markup(
            f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" aria-label="{label}">'
        ),
        *(_line(boxes[producer], boxes[stage]) for producer, stage in links),
        *(_draw(box) for box in boxes.values()),
        Markup("</svg></div>"),
    ]
    return Markup("\n").join(parts)


def arrange(names: Sequence[str], links: Sequence[tuple[str, str]]) -> list[list[str]]:
    """Divide boxes into columns, each to the right of all that it needs; the order inside a column avoids crossings."""
    needs: Mapping[str, list[str]] = {name: [one for one, other in links if other == name] for name in names}
    depth = dict.fromkeys(names, 0)
    for _ in names:  # as often as the longest path could be
        changed = False
        for name in names:
            deepest = max((depth[need] + 1 for need in needs[name]), default=0)
            if deepest > depth[name] and deepest < len(names):
                depth[name], changed = deepest, True
        if not changed:
            break
    layers: list[list[str]] = [[] for _ in range(max(depth.values(), default=0) + 1)]
    for name in names:
        layers[depth[name]].append(name)
    place: dict[str, float] = {}
    for layer in layers:
        layer.sort(
            key=lambda name: sum(place[need] for need in needs[name] if need in place) / max(len(needs[name]), 1)
        )
        place |= {name: float(row) for row, name in enumerate(layer)}
    return layers


def _draw(box: _Box) -> Markup:
    name = box.name if len(box.name) <= _MOST_LETTERS else f"{box.name[: _MOST_LETTERS - 1]}…"
    return Markup(
        f'<g class="{escape(box.state)}"><title>{escape(box.name)}: {escape(box.below)}</title>'
        f'<rect x="{box.x}" y="{box.y}" width="{_WIDTH}" height="{_HEIGHT}" rx="5"/>'
        f'<text x="{box.x + 10}" y="{box.y + 19}">{escape(name)}</text>'
        f'<text class="state" x="{box.x + 10}" y="{box.y + 36}">{escape(box.below)}</text></g>'
    )


def _line(begin: _Box, end: _Box) -> Markup:
    x1, y1 = begin.x + _WIDTH, begin.y + _HEIGHT // 2
    x2, y2 = end.x - 7, end.y + _HEIGHT // 2
    bend = max((x2 - x1) // 2, 20)
    return Markup(
        f'<path d="M{x1} {y1} C{x1 + bend} {y1} {x2 - bend} {y2} {x2} {y2}"/>'
        f'<path class="tip" d="M{x2} {y2 - 4} l8 4 l-8 4 z"/>'
    )
