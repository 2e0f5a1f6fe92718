"""Time-LLM: a frozen language model that reads patches in words of its own.

Letters: N rows (a channel of a window each), L history, K patches, V words, E width of the language model.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from neuro_divergent.core.config import knob, register
from neuro_divergent.core.errors import ConfigError
from neuro_divergent.core.spec import Inputs, TaskSpec, Traits
from neuro_divergent.layers.attention import DotProduct
from neuro_divergent.layers.channels import fold_channels, unfold_channels
from neuro_divergent.layers.dropout import Dropout
from neuro_divergent.layers.embedding import CircularConvolution
from neuro_divergent.layers.masking import observed
from neuro_divergent.layers.patching import cut_patches, num_patches, patch_length
from neuro_divergent.layers.revin import Standardisation
from neuro_divergent.models.base import Architecture
from neuro_divergent.models.language_model import LanguageModel


@register("timellm")
class TimeLLM(Architecture):
    """Patches rewritten as mixtures of word prototypes, read after a prompt by a frozen language model.

    Jin et al., "Time-LLM: Time Series Forecasting by Reprogramming Large Language Models", ICLR 2024. Any language
    model of one stack in the format of Hugging Face does (GPT-2, Llama, BERT and their like), from a local directory
    with a tokenizer and weights in safetensors; nothing is downloaded and no code in it is run. It needs the extra
    ``llm``.

    Only trained parameters are stored, with the SHA-256 of the weights of the language model: to
    forecast, the same directory must be at the same place, and another model there is refused.

    The trained part has the size and, given the same prompt, the output of NeuralForecast's. Four things differ. The
    prompt gives numbers to three decimals, and of the circular autocorrelation, which is strongest at lag 0 and
    mirrored, it names lags from 1 to half of the history. Prompts of unequal length are read one length at a time;
    NeuralForecast pads them to the longest of the batch, so that a forecast depends on the other windows. Dropout is
    before the head instead of on the forecast. Where values are missing, the prompt takes the median for them.

    Attributes:
        language_model: Directory of the language model.
        language_layers: Its first layers that are used; 0 for all.
        prompt: Description of the data for the language model.
        patch_length: Steps per patch; fewer if the history and a stride have fewer.
        stride: Steps from the start of a patch to the start of the next.
        hidden_size: Width of a patch before it is rewritten.
        num_heads: Heads of the attention to prototypes.
        feedforward_size: Width of each head, and how many of the language model's outputs per token are read.
        num_prototypes: Mixtures of the vocabulary that patches are rewritten with.
        num_lags: Strongest lags that the prompt names.
        dropout: Fraction of token features and attention weights dropped in training.

    Examples:
        The language model is a directory of yours, which is looked for when the network is built:

        >>> import neuro_divergent as nd
        >>> architecture = nd.TimeLLM(language_model="no/such/gpt2", prompt="Electricity load of a city, by the hour.")
        >>> try:
        ...     architecture.build(nd.models.TaskSpec(horizon=12, input_size=48))
        ... except nd.errors.ConfigError as error:
        ...     print(str(error).partition(".")[0])
        language_model: 'no/such/gpt2' is not a directory
    """

    traits: ClassVar[Traits] = Traits(
        family="transformer",
        paper="https://arxiv.org/abs/2310.01728",
        not_exported="the prompt is text that is written from the values",
    )
    stored: ClassVar[dict[str, str]] = {"_extra_state": "tells whether the language model is the one of training"}
    """State that is stored besides parameters, with the reason."""

    language_model: str = ""
    language_layers: int = knob(0, choices=(0, 6, 12), ge=0)
    prompt: str = ""
    patch_length: int = knob(16, choices=(8, 16, 24), ge=1)
    stride: int = knob(8, choices=(4, 8, 16), ge=1)
    hidden_size: int = knob(32, choices=(16, 32, 64), ge=1)
    num_heads: int = knob(8, choices=(4, 8), ge=1)
    feedforward_size: int = knob(128, choices=(32, 64, 128), ge=1)
    num_prototypes: int = knob(1024, low=100, high=1024, log=True, ge=1)
    num_lags: int = knob(5, low=1, high=5, ge=1)
    dropout: float = knob(0.1, low=0.0, high=0.5, ge=0.0, lt=1.0)

    def network(self, spec: TaskSpec) -> nn.Module:
        """Make the network around the language model.

        Raises:
            ConfigError: If there is no language model of a kind that can be used.
            MissingDependencyError: If ``transformers`` is not installed.
        """
        return _Network(self, spec, LanguageModel(self.language_model, self.language_layers))


class _Network(nn.Module):
    def __init__(self, config: TimeLLM, spec: TaskSpec, language: LanguageModel) -> None:
        super().__init__()
        self.spec, self.prompt, self.num_lags = spec, config.prompt, config.num_lags
        self.language = language  # no module, so that its weights are not among those of this one
        self.stride = config.stride
        self.length = patch_length(config.patch_length, config.stride, spec.input_size)
        self.patches = num_patches(self.length, config.stride, spec.input_size)
        self.read_size = min(config.feedforward_size, language.width)
        self.embedding = CircularConvolution(self.length, config.hidden_size)
        self.dropout = Dropout(config.dropout)
        self.prototypes = nn.Linear(language.num_words, config.num_prototypes)
        self.reprogramming = _Reprogramming(config, language.width)
        self.head = nn.Linear(self.read_size * self.patches, spec.horizon * spec.outputs)

    def forward(self, inputs: Inputs) -> Tensor:
        values, mask = observed(inputs.past_y, inputs.past_mask)
        window = Standardisation.of(values, mask)
        history = fold_channels(window.remove(values))
        prompts = self.language.embed(self.prompts(history, None if mask is None else fold_channels(mask)), history)
        patches = self.dropout(self.embedding(cut_patches(history, self.length, self.stride)))
        words_PE = self.prototypes(self.language.vocabulary(history).T).T
        read = self._read(prompts, self.reprogramming(patches, words_PE))
        forecast = self.head(self.dropout(read.flatten(1)))
        return window.restore(unfold_channels(forecast, self.spec.channels, self.spec.horizon))

    def prompts(self, history_NL: Tensor, mask_NL: Tensor | None = None) -> list[str]:
        """Return the prompt of each history."""
        if mask_NL is not None:
            middle = history_NL.where(mask_NL > 0, torch.nan).nanmedian(1, keepdim=True).values.nan_to_num()
            history_NL = history_NL.where(mask_NL > 0, middle)
        ends = history_NL.amin(1), history_NL.amax(1), history_NL.median(1).values
        numbers = torch.stack([*ends, history_NL[:, -1] - history_NL[:, 0]], 1).tolist()
        about = f"Dataset description: {self.prompt} " if self.prompt else ""
        return [
            f"<|start_prompt|>{about}Task description: forecast the next {self.spec.horizon} steps given the previous "
            f"{self.spec.input_size} steps information; Input statistics: min value {low:.3f}, max value {high:.3f}, "
            f"median value {median:.3f}, the trend of input is {'upward' if trend > 0 else 'downward'}, top lags are: "
            f"{', '.join(map(str, lags))}<|end_prompt|>"
            for (low, high, median, trend), lags in zip(numbers, self._lags(history_NL), strict=True)
        ]

    def get_extra_state(self) -> Tensor:
        """Return the fingerprint of the language model."""
        return torch.tensor(list(self.language.digest), dtype=torch.uint8, device="cpu")

    def set_extra_state(self, state: Tensor) -> None:
        """Compare with the language model of training.

        Raises:
            ConfigError: If that was another language model.
        """
        if bytes(state.tolist()) != self.language.digest:
            raise ConfigError("language_model: the network was trained with another language model.")

    def _lags(self, history_NL: Tensor) -> list[list[int]]:
        """Return the lags with the strongest autocorrelation, strongest first."""
        size = history_NL.shape[1]
        correlation = torch.fft.irfft(torch.fft.rfft(history_NL).abs().square(), size)[:, 1 : size // 2 + 1]
        strongest = correlation.topk(min(self.num_lags, correlation.shape[1])).indices + 1
        return strongest.tolist()  # type: ignore[no-any-return]

    def _read(self, prompts: list[Tensor], patches_NKE: Tensor) -> Tensor:
        """Return the first features of the language model's outputs at the patches, each row after its prompt."""
        rows_of: dict[int, list[int]] = {}
        for row, prompt in enumerate(prompts):
            rows_of.setdefault(len(prompt), []).append(row)
        # Prompts of one length at a time: padding, or positions shifted by it, would depend on the rest of the batch.
        parts = [
            self.language.read(torch.cat([torch.stack([prompts[row] for row in rows]), patches_NKE[rows]], 1))
            for rows in rows_of.values()
        ]
        order = torch.tensor([row for rows in rows_of.values() for row in rows], device=patches_NKE.device)
        return torch.cat([part[:, -self.patches :, : self.read_size] for part in parts])[order.argsort()]


class _Reprogramming(nn.Module):
    """Attention of patches to word prototypes, as wide as a word embedding."""

    def __init__(self, config: TimeLLM, width: int) -> None:
        super().__init__()
        inner = config.num_heads * config.feedforward_size
        self.num_heads = config.num_heads
        self.query = nn.Linear(config.hidden_size, inner)
        self.key, self.value = nn.Linear(width, inner), nn.Linear(width, inner)
        self.scoring = DotProduct(config.dropout)
        self.output = nn.Linear(inner, width)

    def forward(self, patches_NKD: Tensor, words_PE: Tensor) -> Tensor:
        """Return ``(rows, patches, width)``."""
        rows = patches_NKD.shape[0]
        query = self._by_head(self.query(patches_NKD))
        key, value = (self._by_head(part(words_PE)).expand(rows, -1, -1, -1) for part in (self.key, self.value))
        mixed: Tensor = self.output(self.scoring(query, key, value).transpose(1, 2).flatten(2))
        return mixed

    def _by_head(self, tokens: Tensor) -> Tensor:
        return tokens.reshape(*tokens.shape[:-1], self.num_heads, -1).transpose(-3, -2)
