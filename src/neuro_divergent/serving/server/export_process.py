"""Exports a saved model: ``python -m neuro_divergent.serving.server.export_process MODEL FILE DIGEST``."""

from __future__ import annotations

import sys
from pathlib import Path

from neuro_divergent.core.errors import NeuroDivergentError


def export_saved(model: str, path: str, digest: str) -> int:
    """Export a saved model and return an exit code; the reason of a failure is the last line of stderr."""
    from neuro_divergent.forecasting.load import load
    from neuro_divergent.serving.export.exporter import export_model

    try:
        export_model(load(Path(model)), Path(path), digest=digest)
    except NeuroDivergentError as error:
        sys.stderr.write(f"{' '.join(str(error).split())}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(export_saved(*sys.argv[1:]))
