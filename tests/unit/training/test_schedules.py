"""Lengths, chains, functions and what else schedules have in common."""

from __future__ import annotations

import math
import subprocess
import sys
from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from neuro_divergent.core.errors import ConfigError
from neuro_divergent.training.config import TrainingConfig
from neuro_divergent.training.engine import Trainer
from neuro_divergent.training.schedules.auto import AutoSchedule
from neuro_divergent.training.schedules.base import Plan, Schedule
from neuro_divergent.training.schedules.chain import Chain, Part, Product
from neuro_divergent.training.schedules.constant import Constant
from neuro_divergent.training.schedules.cosine import Cosine, CosineRestarts, WarmupCosine
from neuro_divergent.training.schedules.cyclic import Cyclic
from neuro_divergent.training.schedules.exponential import Exponential
from neuro_divergent.training.schedules.function import FunctionSchedule
from neuro_divergent.training.schedules.inverse_sqrt import InverseSqrt
from neuro_divergent.training.schedules.linear import Linear, WarmupLinear
from neuro_divergent.training.schedules.one_cycle import OneCycle
from neuro_divergent.training.schedules.plateau import Plateau
from neuro_divergent.training.schedules.polynomial import Polynomial
from neuro_divergent.training.schedules.step import MultiStep, StepDecay

PLAN = Plan(total_steps=100, steps_per_epoch=10)
RISE = Linear(initial=0.0, final=1.0)


def factors(schedule: Schedule, plan: Plan = PLAN) -> list[float]:
    return [schedule.factor(step, plan) for step in range(plan.total_steps)]


length = st.integers(1, 300) | st.floats(0.001, 0.999)
warmup = length | st.just(0.0)
share = st.floats(0, 1)
gamma = st.floats(0.001, 1)
clock = st.sampled_from(["step", "epoch"])
CURVES = st.one_of(
    st.builds(Cosine, final=share, per=clock),
    st.builds(WarmupCosine, final=share, warmup=warmup, per=clock),
    st.builds(WarmupLinear, final=share, warmup=warmup, per=clock),
    st.builds(CosineRestarts, first_cycle=length, cycle_growth=st.integers(1, 5), final=share, per=clock),
    st.builds(Linear, initial=st.floats(0, 5), final=st.floats(0, 5), per=clock),
    st.builds(StepDecay, every=length, gamma=gamma, per=clock),
    st.builds(MultiStep, milestones=st.lists(length, max_size=4).map(tuple), gamma=gamma, per=clock),
    st.builds(Exponential, gamma=gamma, per=clock),
    st.builds(Polynomial, power=st.floats(0.1, 9), final=share, per=clock),
    st.builds(
        OneCycle,
        warmup=length,
        start_divisor=st.floats(1, 1e3),
        final_divisor=st.floats(1, 1e6),
        anneal=st.sampled_from(["cosine", "linear"]),
        per=clock,
    ),
    st.builds(
        Cyclic,
        cycle=length,
        rise=st.floats(0.01, 0.99),
        low=share,
        shape=st.sampled_from(["triangular", "triangular2", "exp_range"]),
        gamma=gamma,
        per=clock,
    ),
    st.builds(InverseSqrt, warmup=length, per=clock),
)
PARTS = st.lists(st.tuples(CURVES, st.none() | st.integers(1, 40) | st.floats(0.01, 0.24)), min_size=1, max_size=4)


@settings(max_examples=400, deadline=None)
@given(
    schedule=CURVES | st.builds(Chain, parts=PARTS) | st.builds(Product, parts=st.lists(CURVES, max_size=3)),
    plan=st.builds(Plan, st.integers(1, 400), st.integers(1, 400)),
    step=st.integers(0, 1000),
)
def test_any_settings_give_factors_that_are_finite_and_not_negative(schedule: Schedule, plan: Plan, step: int) -> None:
    factor = schedule.factor(step, plan)
    assert math.isfinite(factor)
    assert factor >= 0
    assert Schedule.from_dict(schedule.to_dict()) == schedule


