"""Base class of splitters."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field

from neuro_divergent.core.config import Component
from neuro_divergent.core.errors import DataError
from neuro_divergent.core.registry import Registry
from neuro_divergent.evaluation.splitters.fold import Fold

if TYPE_CHECKING:
    import polars as pl

    from neuro_divergent.data.panel import Panel

__all__ = ["MOST_ROWS", "Fold", "Rows", "Splitter"]

MOST_ROWS = 1 << 40  # so that products of row counts fit into 64 bits
Rows = Annotated[int, Field(ge=0, le=MOST_ROWS)]
"""A setting that is a number of rows."""


class Splitter(Component):
    """Divides a panel into rows to train on and rows to forecast, several times over.

    ``spans`` and ``draw`` show the folds. They take a panel or whatever ``fit`` takes, with the names of the columns as
    keywords. ``neuro_divergent.plots.plot_folds`` plots them.

    Examples:
        A name, or a table as in a TOML file, stands for a splitter wherever one is expected:

        >>> import neuro_divergent as nd
        >>> nd.splitters.Splitter.from_dict({"name": "time_series", "n_splits": 3, "test_size": 12}).n_splits
        3
    """

    registry: ClassVar[Registry] = Registry("splitter", "neuro_divergent.evaluation.splitters")

    def split(self, panel: Panel) -> Iterator[Fold]:
        """Yield the folds of a panel, each checked by ``Fold.check``.

        Raises:
            DataError: If the panel cannot be split like this, or if a fold is not usable.
        """
        number = -1
        for number, fold in enumerate(self.folds(panel)):
            if fold.number != number:
                raise DataError(f"folds are numbered 0, 1, 2, ... in their order; fold {number} has {fold.number}.")
            fold.check(panel)
            yield fold
        if number < 0:
            raise DataError(f"splitter {self.name!r} yielded no fold.")

    @abstractmethod
    def folds(self, panel: Panel) -> Iterator[Fold]:
        """Yield the folds of a panel; ``split`` checks them."""

    def spans(self, data: Any, **schema: Any) -> pl.DataFrame:
        """Return every segment of every fold.

        The columns are ``fold``, ``series`` (index in the panel), ``id``, ``role`` (train, gap, test or embargo),
        ``begin`` and ``end`` (rows of the panel, the end exclusive), ``first`` and ``last`` (times, both included).
        Rows that a fold does not use are in no segment.
        """
        from neuro_divergent.evaluation.splitters.segment_table import spans_of

        panel = _as_panel(data, schema)
        return spans_of(self.split(panel), panel)

    def draw(self, data: Any, *, width: int = 80, plain: bool = False, **schema: Any) -> str:
        """Draw the folds over time with characters.

        Each fold is a line, or up to three where its series differ: the most common layouts, each with its number of
        series.

        Args:
            data: A panel, table or file.
            width: Characters from left to right; at least 40.
            plain: Use characters that every terminal can show.
            schema: Fields of ``Schema``, where the data is no panel.
        """
        from neuro_divergent.evaluation.splitters.fold_text import draw_folds

        panel = _as_panel(data, schema)
        lines = draw_folds(self.split(panel), panel, width=width, plain=plain)
        return "\n".join("".join(text for text, _ in line).rstrip() for line in lines)


def _as_panel(data: Any, schema: dict[str, Any]) -> Panel:
    from neuro_divergent.data.panel import Panel
    from neuro_divergent.data.panel_builder import build_panel
    from neuro_divergent.data.schema import Schema

    return data if isinstance(data, Panel) else build_panel(data, Schema(**schema))
