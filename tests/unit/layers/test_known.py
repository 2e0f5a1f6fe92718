from __future__ import annotations

import torch

from neuro_divergent.core.spec import Feature, TaskSpec
from neuro_divergent.layers.covariates import Covariates, Encoded
from neuro_divergent.layers.known import join_known, known_size


def test_known_size_equals_the_joined_width() -> None:
    features = (Feature("number"), Feature("code", cardinality=4))
    spec = TaskSpec(3, 5, past=features, future=features[:1], static=features)
    covariates = Covariates(spec)
    encoded = covariates(torch.ones(2, 5, 2), torch.ones(2, 8, 1), torch.ones(2, 2))
    assert join_known(torch.zeros(2, 5), encoded).shape == (2, known_size(5, spec, covariates))


def test_the_history_comes_first_and_steps_stay_together() -> None:
    history = torch.tensor([[1.0, 2.0]])
    past = torch.tensor([[[3.0, 4.0], [5.0, 6.0]]])
    joined = join_known(history, Encoded(past, None, torch.tensor([[7.0]])))
    assert joined.tolist() == [[1, 2, 3, 4, 5, 6, 7]]
    assert join_known(history, Encoded(None, None, None)) is history
