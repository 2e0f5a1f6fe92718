"""As many parameters as in NeuralForecast 3.3.0, up to those that the docstrings leave out."""

from __future__ import annotations

import pytest

from neuro_divergent.core.spec import Feature, TaskSpec
from neuro_divergent.models.informer import Informer
from neuro_divergent.models.stemgnn import StemGNN
from neuro_divergent.models.tft import TFT
from neuro_divergent.models.tide import TiDE
from neuro_divergent.models.timexer import TimeXer
from tests.parity.pair import size
from tests.parity.pairs import PAIRS
from tests.parity.theirs import their_network

PAST, FUTURE, STATIC = (Feature("h1"), Feature("h2")), (Feature("f1"),), tuple(Feature(f"s{index}") for index in "123")


@pytest.mark.parametrize("cell", ["lstm", "gru"])
@pytest.mark.parametrize("layers", [1, 2])
def test_same_size_of_tft_with_covariates(cell: str, layers: int) -> None:
    spec = TaskSpec(8, 21, past=PAST, future=(*FUTURE, Feature("f2")), static=STATIC)
    theirs = their_network("TFT", spec, rnn_type=cell, n_rnn_layers=layers, hidden_size=32)
    network = TFT(hidden_size=32, cell=cell, num_layers=layers).build(spec)
    context_of_static_selection = 32 * 32
    assert size(network) == size(theirs) - context_of_static_selection


def test_same_size_of_tft_without_covariates() -> None:
    theirs = their_network("TFT", TaskSpec(8, 21), hidden_size=32)
    network = TFT(hidden_size=32).build(TaskSpec(8, 21))
    contexts = 3 * 32 * 32
    selection_among_one = (32 * 32 + 32) + (32 * 32 + 32) + 2 * (32 + 1) + (32 + 1)
    assert size(network) == size(theirs) - contexts - selection_among_one


@pytest.mark.parametrize("spec", [TaskSpec(24, 96, channels=7), TaskSpec(12, 32, channels=3, outputs=3)])
def test_same_size_of_timexer(spec: TaskSpec) -> None:
    assert size(TimeXer().build(spec)) == size(their_network("TimeXer", spec, joint=True))


@pytest.mark.parametrize("spec", [TaskSpec(24, 36, channels=7), TaskSpec(12, 20, channels=3, outputs=3)])
def test_same_size_of_stemgnn(spec: TaskSpec) -> None:
    shortcut_of_the_last_block = spec.input_size * (spec.input_size + 1)
    assert size(StemGNN().build(spec)) == size(their_network("StemGNN", spec, joint=True)) - shortcut_of_the_last_block


@pytest.mark.parametrize("outputs", [1, 3])
def test_tide_has_no_norm_over_the_outputs_of_a_step(outputs: int) -> None:
    spec = TaskSpec(12, 30, outputs=outputs, past=PAST, future=FUTURE, static=STATIC)
    assert size(TiDE().build(spec)) == size(their_network("TiDE", spec)) - 2 * outputs


@pytest.mark.parametrize("distil", [True, False])
@pytest.mark.parametrize("layers", [1, 2, 3])
def test_same_size_of_informer(distil: bool, layers: int) -> None:
    spec = TaskSpec(8, 20, future=(*FUTURE, Feature("f2")))
    sides = PAIRS["informer"].build(Informer(distil=distil, num_layers=layers), spec)
    assert size(sides.ours) == size(sides.theirs)
