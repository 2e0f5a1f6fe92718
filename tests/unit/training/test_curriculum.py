from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from neuro_divergent.core.errors import ConfigError
from neuro_divergent.losses.reduce import weighted_mean
from neuro_divergent.training.curriculum import Curriculum, EasyFirst, HorizonGrowth


@pytest.mark.parametrize(
    ("progress", "count"),
    [(0.0, 5), (0.1, 8), (0.2, 11), (0.25, 13), (0.4, 17), (0.49, 20), (0.5, None), (0.7, None), (1.0, None)],
)
def test_the_horizon_grows_from_a_quarter_to_all(progress: float, count: int | None) -> None:
    # 20 steps: ceil(20 * (0.25 + 0.75 * progress / 0.5))
    cost = torch.rand(3, 20, 2)
    weight = HorizonGrowth().weigh(cost, cost, progress)
    if count is None or count == 20:
        assert weight is None
        return
    assert weight is not None
    assert weight.expand_as(cost).sum() == 3 * count * 2
    assert torch.equal(weight.flatten(), (torch.arange(20) < count).float())


def test_only_the_first_steps_change_the_loss() -> None:
    cost = torch.rand(3, 8, 1, requires_grad=True)
    weight = HorizonGrowth(start=0.5).weigh(cost, cost.detach(), 0.0)
    loss = weighted_mean(cost, weight)
    torch.testing.assert_close(loss, cost[:, :4].mean())
    loss.backward()
    assert cost.grad is not None
    assert cost.grad[:, :4].all()
    assert not cost.grad[:, 4:].any()


@given(st.integers(1, 200), st.floats(0.01, 1), st.floats(0.01, 1), st.floats(0, 1), st.floats(0, 1))
def test_the_fraction_that_counts_never_falls_and_ends_at_one(
    items: int, start: float, over: float, one: float, two: float
) -> None:
    curriculum = HorizonGrowth(start=start, over=over)
    early, late = sorted((one, two))
    assert 1 <= curriculum.count(items, early) <= curriculum.count(items, late) <= items
    assert curriculum.count(items, over) == curriculum.count(items, 1.0) == items


def test_integer_counts_are_not_rounded_up() -> None:
    assert 100 * 0.07 > 7
    assert HorizonGrowth(start=0.07).count(100, 0.0) == 7
    assert EasyFirst(start=0.3).count(10, 0.0) == 3


def test_the_easiest_windows_by_their_own_loss_count_first() -> None:
    level = torch.tensor([5.0, 1.0, 9.0, 3.0, 2.0, 8.0, 7.0, 4.0, 6.0, 0.0])
    cost = level[:, None, None] * torch.ones(10, 4, 2)
    curriculum = EasyFirst(start=0.3, over=0.5)
    for progress, count in ((0.0, 3), (0.1, 5), (0.25, 7), (0.4, 9)):  # ceil(10 * (0.3 + 1.4 * progress))
        weight = curriculum.weigh(cost, torch.zeros_like(cost), progress)
        assert weight is not None
        assert weight.shape == (10, 1, 1)
        assert torch.equal(weight.flatten() > 0, level < count)
    assert curriculum.weigh(cost, cost, 0.5) is None


def test_ties_do_not_change_the_count() -> None:
    cost = torch.ones(10, 4)
    weight = EasyFirst(start=0.3).weigh(cost, cost, 0.0)
    assert weight is not None
    assert weight.flatten().tolist() == [1.0] * 3 + [0.0] * 7


def test_what_was_not_observed_makes_a_window_neither_easy_nor_hard() -> None:
    cost = torch.tensor([[1.0, 900.0], [2.0, 2.0], [3.0, 0.0], [float("nan"), 5.0], [0.0, 0.0]])
    observed = torch.tensor([[1.0, 0.0], [1.0, 1.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    for start, chosen in ((0.2, [0]), (0.4, [0, 1]), (0.6, [0, 1, 2]), (0.8, [0, 1, 2, 3])):
        weight = EasyFirst(start=start).weigh(cost, cost, 0.0, observed)
        assert weight is not None
        assert weight.flatten().nonzero().flatten().tolist() == chosen


def test_one_cost_per_window_is_enough_for_easy_first() -> None:
    cost = torch.tensor([3.0, 1.0, 2.0])
    weight = EasyFirst(start=0.5).weigh(cost, torch.tensor([0, 1, 0]), 0.0)
    assert weight is not None
    assert weight.tolist() == [0.0, 1.0, 1.0]


def test_no_gradient_flows_through_the_choice() -> None:
    cost = torch.rand(4, 3, requires_grad=True)
    for curriculum in (HorizonGrowth(), EasyFirst(), EasyFirst(by="roughness")):
        weight = curriculum.weigh(cost, cost, 0.0)
        assert weight is not None
        assert not weight.requires_grad
        assert weight.dtype is cost.dtype


def test_smooth_targets_count_before_rough_ones_whatever_their_size() -> None:
    time = torch.arange(64.0)
    torch.manual_seed(0)
    targets = torch.stack(
        [torch.randn(64), 1e3 * torch.sin(time / 10), (-1.0) ** time, 5 + 0 * time, torch.randn(64).cumsum(0)]
    )[..., None]
    cost = torch.rand(5, 64, 1)
    order = [3, 1, 4, 0, 2]  # constant, slow wave, random walk, noise, alternation
    for count in range(1, 5):
        weight = EasyFirst(start=count / 5, by="roughness").weigh(cost, targets, 0.0)
        assert weight is not None
        assert weight.flatten().nonzero().flatten().tolist() == sorted(order[:count])


@pytest.mark.parametrize("masked", [False, True])
def test_roughness_is_von_neumanns_ratio_of_what_was_observed(masked: bool) -> None:
    torch.manual_seed(0)
    targets = torch.randn(6, 9, 2, dtype=torch.float64).cumsum(1)
    observed = (torch.rand(6, 9, 2) > 0.3).double() if masked else torch.ones(6, 9, 2).double()
    expected = []
    for window, seen in zip(targets.tolist(), observed.tolist(), strict=True):
        ratios = []
        for channel in range(2):
            known = [row[channel] for row, flag in zip(window, seen, strict=True) if flag[channel]]
            level = sum(known) / len(known)
            variance = sum((value - level) ** 2 for value in known) / len(known)
            squares = [
                (window[step][channel] - window[step - 1][channel]) ** 2
                for step in range(1, 9)
                if seen[step][channel] and seen[step - 1][channel]
            ]
            ratios.append(sum(squares) / len(squares) / variance)
        expected.append(sum(ratios) / 2)
    found = EasyFirst(by="roughness")._roughness(targets, observed if masked else None)
    torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float64))


def test_costs_without_the_axis_that_is_chosen_from_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"horizon: costs have no horizon to grow: they are shaped \(4,\)"):
        HorizonGrowth().weigh(torch.ones(4), torch.ones(4), 0.0)
    with pytest.raises(ConfigError, match="easy_first: needs a cost for each window"):
        EasyFirst().weigh(torch.tensor(1.0), torch.ones(4), 0.0)
    for target in (torch.ones(4), torch.ones(4, 1, 2)):
        with pytest.raises(ConfigError, match="by='roughness' needs targets of at least two steps"):
            EasyFirst(by="roughness").weigh(torch.ones(4, 1), target, 0.0)


def test_settings_round_trip() -> None:
    for name in Curriculum.registry.names():
        made = Curriculum.from_dict({"name": name, "start": 0.4})
        assert Curriculum.from_dict(made.to_dict()) == made
    with pytest.raises(ConfigError, match="start"):
        HorizonGrowth(start=0.0)
