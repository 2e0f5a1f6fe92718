"""Command line: ``python -m tools.site build``, or ``tutorial FILE`` for one page while it is written."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from tools.site.build import BuildError, build
from tools.site.picture import write_picture
from tools.site.tutorials import ROOT, TutorialError, run_tutorial


def main() -> int:
    """Build the site, or one tutorial."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m tools.site")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("build", help="build the whole site below build/site").add_argument(
        "--skip-tutorials", action="store_true", help="do not execute tutorials; their pages are left out"
    )
    one = commands.add_parser("tutorial", help="execute tutorials and write their pages to build/docs/tutorials")
    one.add_argument("files", nargs="+", type=Path)
    one.add_argument("--output", type=Path, default=ROOT / "build" / "docs" / "tutorials", help="another directory")
    commands.add_parser("picture", help="draw the picture of the first page again, from the demonstration")
    arguments = parser.parse_args()
    begun = time.monotonic()
    try:
        if arguments.command == "build":
            print(f"{build(tutorials=not arguments.skip_tutorials)}  ({time.monotonic() - begun:.0f} s)")
            return 0
        if arguments.command == "picture":
            print(write_picture())
            return 0
        for file in arguments.files:
            begun = time.monotonic()
            page = run_tutorial(file, arguments.output)
            print(f"{page}  ({time.monotonic() - begun:.0f} s)")
    except (TutorialError, BuildError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
