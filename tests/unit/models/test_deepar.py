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
def test_training_uses_teacher_forcing() -> None:
    model, batch = network().train(), example()
    assert batch.future_y is not None
    truth = [batch.future_y[:, step, :1] for step in range(3)]
    torch.testing.assert_close(model(batch)[:, :, 0], by_hand(model, batch, truth))
    model.teacher_forcing_ratio = 0.0
    torch.testing.assert_close(model(batch)[:, :, 0], by_hand(model, batch, None))


@torch.no_grad()
def test_paths_differ_from_the_second_step_on() -> None:
    model, batch = network().eval(), example()
    first: list[Tensor] = []

    def draw(raw: Tensor, step: int) -> Tensor:
        first.extend([raw] if not step else [])
        return raw[..., 0] + torch.randn_like(raw[..., 0])

    paths = model.paths(batch, 500, draw).unflatten(0, (500, -1))
    alone = model(batch)
    torch.testing.assert_close(first[0].unflatten(0, (500, -1)), alone[:, :1].expand(500, -1, -1, -1, -1))
    assert (paths.std(0) > 1e-3).all()
    torch.testing.assert_close(paths[:, :, 0].mean(0), alone[:, 0, :, 0], atol=0.2, rtol=0)


@torch.no_grad()
def test_a_draw_that_is_known_gives_the_path_that_follows_it() -> None:
    model, batch = network().eval(), example()
    size, channels = batch.past_y.shape[0], batch.past_y.shape[2]
    drawn = torch.randn(2 * size, 3, channels, generator=torch.Generator().manual_seed(0))
    raws: list[Tensor] = []

    def draw(raw: Tensor, step: int) -> Tensor:
        raws.append(raw)
        return drawn[:, step : step + 1]

    assert torch.equal(model.paths(batch, 2, draw), drawn)
    for path in range(2):
        mine = slice(path * size, (path + 1) * size)
        read = [drawn[mine, step, :1] for step in range(3)]
        torch.testing.assert_close(torch.cat(raws, 1)[mine, :, 0], by_hand(model, batch, read))
        model.feedback = lambda raw, _, values=iter(drawn[mine].unbind(1)): next(values).unsqueeze(1)  # noqa: B008
        torch.testing.assert_close(torch.cat(raws, 1)[mine], model(batch))


@torch.no_grad()
def test_validation_may_read_targets_and_forecasts_do_not() -> None:
    model, batch = network().eval(), example()
    assert batch.future_y is not None
    forecast = model(batch)
    model.shown_in_validation = True
    truth = [batch.future_y[:, step, :1] for step in range(3)]
    torch.testing.assert_close(model(batch)[:, :, 0], by_hand(model, batch, truth))
    torch.testing.assert_close(model(batch._replace(future_y=None)), forecast)
    state = torch.get_rng_state()
    some = torch.ones_like(batch.future_y)
    some[1, 1] = 0
    spoilt = batch._replace(future_y=batch.future_y.where(some > 0, torch.nan), future_mask=some)
    found = model(spoilt)
    torch.testing.assert_close(found[[0, 2]], model(batch)[[0, 2]])
    assert found.isfinite().all()
    assert torch.equal(state, torch.get_rng_state())