class TestLengths:
    def test_a_length_below_one_is_a_fraction_and_from_one_on_a_count(self) -> None:
        assert factors(WarmupCosine(warmup=0.2)) == factors(WarmupCosine(warmup=20))
        assert factors(StepDecay(every=0.25)) == factors(StepDecay(every=25, per="step"))
        assert factors(MultiStep(milestones=(0.3, 0.9))) == factors(MultiStep(milestones=(3, 9)))

    @pytest.mark.parametrize("wrong", [0, -1, 1.5, "long"])
    def test_anything_else_is_refused(self, wrong: object) -> None:
        with pytest.raises(ConfigError, match="first_cycle"):
            CosineRestarts(first_cycle=wrong)

    def test_a_last_epoch_that_is_cut_short_is_an_epoch(self) -> None:
        schedule = Linear(per="epoch")
        assert factors(schedule, Plan(25, 10)) == pytest.approx([1.0] * 10 + [2 / 3] * 10 + [1 / 3] * 5)


class TestChain:
    def test_each_part_sees_its_own_training(self) -> None:
        chain = Chain([(RISE, 0.2), ("constant", 3), Linear()])
        assert factors(chain) == pytest.approx(
            [step / 20 for step in range(20)] + [1.0] * 30 + [1 - step / 50 for step in range(50)]
        )

    def test_chain_parts_without_a_length_divide_the_rest_equally(self) -> None:
        found = factors(Chain([("linear", 0.4), "linear", "linear", "linear"]))
        assert [step for step in range(100) if found[step] == 1.0] == [0, 40, 60, 80]

    def test_epochs_count_from_the_beginning_of_a_part(self) -> None:
        chain = Chain(parts=(Part(schedule="constant", length=15, per="step"), Part(schedule=Exponential(gamma=0.5))))
        assert factors(chain)[:40] == [1.0] * 25 + [0.5] * 10 + [0.25] * 5

    def test_the_last_part_stays_and_parts_beyond_the_end_never_come(self) -> None:
        short = Chain([(RISE, 2), (Linear(final=0.5), 3)])
        assert factors(short)[50:] == [0.5] * 50
        assert factors(Chain([("constant", 30), Linear()])) == [1.0] * 100

    def test_then_gives_the_chain_of_both_schedules(self) -> None:
        chain = RISE.then(Constant(), after=2).then(Plateau(), after=0.3).then(Cosine(), after=10, per="step")
        assert chain == Chain(
            parts=(
                Part(schedule=RISE, length=2),
                Part(schedule=Constant(), length=0.3),
                Part(schedule=Plateau(), length=10, per="step"),
                Part(schedule=Cosine()),
            )
        )

    def test_is_written_as_tables_in_toml(self) -> None:
        text = """
        [schedule]
        name = "chain"
        [[schedule.parts]]
        schedule = { name = "linear", initial = 0.1, final = 1.0 }
        length = 5
        [[schedule.parts]]
        schedule = "plateau"
        """
        config = TrainingConfig.from_toml(text)
        assert config.schedule == Linear(initial=0.1, final=1.0).then(Plateau(), after=5)
        assert TrainingConfig.from_toml(config.to_toml()) == config

    def test_plateau_in_a_chain_counts_only_validations_of_its_own_part(self) -> None:
        course = Chain([("constant", 0.5), Plateau(patience=1, gamma=0.5)]).begin(PLAN)
        found = []
        for step in range(100):
            found.append(course.rate(1.0))
            course.step()
            if step % 10 == 9:
                course.validated(1.0)
        # The validation at the end of step 49 is already heard by the second part, as its first and best.
        assert found == [1.0] * 70 + [0.5] * 20 + [0.25] * 10

    @pytest.mark.parametrize(
        ("parts", "message"),
        [
            ([], "at least one part"),
            ([("cosine", 0.7), ("linear", 0.4)], "add up to 1.1"),
            ([("cosin", 1)], "Did you mean 'cosine'"),
            ([{"schedule": "cosine", "lenth": 3}], "Did you mean 'length'"),
            ([3], "parts"),
        ],
    )
    def test_says_what_is_wrong_with_its_parts(self, parts: list[object], message: str) -> None:
        with pytest.raises(ConfigError, match=message):
            Chain(parts)


