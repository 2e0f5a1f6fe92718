from __future__ import annotations

import pytest
import torch

from neuro_divergent.core.errors import ConfigError
from neuro_divergent.core.spec import TaskSpec
from neuro_divergent.layers.recurrent import Cell, DilatedRecurrence
from neuro_divergent.models.dilated_rnn import DilatedRNN


@pytest.mark.parametrize("cell", ["rnn", "lstm", "gru"])
@pytest.mark.parametrize(("dilation", "steps"), [(1, 5), (2, 8), (3, 8), (7, 8), (8, 8), (20, 8), (4, 1)])
@torch.no_grad()
def test_a_state_follows_the_one_that_many_steps_before(cell: Cell, dilation: int, steps: int) -> None:
    torch.manual_seed(0)
    layer, values = DilatedRecurrence(cell, 2, 3, dilation).double(), torch.randn(steps, 4, 2).double()
    outputs, memories = [], []
    for step in range(steps):
        before = memories[step - dilation] if step >= dilation else None
        output, memory = layer.cells(values[step, None], before)
        outputs.append(output)
        memories.append(memory)
    torch.testing.assert_close(layer(values), torch.cat(outputs))


@torch.no_grad()
def test_a_layer_sees_only_steps_a_multiple_of_its_dilation_back() -> None:
    torch.manual_seed(0)
    layer, values = DilatedRecurrence("gru", 1, 4, 3), torch.randn(20, 2, 1)
    changed = values.clone()
    changed[5] += 1
    moved = (layer(changed) != layer(values)).any(2).all(1)
    assert moved.nonzero().flatten().tolist() == [5, 8, 11, 14, 17]


@torch.no_grad()
def test_groups_after_the_first_are_added_to_what_they_read() -> None:
    torch.manual_seed(0)
    encoder = DilatedRNN(hidden_size=4, dilations=((1, 2), (3,), (2, 1))).build(TaskSpec(2, 9)).encoder
    values = torch.randn(9, 3, 1)
    first, second, third = encoder.groups
    states = first(values)
    states = states + second(states)
    torch.testing.assert_close(encoder(values), states + third(states))


@pytest.mark.parametrize("dilations", [(), ((),), ((1, 2), ()), ((0,),)])
def test_refuses_groups_without_layers_and_dilations_below_one(dilations: object) -> None:
    with pytest.raises(ConfigError, match="dilated_rnn: dilations"):
        DilatedRNN(dilations=dilations)
