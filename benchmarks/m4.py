"""Forecast the hourly and yearly series of the M4 competition with NBEATS and NHITS, alone and as an ensemble.

Monthly series, of which there are 300, are forecast beside NeuralForecast only. Scores of finished trainings are kept
in benchmarks/competition/results, forecasts under benchmarks/results/m4, so an interrupted run goes on where it was.
Trainings of NeuralForecast need the environment of `make m4`. An ensemble needs the forecasts of its members: on
another machine, make them again with --forecasts.

    python benchmarks/m4.py --data ../shared/data
    python benchmarks/m4.py --cells 'hourly/ensemble/*'
    python benchmarks/m4.py --list
"""

from __future__ import annotations

from competition.cells import Store, parse, run_all
from competition.document import write_page
from competition.m4_members import all_members, run


def main() -> None:
    """Do what is missing and write the page."""
    options, members = parse(__doc__, all_members())
    run_all(members, run, Store.named("m4"), options)
    print(f"written: {write_page(options.data)}")


if __name__ == "__main__":
    main()
