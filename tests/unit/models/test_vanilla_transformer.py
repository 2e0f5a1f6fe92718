from __future__ import annotations

import pytest
import torch

from neuro_divergent.core.errors import ConfigError
from neuro_divergent.core.spec import Batch, Feature, TaskSpec
from neuro_divergent.models.vanilla_transformer import VanillaTransformer


def test_heads_share_the_hidden_size() -> None:
    with pytest.raises(ConfigError, match=r"10 must be a multiple of num_heads \(4\)"):
        VanillaTransformer(hidden_size=10)


@pytest.mark.parametrize(("share", "start"), [(0.01, 1), (0.5, 5), (1.0, 9)])
def test_decoder_starts_from_a_share_of_the_history(share: float, start: int) -> None:
    assert VanillaTransformer(start_share=share).start(TaskSpec(4, 9)) == start


@pytest.mark.parametrize("causal", [True, False])
def test_a_causal_decoder_does_not_know_the_covariates_of_later_steps(causal: bool) -> None:
    torch.manual_seed(0)
    spec = TaskSpec(6, 12, future=(Feature("promotion"),))
    # The convolution of the embedding looks one step ahead, and closes to a ring.
    network = VanillaTransformer(hidden_size=16, causal=causal).build(spec).eval()
    future = torch.randn(2, 18, 1)
    later = future.clone()
    later[:, -1] += 1
    history = torch.randn(2, 12, 1)
    before, after = (network(Batch(history, torch.ones_like(history), future_x=known)) for known in (future, later))
    assert torch.allclose(before[:, :-1], after[:, :-1], atol=1e-6) == causal
    assert not torch.allclose(before[:, -1], after[:, -1])
