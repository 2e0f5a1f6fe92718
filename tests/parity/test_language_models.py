"""TimeLLM beside that of NeuralForecast 3.3.0, around the same tiny language model."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from neuro_divergent.core.spec import TaskSpec
from neuro_divergent.models.time_llm import TimeLLM
from tests.language_models import tiny_language_model
from tests.parity.theirs import random_batch, their_network, their_windows, trainable

_ORDER = ("patch_embedding", "mapping_layer", "reprogramming_layer", "output_projection")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("family", ["gpt2", "llama", "bert"])
@pytest.mark.parametrize(("history", "settings"), [(48, {}), (37, {"patch_length": 8, "stride": 5, "num_heads": 2})])
def test_same_time_llm_given_the_same_prompt(
    family: str, history: int, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    directory, spec = tiny_language_model(family), TaskSpec(6, history)
    named = {"patch_length": "patch_len", "stride": "stride", "num_heads": "n_heads"}
    renamed = {named[key]: value for key, value in settings.items()}
    torch.manual_seed(0)
    # Theirs has one head for as many numbers as d_ff, whether the language model has them or not.
    theirs: Any = their_network("TimeLLM", spec, llm=directory, d_llm=16, d_ff=16, prompt_prefix="Tides.", **renamed)
    config = TimeLLM(language_model=directory, feedforward_size=16, prompt="Tides.", **settings)
    network: Any = config.build(spec).eval()
    weights = trainable(theirs)
    ordered = [value for part in _ORDER for key, value in weights.items() if key.startswith(part)]
    assert sum(value.numel() for value in network.parameters()) == sum(value.numel() for value in weights.values())
    # The head reads patch after patch instead of unit after unit.
    ordered[-2] = ordered[-2].view(6, 16, network.patches).transpose(1, 2).reshape(6, -1)

    texts: list[str] = []
    tokenize = theirs.llm_tokenizer

    def listen(prompts: list[str], **options: Any) -> Any:
        texts[:] = prompts
        return tokenize(prompts, **options)

    theirs.llm_tokenizer = listen
    monkeypatch.setattr(network, "prompts", lambda *_: list(texts))
    with torch.no_grad():
        for mine, copied in zip(network.parameters(), ordered, strict=True):
            mine.copy_(copied)
        batch = random_batch(spec)
        windows = their_windows(batch)
        for row in range(5):  # one by one, because theirs depends on the longest prompt of a batch
            one = {key: None if value is None else value[row : row + 1] for key, value in windows.items()}
            expected = theirs(one)
            alone = batch._replace(past_y=batch.past_y[row : row + 1], past_mask=batch.past_mask[row : row + 1])
            torch.testing.assert_close(network(alone)[..., 0], expected, atol=1e-5, rtol=1e-5)
