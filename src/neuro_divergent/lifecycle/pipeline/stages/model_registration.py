"""Model registration: puts a model into the registry."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from pydantic import Field

from neuro_divergent.core.config import register
from neuro_divergent.core.errors import NeuroDivergentError
from neuro_divergent.core.storage.store import is_url
from neuro_divergent.data.schema import Schema
from neuro_divergent.lifecycle.dependency import load_sqlalchemy
from neuro_divergent.lifecycle.pipeline.series_table import SeriesTable, plain
from neuro_divergent.lifecycle.pipeline.stage import Port, Stage, StageContext

if TYPE_CHECKING:
    from neuro_divergent.lifecycle.pipeline.artifact import Artifact
    from neuro_divergent.lifecycle.registry.registry import Registry


@register("model_registration")
class ModelRegistration(Stage):
    """Registers a model with its run, scores and data as a new version.

    A model that is registered already, such as by a start that was killed after it, keeps its version.

    Takes ``model``, and ``run``, ``scores``, ``table`` and ``schema`` if stages before give them. Gives ``version``:
    name, number, version and digest.

    Attributes:
        location: Directory of the registry, or an address such as ``postgresql://user@host/database``.
        blobs: Where the files of models are, for a registry at an address.
        model_name: Name of the model in the registry.
        tags: Tags of the version.
        alias: Alias that the version gets: ``challenger``, ``champion`` or none.
        context: Whether the ends of the series are stored with the model.

    Examples:
        >>> import neuro_divergent as nd
        >>> training = nd.lifecycle.Training(model="nlinear", task={"horizon": 12}, training={"max_steps": 5})
        >>> register = nd.lifecycle.ModelRegistration(location="models", model_name="flights", alias="champion")
        >>> _ = nd.Pipeline([training, register], data=nd.datasets.air_passengers(), directory="pipeline").run()
        >>> print(nd.Registry("models").get("flights@champion"))
        flights==1.0.0 (v1)
    """

    takes: ClassVar[tuple[Port, ...]] = (
        Port("model"),
        Port("run", is_required=False),
        Port("scores", is_required=False),
        Port("table", is_required=False),
        Port("schema", is_required=False),
    )
    gives: ClassVar[tuple[str, ...]] = ("version",)

    location: str = "models"
    blobs: str | None = None
    model_name: str
    tags: dict[str, str] = Field(default_factory=dict)
    alias: Literal["champion", "challenger"] | None = None
    context: bool = True

    def check(self, inputs: Collection[str]) -> None:
        load_sqlalchemy()

    def run(self, inputs: Mapping[str, Artifact], context: StageContext) -> dict[str, Any]:
        with self._open() as registry:
            version = registry.register(
                inputs["model"].file,
                self.model_name,
                run=inputs["run"].file if "run" in inputs else None,
                scores=inputs["scores"].load() if "scores" in inputs else None,
                data=_describe_data(inputs),
                tags=dict(self.tags),
                context=self.context,
            )
            address = f"{self.model_name}==v{version.number}"
            if self.alias is not None and registry.aliases(self.model_name).get(self.alias) != version.number:
                registry.promote(address, self.alias, reason=f"pipeline stage {context.stage}")
        context.note(f"{self.model_name} {version.version} (number {version.number}) is registered.")
        made = {"name": self.model_name, "number": version.number, "version": version.version, "digest": version.digest}
        return {"version": made}

    def is_current(self, outputs: Mapping[str, Artifact]) -> bool:
        made = outputs["version"].load()
        try:
            with self._open() as registry:
                return bool(registry.get(f"{made['name']}==v{made['number']}").digest == made["digest"])
        except NeuroDivergentError:
            return False

    def seen_from(self, directory: Path) -> Self:
        changes = {}
        for name in ("location", "blobs"):
            place = getattr(self, name)
            if place is not None and not is_url(place):
                changes[name] = str(directory / place)
        return self.replace(**changes)

    def _open(self) -> Registry:
        from neuro_divergent.lifecycle.registry.registry import Registry

        return Registry(self.location, blobs=self.blobs)


def _describe_data(inputs: Mapping[str, Artifact]) -> dict[str, Any] | None:
    """Return digest, range and size of the table that the model was trained on."""
    if "table" not in inputs or "schema" not in inputs:
        return None
    table = SeriesTable.of(inputs["table"].table(), Schema.from_dict(inputs["schema"].load()))
    times = table.frame[table.schema.time]
    return {
        "fingerprint": inputs["table"].digest,
        "start": plain(times.min()),
        "end": plain(times.max()),
        "rows": table.frame.height,
        "series": table.frame[table.schema.id].n_unique() if table.schema.id else 1,
    }
