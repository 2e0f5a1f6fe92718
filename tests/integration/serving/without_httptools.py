"""The server as it is where httptools and uvloop are not installed."""

import sys

sys.modules["httptools"] = sys.modules["uvloop"] = None  # type: ignore[assignment]

from neuro_divergent.serving.__main__ import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
