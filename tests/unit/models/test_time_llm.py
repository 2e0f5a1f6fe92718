"""Time-LLM around tiny language models on disk, and what it says when there is none."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

import neuro_divergent as nd
from neuro_divergent.core.errors import ConfigError, MissingDependencyError, UntrustedFileError
from neuro_divergent.core.spec import Batch, TaskSpec
from neuro_divergent.data.datasets.synthetic import Synthetic
from neuro_divergent.models.language_model import LanguageModel
from neuro_divergent.models.time_llm import TimeLLM
from tests.language_models import tiny_language_model, write_language_model

FAMILIES = ("gpt2", "llama", "bert")
every_family = pytest.mark.parametrize("family", FAMILIES)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Return a language model of the test's own."""
    write_language_model(tmp_path)
    return tmp_path


def small(directory: str | Path, **settings: Any) -> TimeLLM:
    sizes = {"num_prototypes": 10, "feedforward_size": 8, "num_heads": 2}
    return TimeLLM(language_model=str(directory), **sizes | settings)


def windows(rows: int = 8, channels: int = 1) -> Batch:
    values = torch.randn(rows, 24, channels, generator=torch.Generator().manual_seed(0)).cumsum(1)
    return Batch(values, torch.ones_like(values))


@every_family
def test_trains_what_is_around_a_frozen_language_model(family: str) -> None:
    torch.manual_seed(0)
    network: Any = small(tiny_language_model(family)).build(TaskSpec(4, 24, channels=2, outputs=3))
    frozen = {key: value.clone() for key, value in network.language._model.state_dict().items()}
    optimizer = torch.optim.SGD(network.parameters(), lr=1.0)
    output = network(windows(channels=2))
    assert output.shape == (8, 4, 2, 3)
    (output * torch.randn_like(output)).sum().backward()
    assert all(value.grad is not None and value.grad.any() for value in network.parameters())
    optimizer.step()
    assert all(torch.equal(value, frozen[key]) for key, value in network.language._model.state_dict().items())
    assert not network.language._model.training
    assert sum(value.numel() for value in network.parameters()) < sum(value.numel() for value in frozen.values())


@every_family
def test_reads_what_the_library_itself_reads(family: str) -> None:
    """The first layers of a model, after the embeddings of a text, are what remains when the rest is cut off."""
    import transformers

    place = tiny_language_model(family)
    whole: Any = transformers.AutoModel.from_pretrained(place).eval()
    tokenizer: Any = transformers.AutoTokenizer.from_pretrained(place)
    language, like = LanguageModel(place, layers=1), torch.empty(0)
    stack = whole.encoder if family == "bert" else whole
    name = "h" if family == "gpt2" else "layer" if family == "bert" else "layers"
    setattr(stack, name, getattr(stack, name)[:1])
    with torch.no_grad():
        codes = tokenizer("min value 3.5, max value 7", return_tensors="pt").input_ids
        expected = whole(input_ids=codes).last_hidden_state
        (embedded,) = language.embed(["min value 3.5, max value 7"], like)
        assert embedded.shape == (codes.shape[1], 16)
        torch.testing.assert_close(language.read(embedded[None]), expected)
        assert not torch.allclose(LanguageModel(place).read(embedded[None]), expected)


@every_family
def test_a_forecast_does_not_depend_on_the_lengths_of_other_prompts(family: str) -> None:
    torch.manual_seed(0)
    network: Any = small(tiny_language_model(family)).build(TaskSpec(4, 24)).eval()
    batch = windows(12)
    lengths = {len(item) for item in network.language.embed(network.prompts(batch.past_y[..., 0]), batch.past_y)}
    assert len(lengths) > 1
    together = network(batch)
    alone = [network(Batch(batch.past_y[row : row + 1], batch.past_mask[row : row + 1])) for row in range(12)]
    torch.testing.assert_close(together, torch.cat(alone))


def test_prompt_contains_the_statistics_of_the_history() -> None:
    network: Any = small(tiny_language_model(), prompt="Tides.", num_lags=3).build(TaskSpec(4, 24))
    values = np.random.default_rng(0).normal(size=24).cumsum()
    (text,) = network.prompts(torch.from_numpy(values)[None])
    centre = np.array([sum(values[step] * values[(step + lag) % 24] for step in range(24)) for lag in range(13)])
    lags = 1 + np.argsort(-centre[1:])[:3]
    assert text == (
        "<|start_prompt|>Dataset description: Tides. Task description: forecast the next 4 steps given the previous 24 "
        f"steps information; Input statistics: min value {values.min():.3f}, max value {values.max():.3f}, median "
        f"value {np.sort(values)[11]:.3f}, the trend of input is {'upward' if values[-1] > values[0] else 'downward'}, "
        f"top lags are: {lags[0]}, {lags[1]}, {lags[2]}<|end_prompt|>"
    )


def test_prompt_ignores_missing_values() -> None:
    network: Any = small(tiny_language_model()).build(TaskSpec(4, 24))
    values, mask = torch.arange(24.0)[None], torch.ones(1, 24)
    mask[0, [0, 23]] = 0
    (text,) = network.prompts(values * mask, mask)
    assert "min value 1.000, max value 22.000, median value 11.000" in text
    (text,) = network.prompts(values * 0, torch.zeros(1, 24))
    assert "min value 0.000, max value 0.000, median value 0.000" in text


