"""Splitting by a user's function or object."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from neuro_divergent.core.arrays import Bools
from neuro_divergent.core.config import register
from neuro_divergent.core.errors import ConfigError, DataError
from neuro_divergent.core.function import UserFunction, label_of, require
from neuro_divergent.evaluation.splitters.base import Splitter
from neuro_divergent.evaluation.splitters.fold import Fold
from neuro_divergent.evaluation.splitters.segments import runs_of

if TYPE_CHECKING:
    from neuro_divergent.data.panel import Panel


@register("function")
class SplitFunction(Splitter):
    """Splits by any Python function of the panel.

    A file cannot hold a function: settings that were saved and loaded hold only its label, and using them is an error
    that says so.

    Attributes:
        function: Takes the ``Panel`` and returns (or yields) folds. Each is a ``Fold`` or a pair of arrays, the rows to
            train on and the rows to test: one ``True`` or ``False`` for each row of the panel, or the numbers of rows.

    Examples:
        >>> import neuro_divergent as nd
        >>> import polars as pl
        >>> table = pl.DataFrame({"ds": range(10), "y": range(10)})
        >>> halves = nd.splitters.SplitFunction(lambda panel: [(range(5), range(5, 10))])
        >>> halves.spans(table).select("fold", "role", "begin", "end").rows()
        [(0, 'train', 0, 5), (0, 'test', 5, 10)]
    """

    function: UserFunction = ""

    def __init__(self, function: UserFunction = "", **values: Any) -> None:
        super().__init__(**{"function": function, **values})

    def folds(self, panel: Panel) -> Iterator[Fold]:
        """Yield the folds that the function returns or yields."""
        found = require(self.function, f"splitter {self.name!r}")(panel)
        if not hasattr(found, "__iter__"):
            raise DataError(
                f"{label_of(self.function)} returned {type(found).__name__}; expected an iterable of folds."
            )
        for number, item in enumerate(found):
            yield item if isinstance(item, Fold) else self._fold(number, item, panel)

    def _fold(self, number: int, pair: Any, panel: Panel) -> Fold:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise DataError(
                f"fold {number} of {label_of(self.function)} is {type(pair).__name__}; expected a Fold, or a pair of "
                "the rows to train on and the rows to test."
            )
        train, test = (runs_of(_mask(number, rows, panel), panel.offsets) for rows in pair)
        return Fold(number, *train, *test)

    def to_dict(self) -> dict[str, Any]:
        """Return the name and the label of the function, ``module:name``."""
        return {**super().to_dict(), "function": label_of(self.function)}


def as_splitter(value: Any) -> Splitter:
    """Return a splitter for a splitter, its name or table, an object with ``split(panel)``, or a function of the panel.

    What the last two return is described at ``SplitFunction``.
    """
    if isinstance(value, Splitter):
        return value
    if isinstance(value, (str, Mapping)):
        return Splitter.from_dict(value)
    if isinstance(value, type):
        raise ConfigError(f"splitter: {value.__name__} is a class; pass an object of it, {value.__name__}(...).")
    method = getattr(value, "split", value)
    if callable(method):
        return SplitFunction(method)
    raise ConfigError(
        f"splitter: got {type(value).__name__}; expected a splitter, its name or table, a function of the panel or an "
        "object with split(panel)."
    )


def _mask(number: int, rows: Any, panel: Panel) -> Bools:
    """Return a mask over the rows of the panel."""
    given = np.asarray(rows)
    given = given if given.size else given.astype(np.int64)  # numpy makes an empty list one of floats
    if given.dtype == np.bool_ and given.shape == (len(panel),):
        return given
    if given.dtype.kind not in "iu" or given.ndim != 1:
        raise DataError(
            f"fold {number}: got {given.dtype} shaped {given.shape}; expected True or False for each of the "
            f"{len(panel)} rows of the panel, or numbers of rows."
        )
    if given.size and not 0 <= given.min() <= given.max() < len(panel):
        raise DataError(
            f"fold {number}: row {given.min() if given.min() < 0 else given.max()} does not exist; the panel has the "
            f"rows 0 to {len(panel) - 1}."
        )
    if len(np.unique(given)) < len(given):
        raise DataError(f"fold {number}: a row number comes twice. If this is a mask, pass True and False.")
    mask = np.zeros(len(panel), np.bool_)
    mask[given] = True
    return mask
