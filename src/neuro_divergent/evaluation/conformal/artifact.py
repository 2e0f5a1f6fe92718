"""The files of a saved calibrated model: those of its forecaster, whatever its kind, and the calibration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from neuro_divergent import __version__
from neuro_divergent.core.errors import UntrustedFileError
from neuro_divergent.core.storage import strict_json
from neuro_divergent.forecasting.load import model_from_files, read_description
from neuro_divergent.forecasting.protocol import ForecastModel

FORMAT = 1
_DESCRIPTION = "conformal.json"
_INSIDE = "forecaster."


def pack_conformal(
    forecaster: ForecastModel, calibration: Mapping[str, Any], *, context: bool
) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a calibrated model; ``context`` is as for ``Forecaster.save``."""
    for name, content in forecaster.to_files(context=context):
        yield f"{_INSIDE}{name}", content
    description = {"format": FORMAT, "version": __version__, "calibration": calibration}
    yield _DESCRIPTION, strict_json.dumps(description)


def unpack_conformal(files: dict[str, bytes], place: str) -> tuple[ForecastModel, Mapping[str, Any]]:
    """Return the forecaster and the calibration that files hold, called ``place`` in messages.

    Raises:
        UntrustedFileError: If they do not describe a calibrated model, or were written by a newer version.
    """
    files = dict(files)
    description = read_description(files.pop(_DESCRIPTION), f"{place}/{_DESCRIPTION}", FORMAT, kind="Conformal")
    if unknown := [name for name in files if not name.startswith(_INSIDE)]:
        raise UntrustedFileError(f"{place}: does not describe a Conformal (file {unknown[0]!r}).")
    inside = {name[len(_INSIDE) :]: content for name, content in files.items()}
    return model_from_files(inside, place), description.get("calibration", {})