def test_loading_a_language_model_is_silent_offline_and_keeps_random_state(
    directory: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("nothing is asked of the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    network = small(directory, language_layers=1).build(TaskSpec(4, 24)).eval()
    before = torch.get_rng_state()
    network(windows())
    assert torch.equal(torch.get_rng_state(), before)
    assert capfd.readouterr() == ("", "")


def test_a_model_that_was_loaded_for_a_forecast_can_be_trained() -> None:
    network = small(tiny_language_model()).build(TaskSpec(4, 24))
    with torch.inference_mode():
        network(windows())
        network.double()(Batch(*(item.double() for item in windows()[:2])))
    network.float()(windows()).sum().backward()


def test_the_language_model_is_not_stored_and_another_one_is_refused(directory: Path, tmp_path: Path) -> None:
    frame = Synthetic(num_series=2, length=80, frequency="1d").frame()
    training = nd.TrainingConfig(max_steps=2, threads=1, average="ema")
    model = nd.Forecaster(small(directory), horizon=4, input_size=24, training=training).fit(frame)
    model.save(tmp_path / "model")
    stored = load_file(tmp_path / "model" / "model.safetensors")
    network = {key.removeprefix("network.") for key in stored if key.startswith("network.")}
    assert network == {"_extra_state", *dict(model.fitted.predictor.network.named_parameters())}
    assert nd.Forecaster.load(tmp_path / "model").predict().equals(model.predict())

    weights = load_file(directory / "model.safetensors")
    save_file({key: value + 1e-3 for key, value in weights.items()}, directory / "model.safetensors", {"format": "pt"})
    with pytest.raises(UntrustedFileError, match="trained with another language model"):
        nd.Forecaster.load(tmp_path / "model")
    (directory / "model.safetensors").unlink()
    with pytest.raises(UntrustedFileError, match="has no weights in safetensors"):
        nd.Forecaster.load(tmp_path / "model")


def change_config(directory: Path, **changes: Any) -> None:
    path = directory / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def drop_a_layer(directory: Path) -> None:
    weights = load_file(directory / "model.safetensors")
    kept = {key: value for key, value in weights.items() if not key.startswith("h.1.")}
    save_file(kept, directory / "model.safetensors", {"format": "pt"})


def pickle_weights(directory: Path) -> None:
    (directory / "model.safetensors").rename(directory / "pytorch_model.bin")


def lose_the_tokenizer(directory: Path) -> None:
    for path in directory.glob("tokenizer*"):
        path.unlink()


def lengthen_vocabulary(directory: Path) -> None:
    path = directory / "tokenizer.json"
    document = json.loads(path.read_text())
    document["model"]["vocab"]["tide"] = 5000
    path.write_text(json.dumps(document))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (pickle_weights, "no weights in safetensors"),
        (lambda place: (place / "config.json").write_text("{"), "cannot be used: "),
        (lambda place: (place / "config.json").unlink(), "cannot be used: "),
        (lambda place: change_config(place, model_type="t5"), "an encoder and a decoder"),
        (lambda place: change_config(place, model_type="nonesuch"), "cannot be used: .*nonesuch"),
        (lambda place: change_config(place, n_embd=24), "cannot be used: "),
        (drop_a_layer, r"its weights lack h\.1\."),
        (lambda place: (place / "model.safetensors").write_bytes(b"\0" * 99), "cannot be used: "),
        (lose_the_tokenizer, "there is no tokenizer in it"),
        (lengthen_vocabulary, "words beyond the 28"),
    ],
)
def test_a_directory_that_cannot_be_used_is_refused(directory: Path, spoil: Any, message: str) -> None:
    spoil(directory)
    with pytest.raises(ConfigError, match=f"^language_model: .*{message}"):
        small(directory).build(TaskSpec(4, 24))(windows())


def test_a_directory_must_be_named_and_be_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"'' is not a directory\. Set it to a local copy"):
        TimeLLM().build(TaskSpec(4, 24))
    with pytest.raises(ConfigError, match="gpt2' is not a directory"):
        small(tmp_path / "gpt2").build(TaskSpec(4, 24))
    with pytest.raises(ConfigError, match="'openai-community/gpt2' is not a directory"):
        small("openai-community/gpt2").build(TaskSpec(4, 24))


def test_code_in_the_directory_is_never_run(directory: Path, tmp_path: Path) -> None:
    witness = tmp_path / "was run"
    (directory / "own.py").write_text(f"open({str(witness)!r}, 'w')\nclass Own: pass\nOwnConfig = Own\n")
    names = {"AutoConfig": "own.OwnConfig", "AutoModel": "own.Own"}
    change_config(directory, auto_map=names, model_type="own")
    with pytest.raises(ConfigError, match="cannot be used"):
        small(directory).build(TaskSpec(4, 24))(windows())
    change_config(directory, auto_map=names, model_type="gpt2")
    small(directory).build(TaskSpec(4, 24))(windows())
    assert not witness.exists()


def test_a_prompt_that_is_too_long_is_refused(tmp_path: Path) -> None:
    write_language_model(tmp_path, max_position_embeddings=32)
    with pytest.raises(ConfigError, match=r"prompt and patches are \d+ tokens, .* reads 32 at most"):
        small(tmp_path).build(TaskSpec(4, 24))(windows())


def test_says_which_package_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    place = tiny_language_model()
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(MissingDependencyError, match=r'pip install "neuro-divergent\[llm\]"'):
        small(place).build(TaskSpec(4, 24))


def test_naming_the_architecture_does_not_load_the_package() -> None:
    code = (
        "import sys; from neuro_divergent.models.base import Architecture; "
        "Architecture.from_dict({'name': 'timellm', 'language_model': 'there'}); print('transformers' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
