"""Which trainings can be vectorized."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from neuro_divergent.core.errors import ConfigError
from neuro_divergent.data.loader import WindowLoader
from neuro_divergent.training.config import TrainingConfig
from neuro_divergent.training.gradients.estimators.autodiff import Autodiff
from neuro_divergent.training.gradients.transforms.clip import Clip, ClipNorm, ClipValue, NoClip
from neuro_divergent.training.optimizers.base import GroupedOptimizer
from neuro_divergent.training.strategy import SingleDevice

if TYPE_CHECKING:
    from neuro_divergent.training.engine import Trainer
    from neuro_divergent.training.vectorized.trainer import Member

# Settings that each trainer follows by itself, so that they may differ.
_OWN = frozenset(
    {
        "average",
        "drop_last",
        "early_stopping",
        "log_every",
        "max_epochs",
        "max_steps",
        "metrics",
        "schedule",
        "seed",
        "shuffle",
        "validate_every",
    }
)


def require_supported(members: Sequence[Member]) -> None:
    """Refuse trainings that cannot be vectorized.

    Raises:
        ConfigError: With the reason.
    """
    if reason := why_not(members):
        raise ConfigError(f"these trainings cannot be vectorized: {reason}. Train them one after the other.")


def why_not(members: Sequence[Member]) -> str | None:
    """Return why trainings cannot be vectorized, or ``None`` if they can.

    Whether torch can is known only when it is tried: see ``speed``.
    """
    first = members[0].trainer
    for member in members:
        trainer = member.trainer
        if reason := unsupported_setting(trainer.config) or _of_trainer(trainer):
            return reason
        if type(member.train) is not WindowLoader:
            return "their batches are not those of windows alone"
        if not len(member.train):
            return "there is no batch to train on"
        if shared_settings(trainer.config) != shared_settings(first.config) or trainer.loss != first.loss:
            return "they differ in settings that change what a step computes"
        if not _is_same_shape(trainer.module, first.module):
            return "their networks differ in shape"
    return None


def unsupported_setting(config: TrainingConfig) -> str | None:
    """Return which setting of training cannot be vectorized, if there is one."""
    return next(_unsupported(config), None)


def clip_of(config: TrainingConfig) -> Clip:
    """Return how gradients are bounded, for settings that can be vectorized."""
    (clip,) = config.build_transforms()
    assert isinstance(clip, Clip)
    return clip


def shared_settings(config: TrainingConfig) -> dict[str, Any]:
    """Return the settings that trainings must have in common, where they can be vectorized."""
    settings = {name: value for name, value in config.to_dict().items() if name not in _OWN}
    optimizer = config.optimizer
    assert isinstance(optimizer, GroupedOptimizer)
    # Groups with a rate of their own may fall together with others, by the rate of the optimizer.
    own = () if any(group.lr is not None for group in optimizer.groups) else ("lr",)
    settings["optimizer"] = {name: value for name, value in optimizer.to_dict().items() if name not in own}
    return settings


def _unsupported(config: TrainingConfig) -> Iterator[str]:
    """Yield the settings whose effect a vectorized step does not have."""
    if not (isinstance(config.optimizer, GroupedOptimizer) and config.optimizer.elementwise):
        yield f"optimizer {config.optimizer.name!r} changes a weight by more than its own gradients"
    transforms = config.build_transforms()
    if len(transforms) != 1 or type(transforms[0]) not in (ClipNorm, ClipValue, NoClip):
        yield "gradients are changed by more than clipping"
    if not isinstance(config.gradient, Autodiff):
        yield f"gradients are computed by {config.gradient.name!r}"
    if config.precision not in ("float32", "float64"):
        yield f"precision {config.precision!r}"
    if config.divergence.policy != "stop":
        yield f"divergence {config.divergence.policy!r}"
    if config.shuffle == "auto":
        yield "each would choose its order by itself (shuffle 'auto')"
    usual: dict[str, Any] = {"accumulate": 1, "recompute": 0, "compile": False, "prefetch": 0}
    usual |= dict.fromkeys(("max_seconds", "stop_file", "curriculum", "teacher_forcing"))
    usual |= dict.fromkeys(("freeze", "augment", "callbacks"), ())
    for name, value in usual.items():
        if getattr(config, name) != value:
            yield f"{name} is set"


def _of_trainer(trainer: Trainer) -> str | None:
    if not all(callback.in_vectorized for callback in trainer.callbacks):
        return "there are callbacks"
    if len(trainer._train_step._transforms) != 1:
        return "gradients are changed by more than clipping"
    if type(trainer.strategy) is not SingleDevice or trainer.device.type != "cpu":
        return "they do not run on the processor of one machine"
    if not all(parameter.requires_grad for parameter in trainer.module.parameters()):
        return "some weights are not trained"
    return None


def _is_same_shape(one: nn.Module, other: nn.Module) -> bool:
    """Whether parameters agree in name, shape and type, and buffers in all numbers."""
    mine, theirs = (
        [(name, item.shape, item.dtype) for name, item in module.named_parameters()] for module in (one, other)
    )
    own, others = dict(one.named_buffers()), dict(other.named_buffers())
    return mine == theirs and own.keys() == others.keys() and all(torch.equal(own[name], others[name]) for name in own)
