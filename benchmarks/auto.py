"""Compare automatic forecasters: a table and five minutes on this machine in, forecasts out.

Each side runs in a process of its own, one after the other, so the machine should have nothing else to do. Results are
kept in benchmarks/automatic/results.json, and only what is missing is run. ``--again`` measures again.

    make auto                                                    # all, in environments of their own
    python benchmarks/auto.py --sides ours --panels 'tourism'    # some
    python benchmarks/auto.py --page                             # runs nothing, writes docs/results/auto-benchmark.md
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from fnmatch import fnmatch
from pathlib import Path

from automatic.document import write_page
from automatic.exchange import read_forecasts, run_side, write_task
from automatic.panels import PANELS
from default_settings.methods import drift, last_value, overall_mean, seasonal_naive
from default_settings.panels import PanelCase, all_cases, scores

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "automatic" / "results.json"
PAGE = HERE.parent / "docs" / "results" / "auto-benchmark.md"
BUDGET = 300.0
NAIVE, BEST_NAIVE = "seasonal naive", "best naive"
OTHER = {"autogluon": HERE.parent / ".venv-autogluon" / "bin" / "python"}
"""Interpreters of the sides that need another environment than this one."""
SIDES = ("ours", "default_nhits", "autonhits", "statistics", "autogluon")

Scores = dict[str, dict[str, dict[str, float]]]


def main() -> None:
    """Run what is missing and write the page."""
    options = _parse()
    if not options.page:
        for case in all_cases(options.data):
            if case.name in PANELS and any(fnmatch(case.name, pattern) for pattern in options.panels):
                _run(case, options)
    PAGE.write_text(write_page(_stored(), BUDGET), encoding="utf-8")
    print(f"written: {PAGE}")


def _run(case: PanelCase, options: argparse.Namespace) -> None:
    """Forecast a panel with every side that has no result yet; other budgets than the usual one are only printed."""
    for side in (NAIVE, BEST_NAIVE, *SIDES):
        is_wanted = any(fnmatch(side, pattern) for pattern in options.sides)
        if not is_wanted or (side in _stored().get(case.name, {}) and not options.again and options.budget == BUDGET):
            continue
        found = _measure(case, side, options.budget)
        print(f"{case.name}: {side}: {found}", flush=True)
        if options.budget == BUDGET:
            results = _stored()
            results.setdefault(case.name, {})[side] = found
            RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


def _measure(case: PanelCase, side: str, budget: float) -> dict[str, float]:
    if side == NAIVE:
        return _rounded(scores(case, seasonal_naive(case)))
    if side == BEST_NAIVE:  # in hindsight
        tried = (seasonal_naive, last_value, drift, overall_mean)
        return _rounded(min((scores(case, method(case)) for method in tried), key=lambda found: found["mase"]))
    with tempfile.TemporaryDirectory() as place:
        write_task(case, Path(place), budget=budget)
        seconds = run_side(OTHER.get(side, Path(sys.executable)), side, Path(place))
        found = scores(case, read_forecasts(case, Path(place)))
    return _rounded(found) | {"seconds": round(seconds, 1)}


def _rounded(found: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 4) for name, value in found.items()}


def _stored() -> Scores:
    return json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=HERE.parent.parent / "shared" / "data")
    parser.add_argument("--panels", type=lambda text: text.split(";"), default=["*"], help="patterns, with ; between")
    parser.add_argument(
        "--sides", type=lambda text: text.split(","), default=["*"], help=", ".join((NAIVE, BEST_NAIVE, *SIDES))
    )
    parser.add_argument("--budget", type=float, default=BUDGET, help="seconds; others than 300 are printed, not kept")
    parser.add_argument("--again", action="store_true", help="run what has a result, too")
    parser.add_argument("--page", action="store_true", help="run nothing")
    return parser.parse_args()


if __name__ == "__main__":
    main()
