import polars as pl
import pytest

from neuro_divergent.core.errors import InputError
from neuro_divergent.reporting.figures.architecture import architecture_figure
from neuro_divergent.reporting.figures.figure import Band, Bars, Line, Rule
from neuro_divergent.reporting.figures.learning_curve import learning_curve_figure

IN = "\u203a"


def _block(name: str, depth: int, parameters: int, inputs: object = None, outputs: object = None) -> dict[str, object]:
    kind = "Linear" if inputs else "Stack"
    return {"name": name, "kind": kind, "depth": depth, "inputs": inputs, "outputs": outputs, "parameters": parameters}


NETWORK = {
    "parameters": 200,
    "blocks": [
        _block("(network)", 0, 200),
        _block("stack.blocks.0", 1, 150),
        _block("stack.blocks.0.<first>", 2, 120, [None, 96], [None, 512]),
        _block("stack.blocks.0.second", 2, 30, [None, 24, 512], [None, 24, 7]),
        _block("head", 1, 50, [512], [1]),
    ],
}


def test_blocks_stand_in_their_order_with_shapes_and_parameters():
    figure = architecture_figure(NETWORK)
    (bars,) = figure.marks
    assert isinstance(bars, Bars)
    assert list(bars.places) == ["(network)", f"{IN} blocks.0", f"{IN}{IN} <first>", f"{IN}{IN} second", f"{IN} head"]
    assert bars.lengths.tolist() == [0, 0, 60, 15, 25]  # of what is not in a block below
    assert list(bars.notes) == [
        "Stack, 200",
        "Stack, 150",
        "Linear 96 → 512, 120",
        "Linear 24 × 512 → 24 × 7, 30",  # noqa: RUF001
        "Linear 512 → 1, 50",
    ]
    assert figure.alt_text == (
        "5 blocks with 200 parameters. The largest is stack.blocks.0.<first>: Linear 96 → 512, 120 parameters."
    )


def test_the_deepest_blocks_of_many_are_left_out():
    figure = architecture_figure(NETWORK, most=4)
    (bars,) = figure.marks
    assert isinstance(bars, Bars)
    assert len(bars.places) == 3
    assert bars.lengths.tolist() == [0, 75, 25]
    assert figure.note.startswith("The 3 outermost of 5 blocks.")


def test_a_network_without_parameters_or_blocks():
    assert architecture_figure({"parameters": 0, "blocks": [_block("a", 0, 0)]}).marks
    for network in ({}, {"blocks": None}, {"blocks": []}):
        with pytest.raises(InputError, match="no blocks"):
            architecture_figure(network)


CURVE = pl.DataFrame(
    {
        "size": [400, 100, 200],
        "train_mean": [0.3, 0.1, 0.2],
        "train_low": [0.2, 0.0, 0.1],
        "train_high": [0.4, 0.2, 0.3],
        "validation_mean": [0.5, None, 0.9],
        "validation_low": [0.4, None, 0.8],
        "validation_high": [0.6, None, 1.0],
    }
)


def test_a_learning_curve_has_lines_and_bands_in_the_order_of_size():
    figure = learning_curve_figure(CURVE)
    train_band, validation_band, train, validation = figure.marks
    assert isinstance(train_band, Band)
    assert isinstance(validation_band, Band)
    assert isinstance(train, Line)
    assert isinstance(validation, Line)
    assert train.x.tolist() == [100, 200, 400]
    assert train.y.tolist() == [0.1, 0.2, 0.3]
    assert train_band.high.tolist() == [0.2, 0.3, 0.4]
    assert figure.alt_text == (
        "The training error goes from 0.1 at 100 to 0.3 at 400. "
        "The validation error goes from 0.9 at 200 to 0.5 at 400."
    )


def test_a_learning_curve_of_a_study_has_its_verdict_as_a_note():
    class Curve:
        table = CURVE.to_pandas()
        verdict, reason, naive = "data-limited", "The error still falls.", 0.95

    figure = learning_curve_figure(Curve())
    assert figure.note == "Verdict: data-limited. The error still falls."
    assert figure.marks[-1] == Rule(y=0.95, label="seasonal naive")


def test_a_learning_curve_without_errors_is_an_error():
    with pytest.raises(InputError, match="no size with an error"):
        learning_curve_figure(CURVE.with_columns(train_mean=pl.lit(None), validation_mean=pl.lit(None)))
    with pytest.raises(InputError, match="no column 'size'"):
        learning_curve_figure(CURVE.drop("size"))
