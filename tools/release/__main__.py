"""Command line: ``python -m tools.release`` runs every check, or those that are named."""

from __future__ import annotations

import argparse
import sys
import time

from tools.release.check import CHECKS, ReleaseError


def main() -> int:
    """Run the checks one after the other; the first that fails ends it."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m tools.release")
    parser.add_argument("checks", nargs="*", metavar="CHECK", help=f"some of {', '.join(CHECKS)}; default: all")
    chosen = parser.parse_args().checks or list(CHECKS)
    if unknown := set(chosen) - set(CHECKS):
        parser.error(f"unknown check {', '.join(sorted(unknown))}; there are {', '.join(CHECKS)}")
    for name in chosen:
        begun = time.monotonic()
        print(f"{name} ...", flush=True)
        try:
            told = CHECKS[name]()
        except ReleaseError as error:
            print(f"error: {name}: {error}", file=sys.stderr)
            return 1
        print(f"{name}: {told}  ({time.monotonic() - begun:.0f} s)", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
