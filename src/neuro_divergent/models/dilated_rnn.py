"""DilatedRNN: recurrent layers whose states skip ever more steps."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field, PositiveInt
from torch import Tensor, nn

from neuro_divergent.core.config import knob, register
from neuro_divergent.core.spec import Traits
from neuro_divergent.layers.recurrent import Cell, DilatedRecurrence
from neuro_divergent.models.sequence import SequenceArchitecture


@register("dilated_rnn")
class DilatedRNN(SequenceArchitecture):
    """Groups of dilated recurrent layers, with residual connections between the groups.

    Chang et al., "Dilated Recurrent Neural Networks", NeurIPS 2017. The groups, the sums and the head are
    NeuralForecast's: a linear map over time and a perceptron make the forecast of the states. NeuralForecast's cells
    with residuals and with attention, which the paper does not have, are left out.

    Attributes:
        cell: Kind of cell: ``rnn``, ``lstm`` or ``gru``.
        dilations: Steps between a state and the one it follows, a number for each layer of each group.
        hidden_size: Units of the state of a layer.
        decoder_hidden_size: Hidden units of the perceptron.
        decoder_num_layers: Linear layers of the perceptron, the output included.
        decoder_activation: Activation of the perceptron.

    Examples:
        A state of the last layer follows the one eight steps before it:

        >>> import neuro_divergent as nd
        >>> architecture = nd.DilatedRNN(cell="gru", dilations=((1, 2), (4, 8)), hidden_size=8)
        >>> network = architecture.build(nd.models.TaskSpec(horizon=12, input_size=48))
        >>> sum(name.endswith("weight_hh_l0") for name, _ in network.named_parameters())  # one layer per dilation
        4
    """

    traits: ClassVar[Traits] = Traits.with_covariates("recurrent", "https://arxiv.org/abs/1710.02224")

    cell: Cell = knob("lstm", choices=("rnn", "lstm", "gru"))
    dilations: tuple[Annotated[tuple[PositiveInt, ...], Field(min_length=1)], ...] = knob(
        ((1, 2), (4, 8)), choices=(((1, 2), (4, 8)), ((1, 2, 4, 8),)), min_length=1
    )

    def encoder(self, inputs: int) -> nn.Module:
        return _Groups(self, inputs)


class _Groups(nn.Module):
    def __init__(self, config: DilatedRNN, inputs: int) -> None:
        super().__init__()
        groups = []
        for dilations in config.dilations:
            layers = []
            for dilation in dilations:
                layers.append(DilatedRecurrence(config.cell, inputs, config.hidden_size, dilation))
                inputs = config.hidden_size
            groups.append(nn.Sequential(*layers))
        self.groups = nn.ModuleList(groups)

    def forward(self, values_TNI: Tensor) -> Tensor:
        first, *others = self.groups
        states: Tensor = first(values_TNI)
        for group in others:
            states = states + group(states)
        return states
