"""The schedule that suits an architecture."""

from __future__ import annotations

from neuro_divergent.core.config import register
from neuro_divergent.training.schedules.base import Plan, Schedule, ScheduleState
from neuro_divergent.training.schedules.cosine import Cosine, WarmupCosine
from neuro_divergent.training.schedules.plateau import Plateau
from neuro_divergent.training.schedules.step import StepDecay

# At the default rate of 1e-3 the last step has 1e-6.
_DEFAULT = WarmupCosine(warmup=0.1, final=1e-3)
FAMILIES: dict[str, Schedule] = {
    "transformer": _DEFAULT,
    "recurrent": Plateau(patience=5, gamma=0.5),
    "convolutional": StepDecay(every=30, gamma=0.1),
    "mlp": Cosine(),
    "linear": Cosine(),
}


@register("auto")
class AutoSchedule(Schedule):
    """The schedule recommended for the family of the architecture; warm-up and cosine where that is not known.

    Examples:
        >>> import neuro_divergent as nd
        >>> schedule = nd.schedules.AutoSchedule()
        >>> {family: schedule.for_family(family).name for family in ("mlp", "recurrent", "transformer")}
        {'mlp': 'cosine', 'recurrent': 'plateau', 'transformer': 'warmup_cosine'}
    """

    def for_family(self, family: str) -> Schedule:
        """Return the schedule recommended for a family of architectures, as in ``Traits.family``."""
        return FAMILIES.get(family, _DEFAULT)

    def factor(self, step: int, plan: Plan) -> float:
        """Return the factor of the schedule for an unknown family."""
        return _DEFAULT.factor(step, plan)

    def begin(self, plan: Plan) -> ScheduleState:
        return _DEFAULT.begin(plan)
