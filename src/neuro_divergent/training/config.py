"""Everything about training, and nothing else."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from neuro_divergent.core.config import Config
from neuro_divergent.training.callbacks.early_stopping import EarlyStopping
from neuro_divergent.training.gradients import Clip, ClipNorm
from neuro_divergent.training.optimizers.adam import AdamW
from neuro_divergent.training.optimizers.base import Optimizer
from neuro_divergent.training.schedules.base import Schedule
from neuro_divergent.training.schedules.cosine import WarmupCosine

_MANY_ITEMS = 4096
Count = Annotated[int, Field(ge=1)]


class TrainingConfig(Config):
    """How a network is trained.

    Training ends at ``max_epochs`` or ``max_steps``, whichever comes first, or when ``early_stopping`` says so. The
    reasons for the defaults are in docs/decisions/0004-defaults.md.

    Attributes:
        max_epochs: Passes over the training windows at most; ``None`` for no limit.
        max_steps: Optimizer steps at most; ``None`` for no limit.
        batch_size: Windows per step; ``"auto"`` is 32 for small data and 128 from 4,096 windows on.
        optimizer: How weights are changed.
        schedule: How the learning rate changes over training.
        clip: How gradients are bounded; ``None`` for not at all.
        early_stopping: When to stop before the end, and whether to return to the best weights; ``None`` for never.
        validate_every: Steps between two validations; ``"auto"`` is an epoch, within 20 to 100 steps.
        log_every: Steps between two rows of the history.
        shuffle: Whether windows are drawn in random order; else they come in order of time.
        drop_last: Whether the last batch of an epoch is left out when it is not full.
        prefetch: Batches a background thread keeps ready; for panels on a slow disk. On a fast one it takes as long as
            it saves (benchmarks/prefetch.py), so the default is 0.
        seed: Decides weights, order and dropout: the same seed gives the same model.
        threads: Threads for torch; ``"auto"`` chooses from the size of the work.
        device: ``auto``, ``cpu``, ``cuda``, ``cuda:1`` or ``mps``.
    """

    max_epochs: Count | None = None
    max_steps: Count | None = 1000
    batch_size: Count | Literal["auto"] = "auto"
    optimizer: Optimizer = AdamW()
    schedule: Schedule = WarmupCosine()
    clip: Clip | None = ClipNorm(1.0)
    early_stopping: EarlyStopping | None = EarlyStopping()
    validate_every: Count | Literal["auto"] = "auto"
    log_every: Count = 10
    shuffle: bool = True
    drop_last: bool = False
    prefetch: Annotated[int, Field(ge=0)] = 0
    seed: int = Field(1, ge=0)
    threads: Count | Literal["auto"] = "auto"
    device: str = "auto"

    @model_validator(mode="after")
    def _has_an_end(self) -> TrainingConfig:
        if self.max_epochs is None and self.max_steps is None:
            raise ValueError("max_epochs and max_steps cannot both be none: training would never end")
        return self

    def batch_size_for(self, items: int) -> int:
        """Return the batch size for a number of training items."""
        return (128 if items >= _MANY_ITEMS else 32) if self.batch_size == "auto" else self.batch_size

    def total_steps(self, steps_per_epoch: int) -> int:
        """Return the number of steps if nothing stops training early."""
        limits = [self.max_steps, None if self.max_epochs is None else self.max_epochs * steps_per_epoch]
        return min(limit for limit in limits if limit is not None)

    def validation_interval(self, steps_per_epoch: int) -> int:
        """Return the steps between two validations."""
        return min(max(steps_per_epoch, 20), 100) if self.validate_every == "auto" else self.validate_every
