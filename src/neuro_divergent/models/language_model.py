"""A frozen language model from a local directory in the format of Hugging Face."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import torch
from safetensors import SafetensorError
from torch import Tensor

from neuro_divergent.core.errors import ConfigError, MissingDependencyError
from neuro_divergent.core.seeding import seeded

_WEIGHTS = "*.safetensors"
_PROBE = "min value 0, max value 1"
_LOCAL = {"local_files_only": True, "trust_remote_code": False}
_FAILURES = (OSError, ValueError, LookupError, TypeError, AttributeError, ImportError, RuntimeError, SafetensorError)


class LanguageModel:
    """A language model that reads embeddings, and whose weights never change.

    Nothing is downloaded, weights are read from safetensors alone, and no code in the directory is run. At first only
    the settings of the model are read; its weights and its tokenizer follow when they are needed. Copies share them.

    Args:
        directory: Where the model and its tokenizer are.
        layers: How many of its layers to use, from the first on; 0 for all.

    Attributes:
        num_words: Words of its vocabulary.
        width: Features per token.

    Raises:
        ConfigError: If there is no language model of a kind that can be used.
        MissingDependencyError: If ``transformers`` is not installed.
    """

    def __init__(self, directory: str, layers: int = 0) -> None:
        self._directory = Path(directory)
        if not directory or not self._directory.is_dir():
            raise ConfigError(
                f"language_model: {directory!r} is not a directory. Set it to a local copy of a language model in the "
                "format of Hugging Face, such as GPT-2."
            )
        if not any(self._directory.glob(_WEIGHTS)):
            raise ConfigError(f"language_model: {directory} has no weights in safetensors; no other kind is loaded.")
        with self._explained():
            self._config = _config(self._directory, layers)
            self.num_words, self.width = int(self._config.vocab_size), int(self._config.hidden_size)

    def vocabulary(self, like: Tensor) -> Tensor:
        """Return the embeddings of all words, ``(word, width)``, of the type and on the device of a tensor."""
        weight: Tensor = self._model_for(like).get_input_embeddings().weight
        return weight

    def embed(self, texts: list[str], like: Tensor) -> list[Tensor]:
        """Return the embeddings of each text, ``(token, width)``, of the type and on the device of a tensor."""
        vocabulary = self.vocabulary(like)
        codes = self._tokenizer(texts, verbose=False).input_ids
        return [vocabulary[torch.tensor(code, device=like.device)] for code in codes]

    def read(self, tokens: Tensor) -> Tensor:
        """Apply the model to embeddings ``(row, token, width)``; the output has the same shape.

        Raises:
            ConfigError: If there are more tokens than it can read.
        """
        limit = getattr(self._config, "max_position_embeddings", None)
        if limit is not None and tokens.shape[1] > limit:
            raise ConfigError(
                f"language_model: prompt and patches are {tokens.shape[1]} tokens, {self._directory} reads {limit} at "
                "most. Shorten the prompt, or raise the stride."
            )
        states: Tensor = self._model_for(tokens)(inputs_embeds=tokens).last_hidden_state
        return states

    @cached_property
    def digest(self) -> bytes:
        """The SHA-256 of its weights files."""
        total = hashlib.sha256()
        for path in sorted(self._directory.glob(_WEIGHTS)):
            with path.open("rb") as file:
                total.update(hashlib.file_digest(file, "sha256").digest())
        return total.digest()

    def __deepcopy__(self, memory: dict[int, Any]) -> Self:
        return self

    def _model_for(self, like: Tensor) -> Any:
        # Weights made in inference mode could not be differentiated through in training later.
        with torch.inference_mode(False):
            return self._model.to(device=like.device, dtype=like.dtype)  # costs nothing once it is there

    @cached_property
    def _model(self) -> Any:
        from transformers import AutoModel

        # Training must draw the same random numbers whether the model is loaded before it or in the middle.
        with self._explained(), _quiet(), seeded(0), torch.inference_mode(False):
            model, found = AutoModel.from_pretrained(
                self._directory, config=self._config, use_safetensors=True, output_loading_info=True, **_LOCAL
            )
            # The pooler of an encoder sums up a text, which is not read; models trained without it come without it.
            missing = sorted(key for key in found["missing_keys"] if "pooler" not in key)
            if missing:
                raise ValueError(f"its weights lack {missing[0]}")
            if model.get_input_embeddings().weight.shape != (self.num_words, self.width):
                raise ValueError("its words are not as wide as its layers")
        return model.eval().requires_grad_(False)

    @cached_property
    def _tokenizer(self) -> Any:
        from transformers import AutoTokenizer

        with self._explained(), _quiet():
            tokenizer = AutoTokenizer.from_pretrained(self._directory, **_LOCAL)
            # If its files are missing, the library silently creates a tokenizer with an empty vocabulary.
            if len(set(tokenizer(_PROBE, add_special_tokens=False).input_ids)) < 2:
                raise ValueError("there is no tokenizer in it, or its vocabulary is empty")
            if max(tokenizer.get_vocab().values()) >= self.num_words:
                raise ValueError(f"its tokenizer has words beyond the {self.num_words} of the model")
        return tokenizer

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Convert errors of the library about a directory into one of ours."""
        try:
            yield
        except MissingDependencyError:
            raise
        except _FAILURES as error:
            reason = " ".join(str(error).split())[:300]
            raise ConfigError(f"language_model: {self._directory} cannot be used: {reason}.") from error


def _config(directory: Path, layers: int) -> Any:
    """Read the settings of a model and cut it to its first layers."""
    try:
        from transformers import AutoConfig
    except ImportError:
        raise MissingDependencyError(
            'language models need the package transformers: pip install "neuro-divergent[llm]".'
        ) from None
    with _quiet():
        config = AutoConfig.from_pretrained(directory, **_LOCAL)
    if config.is_encoder_decoder:
        raise ValueError(f"{config.model_type} has an encoder and a decoder; choose one that is a single stack")
    config.use_cache = False
    if 0 < layers < config.num_hidden_layers:
        if getattr(config, "layer_types", None):
            config.layer_types = config.layer_types[:layers]
        config.num_hidden_layers = layers
    return config


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the library from showing progress and telling about layers that are left out."""
    from transformers.utils import logging

    verbosity, shows_progress = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if shows_progress:
            logging.enable_progress_bar()
