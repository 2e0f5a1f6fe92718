"""Forecast the prices of five electricity markets a day ahead, with networks that are recalibrated or trained once.

Scores of finished trainings are kept in benchmarks/competition/results, forecasts under benchmarks/results/epf, so an
interrupted run goes on where it was. An ensemble needs the forecasts of its members: on another machine, make them
again with --forecasts.

    python benchmarks/epf.py --data ../shared/data
    python benchmarks/epf.py --cells 'NP/*'
    python benchmarks/epf.py --cells 'validation/*'
    python benchmarks/epf.py --list
"""

from __future__ import annotations

from competition.cells import Store, parse, run_all
from competition.document import write_page
from competition.epf_members import all_members, run, trials


def main() -> None:
    """Do what is missing and write the page."""
    options, members = parse(__doc__, [*all_members(), *trials()])
    run_all(members, run, Store.named("epf"), options)
    print(f"written: {write_page(options.data)}")


if __name__ == "__main__":
    main()
