"""Makes registries of models, with files of one small model and evidence that is made up."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from neuro_divergent.lifecycle.promotion.decision import Check, GateDecision
from neuro_divergent.lifecycle.registry.model_version import ModelVersion
from neuro_divergent.lifecycle.registry.registry import Registry
from tests.unit.lifecycle.registry.models import SavedModel, forecaster, table


@cache
def _files() -> dict[str, bytes]:
    return dict(forecaster().fit(table()).to_files())


def gate(passed: bool = True) -> GateDecision:
    """Return the decision of a gate, with a check of each outcome."""
    checks = (
        Check("finite", True, "All forecasts are finite.", {"broken": 0}),
        Check("accuracy", passed, "Scaled error 0.8, champion 0.9, 12 origins.", {"challenger": 0.8, "champion": 0.9}),
        Check("coverage", None, "80 % interval: nothing observed, cannot be judged.", {"level": 80.0}),
    )
    return GateDecision(passed, checks, "The challenger passes." if passed else "The champion stays.", "no_worse")


def scores(mae: float, *, windows: int = 20) -> dict[str, Any]:
    """Return scores as a run has them."""
    names = {"nlinear": mae, "seasonal naive": 2.0}
    return {
        "model": "nlinear", "part": "test", "windows": windows, "first_cutoff": "2026-03-01T00:00:00",
        "last_cutoff": "2026-03-20T00:00:00", "note": "Scores of the test part.",
        "scores": [{"name": name, "mae": value, "mase": value / 2, "bias": 0.01} for name, value in names.items()],
        "coverage": [{"level": 80.0, "coverage": 79.4, "width": 1.2}],
    }  # fmt: skip


class RegistryMaker:
    """A registry that gets one version after the other.

    Args:
        path: Its directory.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._number = 0

    def register(self, name: str = "sales", *, mae: float = 1.0, is_passed: bool = True, **values: Any) -> ModelVersion:
        """Register another version."""
        self._number += 1
        day = 1 + self._number
        with tempfile.TemporaryDirectory() as place, Registry(self.path) as registry:
            saved = SavedModel(_files(), Path(place)).write(self._number)
            given = {
                "scores": scores(mae, windows=20 + self._number),
                "gate": gate(is_passed),
                "data": {"fingerprint": f"{self._number:064x}", "start": "2026-01-01 00:00:00",
                         "end": f"2026-03-{day:02d} 23:00:00", "rows": 1000 * day, "series": 4},
                "tags": {"mode": "full"},
            } | values  # fmt: skip
            return registry.register(saved, name, **given)

    def promote(self, address: str, alias: str = "champion", **values: Any) -> None:
        """Move an alias."""
        with Registry(self.path, create=False) as registry:
            registry.promote(address, alias, **values)

    def make(self, name: str = "sales") -> RegistryMaker:
        """Make four versions: a previous champion, a champion, one that was rejected and archived, and a challenger."""
        for mae, is_passed in ((1.4, True), (1.2, True), (1.9, False), (1.1, True)):
            self.register(name, mae=mae, is_passed=is_passed)
        self.promote(f"{name}==v1", reason="The first champion.")
        self.promote(
            f"{name}==v2", reason="Better on the test part.", evidence={"evidence": 23.4, "gate": gate().to_dict()}
        )
        self.promote(f"{name}==v4", "challenger", reason="It passed the gate.")
        with Registry(self.path, create=False) as registry:
            registry.archive(f"{name}==v3")
        return self
