import math

import numpy as np
import polars as pl
import pytest

from neuro_divergent.core.errors import InputError
from neuro_divergent.core.formatting import format_number
from neuro_divergent.reporting.figures.figure import Heatmap, Rule, Spans
from neuro_divergent.reporting.figures.layers import (
    MOST_ROWS,
    gradient_flow_figure,
    update_ratio_figure,
    weight_figure,
)


def _layers(norms: dict[str, tuple[float | None, float | None, float | None]], steps: int = 3) -> pl.DataFrame:
    rows = [(step, name, *values) for step in range(steps) for name, values in norms.items()]
    return pl.DataFrame(rows, schema=["step", "layer", "gradient", "weight", "update"], orient="row", strict=False)


LAYERS = _layers(
    {
        "net.first.weight": (3.0, 10.0, 1e-2),
        "net.first.bias": (4.0, 0.0, 0.0),
        "net.frozen.weight": (None, None, None),
        "net.dead.weight": (0.0, 5.0, 0.0),
        "net.last.weight": (1e-3, 2.0, 2e-5),
    }
)


def test_norms_of_a_module_are_taken_together():
    figure = gradient_flow_figure(LAYERS)
    (heat,) = figure.marks
    assert isinstance(heat, Heatmap)
    assert list(heat.y) == ["first", "frozen", "dead", "last"]
    assert heat.values.shape == (4, 3)
    np.testing.assert_allclose(heat.values[:, 0], [4 + math.log10(5), math.nan, 0, 1], atol=5e-4)
    assert heat.label == "powers of ten above 0.0001"
    assert figure.note == "The names of all layers begin with net."
    assert figure.alt_text == (
        "By their median over training, gradients are largest in first (5) and smallest in dead (0.0001)."
    )


def test_layers_with_unusual_updates_are_marked_in_their_order():
    figure = update_ratio_figure(LAYERS)
    first, last, low, high = figure.marks
    assert isinstance(first, Spans)
    assert isinstance(last, Spans)
    assert (list(first.rows), first.tone, first.label) == (["first"], "good", "usual")
    assert (list(last.rows), last.tone, last.label) == (["last"], "bad", "unusually small or large")
    assert first.begin[0] < 1e-3 < first.end[0]
    assert (low, high) == (Rule(x=1e-4), Rule(x=1e-2))
    assert figure.x.logarithmic
    assert figure.alt_text == "1 of 2 layers change as usual. last changes least (1e-05), first most (0.001)."


def test_spans_are_the_quartiles():
    ratios = np.geomspace(1e-4, 1e-2, 9)
    frame = pl.concat([_layers({"a.weight": (1.0, 1.0, ratio)}, 1) for ratio in ratios])
    frame = frame.with_columns(step=pl.int_range(9))
    span = update_ratio_figure(frame).marks[0]
    assert isinstance(span, Spans)
    assert span.begin[0] == pytest.approx(np.quantile(ratios, 0.25))
    assert span.end[0] == pytest.approx(np.quantile(ratios, 0.75))


def test_hundreds_of_layers_are_shown_by_block():
    names = {
        f"encoder.{block}.part.{layer}.{kind}": (1.0, 1.0, 1e-3)
        for block in range(12)
        for layer in range(8)
        for kind in ("weight", "bias")
    }
    figure = gradient_flow_figure(_layers(names, 2))
    heat = figure.marks[0]
    assert isinstance(heat, Heatmap)
    assert len(heat.y) == 12 <= MOST_ROWS
    assert heat.label == "powers of ten above 4"  # the root of the sum of 16 squares
    assert (heat.values == 0).all()


def test_many_steps_are_thinned():
    heat = gradient_flow_figure(_layers({"a": (1.0, 1.0, 1.0), "b": (1.0, 1.0, 1.0)}, 1_001)).marks[0]
    assert isinstance(heat, Heatmap)
    assert heat.values.shape == (2, 200)
    assert (heat.x[0], heat.x[-1]) == (0, 1_000)


def test_nothing_measured_is_an_error():
    nothing = _layers({"a": (None, None, None)})
    with pytest.raises(InputError, match="no gradient was measured"):
        gradient_flow_figure(nothing)
    with pytest.raises(InputError, match="no change of a layer was measured"):
        update_ratio_figure(nothing)
    with pytest.raises(InputError, match="there is none"):
        gradient_flow_figure(None)


def _weights(name: str, values: np.ndarray, bins: int = 40) -> dict[str, object]:
    counts, edges = np.histogram(values, bins)
    numbers = {"mean": float(values.mean()), "std": float(values.std())}
    return {"layer": name, **numbers, "edges": edges.tolist(), "counts": counts.tolist()}


def test_weights_are_shown_by_their_own_spread():
    generator = np.random.default_rng(0)
    values = generator.normal(1.0, 0.01, 200_000)
    network = {"weights": [_weights("net.a", values, 400), _weights("net.<b>", 100 * values, 400)]}
    figure = weight_figure(network)
    (heat,) = figure.marks
    assert isinstance(heat, Heatmap)
    assert list(heat.y) == ["a", "<b>"]
    np.testing.assert_allclose(heat.values.sum(1), 100)
    np.testing.assert_allclose(heat.values[0], heat.values[1], atol=1e-6)
    edges = np.linspace(-4, 4, 42)
    expected, _ = np.histogram(np.clip((values - values.mean()) / values.std(), -4, 4), edges)
    np.testing.assert_allclose(heat.values[0], 100 * expected / len(values), atol=0.2)
    spread = format_number(100 * values.std())
    assert figure.alt_text == (
        f"The standard deviation of the weights is largest in <b> ({spread}) and smallest in a "
        f"({format_number(values.std())})."
    )


def test_the_largest_of_many_layers_are_shown():
    generator = np.random.default_rng(0)
    network = {
        "weights": [_weights(f"layer{number}", generator.normal(size=10 + number)) for number in range(100)]
        + [{"layer": "constant", "mean": 1.0, "std": 0.0, "edges": [0.5, 1.5], "counts": [3]}]
        + [{"layer": "empty", "mean": None, "std": None, "edges": [], "counts": []}]
    }
    figure = weight_figure(network)
    heat = figure.marks[0]
    assert isinstance(heat, Heatmap)
    assert list(heat.y) == [f"layer{number}" for number in range(60, 100)]
    assert figure.note == "The 40 largest of 100 layers."


def test_vectors_are_left_out_where_there_are_matrices():
    values = np.random.default_rng(0).normal(size=20)
    network = {
        "weights": [{**_weights("a", values), "shape": [4, 5]}, {**_weights("b", values), "shape": [20]}],
    }
    figure = weight_figure(network)
    assert isinstance(figure.marks[0], Heatmap)
    assert list(figure.marks[0].y) == ["a"]
    assert figure.note == "Vectors, such as biases, are left out."


@pytest.mark.parametrize("network", [{}, {"weights": []}, {"weights": None}])
def test_a_network_without_weights_is_an_error(network):
    with pytest.raises(InputError, match="no distributions of weights"):
        weight_figure(network)
