"""What the files of a saved model say about it, read without building the model or importing torch."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from neuro_divergent.core.errors import UntrustedFileError
from neuro_divergent.core.storage import strict_json
from neuro_divergent.forecasting.load import KINDS
from neuro_divergent.lifecycle.registry.semantic_version import Signature

_FILES = {kind: file for file, kind in KINDS.items()}
_COLUMNS = ("target", "time", "id", "past", "future", "static")
# Settings of training that change where and how fast it runs and what it reports, and the seed.
_NOT_RECIPE = frozenset(("seed", "device", "threads", "prefetch", "log_every", "callbacks", "stop_file", "strategy"))


@dataclass(frozen=True)
class Description:
    """A model by its files.

    Attributes:
        kind: Public class of the model.
        interface: What users of the model depend on.
        recipe: How it is made; the same recipe on other data or with another seed is equal.
        config: All its settings, for people.
        formats: Format of the files by kind.
        environment: What it was made with; empty where the files do not say.
    """

    kind: str
    interface: dict[str, Any]
    recipe: dict[str, Any]
    config: dict[str, Any]
    formats: dict[str, int]
    environment: dict[str, Any]

    @classmethod
    def of(cls, files: Mapping[str, bytes], place: str) -> Description:
        """Read the description of a model of any kind that ``nd.load`` reads.

        Args:
            files: Contents by name.
            place: What they are called in messages.

        Raises:
            UntrustedFileError: If they do not describe a model.
        """
        kind = next((kind for name, kind in KINDS.items() if name in files), None)
        if kind is None:
            raise UntrustedFileError(f"{place}: is not a model: holds {sorted(files)}.")
        file = _FILES[kind]
        document = strict_json.loads(files[file], f"{place}/{file}", constants=True)
        try:
            made: Description = _READERS[kind](document, files, place)
        except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
            raise UntrustedFileError(f"{place}/{file}: does not describe a model ({error!r}).") from error
        return made

    def signature(self, recipe: Mapping[str, Any] | None = None) -> Signature:
        """Return the hashes that versions are compared by; ``recipe`` takes the place of the settings of the model."""
        return Signature(_hash(self.interface), _hash(self.recipe if recipe is None else dict(recipe)), self.formats)


def canonical_json(value: Any) -> bytes:
    """Return the one spelling of a value as JSON: sorted keys and no spaces."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass")


