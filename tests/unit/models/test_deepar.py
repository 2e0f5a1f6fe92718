from __future__ import annotations

import torch
from torch import Tensor

from neuro_divergent.core.spec import Batch, Feature, TaskSpec
from neuro_divergent.models.deepar import DeepAR

SPEC = TaskSpec(4, 7, channels=2, outputs=2, past=(Feature("p"),), future=(Feature("f"),), static=(Feature("s"),))


def example(size: int = 3) -> Batch:
    torch.manual_seed(1)
    values = torch.randn(size, 11, 2).double()
    return Batch(
        values[:, :7],
        torch.ones(size, 7, 2).double(),
        past_x=torch.randn(size, 7, 1).double(),
        future_x=torch.randn(size, 11, 1).double(),
        static_x=torch.randn(size, 1).double(),
        future_y=values[:, 7:],
    )


def network() -> torch.nn.Module:
    torch.manual_seed(0)
    return DeepAR(hidden_size=6, dropout=0.0).build(SPEC).double()


def by_hand(model: torch.nn.Module, batch: Batch, read_on: list[Tensor] | None) -> Tensor:
    """Return the outputs of the first channel, a step at a time: each reads the value before and its own covariates."""
    assert batch.past_x is not None
    assert batch.future_x is not None
    assert batch.static_x is not None
    memory, outputs = None, []
    for step in range(10):
        value = batch.past_y[:, step, :1] if step < 7 else outputs[-1][:, :1] if read_on is None else read_on[step - 7]
        past = batch.past_x[:, step] if step < 7 else torch.zeros_like(batch.past_x[:, 0])
        read = torch.cat([value, past, batch.static_x, batch.future_x[:, step + 1]], 1)
        state, memory = model.encoder(read[None], memory)
        outputs.append(model.decoder(state[0]))
    return torch.stack(outputs[6:], 1)


@torch.no_grad()
def test_each_step_reads_the_value_before_and_its_own_covariates() -> None:
    model, batch = network().eval(), example()
    torch.testing.assert_close(model(batch)[:, :, 0], by_hand(model, batch, None))


@torch.no_grad()
def test_training_reads_the_true_values() -> None:
    model, batch = network().train(), example()
    assert batch.future_y is not None
    truth = [batch.future_y[:, step, :1] for step in range(3)]
    torch.testing.assert_close(model(batch)[:, :, 0], by_hand(model, batch, truth))
    model.teacher_forcing_ratio = 0.0
    torch.testing.assert_close(model(batch)[:, :, 0], by_hand(model, batch, None))


@torch.no_grad()
def test_feedback_can_draw_paths_from_a_distribution() -> None:
    model, batch = network().eval(), example(1)
    alone = model(batch)
    many = Batch(*(None if item is None else item.expand(2000, *item.shape[1:]) for item in batch))
    model.feedback = lambda raw: raw[..., :1] + torch.randn_like(raw[..., :1])
    paths = model(many)
    torch.testing.assert_close(paths[:, 0], alone[:, 0].expand(2000, -1, -1))  # nothing was read on yet
    assert (paths[:, 1:].std(0) > 1e-3).all()


@torch.no_grad()
def test_a_draw_that_is_known_gives_the_path_that_follows_it() -> None:
    model, batch = network().eval(), example()
    drawn: list[Tensor] = []

    def draw(raw: Tensor) -> Tensor:
        drawn.append(torch.randn_like(raw[..., :1]))
        return drawn[-1]

    model.feedback = draw
    paths = model(batch)
    first_channel = [item[0, ::2] for item in drawn]
    torch.testing.assert_close(paths[:, :, 0], by_hand(model, batch, first_channel))
