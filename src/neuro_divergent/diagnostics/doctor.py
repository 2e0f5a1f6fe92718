"""Diagnosis of a training run: what is wrong, the evidence for it, and which setting to change."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from neuro_divergent.core.errors import InputError
from neuro_divergent.diagnostics.evidence import Evidence
from neuro_divergent.diagnostics.finding import SEVERITIES, Diagnosis, Finding
from neuro_divergent.diagnostics.rules.base import NotEnoughError, Rule

if TYPE_CHECKING:
    from neuro_divergent.forecasting.forecaster import Forecaster

_MODEL = "model.json"


def diagnose(subject: Forecaster | str | Path) -> Diagnosis:
    """Diagnose a run, by its directory, or a forecaster that was trained in this process.

    A run is diagnosed from its files alone, without torch, also while it trains. Rules whose files are missing or
    damaged are skipped, and the diagnosis lists them with the reason. A forecaster forecasts its held-out part, which
    takes as long as ``evaluate``.

    Examples:
        >>> import neuro_divergent as nd
        >>> config = nd.TrainingConfig(max_steps=30, optimizer=nd.AdamW(lr=1e-7))
        >>> forecaster = nd.Forecaster("nlinear", horizon=12, training=config).fit(nd.datasets.air_passengers())
        >>> diagnosis = nd.diagnose(forecaster)
        >>> diagnosis.is_healthy, diagnosis.findings[0].title
        (False, 'The model is worse than a naive forecast')
        >>> [str(change) for change in diagnosis.changes]
        ['training.max_steps=60', 'task.validation=0.3']
    """
    if isinstance(subject, (str, Path)):
        return examine(Evidence.of_run(_run_directory(Path(subject))))
    return examine(Evidence.of(subject))


def examine(evidence: Evidence) -> Diagnosis:
    """Apply every rule to the evidence."""
    findings: list[Finding] = []
    checked: list[str] = []
    not_checked: dict[str, str] = {}
    for name in Rule.registry.names():
        rule: Rule = Rule.registry.get(name)()
        reason = rule.missing(evidence)
        if reason is None:
            try:
                found = rule.check(evidence)
            except NotEnoughError as error:
                reason = str(error)
            else:
                checked.append(name)
                findings += [] if found is None else [found]
        if reason is not None:
            not_checked[name] = reason
    return Diagnosis(tuple(_in_order(findings)), tuple(checked), not_checked)


def _in_order(findings: list[Finding]) -> list[Finding]:
    """Sort findings by severity, causes first; symptoms refer to their cause instead of suggesting changes."""
    kinds = {finding.rule: Rule.registry.get(finding.rule).kind for finding in findings}
    causes = [item.title for item in findings if kinds[item.rule] == "cause" and item.severity != "hint"]
    if causes:
        names = " and ".join(f"{title[0].lower()}{title[1:]}" for title in causes[:2])
        findings = [
            dataclasses.replace(item, evidence=f"{item.evidence} First of all, {names}.", changes=())
            if kinds[item.rule] == "symptom"
            else item
            for item in findings
        ]
    order = ("cause", "own", "symptom")
    return sorted(findings, key=lambda item: (SEVERITIES.index(item.severity), order.index(kinds[item.rule])))


def _run_directory(path: Path) -> Path:
    """Return the directory of a run, or raise an error that says what the path is instead."""
    from neuro_divergent.runs.status import is_run

    if not path.is_dir():
        raise InputError(f"{path}: {'is not a directory' if path.exists() else 'not found'}; give a run directory.")
    if (path / _MODEL).is_file():
        hint = f" Its run may be {path.parent}." if is_run(path.parent) else ""
        raise InputError(
            f"{path}: is a saved model, which does not record how it was trained; pass its run directory.{hint}"
        )
    if not is_run(path):
        raise InputError(f"{path}: is not a run directory; 'nd runs' lists runs.")
    return path
