"""Writing checkpoints while training runs."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import Field

from neuro_divergent.core.config import register
from neuro_divergent.core.errors import ConfigError, DivergedError, StorageError, StorageWarning
from neuro_divergent.core.formatting import format_bytes
from neuro_divergent.training.callbacks.base import Callback, CallbackConfig, NamedCallback
from neuro_divergent.training.state import find_metric

if TYPE_CHECKING:
    from neuro_divergent.core.storage.reusable import Content
    from neuro_divergent.core.storage.store import Store
    from neuro_divergent.training.engine import Trainer

Count = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, Field(gt=0)]
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0  # seconds from a save that failed to the next attempt
_LAST_ATTEMPTS = 4  # the first and three more


class Checkpointing(CallbackConfig):
    """When checkpoints are written, and which are kept.

    One is always written when training comes to its end, is stopped or is interrupted, so that it can be resumed. If
    writing fails, training continues and the save is tried again, after one second, two, four and so on; if the last
    save fails four times, training ends with a ``StorageError``. Earlier checkpoints are not changed.

    Attributes:
        directory: Where checkpoints go, one directory each, such as ``step-000001200``: a path, or an address that
            fsspec knows, such as ``s3://bucket/run``. A run with a directory of its own has them in there if nothing
            is said.
        every_epochs: Epochs between two of them; ``None`` for not by epochs.
        every_steps: Steps between two of them; ``None`` for not by steps.
        every_seconds: Seconds between two of them; ``None`` for not by time.
        at_most_every: Seconds that must have passed since the last one, or the start, before the next is written; so
            that small networks do not spend their time on it.
        keep: How many of the latest are kept. The best is kept as well.
        metric: Which result of the last validation decides about the best; it is named in ``best.json``.
        mode: Whether lower (``min``) or higher (``max``) is better.
        on_improvement: Whether one is also written after each validation that is better than all before. Otherwise the
            best is the best of those that are written anyway.
        differential: Whether large tensors that are as in the checkpoint before are not written again. Each checkpoint
            is a complete directory all the same, with hard links to the files that it shares. Not at an address.
        compress: Whether tensors are compressed with zstd, which is an extra: ``pip install "neuro-divergent[zstd]"``.
        background: Whether a thread writes while training goes on. The state is copied first, so what is written is the
            same; it takes memory for the copy.

    Examples:
        A training of 30 steps, of whose checkpoints the last two are kept:

        >>> import neuro_divergent as nd
        >>> import pathlib, tempfile, torch
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     writing = nd.callbacks.Checkpointing(directory=directory, every_epochs=None, every_steps=10, keep=2)
        ...     config = nd.TrainingConfig(max_steps=30)
        ...     trainer = nd.Trainer(torch.nn.Linear(1, 1), nd.losses.MSE(), config, callbacks=writing)
        ...     _ = trainer.fit((torch.ones(8, 1), torch.ones(8, 1)))
        ...     print(sorted(path.name for path in pathlib.Path(directory).iterdir()))
        ['step-000000020', 'step-000000030']
    """

    directory: str | Path | None = None
    every_epochs: Count | None = 10
    every_steps: Count | None = None
    every_seconds: Seconds | None = None
    at_most_every: float = Field(default=0.0, ge=0)
    keep: Count = 3
    metric: str = "validation_loss"
    mode: Literal["min", "max"] = "min"
    on_improvement: bool = False
    differential: bool = False
    compress: bool = False
    background: bool = False

    def build(self, *, saved: Callable[[int], None] | None = None) -> Checkpointer:
        """Return the callback; the thread that wrote a complete checkpoint calls ``saved`` with its step."""
        if self.directory is None:
            raise ConfigError("checkpointing: directory is missing; say where checkpoints go.")
        if self.differential and _is_remote(self.directory):
            raise ConfigError(
                f"checkpointing: {self.directory} has no links between files, so every checkpoint there is complete. "
                "Set differential to false, or choose a directory on a disk."
            )
        return Checkpointer(self, saved)


@register("checkpoints")
class Checkpoints(Checkpointing, NamedCallback):
    """Checkpoints as one of the callbacks of a ``TrainingConfig``, in the directory ``checkpoints`` by default."""

    directory: str | Path | None = "checkpoints"

    @classmethod
    def of(cls, config: Checkpointing) -> Checkpoints:
        """Return the same settings, with the default directory where they have none."""
        return cls(**{name: value for name, value in dict(config).items() if name != "directory" or value is not None})


class Checkpointer(Callback):
    """Writes the checkpoints of a ``Checkpointing``.

    A state is taken when a step is complete: its validation is done, and no average stands in for the
    weights. A state with weights that are not finite is never written.
    """

    in_vectorized: ClassVar[bool] = True

    def __init__(self, config: Checkpointing, saved: Callable[[int], None] | None = None) -> None:
        self.config = config
        self._saved = saved
        self.best: dict[str, Any] | None = None
        self._marked: dict[str, Any] | None = None
        self._is_due = False
        self._is_requested = False
        self._is_wanted = False
        self._last_step: int | None = None
        self._last_period = 0
        self._last_time = 0.0
        self._pause = 0.0
        self._thread: ThreadPoolExecutor | None = None
        self._saving: Future[None] | None = None

    @cached_property
    def store(self) -> Store:
        """Where checkpoints go."""
        from neuro_divergent.core.storage.store import open_store

        assert self.config.directory is not None
        return open_store(self.config.directory)

    def fit_start(self, trainer: Trainer) -> None:
        """Refuse a place with checkpoints of another run, or without room for two, and remove incomplete files."""
        if trainer.strategy.rank != 0:
            return
        steps = self._steps()
        if trainer.state.step == 0 and steps:
            raise ConfigError(
                f"{self.store.place}: holds checkpoints of an earlier run; resume it or choose another place."
            )
        step, epoch = trainer.state.step, trainer.state.epoch
        self._is_due, self._last_step = False, step if step in steps else None
        self._last_period, self._last_time, self._pause = self._period(epoch), time.monotonic(), 0.0
        self.store.clear_leftovers()
        self._require_room(trainer)
        self._forget_later(step)
        self._marked = self.best = self.best if self.best is not None and self.best["step"] in steps else None

    def validation_end(self, trainer: Trainer) -> None:
        if self.config.on_improvement and self._is_better(trainer):
            self._is_due = True

    def wants_state(self, trainer: Trainer) -> bool:
        config, state, now = self.config, trainer.state, time.monotonic()
        if config.every_steps is not None and state.step % config.every_steps == 0:
            self._is_due = True
        if self._period(state.epoch) > self._last_period:
            self._last_period = self._period(state.epoch)
            self._is_due = True
        if config.every_seconds is not None and now - self._last_time >= config.every_seconds:
            self._is_due = True
        is_early = now - self._last_time < max(config.at_most_every, self._pause)
        self._is_wanted = self._is_requested or (self._is_due and not is_early)
        if self._saving is not None and not self._saving.done():
            self._is_wanted = False  # the one before is still being written; this one comes after it
        return self._is_wanted

    def checkpoint_safe(self, trainer: Trainer) -> None:
        if not trainer.takes_state:
            return
        taken = self._take(trainer, self._is_wanted)
        if self._is_wanted:
            self._is_requested = False
            try:
                self._finish_saving()
                self._write_taken(taken)
            except StorageError as error:
                self._complain(error)

    def request(self) -> None:
        """Write one when the step is complete, however recently the last one was written."""
        self._is_due = self._is_requested = True

    def rolled_back(self, trainer: Trainer) -> None:
        """Quarantine checkpoints of the steps that were rolled back."""
        self._finish_saving()
        if trainer.strategy.rank == 0:
            self._forget_later(trainer.state.step)
        self._last_step = None

    def finishing(self, trainer: Trainer) -> None:
        """Write now, and raise if that fails several times."""
        try:
            self._finish_saving()
        except StorageError as error:
            self._complain(error)
        self._pause = 0.0  # whoever waits for the end should not wait as long as training could
        taken = self._take(trainer, True)
        for attempt in range(_LAST_ATTEMPTS):
            try:
                self._write_taken(taken)
                self._finish_saving()
            except StorageError as error:
                if attempt == _LAST_ATTEMPTS - 1:
                    raise
                self._complain(error, "")
                time.sleep(self._pause)
            else:
                return

    interrupted = finishing

    def fit_end(self, trainer: Trainer) -> None:
        """Mark the last checkpoint as the best if its validation, which came after it, was; end the thread."""
        if trainer.strategy.rank == 0 and self._last_step == trainer.state.step and self._is_better(trainer):
            with _only_warning():
                self._mark(self._as_best(trainer))
        self._close()

    def failed(self, trainer: Trainer, error: BaseException) -> None:
        self._close()

    def state_dict(self) -> dict[str, Any]:
        return {"best": self.best}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.best = state["best"]

    def _period(self, epoch: int) -> int:
        """Return how many checkpoints were due by epochs at the start of an epoch."""
        return 0 if self.config.every_epochs is None else epoch // self.config.every_epochs

    def _steps(self) -> list[int]:
        """Return the steps of the existing checkpoints."""
        from neuro_divergent.training.checkpointing.checkpoint import step_of

        return sorted(step for step in map(step_of, self.store.names()) if step is not None)

    def _forget_later(self, step: int) -> None:
        """Quarantine checkpoints of later steps, which training will reach again with other weights."""
        for later in self._steps():
            if later > step:
                self.store.quarantine(_name(later))

    def _require_room(self, trainer: Trainer) -> None:
        """Raise before training if two checkpoints would not fit."""
        weights = sum(tensor.numel() * tensor.element_size() for tensor in trainer.module.state_dict().values())
        needed, free = 2 * 4 * weights, self.store.free_bytes()  # weights, two moments and the best weights, twice
        if free is not None and needed > free:
            raise StorageError(
                f"{self.store.place}: two checkpoints need about {format_bytes(needed)}, {format_bytes(free)} are "
                "free. Make room or choose another place."
            )

    def _complain(self, error: StorageError, meanwhile: str = "Training goes on; ") -> None:
        self._pause = min(max(2 * self._pause, _FIRST_PAUSE), _LONGEST_PAUSE)
        self._is_due, self._last_step, self._last_time = True, None, time.monotonic()
        self.best = self._marked
        text = f"{str(error).rstrip('.')}. {meanwhile}the next attempt is in {self._pause:g} s."
        warnings.warn(text, StorageWarning, stacklevel=3)

    def _take(self, trainer: Trainer, is_wanted: bool) -> _Taken | None:
        """Return the state to write, of which all processes have their part, or ``None`` where there is nothing to do.

        Only the first process writes, so only it knows whether a state is wanted and not written yet.
        """
        from neuro_divergent.training.divergence import find_bad_memory, find_bad_weights

        step, is_main = trainer.state.step, trainer.strategy.rank == 0
        if not trainer.strategy.any_of(is_main and is_wanted and self._last_step != step)[0]:
            return None
        if bad := find_bad_weights(trainer.module, trainer.strategy):
            if trainer.is_over:
                names = ", ".join(bad[:5])
                raise DivergedError(f"the weights {names} are not finite at step {step}, so they are not saved.")
            return None  # the next step will find out, and say more about it
        if lost := find_bad_memory(trainer.optimizer, trainer.strategy):
            raise DivergedError(
                f"the optimizer's {lost} is not finite at step {step}, from gradients too large for it, so nothing "
                "is saved. Clip gradients or scale the data."
            )
        best = self._as_best(trainer) if self._is_better(trainer) else None
        self.best = best or self.best
        state = trainer.state_dict()
        return _Taken(step, state, best) if is_main else None

    def _write_taken(self, taken: _Taken | None) -> None:
        """Write a state, in the background if so configured."""
        from neuro_divergent.training.checkpointing.snapshot import snapshot

        if taken is None or self._last_step == taken.step:
            return
        self._last_step, self._last_time, self._is_due = taken.step, time.monotonic(), False
        if not self.config.background:
            self._write(*taken)
            return
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="checkpoints")
        self._saving = self._thread.submit(self._write, taken.step, snapshot(taken.state), taken.best)

    def _write(self, step: int, state: dict[str, Any], best: dict[str, Any] | None) -> None:
        self.store.write(_name(step), self._pack(step, state))
        self._pause, self._last_time = 0.0, time.monotonic()
        if self._saved is not None:
            self._saved(step)
        if best is not None:
            self._mark(best)
        kept = None if self.best is None else self.best["step"]
        for old in self._steps()[: -self.config.keep]:
            if old != kept:
                with _only_warning():  # one too many is no reason to end anything
                    self.store.remove(_name(old))

    def _pack(self, step: int, state: dict[str, Any]) -> Iterator[tuple[str, Content]]:
        """Return a state as files; in a differential checkpoint those of the one before are used again."""
        from neuro_divergent.training.checkpointing.checkpoint import pack_differential, pack_state

        if not self.config.differential:
            return pack_state(state, compress=self.config.compress)
        before = [earlier for earlier in self._steps() if earlier != step]
        since = _name(before[-1]) if before else None
        return pack_differential(state, since=since, compress=self.config.compress)

    def _mark(self, best: dict[str, Any]) -> None:
        """Name the best checkpoint in a file, before the one that was named until now is removed."""
        from neuro_divergent.training.checkpointing.checkpoint import BEST

        self.store.write_note(BEST, (json.dumps(best, indent=2) + "\n").encode())
        self._marked = self.best = best

    def _finish_saving(self) -> None:
        """Wait for the thread, and raise its error."""
        saving, self._saving = self._saving, None
        if saving is not None:
            saving.result()

    def _close(self) -> None:
        with _only_warning():
            self._finish_saving()
        if self._thread is not None:
            self._thread.shutdown()
            self._thread = None

    def _as_best(self, trainer: Trainer) -> dict[str, Any]:
        step, metric = trainer.state.step, self.config.metric
        return {"checkpoint": _name(step), "step": step, "metric": metric, "value": trainer.state.metrics[metric]}

    def _is_better(self, trainer: Trainer) -> bool:
        """Return whether the last validation, if there was one, is better than that of the best checkpoint."""
        if not trainer.state.metrics:
            return False
        value = find_metric(self.config.metric, trainer.state.metrics, "checkpointing", self.config.mode)
        if self.best is None:
            return True
        return bool(value < self.best["value"] if self.config.mode == "min" else value > self.best["value"])


class _Taken(NamedTuple):
    """A state to write."""

    step: int
    state: dict[str, Any]
    best: dict[str, Any] | None


@contextmanager
def _only_warning() -> Iterator[None]:
    """Turn an error of the storage inside the block into a warning."""
    try:
        yield
    except StorageError as error:
        warnings.warn(str(error), StorageWarning, stacklevel=4)


def _is_remote(directory: str | Path) -> bool:
    from neuro_divergent.core.storage.store import is_url

    return is_url(directory) and not str(directory).startswith("file://")


def _name(step: int) -> str:
    from neuro_divergent.training.checkpointing.checkpoint import step_name

    return step_name(step)
