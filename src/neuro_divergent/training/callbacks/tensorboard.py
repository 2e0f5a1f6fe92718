"""The history in TensorBoard."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from neuro_divergent.core.config import register
from neuro_divergent.core.errors import MissingDependencyError
from neuro_divergent.training.callbacks.base import ClosingCallback, NamedCallback

if TYPE_CHECKING:
    from neuro_divergent.training.engine import Trainer


@register("tensorboard")
class TensorBoard(NamedCallback):
    """Writes each row of the history as event files for TensorBoard, a chart per column, and the settings as text.

    Resumed training goes on in the same charts; what an interrupted run wrote beyond the step it resumes at is hidden.
    It is an extra: ``pip install "neuro-divergent[tensorboard]"``.

    Attributes:
        directory: Where to; ``tensorboard --logdir`` takes it or a directory above it.

    Examples:
        >>> import neuro_divergent as nd
        >>> config = nd.TrainingConfig(callbacks=nd.callbacks.TensorBoard("runs/tensorboard"))
        >>> config.to_dict()["callbacks"]  # in a TOML file: [[training.callbacks]]
        [{'name': 'tensorboard', 'directory': 'runs/tensorboard'}]
    """

    directory: str | Path = "tensorboard"

    def __init__(self, directory: str | Path = "tensorboard", **values: Any) -> None:
        super().__init__(**{"directory": directory, **values})

    def build(self) -> TensorBoardLogger:
        try:
            import tensorboard  # noqa: F401
        except ImportError:
            hint = 'pip install "neuro-divergent[tensorboard]"'
            raise MissingDependencyError(f"TensorBoard is not installed: {hint}.") from None
        return TensorBoardLogger(self.directory)


class TensorBoardLogger(ClosingCallback):
    """Writes the event files of a ``TensorBoard``."""

    main_only: ClassVar[bool] = True

    def __init__(self, directory: str | Path) -> None:
        self.directory = Path(directory)
        self._writer: Any = None

    def fit_start(self, trainer: Trainer) -> None:
        from torch.utils.tensorboard.writer import SummaryWriter

        step = trainer.state.step
        self._writer = SummaryWriter(str(self.directory), purge_step=step + 1 if step else None)
        # Text is shown as Markdown: indented by four it is shown as it is.
        settings = "".join(f"    {line}\n" for line in trainer.config.to_toml().splitlines())
        self._writer.add_text("settings", settings, step)

    def logged(self, trainer: Trainer) -> None:
        if self._writer is None:
            return
        row = trainer.history.rows[-1]
        for name, value in row.items():
            if name != "step" and value is not None:
                self._writer.add_scalar(name, value, row["step"])

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None
