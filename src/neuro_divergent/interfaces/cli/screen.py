"""What a command shows: text for people on a terminal or in a pipe, or JSON for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from neuro_divergent.core.storage.strict_json import finite_or_none

if TYPE_CHECKING:
    from rich.console import Console, JustifyMethod, OverflowMethod, RenderableType
    from rich.table import Table

    from neuro_divergent.evaluation.evaluate import Evaluation

_PIPED_WIDTH = 100
_SCORES = {"mae": "MAE", "rmse": "RMSE", "smape": "sMAPE %", "mase": "MASE", "bias": "bias", "skill": "skill"}


class Screen:
    """Writes results to standard output and everything else to standard error.

    Args:
        quiet: Say nothing.
        as_json: Keep standard output for one JSON document, and say nothing else.
    """

    def __init__(self, *, quiet: bool = False, as_json: bool = False) -> None:
        from rich.console import Console

        self.as_json = as_json
        self.is_silent = quiet or as_json
        piped = not sys.stdout.isatty()
        self.output: Console = Console(
            quiet=self.is_silent, highlight=False, soft_wrap=piped, width=_PIPED_WIDTH if piped else None
        )
        self.messages: Console = Console(stderr=True, quiet=self.is_silent, highlight=False)

    def say(self, *lines: RenderableType) -> None:
        """Show text or tables to people."""
        for line in lines:
            # Names of files and columns may hold brackets, which are not markup.
            self.output.print(line, markup=False)

    def warn(self, text: str, *, is_severe: bool) -> None:
        """Show what people should not miss, on standard error."""
        from rich.text import Text

        self.messages.print(Text(text, "bold red" if is_severe else "yellow"), soft_wrap=True)

    def facts(self, rows: list[tuple[str, str]]) -> None:
        """Show pairs of a word and its meaning below each other."""
        from rich.text import Text

        width = max(len(word) for word, _ in rows) + 2
        for word, meaning in rows:
            self.say(Text.assemble((f"{word:{width}}", "dim"), meaning))

    def scores(self, evaluation: Evaluation) -> None:
        """Show whether the model beats the baselines and the intervals hold, then the table of scores."""
        from neuro_divergent.core.formatting import format_number, format_percent
        from neuro_divergent.reporting.text_summaries import compare, judge, judge_interval

        table = new_table(evaluation.part, *_SCORES.values(), right=_SCORES.values())
        for row in (scores := evaluation.rows()):
            cells = [format_percent(row[key]) if key == "skill" else format_number(row[key]) for key in _SCORES]
            table.add_row(_text(row["name"]), *cells, style="bold" if row["name"] == evaluation.model else "")
        verdict = judge(evaluation.model, compare(evaluation.model, scores))
        intervals = [judge_interval(row["level"], row["coverage"]) for row in evaluation.coverage.to_dicts()]
        self.say("", _text(verdict.text, "green" if verdict.is_better else "red"), *map(_text, intervals))
        self.say(_text(evaluation.note), "", table)

    def result(self, document: dict[str, Any]) -> None:
        """Write the JSON document, if that is what was asked for."""
        if self.as_json:
            json.dump(finite_or_none(document), sys.stdout, indent=2, ensure_ascii=False, default=_name)
            sys.stdout.write("\n")


def new_table(
    *titles: str, right: Collection[str] = (), fixed: Collection[str] = (), overflow: OverflowMethod = "ellipsis"
) -> Table:
    """Return a table without lines; some columns are aligned to the right, some never break their text."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="dim")
    for title in titles:
        justify: JustifyMethod = "right" if title in right else "left"
        table.add_column(title, justify=justify, no_wrap=title in fixed, overflow=overflow)
    return table


def _text(value: str, style: str = "") -> RenderableType:
    from rich.text import Text

    return Text(value, style=style)


def _name(value: Any) -> str:
    return str(value.isoformat() if hasattr(value, "isoformat") else value)
