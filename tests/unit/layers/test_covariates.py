from __future__ import annotations

import pytest
import torch

from neuro_divergent.core.errors import InputError
from neuro_divergent.core.spec import Feature, TaskSpec
from neuro_divergent.layers.covariates import CovariateEncoder, Covariates, embedding_width

NUMBER, CODE, OTHER = Feature("price"), Feature("shop", cardinality=4), Feature("heat")


@pytest.mark.parametrize(("cardinality", "width"), [(1, 2), (2, 3), (7, 5), (100, 22), (10_000, 50)])
def test_width_grows_slowly_up_to_fifty(cardinality: int, width: int) -> None:
    assert embedding_width(cardinality) == width


def test_numeric_columns_pass_unchanged() -> None:
    values = torch.randn(3, 5, 2)
    encoder = CovariateEncoder((NUMBER, OTHER))
    assert encoder.size == 2
    assert encoder(values) is values


def test_category_embeddings_follow_numeric_columns() -> None:
    encoder = CovariateEncoder((NUMBER, CODE, OTHER))
    values = torch.tensor([[1.5, 2.0, -1.0], [0.5, 3.0, 4.0]])
    encoded = encoder(values)
    table = encoder.embeddings[0].weight
    assert encoded is not None
    assert encoded.shape == (2, encoder.size) == (2, 2 + embedding_width(4))
    assert torch.equal(encoded[:, :2], values[:, [0, 2]])
    assert torch.equal(encoded[:, 2:], table[[2, 3]])
    assert encoder(values.view(2, 1, 3)).shape == (2, 1, encoder.size)


def test_an_unknown_category_is_neutral_and_stays_so() -> None:
    encoder = CovariateEncoder((CODE,))
    encoded = encoder(torch.tensor([[0.0], [1.0]]))
    assert not encoded[0].any()
    encoded.sum().backward()
    gradient = encoder.embeddings[0].weight.grad
    assert not gradient[0].any()
    assert gradient[1].all()


def test_no_features_give_nothing_and_missing_ones_are_named() -> None:
    assert CovariateEncoder(())(None) is None
    assert CovariateEncoder(()).size == 0
    with pytest.raises(InputError, match="price, shop"):
        CovariateEncoder((NUMBER, CODE))(None)


def test_channels_of_a_window_share_covariates() -> None:
    spec = TaskSpec(horizon=2, input_size=3, channels=2, past=(NUMBER,), static=(OTHER,))
    past, static = torch.randn(4, 3, 1), torch.randn(4, 1)
    encoded = Covariates(spec)(past, None, static)
    assert encoded.future is None
    for row in range(8):
        assert torch.equal(encoded.past[row], past[row // 2])
        assert torch.equal(encoded.static[row], static[row // 2])
