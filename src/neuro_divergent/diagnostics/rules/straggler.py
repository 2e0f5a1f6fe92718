"""Rule: processes wait for one of them."""

from __future__ import annotations

from neuro_divergent.core.config import register
from neuro_divergent.core.formatting import format_number, format_percent
from neuro_divergent.diagnostics.evidence import Evidence
from neuro_divergent.diagnostics.finding import Finding
from neuro_divergent.diagnostics.rules.base import NotEnoughError, Rule
from neuro_divergent.runs.processes import LEAST_ROWS, describe_straggler, stragglers_of, summarize_processes


@register("straggler")
class Straggler(Rule):
    """Finds a process that takes longer for its part of a step than those that train with it."""

    title = "Processes wait for a slow one"
    needs = ("history",)

    def check(self, evidence: Evidence) -> Finding | None:
        processes = summarize_processes(evidence.processes)
        if not processes:
            return None
        assert evidence.processes is not None
        rows = evidence.processes["step"].n_unique()
        if rows < LEAST_ROWS:
            raise NotEnoughError(f"processes were measured in {rows} rows of the history, and {LEAST_ROWS} are needed")
        found = stragglers_of(processes)
        if not found:
            return None
        slowest = found[0]
        waiting = [item.waiting or 0.0 for item in processes if not item.is_straggler]
        text = describe_straggler(slowest)
        if waiting:
            text += f" They spend up to {format_percent(max(waiting))} of the time waiting or sending."
        if len(found) > 1:
            text += f" Slow as well: {', '.join(f'process {item.rank}' for item in found[1:6])}."
        text += (
            f" Its own part of a step takes {format_number(1000 * (slowest.busy_seconds or 0.0))} ms. See whether "
            "other programs use its machine, or whether that machine or its disk is slower."
        )
        numbers = {"rank": slowest.rank, "slowdown": slowest.slowdown or 0.0, "waiting": max(waiting, default=0.0)}
        return self.finding("warning", text, numbers)
