"""The part of the page about electricity prices."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from competition.cells import Facts, Forecasts, Store, mean_of, points
from competition.epf_market import DNN, LEAR, MARKETS, prices
from competition.epf_members import ENSEMBLE, RECIPES, Member, Recipe, all_members, trials
from neuro_divergent.evaluation import metrics

TITLES = {
    "nbeatsx": "NBEATSx",
    "tide": "TiDE",
    "bitcn": "BiTCN",
    "tft": "TFT",
    "mlp": "MLP",
    "linear": "linear MLP",
}

_EPF = """\
Each day of the last 104 weeks (728 days) is forecast at midnight from all prices before it, the two covariates known \
ahead (forecasts of load and generation) and the calendar. MAE in the currency of the market.
The references are ensembles of four and recalibrated every day.
Prices as asinh of their distance from the median, MAE, AdamW. The number of steps is fixed and nothing is held out.
Recalibrated models read what the published networks read: the prices of 1, 2, 3 and 7 days ago, the covariates of the \
day, of the day before and of a week before, and the day of the week, all transformed by asinh. Training windows begin \
at midnight. The first training is on everything before the test part; then the weights are trained further on all \
days so far, at a rate that falls to zero in each update.
Models trained once or twice read the last 168 hours, with mean and standard deviation taken out of each window, and \
hour, day of the week and weekend. Training windows begin at any hour. They are trained from scratch on everything \
before the test part, NBEATSx and TiDE once more at half of it.
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
The test part was seen once before the last change of these settings: NBEATSx with the day of the year, without \
dropout and 1,000 steps had 1.930 on NP and 4.137 on DE.
Recalibrated models were tried on the same 42 weeks, first as plain PyTorch networks on the same inputs, with two \
hidden layers of 256 and 128 units. On DE and NP: 3.74 and 1.07 trained once; 3.77 and 1.06 with 10 steps more every \
day, 3.72 and 1.05 with 20, 3.75 and 1.02 with 70 every week; 4.16 and 1.09 without dropout. A linear model had 3.75 \
and .97, and its mean with the network 3.59 and .94.
As in the table, but with updates at a constant rate of 0.0001: MLP 3.83 on DE and 1.16 on NP, linear 3.80 and .98, \
their mean 3.63 and .99. With a rate that falls from 0.0003, MLP has 3.81 on DE.
No training was changed after its scores on the test part were seen. That TFT is not in the mean was decided when \
those of TFT, and of MLP and its linear form on FR, were known: it takes the most time, and was the worst on the 42 \
weeks of DE as well.
Scores of NBEATSx, TiDE, BiTCN and TFT are from an earlier run where they have not been trained again for the mean; \
seconds and the mean of these four are of that run. Trained again they differ by 0.011 at most.
"""


def epf_part(data: Path) -> list[str]:
    """Return what is known of electricity prices, paragraph by paragraph; nothing before a cell is finished."""
    store = Store.named("epf")
    found = {member: facts for member in all_members() if (facts := store.facts(member)) is not None}
    if not found:
        return []
    once = [member for member in found if RECIPES[member.model].update is None]
    recalibrated = [member for member in found if RECIPES[member.model].update is not None]
    lines = [
        "## Electricity prices\n",
        points(_EPF.format(recipes="\n".join(_recipe(TITLES[model], recipe) for model, recipe in RECIPES.items()))),
        f"| MAE | {' | '.join(MARKETS)} | seconds |",
        f"|---|{'---:|' * (len(MARKETS) + 1)}",
        _reference("LEAR, ensemble of 4, recalibrated daily", LEAR),
        _reference("DNN, ensemble of 4, recalibrated daily", DNN),
    ]
    joined = partial(_joined, store, data)
    groups = {"trained once or twice": once, "recalibrated": recalibrated}
    for name, members in groups.items():
        lines += _singles({member: found[member] for member in members})
        lines.append(joined(f"mean of {{}}, {name}", name, members))
    lines.append(joined("**mean of {}, all but TFT**", "ensemble", [item for item in found if item.model in ENSEMBLE]))
    lines.append("\n`*` better than LEAR, `**` better than DNN. Seconds are the sum over the markets.\n")
    tried = {member: facts for member in trials() if (facts := store.facts(member)) is not None}
    table = ["\n".join([_TRIALS_HEAD, *_singles(tried, marks=False)]) + "\n"] if tried else []
    choices = ["### How the settings were chosen\n", points(_EPF_CHOICES), *table]
    return ["\n".join(line for line in lines if line), *choices]


def _recipe(title: str, recipe: Recipe) -> str:
    changed = recipe.architecture.model_dump(exclude_defaults=True)
    settings = ", ".join(f"{name} {value}" for name, value in changed.items())
    text = f"{title}: {settings}; {recipe.steps:,} steps of {recipe.batch_size} windows, rate {recipe.rate:g}"
    if recipe.update is not None:
        text += f"; {recipe.update.steps} steps more every {recipe.every} days, rate {recipe.update.rate:g}"
    return f"{text}."


def _reference(label: str, figures: dict[str, float]) -> str:
    return f"| {label} | {' | '.join(f'{figures[market]:.3f}' for market in MARKETS)} | |"


_TRIALS_HEAD = f"""\
| MAE on the 42 weeks before the test part | {" | ".join(MARKETS)} | seconds |
|---|{"---:|" * (len(MARKETS) + 1)}"""


def _singles(found: dict[Member, Facts], marks: bool = True) -> list[str]:
    """Return a row for each model and seed; ``marks`` compares with the references, which are of the test part."""
    rows = []
    for model, seed in dict.fromkeys((member.model, member.seed) for member in found):
        own = {member.market: facts for member, facts in found.items() if (member.model, member.seed) == (model, seed)}
        errors = {market: facts["mae"] for market, facts in own.items()}
        shown = {market: _mae(error, market) if marks else f"{error:.3f}" for market, error in errors.items()}
        cells = [shown.get(market, "") for market in MARKETS]
        rows.append(f"| {TITLES[model]}, seed {seed} | {' | '.join(cells)} | {_seconds(list(own.values()))} |")
    return rows


def _seconds(facts: Sequence[Facts]) -> str:
    """Return the sum over markets; earlier runs have kept nothing but that sum, which is written to each of them."""
    known = [cell["seconds"] for cell in facts]
    whole = facts[0].get("seconds_of_all_markets") if None in known else sum(known)
    return "" if whole is None else f"{whole:.0f}"


def _joined(store: Store, data: Path, label: str, name: str, members: Sequence[Member]) -> str:
    """Return a row with the mean of several members; empty if that is not known for any market."""
    cells, counts = [], set()
    for market in MARKETS:
        own = [member for member in members if member.market == market]
        facts = store.combine(f"{market}/mean/{name}", own, mean_of, partial(_score, data, market))
        cells.append("" if facts is None else _mae(facts["mae"], market))
        counts |= set() if facts is None else {len(own)}
    text = " or ".join(str(count) for count in sorted(counts))
    return f"| {label.format(text)} | {' | '.join(cells)} | |" if counts else ""


def _score(data: Path, market: str, forecast: Forecasts) -> dict[str, Any]:
    return {"mae": metrics.mae(prices(data, market), forecast)}


def _mae(error: float, market: str) -> str:
    mark = "**" if error < DNN[market] else "*" if error < LEAR[market] else ""
    return f"{error:.3f}{mark.replace('*', chr(92) + '*')}"
