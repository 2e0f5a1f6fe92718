"""Compare what people get with nothing set: this library, NeuralForecast, AutoETS, AutoTheta and seasonal naive.

Every panel of the data sets is forecast from one or more cut-offs, after one training on what was known at the first.
Finished results are kept in benchmarks/default_settings/results.json, so that only what is missing is run; several
processes may add to it. Seconds are processor time of one thread. ``--again`` measures again.

    python benchmarks/defaults.py --data ../shared/data                      # all, beside the other libraries
    python benchmarks/defaults.py --methods ours-nhits --panels 'M3*,ETTh1'  # some
    python benchmarks/defaults.py --page                                     # runs nothing, writes the page
"""

from __future__ import annotations

import argparse
import json
import os
from fnmatch import fnmatch
from functools import partial
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = os.environ["NUMBA_NUM_THREADS"] = "1"  # before torch and numba are loaded

from default_settings.document import write_page
from default_settings.methods import METHODS, Method, timed
from default_settings.panels import PanelCase, all_cases, scores

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "default_settings" / "results.json"
PAGE = HERE.parent / "docs" / "results" / "defaults.md"


def main() -> None:
    """Run what is missing and write the page."""
    options = _parse()
    if not options.page:
        for case in all_cases(options.data):
            if any(fnmatch(case.name, pattern) for pattern in options.panels):
                _run(case, options)
    PAGE.write_text(write_page(_stored()), encoding="utf-8")
    print(f"written: {PAGE}")


def _run(case: PanelCase, options: argparse.Namespace) -> None:
    """Forecast a panel with every method that has no result yet."""
    for name, method in METHODS.items():
        is_wanted = any(fnmatch(name, pattern) for pattern in options.methods)
        if not is_wanted or (name in _stored().get(case.name, {}) and not options.again):
            continue
        found = _measure(case, method)
        print(f"{case.name}: {name}: {found}", flush=True)
        results = _stored()
        results.setdefault(case.name, {})[name] = found
        RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


def _stored() -> dict[str, dict[str, dict[str, float]]]:
    """Return the results on disk, to which another process may have added."""
    return json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}


def _measure(case: PanelCase, method: Method) -> dict[str, float]:
    forecasts, seconds = timed(partial(method, case))
    rounded = {name: round(value, 4) for name, value in scores(case, forecasts).items()}
    return {**rounded, "seconds": round(seconds, 1)}


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=HERE.parent.parent / "shared" / "data")
    parser.add_argument("--panels", type=lambda text: text.split(","), default=["*"], help="patterns of names")
    parser.add_argument("--methods", type=lambda text: text.split(","), default=["*"], help=", ".join(METHODS))
    parser.add_argument("--again", action="store_true", help="run what has a result, too")
    parser.add_argument("--page", action="store_true", help="run nothing")
    return parser.parse_args()


if __name__ == "__main__":
    main()
