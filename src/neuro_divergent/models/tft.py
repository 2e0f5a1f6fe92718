"""TFT: recurrent layers and attention over covariates that the network selects itself."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple

import torch
from torch import Tensor, nn

from neuro_divergent.core.config import knob, register
from neuro_divergent.core.spec import Feature, Inputs, TaskSpec, Traits
from neuro_divergent.layers.activation import Activation
from neuro_divergent.layers.channels import fold_channels, unfold_channels
from neuro_divergent.layers.covariates import Covariates
from neuro_divergent.layers.dropout import Dropout
from neuro_divergent.layers.gating import GatedResidual, GatedSkip
from neuro_divergent.layers.masking import observed
from neuro_divergent.layers.selection import VariableSelection, VariableVectors
from neuro_divergent.models.multi_head import MultiHead


@register("tft")
class TFT(MultiHead):
    """Temporal fusion transformer: selected covariates, a recurrent encoder and decoder, and interpretable attention.

    Lim et al., "Temporal Fusion Transformers for Interpretable Multi-horizon Time Series Forecasting", International
    Journal of Forecasting, 2021. ``network.explain(inputs)`` returns the forecast with the weights of the variables and
    of the steps.

    Without covariates that are known ahead the last value is used as one, as in NeuralForecast. Only the steps of the
    horizon are queries of the attention, since the others are not used. A numeric variable has a vector and a bias of
    its own; a categorical one is embedded first, which NeuralForecast lacks. Weights that can have no effect are left
    out, so there are fewer parameters than in NeuralForecast: those for a context where there is none (always in the
    selection of static variables, everywhere without static variables), and the selection among a single variable.

    Attributes:
        hidden_size: Units of all layers, a multiple of ``num_heads``.
        num_heads: Heads of the attention.
        cell: Kind of recurrent cell: ``lstm`` or ``gru``.
        num_layers: Recurrent layers of the encoder and of the decoder.
        activation: Activation in the gated blocks.
        dropout: Fraction dropped in training in the gated blocks and after the attention.
        attention_dropout: Fraction of attention weights dropped in training.

    Examples:
        Forecasts come with weights, which say how much each variable counts at each step of the history:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> spec = nd.models.TaskSpec(horizon=4, input_size=16, past=(nd.models.Feature("visitors"),))
        >>> network = nd.TFT(hidden_size=16).build(spec).eval()
        >>> explanation = network.explain(nd.models.Inputs(torch.rand(1, 16, 1), past_x=torch.rand(1, 16, 1)))
        >>> explanation.past_names, [round(total, 3) for total in explanation.past.sum(-1)[0, 0, :2].tolist()]
        (('visitors', 'last value', 'target'), [1.0, 1.0])
    """

    traits: ClassVar[Traits] = Traits.with_covariates("transformer", "https://arxiv.org/abs/1912.09363")

    hidden_size: int = knob(128, choices=(32, 64, 128, 256), ge=1)
    num_heads: int = knob(4, choices=(1, 4, 8), ge=1)
    cell: Literal["lstm", "gru"] = knob("lstm", choices=("lstm", "gru"))
    num_layers: int = knob(1, low=1, high=3, ge=1)
    activation: Activation = "ELU"
    dropout: float = knob(0.1, low=0.0, high=0.5, ge=0.0, lt=1.0)
    attention_dropout: float = knob(0.0, low=0.0, high=0.3, ge=0.0, lt=1.0)

    def network(self, spec: TaskSpec) -> nn.Module:
        return _Network(self, spec)


class Explanation(NamedTuple):
    """A forecast with its weights over the variables (V) and over time, each of which sum to 1."""

    forecast: Tensor  # B H C P
    static: Tensor | None  # B C V
    past: Tensor  # B C L V
    future: Tensor  # B C H V
    attention: Tensor  # B C H L+H, mean of the heads
    static_names: tuple[str, ...]
    past_names: tuple[str, ...]
    future_names: tuple[str, ...]


class _Network(nn.Module):
    def __init__(self, config: TFT, spec: TaskSpec) -> None:
        super().__init__()
        self.spec = spec
        size = config.hidden_size
        context = size if spec.static else 0
        blocks: dict[str, Any] = {"activation": config.activation, "dropout": config.dropout}
        residual = partial(GatedResidual, size, size, size, **blocks)
        select = partial(VariableSelection, hidden_size=size, context_size=context, **blocks)
        self.covariates = Covariates(spec)
        ahead = spec.future or (Feature("last value"),)
        self.past = VariableVectors(spec.past, size)
        self.future = VariableVectors(ahead, size)
        self.target = VariableVectors((Feature("target"),), size)
        self.static = VariableVectors(spec.static, size)
        self.select_static = select(count=len(spec.static), context_size=0) if spec.static else None
        # For the selection, the enrichment, and the first states of the cells of each layer.
        states = config.num_layers * (2 if config.cell == "lstm" else 1)
        self.contexts = nn.ModuleList(residual() for _ in range(2 + states if spec.static else 0))
        self.select_past = select(count=len(spec.past) + len(ahead) + 1)
        self.select_future = select(count=len(ahead))
        kind = {"lstm": nn.LSTM, "gru": nn.GRU}[config.cell]
        self.is_lstm = config.cell == "lstm"
        self.encoder = kind(size, size, config.num_layers, batch_first=True)
        self.decoder = kind(size, size, config.num_layers, batch_first=True)
        self.recurrent_skip = GatedSkip(size)
        self.enrichment = residual(context_size=context)
        self.attention = _InterpretableAttention(config, spec)
        self.attention_skip = GatedSkip(size)
        self.feedforward = residual()
        self.output_skip = GatedSkip(size)
        self.output = nn.Linear(size, spec.outputs)

    def forward(self, inputs: Inputs) -> Tensor:
        return self.explain(inputs).forecast

    def explain(self, inputs: Inputs) -> Explanation:
        """Forecast, and return the variable selection and attention weights."""
        steps, channels = self.spec.input_size, self.spec.channels
        values, _ = observed(inputs.past_y, inputs.past_mask)
        history = fold_channels(values)[..., None]
        past, future, static = self.covariates(inputs.past_x, inputs.future_x, inputs.static_x)
        known = self.future(history[:, -1:].expand(-1, steps + self.spec.horizon, -1) if future is None else future)
        seen = [*([] if past is None else [self.past(past)]), known[:, :steps], self.target(history)]

        selecting, enriching, state, static_weights = self._context(static)
        read, past_weights = self.select_past(torch.cat(seen, -2), selecting)
        ahead, future_weights = self.select_future(known[:, steps:], selecting)
        encoded, state = self.encoder(read, state)
        decoded, _ = self.decoder(ahead, state)
        local = self.recurrent_skip(torch.cat([encoded, decoded], 1), torch.cat([read, ahead], 1))
        enriched = self.enrichment(local, enriching)
        attended, attention = self.attention(enriched)
        fused = self.feedforward(self.attention_skip(attended, enriched[:, steps:]))
        forecast = self.output(self.output_skip(fused, local[:, steps:]))

        def by_channel(weights: Tensor) -> Tensor:
            return weights.view(-1, channels, *weights.shape[1:])

        return Explanation(
            unfold_channels(forecast, channels, self.spec.horizon),
            None if static_weights is None else by_channel(static_weights),
            by_channel(past_weights),
            by_channel(future_weights),
            by_channel(attention),
            self.static.names,
            (*self.past.names, *self.future.names, *self.target.names),
            self.future.names,
        )

    def _context(self, static: Tensor | None) -> tuple[Tensor | None, Tensor | None, Any, Tensor | None]:
        """Return the static contexts of the selection, the enrichment and the cells, and the selection weights."""
        if static is None or self.select_static is None:
            return None, None, None, None
        summary, weights = self.select_static(self.static(static))
        selecting, enriching, *states = (context(summary) for context in self.contexts)
        first = torch.stack(states)
        return selecting, enriching, tuple(first.chunk(2)) if self.is_lstm else first, weights


class _InterpretableAttention(nn.Module):
    """Interpretable attention: the heads share their values, so that the mean of their weights is meaningful."""

    visible: Tensor

    def __init__(self, config: TFT, spec: TaskSpec) -> None:
        super().__init__()
        size = config.hidden_size
        self.heads, self.width, self.horizon = config.num_heads, size // config.num_heads, spec.horizon
        self.query = nn.Linear(size, size, bias=False)
        self.key_value = nn.Linear(size, size + self.width, bias=False)
        self.output = nn.Linear(self.width, size, bias=False)
        self.dropout, self.attention_dropout = Dropout(config.dropout), Dropout(config.attention_dropout)
        steps = spec.input_size + spec.horizon
        visible = torch.ones(spec.horizon, steps, dtype=torch.bool).tril(spec.input_size)
        self.register_buffer("visible", visible, persistent=False)

    def forward(self, values: Tensor) -> tuple[Tensor, Tensor]:
        """Return the attended values, ``(rows, horizon, hidden)``, and the weights, ``(..., time)``."""
        query = self.query(values[:, -self.horizon :]).unflatten(-1, (self.heads, self.width)).transpose(1, 2)
        key, value = self.key_value(values).split([self.heads * self.width, self.width], -1)
        key = key.unflatten(-1, (self.heads, self.width)).permute(0, 2, 3, 1)
        scores = (query * self.width**-0.5 @ key).masked_fill(~self.visible, -torch.inf)
        weights = self.attention_dropout(scores.softmax(-1)).mean(1)
        return self.dropout(self.output(weights @ value)), weights
