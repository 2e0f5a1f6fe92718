"""Base class of stages, and what a stage is given when it runs."""

from __future__ import annotations

import hashlib
import inspect
import sys
from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from neuro_divergent.core.config import Component
from neuro_divergent.core.registry import Registry

if TYPE_CHECKING:
    import polars as pl

    from neuro_divergent.lifecycle.pipeline.artifact import Artifact
    from neuro_divergent.training.callbacks.base import CallbackLike

_MOST_ROWS = 50
_PACKAGE = __name__.rpartition(".")[0]


@dataclass(frozen=True)
class Port:
    """A named input of a stage.

    Attributes:
        name: Its name.
        is_required: Whether the stage cannot run without it.
        is_automatic: Whether it is connected to the nearest earlier output of its name where nothing else is said.
    """

    name: str
    is_required: bool = True
    is_automatic: bool = True


@dataclass
class StageContext:
    """What a stage may use while it runs, besides its inputs.

    Attributes:
        stage: Name of the stage.
        directory: Directory for files that are needed on the way. If the process is killed, the next start finds it as
            it was, with the same inputs, settings and code.
        callbacks: Callbacks for training.
        notes: What people should know about the result, in sentences.
        tables: Small tables for the report: title and rows.
        expires: Until when the result is valid, in seconds since 1970; ``None`` for ever.
    """

    stage: str
    directory: Path
    callbacks: Sequence[CallbackLike] = ()
    notes: list[str] = field(default_factory=list)
    tables: list[dict[str, Any]] = field(default_factory=list)
    expires: float | None = None

    def note(self, sentence: str) -> None:
        """Add a sentence to the record of the stage."""
        self.notes.append(sentence)

    def show(self, title: str, table: pl.DataFrame) -> None:
        """Add the first rows of a table to the record of the stage, which the report shows."""
        rows = [[_text(value) for value in row] for row in table.head(_MOST_ROWS).rows()]
        self.tables.append({"title": title, "columns": table.columns, "rows": rows, "total": table.height})


class Stage(Component):
    """A step of a pipeline with named inputs and outputs; its fields are the settings.

    The result may depend on inputs and settings only: it is kept, and not computed again while those and the code are
    the same.

    Attributes:
        takes: Inputs.
        gives: Names of outputs.
        is_resumable: Whether a new start uses what a killed one left in the directory of the stage.
    """

    registry: ClassVar[Registry] = Registry("stage", "neuro_divergent.lifecycle.pipeline.stages")
    takes: ClassVar[tuple[Port, ...]] = ()
    gives: ClassVar[tuple[str, ...]] = ("table",)
    is_resumable: ClassVar[bool] = False

    @abstractmethod
    def run(self, inputs: Mapping[str, Artifact], context: StageContext) -> Mapping[str, Any]:
        """Compute the outputs by name: tables, values of JSON, models, or paths of files and directories."""

    @property
    def ports(self) -> tuple[Port, ...]:
        """The inputs."""
        return self.takes

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the outputs."""
        return self.gives

    @property
    def label(self) -> str:
        """What the stage is called where it has no name of its own."""
        return self.name

    def settings(self) -> dict[str, Any]:
        """Return the settings as plain values, as far as they decide about the result."""
        return {key: value for key, value in self.to_dict().items() if key != "name"}

    def code(self) -> str:
        """Return a digest of the code: the version of the package, and the sources of the stage."""
        from neuro_divergent import __version__

        digest = hashlib.sha256()
        for name in _sources(type(self).__module__):
            digest.update(Path(inspect.getfile(sys.modules[name])).read_bytes())
        return f"{self.name} {__version__} {digest.hexdigest()}"

    def check(self, inputs: Collection[str]) -> None:
        """Refuse settings that cannot work with the inputs that are connected; called before any stage is run.

        Raises:
            InputError: With the reason.
        """

    def seen_from(self, directory: Path) -> Self:
        """Return the same stage with relative paths among its settings seen from a directory."""
        return self

    def is_current(self, outputs: Mapping[str, Artifact]) -> bool:
        """Whether a kept result still holds; a stage that changes something outside looks there."""
        return True


def _sources(module: str) -> list[str]:
    """Return a module and those of this package that it takes something from."""
    found = {str(getattr(item, "__module__", "")) for item in vars(sys.modules[module]).values()}
    return sorted({module, *(name for name in found if name.startswith(f"{_PACKAGE}.") and name in sys.modules)})


def _text(value: Any) -> str:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
