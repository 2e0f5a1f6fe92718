"""What is submitted to the registry: the files of a model, and what is known about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuro_divergent.core.storage.manifest import digest_of
from neuro_divergent.core.storage.strict_json import finite_or_none
from neuro_divergent.lifecycle.registry.blobs import Blobs
from neuro_divergent.lifecycle.registry.description import Description
from neuro_divergent.lifecycle.registry.evidence import Evidence, plain, present_code, present_environment
from neuro_divergent.runs.directory import DATA, MODEL
from neuro_divergent.runs.tables import BACKTEST

if TYPE_CHECKING:
    from neuro_divergent.evaluation.evaluate import Evaluation
    from neuro_divergent.forecasting.protocol import ForecastModel

    ModelLike = ForecastModel | str | Path
    ScoresLike = Mapping[str, Any] | Evaluation

_WITH_VALUES = (BACKTEST, DATA)  # files of a run that have values or ids of series


@dataclass(frozen=True)
class Submission:
    """A model that is about to be stored.

    Attributes:
        files: Its files, as ``save`` writes them.
        description: What they say.
        run: Directory of the run, as it was given.
        evidence: What is known about it besides.
    """

    files: dict[str, bytes]
    description: Description
    run: str | None
    evidence: Evidence

    @classmethod
    def of(cls, model: ModelLike, *, run: str | Path | None = None, context: bool = True) -> Submission:
        """Read a model, from memory or from a directory, and the evidence of its run.

        Raises:
            NotFittedError: If it is not fitted.
            InputError: If ``run`` is not the directory of a run.
            UntrustedFileError: If the directory does not hold a model.
        """
        if isinstance(model, (str, Path)):
            files, place = _read(Path(model), context=context)
            run = model if run is None and (Path(model) / MODEL).is_dir() else run
            evidence = Evidence()
        else:
            files, place = dict(model.to_files(context=context)), type(model).__name__
            evidence = Evidence.of_model(model)
        if run is not None:
            evidence = evidence.updated(Evidence.of_run(Path(run)))
        if not context:
            kept = {name: content for name, content in evidence.files.items() if name not in _WITH_VALUES}
            evidence = replace(evidence, files=kept)
        return cls(files, Description.of(files, place), None if run is None else str(run), evidence)

    def updated(self, *, scores: ScoresLike | None, data: Mapping[str, Any] | None, context: bool) -> Submission:
        """Return it with scores and a description of the data that the caller gives."""
        evidence = self.evidence
        if scores is not None and hasattr(scores, "forecasts"):
            given = Evidence.of_evaluation(scores)
            if not context:
                given = replace(given, files={})
            evidence = evidence.updated(given)
        elif scores is not None:
            evidence = evidence.updated(Evidence(scores=plain(scores)))
        if data is not None:
            evidence = evidence.updated(Evidence(data=plain(data)))
        return replace(self, evidence=evidence)

    def digests(self) -> tuple[str, str | None]:
        """Return the digests of the model and of the evidence, if it has files."""
        return digest_of(self.files), digest_of(self.evidence.files) if self.evidence.files else None

    def store(self, blobs: Blobs) -> None:
        """Store the files of the model and of the evidence."""
        blobs.put(self.files)
        if self.evidence.files:
            blobs.put(self.evidence.files)

    def record(self, *, gate: Any, privacy: Any) -> dict[str, Any]:
        """Return everything that is recorded and only read."""
        description, evidence = self.description, self.evidence
        record = {
            "kind": description.kind,
            "run": self.run,
            "config": description.config,
            "interface": description.interface,
            "data": evidence.data,
            "code": evidence.code or present_code(),
            "environment": evidence.environment or description.environment or present_environment(),
            "scores": evidence.scores,
            "gate": gate,
            "privacy": evidence.privacy if privacy is None else privacy,
            "formats": description.formats,
        }
        return {name: finite_or_none(value) for name, value in record.items()}


def _read(path: Path, *, context: bool) -> tuple[dict[str, bytes], str]:
    from neuro_divergent.forecasting.load import model_from_files, read_stored

    stored = read_stored(path)
    if context:
        return stored.files, stored.place
    return dict(model_from_files(stored.files, stored.place).to_files(context=False)), stored.place
