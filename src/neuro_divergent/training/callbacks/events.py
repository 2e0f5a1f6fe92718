"""The events of training as lines of a file that other processes can follow."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from neuro_divergent import __version__
from neuro_divergent.core.errors import StorageError, StorageWarning
from neuro_divergent.core.storage.strict_json import finite_or_none
from neuro_divergent.training.callbacks.base import Callback
from neuro_divergent.training.callbacks.heartbeat import told_attempt
from neuro_divergent.training.process_clock import ProcessSpeed

if TYPE_CHECKING:
    from neuro_divergent.training.engine import Trainer


class EventLog(Callback):
    """Appends each event of training to a file, one JSON object per line, and writes the history next to it.

    Every line has ``event``, ``time`` (seconds since 1970) and ``step``. ``start`` begins each start of the run and
    says what the machine is, and the ``order`` of windows if they are ``on_disk``; ``row`` is a row of the history, and
    ``columns`` comes before the first that has a new column; ``processes`` comes after it where several train together,
    and has for each field of ``ProcessSpeed`` a list with the values of all, by rank; ``layers`` has norms by layer, in
    the order of the names in ``start``; ``threads`` says how many go on after its step; ``checkpoint``,
    ``rolled_back``, ``control``, ``interrupted``, ``failed`` and ``end`` are what they are called. Nothing is ever
    taken back: a ``start`` or ``rolled_back`` says with ``last_row`` which row is the last that still counts (``null``
    for none), and all before it of later steps are void. Events of other kinds are void if they are of steps after that
    of the ``start`` or ``rolled_back`` itself.

    A line is handed over in one piece, so a kill can at most leave a part of one at the end; the next start ends that
    line before it writes its own. It is not flushed to the disk: what a power cut takes is in the checkpoints. A disk
    that refuses is warned about once, and training goes on.

    Args:
        path: The file; what is there stays.
        history: File for the history as Parquet, written when training ends, in whichever way; ``None`` for none.

    Examples:
        >>> import neuro_divergent as nd
        >>> import json, pathlib, tempfile, torch
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     log = nd.callbacks.EventLog(pathlib.Path(directory, "events.jsonl"))
        ...     config = nd.TrainingConfig(max_steps=20)
        ...     trainer = nd.Trainer(torch.nn.Linear(1, 1), nd.losses.MSE(), config, callbacks=log)
        ...     _ = trainer.fit((torch.ones(8, 1), torch.ones(8, 1)))
        ...     events = [json.loads(line) for line in log.path.read_text().splitlines()]
        >>> [(event["event"], event["step"]) for event in events]
        [('start', 0), ('columns', 10), ('row', 10), ('row', 20), ('end', 20)]
    """

    main_only: ClassVar[bool] = True
    in_vectorized: ClassVar[bool] = True

    def __init__(self, path: str | Path, *, history: str | Path | None = None) -> None:
        self.path = Path(path)
        self.history = None if history is None else Path(history)
        self.layers: list[str] = []
        self._columns: dict[str, None] = {}
        self._file: int | None = None
        self._turn = threading.Lock()  # checkpoints may be written, and told of, by another thread
        self._is_torn = False
        self._step = 0
        self._has_warned = False

    def fit_start(self, trainer: Trainer) -> None:
        self._open()
        self._step = trainer.state.step
        self.write(
            "start",
            total_steps=trainer.plan.total_steps,
            steps_per_epoch=trainer.plan.steps_per_epoch,
            parameters=sum(parameter.numel() for parameter in trainer.module.parameters()),
            layers=self.layers,
            device=str(trainer.device),
            threads=trainer.threads,
            last_row=_last_row(trainer),
            attempt=told_attempt(),
            pid=os.getpid(),
            host=socket.gethostname(),
            version=__version__,
            **trainer.order_choice.facts(),
        )

    def logged(self, trainer: Trainer) -> None:
        row = dict(trainer.history.rows[-1])
        self._step = row.pop("step")
        if not row.keys() <= self._columns.keys():
            self._columns.update(dict.fromkeys(row))
            self.write("columns", names=list(self._columns))
        self.write("row", **row)
        if len(trainer.processes) > 1:
            fields = zip(ProcessSpeed._fields, zip(*trainer.processes, strict=True), strict=True)
            columns: dict[str, Any] = {name: list(values) for name, values in fields}
            self.write("processes", **columns)

    def rolled_back(self, trainer: Trainer) -> None:
        self._step = trainer.state.step
        self.write("rolled_back", last_row=_last_row(trainer))

    def threads_lowered(self, trainer: Trainer) -> None:
        """Say after which step one thread goes on, for a start that resumes from before it."""
        self.write("threads", step=trainer.state.step, threads=trainer.threads)

    def interrupted(self, trainer: Trainer) -> None:
        self._step = trainer.state.step
        self.write("interrupted")
        self._keep(trainer)

    def fit_end(self, trainer: Trainer) -> None:
        self._step = trainer.state.step
        self.write("end", reason=trainer.state.stop_reason or "all steps are done")
        self._keep(trainer)
        self._close()

    def failed(self, trainer: Trainer, error: BaseException) -> None:
        if self._file is None:
            return
        self._step = trainer.state.step
        if isinstance(error, Exception):
            self.write("failed", error=type(error).__name__, message=str(error))
        self._keep(trainer)
        self._close()

    def checkpointed(self, step: int) -> None:
        """Write that a checkpoint is complete; may be called by the thread that wrote it."""
        self.write("checkpoint", step=step)

    def write(self, event: str, *, step: int | None = None, **content: Any) -> None:
        """Append an event.

        Args:
            event: What happened.
            step: Steps done; unset, those at the event before.
            content: What else to say: plain values. Numbers that are not finite, which JSON does not have, are null.
        """
        if self._file is None:
            return
        stamped = {"event": event, "time": round(time.time(), 3), "step": self._step if step is None else step}
        try:
            line = _ENCODE({**stamped, **content})
        except ValueError:
            line = _ENCODE({**stamped, **finite_or_none(content)})
        with self._turn:
            self._append(line.encode("utf-8", "replace") + b"\n")

    def _append(self, line: bytes) -> None:
        """Write a line, after ending one that was written in part."""
        if self._file is None:
            return
        line = b"\n" + line if self._is_torn else line
        try:
            self._is_torn = os.write(self._file, line) != len(line)
        except OSError as error:
            self._warn(self.path, error.strerror or str(error))
        else:
            if self._is_torn:
                self._warn(self.path, "the disk took only a part of a line")

    def _open(self) -> None:
        try:
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
            size = os.lseek(self._file, 0, os.SEEK_END)
            if size:
                os.lseek(self._file, size - 1, os.SEEK_SET)
                self._is_torn = os.read(self._file, 1) != b"\n"
        except OSError as error:
            self._warn(self.path, error.strerror or str(error))

    def _keep(self, trainer: Trainer) -> None:
        if self.history is None or self._file is None:
            return
        try:
            trainer.history.write(self.history)
        except StorageError as error:
            self._warn(self.history, str(error))

    def _close(self) -> None:
        with self._turn:
            if self._file is not None:
                os.close(self._file)
                self._file = None

    def _warn(self, path: Path, reason: str) -> None:
        if not self._has_warned:
            self._has_warned = True
            warnings.warn(
                f"{path}: cannot be written: {reason}; training goes on without it.", StorageWarning, stacklevel=3
            )


_ENCODE = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def _last_row(trainer: Trainer) -> int | None:
    """Return the step of the last row of the history, which may have been restored from a checkpoint."""
    return int(trainer.history.rows[-1]["step"]) if trainer.history.rows else None