def test_a_product_multiplies_and_reacts() -> None:
    course = Product([Linear(), Plateau(patience=0, gamma=0.5)]).begin(PLAN)
    course.validated(1.0)
    for _ in range(50):
        course.step()
    course.validated(1.0)
    assert course.rate(0.1) == pytest.approx(0.1 * 0.5 * 0.5)


class TestFunction:
    def test_function_schedule_gets_the_step_or_epoch_and_the_plan_if_it_takes_two_arguments(self) -> None:
        assert factors(FunctionSchedule(lambda step: 0.9**step)) == [0.9**step for step in range(100)]
        assert factors(FunctionSchedule(lambda epoch: 1 / (1 + epoch), per="epoch"))[35] == 1 / 4
        assert factors(FunctionSchedule(lambda step, plan: step / plan.total_steps))[30] == 0.3
        assert factors(FunctionSchedule(lambda step, plan=7: plan))[30] == 7
        assert factors(FunctionSchedule(partial(pow, 0.5)))[3] == 0.125

    @pytest.mark.parametrize("wrong", [-0.1, math.nan, math.inf, None, "much"])
    def test_must_return_a_factor(self, wrong: object) -> None:
        with pytest.raises(ConfigError, match=r"lambda> returned .* for step 3"):
            FunctionSchedule(lambda step: wrong).factor(3, PLAN)

    def test_function_schedule_is_stored_by_name_and_must_be_given_again(self) -> None:
        written = FunctionSchedule(math.exp).to_dict()
        assert written == {"name": "function", "function": "math:exp", "per": "step"}
        again = TrainingConfig(schedule=written)
        assert TrainingConfig.from_toml(again.to_toml()) == again
        with pytest.raises(ConfigError, match=r"'math:exp' is only the name .* pass the function again"):
            again.schedule.start(torch.optim.SGD([torch.zeros(1)]), PLAN)

    def test_drives_training(self) -> None:
        module = torch.nn.Linear(1, 1)
        config = TrainingConfig(max_steps=5, log_every=1, schedule=FunctionSchedule(lambda step: 1 / (1 + step)))
        data = torch.ones(4, 1), torch.ones(4, 1)
        history = Trainer(module, torch.nn.functional.mse_loss, config).fit(data).frame()
        assert history["learning_rate"].to_list() == pytest.approx([1e-3 / (1 + step) for step in range(5)])


class TestAuto:
    @pytest.mark.parametrize(
        ("family", "expected"),
        [
            ("transformer", WarmupCosine(warmup=0.1, final=1e-3)),
            ("recurrent", Plateau(patience=5, gamma=0.5)),
            ("convolutional", StepDecay(every=30, gamma=0.1)),
            ("mlp", Cosine()),
            ("linear", Cosine()),
            ("graph", WarmupCosine(warmup=0.1, final=1e-3)),
        ],
    )
    def test_knows_what_suits_a_family(self, family: str, expected: Schedule) -> None:
        assert AutoSchedule().for_family(family) == expected

    def test_ends_at_a_millionth_from_the_default_rate(self) -> None:
        assert 1e-3 * AutoSchedule().factor(1000, Plan(1000, 50)) == pytest.approx(1e-6)


def test_settings_of_schedules_need_no_torch_nor_numpy() -> None:
    script = (
        "import sys\n"
        "from neuro_divergent.training.schedules.base import Plan, Schedule\n"
        "for name in Schedule.registry.names():\n"
        "    Schedule.registry.get(name)().factor(3, Plan(9, 3)) if name != 'function' else None\n"
        "sys.exit('torch' in sys.modules or 'numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
