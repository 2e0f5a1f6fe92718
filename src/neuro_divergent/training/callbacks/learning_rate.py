"""The learning rate of every parameter group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from neuro_divergent.core.errors import ConfigError
from neuro_divergent.training.callbacks.base import Callback

if TYPE_CHECKING:
    import polars as pl

    from neuro_divergent.training.engine import Trainer


class LearningRateLog(Callback):
    """Keeps the rates that steps were made with; the history has only that of the first group, and not of each step.

    Args:
        every: ``"step"``, or ``"epoch"`` for the first step of each epoch.

    Attributes:
        rows: One for each step and group: ``step`` (counted from 1), ``epoch``, ``group`` (from 0), ``learning_rate``.

    Examples:
        >>> import neuro_divergent as nd
        >>> import torch
        >>> config = nd.TrainingConfig(max_steps=3, optimizer=nd.optimizers.SGD(lr=0.9), schedule="linear")
        >>> rates = nd.callbacks.LearningRateLog()
        >>> trainer = nd.Trainer(torch.nn.Linear(1, 1), nd.losses.MSE(), config, callbacks=rates)
        >>> history = trainer.fit((torch.ones(8, 1), torch.zeros(8, 1)))
        >>> [(row["step"], round(row["learning_rate"], 2)) for row in rates.rows]
        [(1, 0.9), (2, 0.6), (3, 0.3)]
    """

    def __init__(self, every: Literal["step", "epoch"] = "step") -> None:
        if every not in ("step", "epoch"):
            raise ConfigError(f"learning-rate log: every must be 'step' or 'epoch'; got {every!r}.")
        self.every = every
        self.rows: list[dict[str, Any]] = []
        self._is_due = True

    def epoch_start(self, trainer: Trainer) -> None:
        self._is_due = True

    def gradients_ready(self, trainer: Trainer) -> None:
        """Record the rates, which the schedule will have changed when the step is over."""
        if not self._is_due:
            return
        self._is_due = self.every == "step"
        place = {"step": trainer.state.step + 1, "epoch": trainer.state.epoch}
        for group, settings in enumerate(trainer.optimizer.param_groups):
            self.rows.append({**place, "group": group, "learning_rate": float(settings["lr"])})

    def frame(self) -> pl.DataFrame:
        """Return the rows as a table."""
        import polars as pl

        schema = {"step": pl.Int64, "epoch": pl.Int64, "group": pl.Int64, "learning_rate": pl.Float64}
        return pl.DataFrame(self.rows, schema=schema)

    def state_dict(self) -> dict[str, Any]:
        return {"rows": [dict(row) for row in self.rows]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.rows = [dict(row) for row in state["rows"]]
