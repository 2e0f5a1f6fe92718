"""The tape against closed forms."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from neuro_divergent.core.errors import InputError
from neuro_divergent.training.gradients.tape import GradientTape
from neuro_divergent.training.gradients.transforms.clip import ClipNorm, ClipValue


def number(value: float) -> Tensor:
    return torch.tensor(value, dtype=torch.float64)


def test_gradients_of_watched_tensors_are_the_derivatives() -> None:
    a, b = number(2.0), number(5.0)
    with GradientTape() as tape:
        assert tape.watch(a) is a
        loss = a**2 * tape.watch(b)
    assert tape.gradient(loss, [a, b]) == [20.0, 4.0]


def test_a_watched_tensor_requires_gradients_in_the_block_only() -> None:
    free, bound = number(1.0), number(1.0).requires_grad_()
    with GradientTape() as tape:
        tape.watch(free), tape.watch(bound)
        assert free.requires_grad
        loss = free * bound
    assert not free.requires_grad
    assert bound.requires_grad
    tape.gradient(loss, [free, bound])
    assert free.grad is None
    assert bound.grad is None


def test_the_tape_restores_gradient_mode_when_the_block_raises() -> None:
    value = number(1.0)
    with pytest.raises(InputError), GradientTape() as tape:
        tape.value(str(tape.watch(value)))
    assert not value.requires_grad
    assert torch.is_grad_enabled()


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_the_tape_records_inside_no_grad(mode: type) -> None:
    x = number(3.0)
    with mode():
        with GradientTape() as tape:
            loss = tape.watch(x) ** 2
        assert not torch.is_grad_enabled()
        assert tape.gradient(loss, x) == 6.0


def test_named_values_are_targets_and_sources() -> None:
    with GradientTape(persistent=True) as tape:
        x = tape.watch(number(3.0), "x")
        square = tape.record(x**2, "square")
        tape.record(square.sin(), "loss")
    assert tape.names == ("x", "square", "loss")
    assert tape.value("square") is square
    assert tape.gradient("loss", "square") == number(9.0).cos()
    assert tape.gradient("loss", "x") == 6 * number(9.0).cos()
    assert tape.gradient("square", "x") == 6.0
    with pytest.raises(InputError, match=r"no value 'sqare'\. Did you mean 'square'\? Known: x, square, loss\."):
        tape.value("sqare")
    with pytest.raises(InputError, match="already holds a value 'x'"):
        tape.record(square, "x")


def test_gradients_have_the_structure_of_the_sources_and_a_module_is_its_parameters() -> None:
    torch.manual_seed(0)
    network, x = nn.Linear(3, 2), torch.randn(4, 3)
    with GradientTape() as tape:
        tape.watch(x, "x")
        loss = network(x).square().mean()
    answer = tape.gradient(loss, {"network": network, "pair": (x, ["x"])})
    loss_again = network(x).square().mean()
    expected = torch.autograd.grad(loss_again, [network.weight, network.bias])
    assert list(answer) == ["network", "pair"]
    assert list(answer["network"]) == ["weight", "bias"]
    torch.testing.assert_close(list(answer["network"].values()), list(expected))
    assert isinstance(answer["pair"], tuple)
    assert torch.equal(answer["pair"][0], answer["pair"][1][0])
    assert network.weight.grad is None


def test_what_is_not_connected_gives_none_or_zeros() -> None:
    network = nn.Linear(2, 1)
    network.bias.requires_grad_(False)
    with GradientTape(persistent=True) as tape:
        x, other = tape.watch(torch.ones(2)), tape.watch(torch.ones(3))
        loss = (x * network.weight).sum()
    answer = tape.gradient(loss, [other, network])
    assert answer[0] is None
    assert answer[1]["bias"] is None
    assert torch.equal(answer[1]["weight"], torch.ones(1, 2))
    zeros = tape.gradient(loss, [other, network], unconnected="zero")
    assert torch.equal(zeros[0], torch.zeros(3))
    assert torch.equal(zeros[1]["bias"], torch.zeros(1))
    assert tape.gradient(torch.ones(()), x) is None


def test_what_was_not_watched_is_an_error_and_no_silent_none() -> None:
    x = torch.ones(2)
    with GradientTape() as tape:
        loss = (x * 2).sum()
    with pytest.raises(InputError, match=r"shaped \(2,\) was not watched: call tape\.watch"):
        tape.gradient(loss, x)
    with pytest.raises(InputError, match="inside its block only"):
        tape.watch(x)
    with pytest.raises(InputError, match=r"torch\.int64 has no gradient"), GradientTape() as tape:
        tape.watch(torch.ones(2, dtype=torch.long))
    with pytest.raises(InputError, match="a source is a tensor"):
        tape.gradient(loss, 3)  # type: ignore[arg-type]


def test_a_tape_is_read_once_unless_it_is_persistent() -> None:
    x = number(2.0)
    with GradientTape() as tape:
        loss = tape.watch(x) ** 3
    assert tape.gradient(loss, x) == 12.0
    with pytest.raises(InputError, match="persistent=True"):
        tape.gradient(loss, x)
    with GradientTape(persistent=True) as tape:
        loss = tape.watch(x) ** 3
    assert [tape.gradient(loss, x) for _ in range(3)] == [12.0] * 3


def test_the_gradient_of_several_numbers_is_that_of_their_sum() -> None:
    x = torch.tensor([1.0, 2.0])
    with GradientTape() as tape:
        squares = tape.watch(x) ** 2
    assert tape.gradient(squares, x).tolist() == [2.0, 4.0]


def test_clipping_is_that_of_training() -> None:
    a, b = torch.tensor([3.0]), torch.tensor([4.0])
    with GradientTape(persistent=True) as tape:
        loss = (tape.watch(a) ** 2 + tape.watch(b) ** 2).sum() / 2
        shared = (a + b).sum()
    for clip in (1.0, ClipNorm(1.0)):
        torch.testing.assert_close(tape.gradient(loss, [a, b], clip=clip), [torch.tensor([0.6]), torch.tensor([0.8])])
    assert tape.gradient(loss, [a, b], clip=ClipValue(3.5)) == [3.0, 3.5]
    assert tape.gradient(loss, [a, b], clip=10.0) == [3.0, 4.0]
    # torch answers one tensor for both; it must not be shrunk twice.
    torch.testing.assert_close(tape.gradient(shared, [a, b], clip=1.0), [torch.tensor([0.5**0.5])] * 2)
    with pytest.raises(InputError, match="clip"):
        tape.gradient(loss, a, clip=1.0, create_graph=True)


def test_nested_tapes_give_higher_derivatives() -> None:
    x = number(2.0)
    with GradientTape() as outer:
        outer.watch(x)
        with GradientTape() as middle:
            middle.watch(x)
            with GradientTape() as inner:
                loss = inner.watch(x) ** 4
            first = inner.gradient(loss, x)
        second = middle.gradient(first, x)
    assert [first.item(), second.item(), outer.gradient(second, x).item()] == [32.0, 48.0, 48.0]


def test_create_graph_makes_a_gradient_that_can_be_differentiated() -> None:
    x = number(2.0)
    with GradientTape(persistent=True) as tape:
        loss = tape.watch(x) ** 3
        slope = tape.gradient(loss, x, create_graph=True)
    assert tape.gradient(slope, x) == 12.0
    assert not tape.gradient(loss, x).requires_grad
    with pytest.raises(InputError, match="inside the block"):
        tape.gradient(loss, x, create_graph=True)


def test_jacobian_is_that_of_the_function() -> None:
    torch.manual_seed(0)
    matrix, x = torch.randn(3, 2, dtype=torch.float64), torch.randn(2, dtype=torch.float64)
    with GradientTape(persistent=True) as tape:
        tape.watch(x, "x")
        y = tape.record((matrix @ x).tanh(), "y")
        unrelated = tape.watch(torch.ones(4))
    expected = (1 - y.detach() ** 2)[:, None] * matrix
    torch.testing.assert_close(tape.jacobian("y", "x"), expected)
    assert torch.equal(tape.jacobian(y, unrelated), torch.zeros(3, 4))


def test_a_step_of_training_by_hand_is_that_of_the_optimizer() -> None:
    torch.manual_seed(0)
    network, inputs = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)), torch.randn(8, 3)
    with GradientTape() as tape:
        loss = network(inputs).square().mean()
    gradients = tape.gradient(loss, network, clip=0.1)
    by_hand = {name: value.detach() - 0.5 * gradients[name] for name, value in network.named_parameters()}
    network(inputs).square().mean().backward()
    nn.utils.clip_grad_norm_(network.parameters(), 0.1)
    torch.optim.SGD(network.parameters(), lr=0.5).step()
    for name, value in network.named_parameters():
        torch.testing.assert_close(value.detach(), by_hand[name])
