"""Blocked cross-validation: blocks of time and groups of series, each held out in turn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl
from pydantic import Field, field_validator, model_validator

from neuro_divergent.core.arrays import Array
from neuro_divergent.core.config import register
from neuro_divergent.core.errors import DataError, did_you_mean
from neuro_divergent.data.cleaning.calendar import show
from neuro_divergent.data.io.table import describe
from neuro_divergent.evaluation.splitters.base import Rows, Splitter
from neuro_divergent.evaluation.splitters.fold import Fold
from neuro_divergent.evaluation.splitters.segments import clip, collect, cut_out, keep
from neuro_divergent.evaluation.splitters.timeline import first_steps

if TYPE_CHECKING:
    from typing import Self

    from neuro_divergent.core.arrays import Bools, Ints
    from neuro_divergent.data.panel import Panel


@register("blocked")
class BlockedSplit(Splitter):
    """Holds out a block of time, or a group of series, and trains on the rest, before and after.

    Time from the first row of the panel to the last is cut into ``blocks`` of equal length (to the row). A fold also
    trains on rows after its block, which no real forecast can; but short data is used well. Held-out groups
    estimate the error on series that the model was not trained on. Training windows never span a block.

    Attributes:
        blocks: Number of blocks of time.
        groups: How series are grouped: a number of groups of about equal size that are drawn at random, the name of a
            static column, or a table from series to group, in which series are named by text.
        test: What a fold holds out. ``"blocks"``: one block, of all series or, if there are groups, of one group, which
            is trained on outside of the block, and other series everywhere. ``"groups"``: all rows of one group.
            ``"both"``: one block of one group; its series are not trained on at all, nor are the others within the
            block, so that training shares neither series nor times with the test.
        gap: Rows before the block that are not trained on.
        purge: Rows on either side of the block that are not trained on, besides the gap: those whose targets, if they
            cover later rows, overlap with the block, or are overlapped by those of the block.
        embargo: Rows after the block, and after its purge, that are not trained on.
        seed: Seed of groups that are drawn at random.

    Examples:
        Five folds of ten rows; the third holds out rows 4 and 5 and trains on both sides, but for the row after them:

        >>> import neuro_divergent as nd
        >>> import polars as pl
        >>> table = pl.DataFrame({"ds": range(10), "y": range(10)})
        >>> spans = nd.splitters.BlockedSplit(blocks=5, embargo=1).spans(table).filter(fold=2)
        >>> spans.select("role", "begin", "end").rows()
        [('train', 0, 4), ('test', 4, 6), ('embargo', 6, 7), ('train', 7, 10)]
    """

    blocks: int = Field(default=5, ge=2, le=100_000)
    groups: int | str | dict[str, str] | None = None
    test: Literal["blocks", "groups", "both"] = "blocks"
    gap: Rows = 0
    purge: Rows = 0
    embargo: Rows = 0
    seed: int = Field(default=0, ge=0)

    @field_validator("groups", mode="before")
    @classmethod
    def _as_text(cls, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {str(series): str(group) for series, group in value.items()}
        return value

    @model_validator(mode="after")
    def _parts_agree(self) -> Self:
        if self.test != "blocks" and self.groups is None:
            raise ValueError(f"blocked: test={self.test!r} needs groups: a number, a static column or a table")
        if isinstance(self.groups, int) and self.groups < 2:
            raise ValueError(f"blocked: groups: {self.groups} must be at least 2, or there is nothing to train on")
        needless = [name for name in ("gap", "purge", "embargo") if getattr(self, name)]
        if self.test == "groups" and needless:
            raise ValueError(
                f"blocked: {needless[0]} has no effect with test='groups', which holds out complete series"
            )
        return self

    def folds(self, panel: Panel) -> Iterator[Fold]:
        """Yield the folds block by block, and in each block group by group."""
        number = 0
        for block, held in product(self._blocks(panel), self._groups(panel)):
            fold = self._fold(panel, number, block, held)
            if len(fold.test_series):  # A block may lie where the series of a group have no rows.
                yield fold
                number += 1

    def _fold(self, panel: Panel, number: int, block: tuple[Ints, Ints], held: Bools) -> Fold:
        full = panel.offsets[:-1], panel.offsets[1:]
        begins, ends = block
        before, after = begins - self.gap - self.purge, ends + self.purge
        hole = before, after + self.embargo
        # Series that are not held out keep all their rows; a series that is held out completely keeps none.
        is_cut = ~held if self.test == "both" else held if self.test == "blocks" else np.zeros_like(held)
        train = [keep(is_cut, part) for part in cut_out(full, [hole])]
        if self.test != "both":
            train.append(keep(~held, full))
        fold = Fold(
            number,
            *collect(train),
            *collect([keep(held, clip(block, full))]),
            gap=collect([keep(is_cut, clip(side, full)) for side in ((before, begins), (ends, after))]),
            embargo=collect([keep(is_cut, clip((after, after + self.embargo), full))]),
        )
        if len(fold.test_series) and not len(fold.train_series):
            message = (
                f"fold {number}: no row is left to train on. Hold out less: more blocks or groups, or a smaller gap, "
                "purge or embargo."
            )
            raise DataError(describe(panel.source, message))
        return fold

    def _blocks(self, panel: Panel) -> list[tuple[Ints, Ints]]:
        """Return the rows of each series at which each block would begin and end, were the series long enough."""
        if self.test == "groups":
            return [(panel.offsets[:-1], panel.offsets[1:])]
        first = first_steps(panel)
        total = int((first + panel.lengths).max())
        if total < self.blocks:
            raise DataError(
                describe(panel.source, f"{self.blocks} blocks need as many times, and there are {total}. Lower blocks.")
            )
        origin = panel.offsets[:-1] - first
        borders = [round(block * total / self.blocks) for block in range(self.blocks + 1)]
        return [(origin + begin, origin + end) for begin, end in pairwise(borders)]

    def _groups(self, panel: Panel) -> list[Bools]:
        """Return the series of each group."""
        if self.groups is None:
            return [np.ones(panel.num_series, np.bool_)]
        if isinstance(self.groups, int):
            if self.groups > panel.num_series:
                message = f"{self.groups} groups need as many series, and there are {panel.num_series}."
                raise DataError(describe(panel.source, message))
            labels = np.random.default_rng(self.seed).permutation(np.arange(panel.num_series) % self.groups)
        elif isinstance(self.groups, str):
            labels = _column(panel, self.groups)
        else:
            labels = _listed(panel, self.groups)
        return [labels == label for label in np.unique(labels)]


def _column(panel: Panel, name: str) -> Array:
    names = [feature.name for feature in panel.static]
    if name not in names or panel.static_x is None:
        known = did_you_mean(name, names) or f" Known: {', '.join(names) or 'none'}."
        raise DataError(describe(panel.source, f"groups: {name!r} is not a static column.{known} Name it in static=."))
    return panel.static_x[:, names.index(name)]


def _listed(panel: Panel, groups: dict[str, str]) -> Array:
    names = panel.ids.cast(pl.String).to_list()
    missing = [place for place, name in enumerate(names) if name not in groups]
    if missing:
        message = f"groups: {len(missing)} of {len(names)} series have none, the first {show(panel.ids[missing[0]])}."
        raise DataError(describe(panel.source, message))
    return np.array([groups[name] for name in names])
