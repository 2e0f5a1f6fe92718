"""A stage with its place in a pipeline: its name, and where its inputs come from."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from neuro_divergent.core.errors import ConfigError
from neuro_divergent.core.storage import strict_json
from neuro_divergent.lifecycle.pipeline.artifact import value_digest
from neuro_divergent.lifecycle.pipeline.error_policy import ErrorPolicy
from neuro_divergent.lifecycle.pipeline.stage import Port, StageContext

if TYPE_CHECKING:
    from neuro_divergent.lifecycle.pipeline.artifact import Artifact

_FORMAT = 1
_OUTPUT = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_LONGEST_NAME = 100


class Work(Protocol):
    """What a stage does: a built-in ``Stage``, or a ``FunctionStage``."""

    @property
    def label(self) -> str:
        """What it is called where it has no name of its own."""

    @property
    def ports(self) -> tuple[Port, ...]:
        """The inputs."""

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the outputs."""

    @property
    def is_resumable(self) -> bool:
        """Whether a new start uses what a killed one left in the directory of the stage."""

    def settings(self) -> dict[str, Any]:
        """Return the settings as plain values."""

    def code(self) -> str:
        """Return a digest of the code."""

    def check(self, inputs: Collection[str]) -> None:
        """Refuse settings that cannot work with the inputs that are connected; called before any stage is run."""

    def is_current(self, outputs: Mapping[str, Artifact]) -> bool:
        """Whether a kept result still holds."""

    def run(self, inputs: Mapping[str, Artifact], context: StageContext) -> Mapping[str, Any]:
        """Compute the outputs by name."""


@dataclass(frozen=True, eq=False)
class Step:
    """A stage of a pipeline; ``stage(...)`` makes one.

    Attributes:
        name: Its name in the pipeline.
        work: What it does.
        inputs: For each input that is said, the ``stage.output`` that it comes from.
        on_error: What happens if it fails; ``None`` for what the pipeline says.
        cache: Whether a result that is there is used.
    """

    name: str
    work: Work
    inputs: Mapping[str, str] = field(default_factory=dict)
    on_error: ErrorPolicy | None = None
    cache: bool = True

    def __post_init__(self) -> None:
        is_plain = isinstance(self.name, str) and 0 < len(self.name) <= _LONGEST_NAME and self.name.isprintable()
        if not is_plain or "." in self.name or "/" in self.name or self.name != self.name.strip():
            raise ConfigError(
                f"{self.name!r} cannot be the name of a stage: printable text of up to {_LONGEST_NAME} characters "
                "without '.' and '/'."
            )
        outputs = self.work.outputs
        for output in outputs:
            if not isinstance(output, str) or not _OUTPUT.fullmatch(output):
                raise ConfigError(
                    f"stage {self.name!r}: {output!r} cannot be the name of an output: letters, digits and '_'."
                )
        if len({output.casefold() for output in outputs}) < len(outputs):
            raise ConfigError(f"stage {self.name!r}: two outputs have the same name.")
        try:
            strict_json.dumps(self.work.settings())
        except ValueError as error:
            raise ConfigError(f"stage {self.name!r}: a setting {error} Pass it as an input instead.") from error

    @property
    def kind(self) -> str:
        """Name of the built-in stage, or module and name of the function."""
        return str(getattr(self.work, "kind", self.work.label))

    def key(self, inputs: Mapping[str, Artifact]) -> str:
        """Return a SHA-256 of all that decides about the result: code, settings, and the content of the inputs."""
        return value_digest(
            {
                "format": _FORMAT,
                # Of what is run each time, the code need not be known; its result belongs to no other stage.
                "code": self.work.code() if self.cache else f"{self.kind} of {self.name}",
                "settings": self.work.settings(),
                "outputs": list(self.work.outputs),
                "inputs": {name: [item.kind, item.digest] for name, item in inputs.items()},
            }
        )

    def to_dict(self) -> dict[str, Any]:
        """Return what it is as plain values, for the record."""
        return {
            "name": self.name,
            "kind": self.kind,
            "settings": self.work.settings(),
            "outputs": list(self.work.outputs),
            "cache": self.cache,
        }
