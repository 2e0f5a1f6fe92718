"""One version of a model."""

from __future__ import annotations

import io
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from neuro_divergent.core import html
from neuro_divergent.lifecycle.registry.blobs import Blobs
from neuro_divergent.runs.tables import BACKTEST

if TYPE_CHECKING:
    import polars as pl

    from neuro_divergent.forecasting.protocol import ForecastModel

_HIDDEN = ("blobs",)


@dataclass(frozen=True, kw_only=True)
class ModelVersion:
    """A version of a model as it was when it was read; only tags, aliases and ``archived`` ever change.

    Attributes:
        name: Name of the model.
        number: 1, 2, 3, ... without gaps.
        version: Semantic version, such as ``"1.4.2"``.
        digest: SHA-256 of the manifest of its files.
        kind: Public class of the model, such as ``"Forecaster"``.
        parent: Number of the version it was made from, or that was champion when it was registered.
        run: Directory of its run, as it was given.
        config: Its settings.
        interface: Horizon, frequency, columns and outputs.
        data: Fingerprint, start, end, rows and series of the data of training.
        code: Version of the package, commit, and whether files differed from it.
        environment: Versions and machine of training.
        scores: Scores and the windows they are of: part, number, first and last cutoff.
        gate: The decision that let it pass, if there was one.
        privacy: What was charged to a privacy budget, if there was one.
        tags: Text by name.
        aliases: Aliases that point at it.
        created: When it was registered, in UTC.
        archived: Whether it is archived.
        evidence: SHA-256 of the manifest of the files of its run; ``None`` if there are none.
        formats: Format of its files by kind of model.
        blobs: Where its files are.

    Examples:
        >>> import neuro_divergent as nd
        >>> model = nd.Statistical("seasonal_naive", horizon=12).fit(nd.datasets.air_passengers())
        >>> version = nd.Registry("models").register(model, "flights")
        >>> version.number, version.version, version.kind
        (1, '1.0.0', 'Statistical')
        >>> version.load().predict().equals(model.predict())
        True
    """

    name: str
    number: int
    version: str
    digest: str
    kind: str
    parent: int | None
    run: str | None
    config: dict[str, Any]
    interface: dict[str, Any]
    data: dict[str, Any] | None
    code: dict[str, Any]
    environment: dict[str, Any]
    scores: dict[str, Any] | None
    gate: dict[str, Any] | None
    privacy: dict[str, Any] | None
    tags: dict[str, str]
    aliases: tuple[str, ...]
    created: str
    archived: bool
    evidence: str | None
    formats: dict[str, int]
    blobs: Blobs = field(repr=False, compare=False)

    def __repr__(self) -> str:
        aliases = f", {', '.join(self.aliases)}" if self.aliases else ""
        return f"ModelVersion({self}, {self.kind}{aliases}{', archived' if self.archived else ''})"

    def _repr_html_(self) -> str:
        pairs = [
            ("kind", self.kind),
            ("aliases", ", ".join(self.aliases)),
            ("registered", self.created),
            ("parent", None if self.parent is None else f"v{self.parent}"),
            ("data", _pairs(self.data)),
            ("interface", _pairs(self.interface)),
            ("tags", _pairs(self.tags)),
            ("run", self.run),
            ("digest", self.digest),
        ]
        return html.card("ModelVersion", f"{self}{', archived' if self.archived else ''}", html.facts(pairs))

    def __str__(self) -> str:
        return f"{self.name}=={self.version} (v{self.number})"

    def load(self) -> ForecastModel:
        """Return the model, from the files of its digest in the registry and from nowhere else.

        Raises:
            UntrustedFileError: If the files are missing or altered.
            StorageError: If they cannot be read.
        """
        from neuro_divergent.forecasting.load import model_from_files

        return model_from_files(self.files(), self.blobs.url(self.digest))

    def files(self) -> dict[str, bytes]:
        """Return the files of the model, as ``save`` writes them."""
        return self.blobs.read(self.digest)

    def evidence_files(self) -> dict[str, bytes]:
        """Return the files of its run that were registered with it: settings, scores, back-test, environment."""
        return {} if self.evidence is None else self.blobs.read(self.evidence)

    def backtest(self) -> pl.DataFrame | None:
        """Return the forecasts of held-out values, with what was observed and the baselines; ``None`` without them.

        Columns are those of ``Evaluation.forecasts``: id, time, cutoff, step, actual, forecast, baselines, intervals.
        """
        import polars as pl

        table = self.evidence_files().get(BACKTEST)
        return None if table is None else pl.read_parquet(io.BytesIO(table))

    def to_dict(self) -> dict[str, Any]:
        """Return everything that is recorded as plain values."""
        values = {item.name: getattr(self, item.name) for item in fields(self) if item.name not in _HIDDEN}
        return {**values, "aliases": list(self.aliases)}


def _pairs(values: dict[str, Any] | None) -> str:
    return ", ".join(f"{name}: {value}" for name, value in (values or {}).items())
