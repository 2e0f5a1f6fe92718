"""PatchTST: a transformer whose words are patches of one series."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from neuro_divergent.core.config import knob, register
from neuro_divergent.core.errors import ConfigError
from neuro_divergent.core.spec import Inputs, TaskSpec, Traits
from neuro_divergent.layers.activation import Activation
from neuro_divergent.layers.channels import fold_channels, unfold_channels
from neuro_divergent.layers.dropout import Dropout
from neuro_divergent.layers.masking import observed
from neuro_divergent.layers.mlp import multilayer_perceptron
from neuro_divergent.layers.normalization import Normalization, make_norm
from neuro_divergent.layers.patching import cut_patches, join_patches, num_patches, patch_length
from neuro_divergent.layers.revin import Level, Standardisation
from neuro_divergent.models.multi_head import MultiHead
from neuro_divergent.models.reconstruction import Reconstruction


@register("patchtst")
class PatchTST(MultiHead):
    """Transformer encoder over overlapping patches of each channel by itself, with one linear head for the horizon.

    Nie et al., "A Time Series is Worth 64 Words: Long-term Forecasting with Transformers", ICLR 2023. As in the
    published code (and NeuralForecast) the encoder normalises over the batch, and each layer adds the attention scores
    of the one before to its own (He et al., "RealFormer", 2021). The query, key and value projections are one matrix,
    the two dropouts that follow each other after the attention are one of the same effect, and the level and spread of
    a history are those of its observed values. The level is the mean, as in the published runs; NeuralForecast starts
    from ``level="last"``.

    ``reconstruction`` gives the network for self-supervised pre-training, which has all the parts of the forecasting
    network but its head.

    Attributes:
        patch_length: Steps per patch; fewer if the history and a stride have fewer.
        stride: Steps from the start of a patch to the start of the next.
        hidden_size: Width of a token, a multiple of ``num_heads``.
        num_heads: Heads of the attention.
        num_layers: Encoder layers.
        feedforward_size: Hidden units of the perceptron in each layer.
        activation: Activation of that perceptron.
        dropout: Fraction of token features and hidden units dropped in training.
        attention_dropout: Fraction of attention weights dropped in training.
        norm: Normalisation inside the encoder layers, over the tokens of a ``batch`` or over each token (``layer``).
        residual_attention: Whether attention scores are added up from layer to layer.
        use_norm: Whether each history is standardised and the forecast is restored.
        level: Whether the level is the ``mean`` of the history or its ``last`` value.

    Examples:
        Patches of 16 steps that begin every 8 steps make 6 tokens of 48 steps; the last one repeats the latest value:

        >>> import neuro_divergent as nd
        >>> spec = nd.models.TaskSpec(horizon=12, input_size=48)
        >>> network = nd.PatchTST(patch_length=16, stride=8, hidden_size=32, num_heads=4).build(spec)
        >>> list(network.state_dict()["encoder.position"].shape)  # tokens, and their width
        [6, 32]
    """

    traits: ClassVar[Traits] = Traits(family="transformer", paper="https://arxiv.org/abs/2211.14730")

    patch_length: int = knob(16, choices=(8, 16, 24), ge=1)
    stride: int = knob(8, choices=(4, 8, 16), ge=1)
    hidden_size: int = knob(128, choices=(16, 64, 128, 256), ge=1)
    num_heads: int = knob(16, choices=(4, 8, 16), ge=1)
    num_layers: int = knob(3, low=1, high=4, ge=1)
    feedforward_size: int = knob(256, low=64, high=1024, log=True, ge=1)
    activation: Activation = "GELU"
    dropout: float = knob(0.2, low=0.0, high=0.5, ge=0.0, lt=1.0)
    attention_dropout: float = knob(0.0, low=0.0, high=0.3, ge=0.0, lt=1.0)
    norm: Normalization = knob("batch", choices=("batch", "layer"))
    residual_attention: bool = True
    use_norm: bool = True
    level: Level = knob("mean", choices=("mean", "last"))

    def network(self, spec: TaskSpec) -> nn.Module:
        return _Network(self, spec)

    def reconstruction(self, spec: TaskSpec) -> Reconstruction:
        """Return a network that reconstructs the history, ``(batch, history, channel, 1)``, including masked values.

        Masked values are zeros after standardisation, as in the paper, except that level and spread are those of the
        visible values.

        Raises:
            ConfigError: If patches overlap: values masked in one could be read in the next.
        """
        if self.stride != self.patch_length:
            raise ConfigError(
                f"patchtst: pre-training hides patches that do not overlap; got patch_length={self.patch_length} and "
                f"stride={self.stride}. Set both to the same number, such as 12."
            )
        return Reconstruction(_Reconstruction(self, spec), self.patch_length)


class _Encoder(nn.Module):
    """Everything up to the head: from histories ``(rows, history)`` to tokens ``(rows, patches, hidden)``."""

    def __init__(self, config: PatchTST, spec: TaskSpec) -> None:
        super().__init__()
        self.length = patch_length(config.patch_length, config.stride, spec.input_size)
        self.stride = config.stride
        self.size = num_patches(self.length, self.stride, spec.input_size)
        self.embedding = nn.Linear(self.length, config.hidden_size)
        self.position = nn.Parameter(torch.empty(self.size, config.hidden_size).uniform_(-0.02, 0.02))
        self.dropout = Dropout(config.dropout)
        self.layers = nn.ModuleList(_Layer(config) for _ in range(config.num_layers))

    def forward(self, history_NL: Tensor) -> Tensor:
        tokens: Tensor = self.embedding(cut_patches(history_NL, self.length, self.stride))
        tokens = self.dropout(tokens + self.position)
        scores: Tensor | None = None
        for layer in self.layers:
            tokens, scores = layer(tokens, scores)
        return tokens


class _Layer(nn.Module):
    def __init__(self, config: PatchTST) -> None:
        super().__init__()
        width = config.hidden_size
        self.num_heads = config.num_heads
        self.residual_attention = config.residual_attention
        self.query_key_value = nn.Linear(width, 3 * width)
        self.attention_dropout = Dropout(config.attention_dropout)
        self.output = nn.Linear(width, width)
        self.output_dropout = Dropout(1 - (1 - config.dropout) ** 2)
        self.attention_norm = make_norm(config.norm, width)
        sizes = (width, config.feedforward_size, width)
        self.feedforward = multilayer_perceptron(sizes, config.activation, config.dropout)
        self.dropout = Dropout(config.dropout)
        self.feedforward_norm = make_norm(config.norm, width)

    def forward(self, tokens: Tensor, scores: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """Return the tokens and the attention scores to add to those of the next layer."""
        attended, scores = self._attend(tokens, scores)
        tokens = self.attention_norm(tokens + self.output_dropout(attended))
        tokens = self.feedforward_norm(tokens + self.dropout(self.feedforward(tokens)))
        return tokens, scores if self.residual_attention else None

    def _attend(self, tokens: Tensor, before: Tensor | None) -> tuple[Tensor, Tensor]:
        rows, count, width = tokens.shape
        heads = self.query_key_value(tokens).view(rows, count, 3, self.num_heads, -1)
        query, key, value = heads.permute(2, 0, 3, 1, 4)
        scores = query * query.shape[-1] ** -0.5 @ key.transpose(2, 3)
        scores = scores if before is None else scores + before
        attended = self.attention_dropout(scores.softmax(-1)) @ value
        return self.output(attended.transpose(1, 2).reshape(rows, count, width)), scores


class _Base(nn.Module):
    """Normalisation around the encoder and a head."""

    def __init__(self, config: PatchTST, spec: TaskSpec) -> None:
        super().__init__()
        self.spec = spec
        self.use_norm, self.level = config.use_norm, config.level
        self.encoder = _Encoder(config, spec)

    def forward(self, inputs: Inputs) -> Tensor:
        values, mask = observed(inputs.past_y, inputs.past_mask)
        if not self.use_norm:
            return self._decode(self.encoder(fold_channels(values)))
        window = Standardisation.of(values, mask, self.level)
        return window.restore(self._decode(self.encoder(fold_channels(window.remove(values)))))

    def _decode(self, tokens_NKD: Tensor) -> Tensor:
        raise NotImplementedError


class _Network(_Base):
    def __init__(self, config: PatchTST, spec: TaskSpec) -> None:
        super().__init__(config, spec)
        self.head = nn.Linear(self.encoder.size * config.hidden_size, spec.horizon * spec.outputs)

    def _decode(self, tokens_NKD: Tensor) -> Tensor:
        return unfold_channels(self.head(tokens_NKD.flatten(1)), self.spec.channels, self.spec.horizon)


class _Reconstruction(_Base):
    def __init__(self, config: PatchTST, spec: TaskSpec) -> None:
        super().__init__(config, spec)
        self.dropout = Dropout(config.dropout)
        self.head = nn.Linear(config.hidden_size, self.encoder.length)

    def _decode(self, tokens_NKD: Tensor) -> Tensor:
        history = join_patches(self.head(self.dropout(tokens_NKD)), self.spec.input_size)
        return unfold_channels(history, self.spec.channels, self.spec.input_size)
