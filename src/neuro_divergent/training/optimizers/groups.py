"""Parameter groups with their own settings."""

from __future__ import annotations

from typing import Any

from pydantic import Field, model_validator

from neuro_divergent.core.config import Config


class Group(Config):
    """Other settings for the parameters whose names match a pattern.

    Attributes:
        pattern: Such as ``encoder.*`` or ``*.bias``; ``*`` also stands for dots.
        lr: Learning rate, instead of the optimizer's; the schedule still multiplies it.
        lr_factor: What the optimizer's learning rate is multiplied with; instead of ``lr``.
        weight_decay: Weight decay, instead of the optimizer's.

    Examples:
        The first layer learns ten times more slowly than the rest:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> network = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
        >>> settings = nd.AdamW(lr=0.01, weight_decay=0.0, groups=[nd.optimizers.Group("0.*", lr_factor=0.1)])
        >>> [(len(group["params"]), group["lr"]) for group in settings.build(network).param_groups]
        [(2, 0.01), (2, 0.001)]
    """

    pattern: str = Field(min_length=1)
    lr: float | None = Field(default=None, gt=0)
    lr_factor: float | None = Field(default=None, gt=0)
    weight_decay: float | None = Field(default=None, ge=0)

    def __init__(self, pattern: str | None = None, **values: Any) -> None:
        super().__init__(**values if pattern is None else {"pattern": pattern, **values})

    @model_validator(mode="after")
    def _has_one_rate(self) -> Group:
        if self.lr is not None and self.lr_factor is not None:
            raise ValueError("a group has either lr or lr_factor, not both")
        return self

    def rate(self, lr: float) -> float:
        """Return the learning rate of the group where the optimizer's is ``lr``."""
        return self.lr if self.lr is not None else lr * (1.0 if self.lr_factor is None else self.lr_factor)
