"""What every registered component must do, whatever it is."""

from __future__ import annotations

import pytest

from neuro_divergent.core.config import Component
from neuro_divergent.core.errors import ConfigError
from neuro_divergent.data.augment import Augmentation
from neuro_divergent.data.scaling.base import SeriesScaler, WindowScaler
from neuro_divergent.evaluation.splitters.base import Splitter
from neuro_divergent.forecasting.statistical.methods.base import StatisticalMethod
from neuro_divergent.losses.base import Loss
from neuro_divergent.losses.weighted import Weighting
from neuro_divergent.models.base import Architecture
from neuro_divergent.search.methods.base import Method
from neuro_divergent.search.pruners.base import Pruner
from neuro_divergent.training.average import Average
from neuro_divergent.training.callbacks.base import NamedCallback
from neuro_divergent.training.curriculum import Curriculum
from neuro_divergent.training.gradients.estimators.base import GradientEstimator
from neuro_divergent.training.gradients.transforms.base import GradientTransform
from neuro_divergent.training.gradients.transforms.clip import Clip
from neuro_divergent.training.optimizers.base import Optimizer
from neuro_divergent.training.schedules.base import Schedule
from neuro_divergent.training.teacher_forcing import TeacherForcing

FAMILIES: list[type[Component]] = [
    Architecture,
    Augmentation,
    Average,
    NamedCallback,
    Clip,
    Curriculum,
    GradientEstimator,
    GradientTransform,
    Loss,
    Method,
    Optimizer,
    Pruner,
    Schedule,
    SeriesScaler,
    Splitter,
    StatisticalMethod,
    TeacherForcing,
    Weighting,
    WindowScaler,
]
MEMBERS = [(family, name) for family in FAMILIES for name in family.registry.names()]


@pytest.mark.parametrize("family", FAMILIES)
def test_family_has_members(family: type[Component]) -> None:
    assert len(family.registry.names()) >= 2


@pytest.mark.parametrize(("family", "name"), MEMBERS, ids=str)
class TestMember:
    def test_is_registered_under_the_name_in_its_source(self, family: type[Component], name: str) -> None:
        member = family.registry.get(name)
        assert member.name == name
        assert issubclass(member, family)

    def test_has_a_docstring_of_its_own(self, family: type[Component], name: str) -> None:
        assert family.registry.get(name).__dict__.get("__doc__")

    def test_round_trips_through_dict_and_toml(self, family: type[Component], name: str) -> None:
        made = family.registry.get(name)()
        assert family.from_dict(made.to_dict()) == made
        assert type(made).from_toml(made.to_toml()) == made

    def test_is_frozen(self, family: type[Component], name: str) -> None:
        made = family.registry.get(name)()
        for field in type(made).model_fields:
            with pytest.raises(ValueError, match="frozen"):
                setattr(made, field, None)

    def test_refuses_unknown_settings_by_name(self, family: type[Component], name: str) -> None:
        with pytest.raises(ConfigError, match="unknown setting 'no_such_setting'"):
            family.from_dict({"name": name, "no_such_setting": 1})


@pytest.mark.parametrize("family", FAMILIES)
def test_unknown_name_offers_the_closest(family: type[Component]) -> None:
    known = family.registry.names()[0]
    with pytest.raises(ConfigError, match=f"Did you mean '{known}'"):
        family.from_dict(known + "x")
