"""The contract of gradient transforms."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from neuro_divergent.core.config import Component
from neuro_divergent.core.registry import Registry

if TYPE_CHECKING:
    from torch import Tensor, nn


@dataclass(slots=True)
class GradientContext:
    """What a transform knows besides the gradients.

    Attributes:
        step: Steps done before this one.
        progress: Fraction of the planned steps that are done.
        named_parameters: What is trained, by the names of the module.
        state: The state of this transform, made by its ``init_state``; it may be changed in place.
        norm: Norm of all gradients before clipping, once it is known: the one that the history reports.

    Examples:
        What a transform that changes with time reads, a quarter of the way through a training of 1,000 steps:

        >>> import neuro_divergent as nd
        >>> context = nd.training.GradientContext(step=250, progress=0.25)
        >>> context.norm is None  # no transform before it has worked out the norm of all gradients
        True
    """

    step: int = 0
    progress: float = 0.0
    named_parameters: Mapping[str, nn.Parameter] = field(default_factory=dict)
    state: dict[str, Any] = field(default_factory=dict)
    norm: Tensor | None = None


class GradientTransform(Component):
    """Changes gradients in place between the backward pass and the step of the optimizer.

    A transform has settings but no memory of its own: what it must keep from step to step is in ``context.state``,
    which is saved in checkpoints and restored from them.

    Attributes:
        is_random: Whether it draws random numbers; processes that train together then draw the same ones.

    Examples:
        Transforms are a setting of training, applied in their order after ``clip``:

        >>> import neuro_divergent as nd
        >>> config = nd.TrainingConfig(gradient_transforms=[nd.training.GradientNoise(), nd.training.ClipValue(0.1)])
        >>> [transform.name for transform in config.build_transforms()]
        ['norm', 'noise', 'value']
    """

    registry: ClassVar[Registry] = Registry("gradient transform", "neuro_divergent.training.gradients.transforms")
    is_random: ClassVar[bool] = False

    def init_state(self, named_parameters: Mapping[str, nn.Parameter]) -> dict[str, Any]:
        """Return the state at the start of training: tensors, numbers and text, in dicts and lists."""
        return {}

    @abstractmethod
    def apply(self, parameters: list[nn.Parameter], context: GradientContext) -> None:
        """Change ``.grad`` of parameters; those without a gradient have ``None``."""
