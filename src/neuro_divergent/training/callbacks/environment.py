"""Versions, machine and command of a run in a file."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from neuro_divergent.core.environment import describe_commit, describe_environment
from neuro_divergent.core.errors import StorageError, StorageWarning
from neuro_divergent.core.storage.atomic import write_file
from neuro_divergent.training.callbacks.base import Callback

if TYPE_CHECKING:
    from neuro_divergent.training.engine import Trainer


class EnvironmentNote(Callback):
    """Writes versions, machine, device, threads, command and the commit of the user's project when training starts.

    A disk that refuses is warned about, and training goes on.
    """

    main_only: ClassVar[bool] = True
    in_vectorized: ClassVar[bool] = True

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def fit_start(self, trainer: Trainer) -> None:
        known = describe_environment(threads=trainer.threads, device=str(trainer.device))
        command = [word.encode("utf-8", "replace").decode() for word in sys.argv]  # JSON has no half characters
        content = {**known, "project": describe_commit(), "command": command}
        try:
            write_file(self.path, (json.dumps(content, indent=2) + "\n").encode())
        except StorageError as error:
            warnings.warn(f"{error} Training goes on.", StorageWarning, stacklevel=2)
