"""Everything about training, and nothing else."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from neuro_divergent.core.config import Config, knob
from neuro_divergent.core.errors import ConfigError
from neuro_divergent.core.launched import launched
from neuro_divergent.data.augment import Augmentation
from neuro_divergent.training.average import Average
from neuro_divergent.training.callbacks.base import Callback, CallbackLike, NamedCallback
from neuro_divergent.training.callbacks.checkpointing import Checkpointing, Checkpoints
from neuro_divergent.training.callbacks.early_stopping import EarlyStopper, EarlyStopping
from neuro_divergent.training.callbacks.limits import TimeLimit
from neuro_divergent.training.callbacks.stop_request import StopRequest
from neuro_divergent.training.curriculum import Curriculum
from neuro_divergent.training.divergence import Divergence
from neuro_divergent.training.freezing import Freeze
from neuro_divergent.training.gradients.estimators.autodiff import Autodiff
from neuro_divergent.training.gradients.estimators.base import GradientEstimator
from neuro_divergent.training.gradients.transforms.base import GradientTransform
from neuro_divergent.training.gradients.transforms.clip import Clip, ClipNorm, NoClip
from neuro_divergent.training.gradients.transforms.noise import GradientNoise
from neuro_divergent.training.gradients.transforms.penalty import Penalty
from neuro_divergent.training.optimizers.adam import AdamW
from neuro_divergent.training.optimizers.base import Optimizer
from neuro_divergent.training.schedules.auto import AutoSchedule
from neuro_divergent.training.schedules.base import Schedule
from neuro_divergent.training.schedules.cosine import WarmupCosine
from neuro_divergent.training.strategy import StrategyConfig, is_shared
from neuro_divergent.training.teacher_forcing import TeacherForcing

_MANY_ITEMS = 4096
_RATE = "it is set with the optimizer, such as optimizer=AdamW(lr=1e-3)."
_PROGRESS = "nd.show_progress() shows progress, and fit(..., progress=True)."
_ELSEWHERE = {  # what other libraries have among the settings of training
    "lr": _RATE,
    "learning_rate": _RATE,
    "weight_decay": "it is set with the optimizer, such as optimizer=AdamW(weight_decay=1e-2).",
    "patience": "it is set with early_stopping=EarlyStopping(patience=10).",
    "verbose": _PROGRESS,
    "progress": _PROGRESS,
}
Count = Annotated[int, Field(ge=1)]
Strength = Annotated[float, Field(ge=0)]
PrecisionName = Literal["float32", "float64", "bf16", "fp16"]


class StepLimitWarning(UserWarning):
    """Training ends before the epochs that were asked for, because of the default limit of steps."""


class TrainingConfig(Config):
    """How a network is trained.

    Training ends at ``max_epochs``, ``max_steps`` or ``max_seconds``, whichever comes first, or when something asks for
    it. The reasons for the defaults are in docs/decisions/0004-defaults.md.

    Attributes:
        max_epochs: Passes over the training windows at most; ``None`` for no limit.
        max_steps: Optimizer steps at most, also where ``max_epochs`` is given; ``None`` for no limit.
        max_seconds: Time at most; the schedule is planned for the steps, so it does not come to its end then.
        batch_size: Windows per batch; ``"auto"`` is 32 for small data and 128 from 4,096 windows on.
        accumulate: Batches per step; the gradient is that of the one batch that holds them all.
        optimizer: How weights are changed.
        schedule: How the learning rate changes over training; ``"auto"`` chooses by the family of the architecture.
        freeze: Which weights stay as they are, for good or until an epoch.
        gradient: How gradients are computed: ``autodiff``, or by finite differences, which takes two forward passes per
            weight (``central``) or one (``forward``) and is for checking and teaching.
        gradient_sum: Type in which the gradients of several batches are added up.
        l1: Strength of the penalty on the absolute size of weight matrices.
        l2: Strength of the penalty on their squares; AdamW's weight decay does the same apart from the gradient.
        clip: How gradients are bounded, after the penalties; ``None`` for not at all.
        gradient_noise: Noise on the gradients, after clipping, that fades with training; ``None`` for none.
        gradient_transforms: What else is done to gradients before the weights change, in this order, after all of the
            above. For another order, leave the settings above out and list their transforms here.
        precision: ``float32`` trains in the type the network has; ``float64``; ``bf16`` and ``fp16`` keep the weights
            and multiply in the short type. 'nd hardware precision' measures which is fastest.
        recompute: Every how many blocks intermediate results are kept for the backward pass; those between are computed
            again, which saves memory and costs time. 0 keeps all; ``"auto"`` chooses by the number of blocks.
        compile: Whether torch compiles the training step, which pays for long runs only.
        divergence: What to do when a number is no longer finite: ``stop``, ``skip`` the step, or ``rollback`` to the
            last good state with a lower learning rate.
        early_stopping: When to stop before the end, and whether to return to the best weights; ``None`` for never.
        average: Average of the weights over steps, used for validation and in the end; ``None`` for the last weights.
        augment: Random changes to the training windows, in this order.
        curriculum: Which targets count when; ``None`` for all, always.
        teacher_forcing: How often autoregressive networks are fed the true value in training; ``None`` leaves that to
            the network.
        distillation: Fraction of the loss that is measured against the forecasts of a teacher, where one is given.
        metrics: What else to measure in validation: ``accuracy`` or the name of any point loss.
        callbacks: What else to do at the events of training. An ``EarlyStopping``, ``EMA`` or ``SWA`` that is listed
            here becomes ``early_stopping`` or ``average`` and replaces what those say.
        validate_every: Steps between two validations; ``"auto"`` is an epoch, within 20 to 100 steps.
        log_every: Steps between two rows of the history.
        stop_file: File whose appearance ends training after the current step.
        shuffle: Whether windows are drawn in random order; else they come in order of time. ``"blocks"`` is a random
            order of blocks, and of windows within some of them, for panels on disk: where steps are too short to wait
            for windows all over the disk, see docs/guides/large-data.md. ``"auto"`` measures at the start of training
            whether they are.
        drop_last: Whether the last batch of an epoch is left out when it is not full.
        prefetch: Batches a background thread keeps ready; for panels on a slow disk. On a fast one it takes as long as
            it saves (benchmarks/prefetch.py), so the default is 0.
        recommended: Settings still to be chosen by the family of the architecture, as the preset ``auto`` asks; a
            network that is none of ours has no family and is trained with what they are.
        seed: Seed of weights, order and dropout: the same seed gives the same model.
        threads: Threads for torch; ``"auto"`` chooses from the size of the work.
        device: ``auto``, ``cpu``, ``cuda``, ``cuda:1`` or ``mps``.
        strategy: How processes that a launcher started together (``nd train --processes``, ``torchrun``) share the
            work: ``data_parallel``, which is the default, ``zero``, ``sharded`` or ``local_sgd`` (see
            docs/guides/distributed.md). Without effect in one process.
        batch_size_scope: Whether ``batch_size`` is that of all processes together (``global``), which makes training
            independent of their number, or of each ``process``.

    Examples:
        >>> import neuro_divergent as nd
        >>> config = nd.TrainingConfig(max_epochs=5, optimizer=nd.AdamW(lr=3e-4), schedule="one_cycle")
        >>> config.total_steps(steps_per_epoch=40)
        200
        >>> nd.TrainingConfig.from_toml(config.to_toml()) == config
        True
        >>> nd.TrainingConfig(batchsize=64)
        Traceback (most recent call last):
            ...
        neuro_divergent.core.errors.ConfigError: TrainingConfig: unknown setting 'batchsize'. Did you mean ...
    """

    max_epochs: Count | None = None
    max_steps: Count | None = 1000
    max_seconds: Annotated[float, Field(gt=0)] | None = None
    batch_size: Count | Literal["auto"] = knob("auto", choices=(32, 64, 128, 256))
    accumulate: Count = 1
    optimizer: Optimizer = knob(AdamW(), choices=("adamw", "nadam", "radam"))
    schedule: Schedule = knob(WarmupCosine(), choices=("warmup_cosine", "one_cycle", "constant"))
    freeze: tuple[Freeze, ...] = ()
    gradient: GradientEstimator = Autodiff()
    gradient_sum: Literal["float32", "float64"] = "float32"
    l1: Strength = 0.0
    l2: Strength = 0.0
    clip: Clip | None = knob(ClipNorm(1.0), choices=("norm", "none"))
    gradient_noise: GradientNoise | None = None
    gradient_transforms: tuple[GradientTransform, ...] = ()
    precision: PrecisionName = "float32"
    recompute: Annotated[int, Field(ge=0)] | Literal["auto"] = 0
    compile: bool = False
    divergence: Divergence = Divergence()
    early_stopping: EarlyStopping | None = EarlyStopping()
    average: Average | None = None
    augment: tuple[Augmentation, ...] = ()
    curriculum: Curriculum | None = None
    teacher_forcing: TeacherForcing | None = None
    distillation: Annotated[float, Field(ge=0, le=1)] = 0.5
    metrics: tuple[str, ...] = ()
    callbacks: tuple[NamedCallback, ...] = ()
    validate_every: Count | Literal["auto"] = "auto"
    log_every: Count = 10
    stop_file: str | None = None
    shuffle: bool | Literal["blocks", "auto"] = True
    drop_last: bool = False
    prefetch: Annotated[int, Field(ge=0)] = 0
    recommended: tuple[Literal["optimizer", "schedule", "clip", "batch_size"], ...] | None = None
    seed: int = Field(default=1, ge=0)
    threads: Count | Literal["auto"] = "auto"
    device: str = "auto"
    strategy: StrategyConfig | None = None
    batch_size_scope: Literal["global", "process"] = "global"

    @model_validator(mode="before")
    @classmethod
    def _read(cls, values: Any) -> Any:
        """Sort callbacks into their settings, take what is not given from a preset, and rename settings of old."""
        if not isinstance(values, dict):
            return values
        for name in values:
            if name in _ELSEWHERE and name not in cls.model_fields:
                raise ValueError(f"TrainingConfig: there is no {name} here: {_ELSEWHERE[name]}")
        if values.get("callbacks"):
            values = {**values, **_sort_callbacks(values["callbacks"])}
        if "preset" in values:
            from neuro_divergent.training.presets import apply_preset

            given = {key: value for key, value in values.items() if key != "preset"}
            values = apply_preset(str(values["preset"]), given)
        return {"gradient" if key == "gradient_method" else key: value for key, value in values.items()}

    @field_validator("augment", "freeze", "metrics", "callbacks", "gradient_transforms", mode="before")
    @classmethod
    def _one_of_several(cls, value: Any) -> Any:
        return (value,) if isinstance(value, (str, dict, Config)) else value

    @model_validator(mode="after")
    def _fits_together(self) -> TrainingConfig:
        if self.max_epochs is None and self.max_steps is None:
            raise ValueError("max_epochs and max_steps cannot both be none: training would never end")
        if self.gradient.numerical and self.precision in ("bf16", "fp16"):
            raise ValueError(
                f"gradient: {self.gradient.name!r} needs float32 or float64; differences drown in the rounding of "
                f"{self.precision}"
            )
        if self.average is not None and self.optimizer.averages:
            raise ValueError(f"average: {self.optimizer.name} averages weights itself; leave average out")
        if self.strategy is not None:
            self.strategy.check(self)
        return self

    @classmethod
    def preset(cls, name: str, **changes: Any) -> Self:
        """Return a named configuration (``auto``, ``quick``, ``best``, ``low_memory``), with some fields changed."""
        return cls.from_dict({"preset": name, **changes})

    def replace(self, **changes: Any) -> Self:
        """Return a checked copy with some fields changed; what is changed is no longer to be recommended."""
        left = tuple(name for name in self.recommended or () if name not in changes)
        return super().replace(**{"recommended": left or None, **changes})

    def for_trial(self, steps: int, **changes: Any) -> TrainingConfig:
        """Return settings for some steps that only measure something: nothing ends them early or writes files."""
        unset = dict.fromkeys(("max_epochs", "max_seconds", "early_stopping", "stop_file"))
        aside = {"divergence": Divergence(), "metrics": (), "callbacks": (), "compile": False, "strategy": "single"}
        return self.replace(max_steps=steps, **{**unset, **aside, **changes})

    def for_family(self, family: str) -> TrainingConfig:
        """Return the same settings with nothing left to be chosen by the family of an architecture."""
        from neuro_divergent.training.presets import FAMILY_SETTINGS

        wanted = self.recommended or ()
        recipe = {name: value for name, value in FAMILY_SETTINGS.get(family, {}).items() if name in wanted}
        chosen = self.replace(**recipe, recommended=None) if wanted else self
        if not isinstance(chosen.schedule, AutoSchedule):
            return chosen
        return chosen.replace(schedule=chosen.schedule.for_family(family))

    def build_transforms(self) -> list[GradientTransform]:
        """Return what is done to gradients before the weights change, in order.

        The penalties, clipping, noise, and ``gradient_transforms``. The history reports the
        norm before the first of them that clips; where none does, the norm after the penalties.
        """
        transforms: list[GradientTransform] = [Penalty(l1=self.l1, l2=self.l2)] if self.l1 or self.l2 else []
        if self.clip is not None:
            transforms.append(self.clip)
        elif not any(isinstance(transform, Clip) for transform in self.gradient_transforms):
            transforms.append(NoClip())
        if self.gradient_noise is not None:
            transforms.append(self.gradient_noise)
        return [*transforms, *self.gradient_transforms]

    def build_callbacks(self, others: Sequence[Callback] = (), *, with_validation: bool) -> list[Callback]:
        """Return all callbacks, in the order in which they are called; ``others`` come last.

        An early stopping among them takes the place of ``early_stopping``. Without validation nothing is stopped early.
        """
        is_replaced = any(isinstance(item, EarlyStopper) for item in others)
        made: list[Callback] = []
        if self.average is not None:
            made.append(self.average.build())
        if self.early_stopping is not None and with_validation and not is_replaced:
            made.append(self.early_stopping.build())
        if self.max_seconds is not None:
            made.append(TimeLimit(self.max_seconds))
        if self.stop_file is not None:
            made.append(StopRequest(self.stop_file))
        return [*made, *(item.build() for item in self.callbacks), *others]

    def batch_size_for(self, items: int) -> int:
        """Return the batch size, of all processes together, for a number of training items."""
        size = (128 if items >= _MANY_ITEMS else 32) if self.batch_size == "auto" else self.batch_size
        place = launched() if self.batch_size_scope == "process" and is_shared(self.strategy) else None
        return size if place is None else size * place.world_size

    def total_steps(self, steps_per_epoch: int) -> int:
        """Return the number of steps if nothing stops training early."""
        limits = [self.max_steps, None if self.max_epochs is None else self.max_epochs * steps_per_epoch]
        return min(limit for limit in limits if limit is not None)

    def warn_of_limit(self, steps_per_epoch: int) -> None:
        """Warn where epochs that were asked for do not fit into the steps that are the default."""
        default = type(self).model_fields["max_steps"].default
        if self.max_epochs is None or self.max_steps != default or self.max_epochs * steps_per_epoch <= default:
            return
        warnings.warn(
            f"max_epochs={self.max_epochs:,} would be {self.max_epochs * steps_per_epoch:,} steps; training ends at "
            f"max_steps={default:,}, the default, which is {default / steps_per_epoch:,.1f} epochs. Pass "
            "max_steps=None (--set training.max_steps=none) to train all of them.",
            StepLimitWarning,
            stacklevel=2,
        )

    def validation_interval(self, steps_per_epoch: int) -> int:
        """Return the steps between two validations."""
        return min(max(steps_per_epoch, 20), 100) if self.validate_every == "auto" else self.validate_every


def split_callbacks(callbacks: CallbackLike | Iterable[Any]) -> tuple[dict[str, Any], list[Any]]:
    """Return the callbacks that have a setting of their own, by its name, and all others."""
    own: dict[str, Any] = {}
    others: list[Any] = []
    for item in [callbacks] if isinstance(callbacks, (str, dict, Config, Callback)) else callbacks:
        name = "early_stopping" if isinstance(item, EarlyStopping) else "average" if isinstance(item, Average) else None
        if name is None:
            others.append(item)
        elif name in own:
            raise ConfigError(f"callbacks: {type(own[name]).__name__} and {type(item).__name__}: choose one {name}.")
        else:
            own[name] = item
    return own, others


def _sort_callbacks(callbacks: Any) -> dict[str, Any]:
    """Return the settings that some callbacks stand for: ``callbacks``, or one of their own."""
    own, others = split_callbacks(callbacks)
    named = [Checkpoints.of(item) if isinstance(item, Checkpointing) else item for item in others]
    if runtime := next((item for item in named if isinstance(item, Callback)), None):
        raise ValueError(
            f"TrainingConfig: callbacks: {type(runtime).__name__} cannot be written to a file; pass it to fit or "
            "to the Trainer"
        )
    return {"callbacks": named, **own}