def forecast_outputs(loss: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a model with this loss forecasts: a point, some quantiles or a distribution."""
    if loss["name"] == "quantile":
        return {"kind": "quantiles", "levels": list(loss["quantiles"])}
    has_distribution = "point" in loss or loss["name"] == "implicit_quantile"
    return {"kind": "distribution" if has_distribution else "point"}


def _hash(value: Any) -> str:
    return hashlib.sha256(canonical_json(value)).hexdigest()


def _interface(document: Mapping[str, Any], horizon: int, outputs: Any) -> dict[str, Any]:
    schema = document["schema"]
    return {
        "horizon": horizon,
        "frequency": document["frequency"],
        "columns": {role: schema.get(role) for role in _COLUMNS},
        "outputs": outputs,
    }


def _recipe(config: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a network or a statistical method that make its recipe."""
    parts = {name: dict(section) for name, section in config.items() if isinstance(section, Mapping)}
    if "training" in parts:
        parts["training"] = {name: value for name, value in parts["training"].items() if name not in _NOT_RECIPE}
    parts["table"] = {name: value for name, value in schema.items() if name not in (*_COLUMNS, "frequency")}
    return parts


def _network(document: dict[str, Any], files: Mapping[str, bytes], place: str) -> Description:
    config = {
        "kind": "Forecaster",
        "model": document["architecture"],
        "task": document["task"],
        "training": document["training"],
        "data": document["schema"],
    }
    task = document["task"]
    return Description(
        kind="Forecaster",
        interface=_interface(document, task["horizon"], forecast_outputs(task["loss"])),
        recipe={"kind": "Forecaster", **_recipe({k: config[k] for k in _NETWORK_PARTS}, document["schema"])},
        config=config,
        formats={"Forecaster": int(document["format"])},
        environment=dict(document["environment"]),
    )


_NETWORK_PARTS = ("model", "task", "training")


def _statistical(document: dict[str, Any], files: Mapping[str, bytes], place: str) -> Description:
    config = {"model": document["method"], "task": document["task"]}
    task = document["task"]
    return Description(
        kind="Statistical",
        interface=_interface(document, task["horizon"], forecast_outputs(task["loss"])),
        recipe={"kind": "Statistical", **_recipe(config, document["schema"])},
        config={"kind": "Statistical", **config, "data": document["schema"]},
        formats={"Statistical": int(document["format"])},
        environment={},
    )


def _ensemble(document: dict[str, Any], files: Mapping[str, bytes], place: str) -> Description:
    members = [_inside(files, f"member-{number}.", place) for number in range(1, document["members"] + 1)]
    first = members[0]
    outputs = {canonical_json(member.interface["outputs"]) for member in members}
    own = {"combine": document["combine"], "weights": document["weights"], "snapshots": document["is_one_training"]}
    return Description(
        kind="Ensemble",
        interface=first.interface if len(outputs) == 1 else {**first.interface, "outputs": {"kind": "point"}},
        recipe={"kind": "Ensemble", **own, "members": [member.recipe for member in members]},
        config={"kind": "Ensemble", **own, "members": [member.config for member in members]},
        formats=_merged("Ensemble", document, *members),
        environment=first.environment,
    )


def _hint(document: dict[str, Any], files: Mapping[str, bytes], place: str) -> Description:
    inside = _inside(files, "", place, without="hint.json")
    own = {"method": document["method"]}
    # Which series there are is data, as for every model.
    return Description(
        kind="HINT",
        interface={**inside.interface, "reconciled": True},
        recipe={"kind": "HINT", **own, "forecaster": inside.recipe},
        config={"kind": "HINT", **own, "forecaster": inside.config},
        formats=_merged("HINT", document, inside),
        environment=inside.environment,
    )


def _conformal(document: dict[str, Any], files: Mapping[str, bytes], place: str) -> Description:
    inside = _inside(files, "forecaster.", place)
    own = {"settings": document["calibration"]["settings"]}
    return Description(
        kind="Conformal",
        interface=inside.interface,
        recipe={"kind": "Conformal", **own, "forecaster": inside.recipe},
        config={"kind": "Conformal", **own, "forecaster": inside.config},
        formats=_merged("Conformal", document, inside),
        environment=inside.environment,
    )


def _auto(document: dict[str, Any], files: Mapping[str, bytes], place: str) -> Description:
    # The settings of the search are the recipe; what it chose is a result of the data.
    settings = {name: value for name, value in document["config"].items() if name not in ("seed", "jobs")}
    horizon = document["plan"]["setting"]["horizon"]
    return Description(
        kind="AutoForecaster",
        interface=_interface(document, horizon, {"kind": "distribution"}),
        recipe={"kind": "AutoForecaster", **_recipe({"search": settings}, document["schema"])},
        config={
            "kind": "AutoForecaster",
            "search": document["config"],
            "plan": document["plan"],
            "data": document["schema"],
        },
        formats={"AutoForecaster": int(document["format"])},
        environment={},
    )


def _inside(files: Mapping[str, bytes], prefix: str, place: str, *, without: str = "") -> Description:
    """Read the description of a model that is part of another one."""
    own = {name[len(prefix) :]: content for name, content in files.items() if name.startswith(prefix)}
    own.pop(without, None)
    return Description.of(own, f"{place}/{prefix[:-1]}" if prefix else place)


def _merged(kind: str, document: Mapping[str, Any], *inside: Description) -> dict[str, int]:
    formats = {kind: int(document["format"])}
    for part in inside:
        formats |= part.formats
    return formats


_READERS = {
    "Forecaster": _network,
    "Statistical": _statistical,
    "Ensemble": _ensemble,
    "HINT": _hint,
    "Conformal": _conformal,
    "AutoForecaster": _auto,
}
