"""The part of the page about electricity prices."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from competition.cells import RESULTS, Result, Store, points
from competition.epf_market import DNN, LEAR, MARKETS, prices
from competition.epf_members import RECIPES, SEEDS, Member, all_members
from neuro_divergent.evaluation import metrics

TITLES = {"nbeatsx": "NBEATSx", "tide": "TiDE", "bitcn": "BiTCN", "tft": "TFT"}

_EPF = """\
Each day of the last 104 weeks (728 days) is forecast at midnight from all prices before it, the two covariates known \
ahead (forecasts of load and generation) and the calendar: hour, day of the week, weekend. MAE in the currency of the \
market.
The references are ensembles of four and recalibrated every day. Ours are trained from scratch on everything before \
the test part, NBEATSx and TiDE once more at half of it.
Look-back 168 hours, windows that begin at any hour, prices as asinh of their distance from the median, mean and \
standard deviation taken out of each window, MAE, AdamW. The number of steps is fixed and nothing is held out.
{recipes}
"""

# Written by hand, because these runs are not repeated.
_EPF_CHOICES = """\
Settings were chosen on the 42 weeks before the test part of NP and DE, one seed each, and are the same for all markets.
NBEATSx on NP: MAE 1.098 with windows from midnight to midnight only, 1.050 with windows from any hour, 1.015 with \
windows standardised, .976 with both and .966 with 2,000 steps instead of 800.
NBEATSx on DE: 4.48 from midnight to midnight, 4.17 from any hour, 4.16 standardised too, 4.10 without the day of the \
year; then 4.05 on the last two years alone, 4.25 with a dropout of 0.3, but 4.01 with that and 3,000 steps.
On DE, others: BiTCN 4.05 after 400 steps, TiDE 4.11 after 600, TFT 4.47 after 300 (16 hidden units).
The test part was seen once before the last change of settings: NBEATSx with the day of the year, without dropout and \
1,000 steps had 1.930 on NP and 4.137 on DE.
"""


def epf_part(data: Path) -> list[str]:
    """Return what is known of electricity prices, paragraph by paragraph; nothing before a cell is finished."""
    store = Store(RESULTS / "epf")
    found = {member: result for member in all_members() if (result := store.read(member)) is not None}
    if not found:
        return []
    lines = [
        "## Electricity prices\n",
        points(_EPF.format(recipes="\n".join(map(_recipe, RECIPES)))),
        f"| MAE | {' | '.join(MARKETS)} | seconds |",
        f"|---|{'---:|' * (len(MARKETS) + 1)}",
        _reference("LEAR, ensemble of 4, recalibrated daily", LEAR),
        _reference("DNN, ensemble of 4, recalibrated daily", DNN),
    ]
    for model in RECIPES:
        for seed in SEEDS:
            own = {member.market: found[member] for member in found if (member.model, member.seed) == (model, seed)}
            if own:
                cells = [_mae(own[market].facts["mae"], market) if market in own else "" for market in MARKETS]
                seconds = sum(result.facts["seconds"] for result in own.values())
                lines.append(f"| {TITLES[model]}, seed {seed} | {' | '.join(cells)} | {seconds:.0f} |")
        lines.append(
            _joined(f"{TITLES[model]}, mean of {{}}", {m: r for m, r in found.items() if m.model == model}, data)
        )
    lines.append(_joined("**mean of all {}**", found, data))
    lines.append("\n`*` better than LEAR, `**` better than DNN.\n")
    return ["\n".join(lines), "### How the settings were chosen\n", points(_EPF_CHOICES)]


def _recipe(model: str) -> str:
    recipe = RECIPES[model]
    changed = recipe.architecture.model_dump(exclude_defaults=True)
    settings = ", ".join(f"{name} {value}" for name, value in changed.items())
    return f"{TITLES[model]}: {settings}; {recipe.steps:,} steps of {recipe.batch_size} windows, rate {recipe.rate:g}."


def _reference(label: str, figures: dict[str, float]) -> str:
    return f"| {label} | {' | '.join(f'{figures[market]:.3f}' for market in MARKETS)} | |"


def _joined(label: str, found: dict[Member, Result], data: Path) -> str:
    cells, counts = [], set()
    for market in MARKETS:
        forecasts = [result.forecast for member, result in found.items() if member.market == market]
        counts.add(len(forecasts))
        cells.append(_mae(metrics.mae(prices(data, market), np.mean(forecasts, 0)), market) if forecasts else "")
    return f"| {label.format(' or '.join(str(count) for count in sorted(counts)))} | {' | '.join(cells)} | |"


def _mae(error: float, market: str) -> str:
    mark = "**" if error < DNN[market] else "*" if error < LEAR[market] else ""
    return f"{error:.3f}{mark.replace('*', chr(92) + '*')}"
