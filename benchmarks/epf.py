"""Forecast the prices of five electricity markets a day ahead with TFT, NBEATSx, TiDE and BiTCN.

Finished trainings are kept under benchmarks/results/epf, so an interrupted run goes on where it was.

    python benchmarks/epf.py --data ../shared/data
    python benchmarks/epf.py --cells 'NP/*'
    python benchmarks/epf.py --list
"""

from __future__ import annotations

from competition.cells import RESULTS, Store, parse, run_all
from competition.document import write_page
from competition.epf_members import all_members, run

STORE = Store(RESULTS / "epf")


def main() -> None:
    """Do what is missing and write the page."""
    options, members = parse(__doc__, all_members())
    run_all(members, run, STORE, options)
    print(f"written: {write_page(options.data)}")


if __name__ == "__main__":
    main()
