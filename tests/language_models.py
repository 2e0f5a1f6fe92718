"""Tiny language models with random weights, written to disk as Hugging Face's are."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from neuro_divergent.models.base import Architecture

_SPECIAL = ("[UNK]", "[CLS]", "[SEP]")
_WORDS = ("forecast", "next", "steps", "min", "max", "median", "value", "trend", "upward", "downward", "top", "lags")
WORDS = {word: code for code, word in enumerate((*_SPECIAL, *_WORDS, *"0123456789-.,"))}


def write_language_model(
    directory: Path, family: str = "gpt2", set_weight: Callable[[str, Tensor], Tensor] | None = None, **sizes: Any
) -> None:
    """Write a model of a family (``gpt2``, ``llama``, ``bert``), and a tokenizer that knows digits and a few words.

    Its weights are random, or what ``set_weight`` makes of the name and the random value of each.
    """
    import transformers
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    common = {
        "vocab_size": len(WORDS),
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "max_position_embeddings": 256,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "pad_token_id": 0,
    } | sizes
    if family != "gpt2":
        common.setdefault("intermediate_size", 32)
    try:
        with torch.random.fork_rng():
            torch.manual_seed(0)
            config = transformers.AutoConfig.for_model(family, **common)
            model = transformers.AutoModel.from_config(config)
        if set_weight is not None:
            for name, value in model.named_parameters():
                value.data.copy_(set_weight(name, value.data))
        model.save_pretrained(directory)
        _tokenizer(family).save_pretrained(directory)
    finally:
        if shown:
            logging.enable_progress_bar()


@cache
def tiny_language_model(family: str = "gpt2") -> str:
    """Return the directory of a model that is there as long as this process."""
    directory = tempfile.mkdtemp(prefix="language-model-")
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    write_language_model(Path(directory), family)
    return directory


def needed_by(kind: type[Architecture]) -> dict[str, Any]:
    """Return the settings without which an architecture cannot be built: a language model, if it is around one."""
    return {"language_model": tiny_language_model()} if "language_model" in kind.model_fields else {}


def _tokenizer(family: str) -> Any:
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    plain = Tokenizer(models.WordLevel(WORDS, unk_token="[UNK]"))
    plain.pre_tokenizer = pre_tokenizers.Split(Regex(r"[a-z]+|[0-9.,-]"), "removed", invert=True)
    if family == "bert":  # an encoder expects a text between two marks
        plain.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
        )
    return PreTrainedTokenizerFast(tokenizer_object=plain, unk_token="[UNK]")
