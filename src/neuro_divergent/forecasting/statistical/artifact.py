"""The files of a saved statistical model: its settings, and the series that it forecasts from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import get_args

from neuro_divergent import __version__
from neuro_divergent.core.errors import UntrustedFileError
from neuro_divergent.core.storage import strict_json
from neuro_divergent.core.storage.tensor_file import dump_tensors, load_tensors
from neuro_divergent.data.io.source import Backend
from neuro_divergent.forecasting.context_file import TENSORS, context_tensors, describe_context, rebuild_context
from neuro_divergent.forecasting.inspection import check_series
from neuro_divergent.forecasting.load import read_description, rebuilding
from neuro_divergent.forecasting.statistical.fitted import FittedStatistical
from neuro_divergent.forecasting.statistical.methods.base import StatisticalMethod
from neuro_divergent.forecasting.task import Task

FORMAT = 1
_DESCRIPTION = "statistical.json"
_TENSORS = "statistical.safetensors"


def pack_statistical(fitted: FittedStatistical, *, context: bool = True) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a statistical model; without ``context``, there are no series in them."""
    if not context:
        fitted = fitted.without_context()
    description = {
        "format": FORMAT,
        "version": __version__,
        "method": fitted.method.to_dict(),
        "task": fitted.task.to_dict(),
        "jobs": fitted.jobs,
        "backend": fitted.backend,
        **describe_context(fitted.context),
    }
    yield _DESCRIPTION, strict_json.dumps(description, indent=1)
    if fitted.has_context:
        yield _TENSORS, dump_tensors(context_tensors(fitted.context))


def unpack_statistical(files: Mapping[str, bytes], place: str) -> FittedStatistical:
    """Return the statistical model that files hold, called ``place`` in messages.

    Raises:
        UntrustedFileError: If they do not describe a model that can be used, or were written by a newer version.
    """
    if not {_DESCRIPTION} <= set(files) <= {_DESCRIPTION, _TENSORS}:
        raise UntrustedFileError(f"{place}: is not a statistical model: holds {sorted(files)}.")
    description = read_description(files[_DESCRIPTION], f"{place}/{_DESCRIPTION}", FORMAT, kind="Statistical")
    tensors = load_tensors(files[_TENSORS], f"{place}/{_TENSORS}") if _TENSORS in files else {}
    with rebuilding(place, "Statistical"):
        unknown = [name for name in tensors if name not in TENSORS]
        if unknown:
            raise ValueError(f"tensor {unknown[0]!r}")
        task, context = Task.from_dict(description["task"]), rebuild_context(description, tensors)
        if context.num_series:
            check_series(context, task.horizon)
            if (context.first_observed >= context.offsets[1:]).any():
                raise ValueError("a series without observed values")
        if task.season_length is None or task.input_size is None:
            raise ValueError("a task that is not resolved")
        if context.schema.covariates or context.schema.calendar:
            raise ValueError("covariates")
        backend, jobs = description["backend"], description["jobs"]
        if backend not in get_args(Backend) or type(jobs) is not int or not (jobs == -1 or jobs > 0):
            raise ValueError("backend or jobs")
        return FittedStatistical(StatisticalMethod.from_dict(description["method"]), task, context, backend, jobs)
