"""The history as a CSV file that grows while training runs."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TextIO

from neuro_divergent.core.config import register
from neuro_divergent.core.errors import StorageError
from neuro_divergent.core.storage.atomic import write_file
from neuro_divergent.training.callbacks.base import ClosingCallback, NamedCallback

if TYPE_CHECKING:
    from neuro_divergent.training.engine import Trainer
    from neuro_divergent.training.history import History


@register("csv")
class CSVLog(NamedCallback):
    """Writes each row of the history to a CSV file as soon as it is there.

    The file always holds exactly the history: a new training begins a new file, and a resumed one goes on from the row
    it resumes at. When a metric appears for the first time the file is written again with a column more, at the end.

    Attributes:
        path: The file; it is replaced if it exists.

    Examples:
        >>> import neuro_divergent as nd
        >>> import pathlib, tempfile, torch
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     file = pathlib.Path(directory, "history.csv")
        ...     config = nd.TrainingConfig(max_steps=20, callbacks=nd.callbacks.CSVLog(file))
        ...     _ = nd.Trainer(torch.nn.Linear(1, 1), nd.losses.MSE(), config).fit((torch.ones(8, 1), torch.ones(8, 1)))
        ...     lines = file.read_text().splitlines()
        >>> lines[0].split(",")[:4], len(lines)
        (['step', 'epoch', 'seconds', 'train_loss'], 3)
    """

    path: str | Path = "history.csv"

    def __init__(self, path: str | Path = "history.csv", **values: Any) -> None:
        super().__init__(**{"path": path, **values})

    def build(self) -> CSVLogger:
        return CSVLogger(self.path)


class CSVLogger(ClosingCallback):
    """Writes the file of a ``CSVLog``."""

    main_only: ClassVar[bool] = True

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._columns: list[str] = []
        self._file: TextIO | None = None

    def fit_start(self, trainer: Trainer) -> None:
        self._begin(trainer.history)

    def logged(self, trainer: Trainer) -> None:
        if self._file is None:
            return
        if trainer.history.columns != self._columns:
            self._begin(trainer.history)
            return
        try:
            csv.DictWriter(self._file, self._columns, lineterminator="\n").writerow(trainer.history.rows[-1])
            self._file.flush()
        except OSError as error:
            raise StorageError(f"{self.path}: cannot be written: {error.strerror or error}.") from error

    def rolled_back(self, trainer: Trainer) -> None:
        """Take back the rows of what training has gone back behind."""
        self.fit_start(trainer)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _begin(self, history: History) -> None:
        """Write all rows so far, and stay ready for more."""
        self._columns = history.columns
        text = io.StringIO()
        writer = csv.DictWriter(text, self._columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(history.rows)
        if self._file is not None:
            self._file.close()
        write_file(self.path, text.getvalue().encode("utf-8"))
        try:
            self._file = self.path.open("a", encoding="utf-8", newline="")
        except OSError as error:
            raise StorageError(f"{self.path}: cannot be written: {error.strerror or error}.") from error
