"""TFT: what its network tells about a forecast."""

from __future__ import annotations

import pytest
import torch

from neuro_divergent.core.spec import Batch, Feature, TaskSpec
from neuro_divergent.models.tft import TFT

SPEC = TaskSpec(
    4,
    7,
    channels=2,
    past=(Feature("colour", cardinality=3), Feature("rain")),
    future=(Feature("price"), Feature("holiday", cardinality=4)),
    static=(Feature("size"), Feature("shop", cardinality=5)),
)


def example(spec: TaskSpec) -> Batch:
    codes = torch.ones(5, 11, 1)
    return Batch(
        torch.randn(5, 7, 2),
        torch.ones(5, 7, 2),
        past_x=torch.cat([codes[:, :7], torch.randn(5, 7, 1)], 2) if spec.past else None,
        future_x=torch.cat([torch.randn(5, 11, 1), codes], 2) if spec.future else None,
        static_x=torch.cat([torch.randn(5, 1), codes[:, 0]], 1) if spec.static else None,
    )


@pytest.mark.parametrize("spec", [SPEC, TaskSpec(4, 7, channels=2)], ids=["with covariates", "without"])
@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_explains_its_forecast(spec: TaskSpec, cell: str) -> None:
    torch.manual_seed(0)
    network, batch = TFT(hidden_size=16, cell=cell, num_layers=2).build(spec).eval(), example(spec)
    told = network.explain(batch)
    assert torch.equal(told.forecast, network(batch))
    weights = [told.past, told.future, told.attention, *([] if told.static is None else [told.static])]
    for item in weights:
        assert (item >= 0).all()
        torch.testing.assert_close(item.sum(-1), torch.ones(item.shape[:-1]))
    assert told.past.shape == (5, 2, 7, len(told.past_names))
    assert told.future.shape == (5, 2, 4, len(told.future_names))
    assert told.attention.shape == (5, 2, 4, 11)
    assert (told.static is None) == (not told.static_names)


def test_names_the_variables_in_the_order_of_their_weights() -> None:
    told = TFT(hidden_size=16).build(SPEC).eval().explain(example(SPEC))
    assert told.past_names == ("rain", "colour", "price", "holiday", "target")
    assert told.future_names == ("price", "holiday")
    assert told.static_names == ("size", "shop")


def test_a_step_sees_no_later_step() -> None:
    told = TFT(hidden_size=16).build(SPEC).eval().explain(example(SPEC))
    for step in range(4):
        assert not told.attention[:, :, step, 7 + step + 1 :].any()
        assert told.attention[:, :, step, : 7 + step + 1].all()


def test_a_forecast_does_not_depend_on_covariates_of_later_steps() -> None:
    network, batch = TFT(hidden_size=16).build(SPEC).eval(), example(SPEC)
    assert batch.future_x is not None
    later = batch.future_x.clone()
    later[:, -1, 0] += 1
    before, after = network(batch), network(batch._replace(future_x=later))
    torch.testing.assert_close(before[:, :-1], after[:, :-1])
    assert not torch.allclose(before[:, -1], after[:, -1])
