"""What a stored panel has, without reading its values."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from neuro_divergent.data.cleaning.calendar import show_time
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.panel_store.files import BY_ROW, ROLES
from neuro_divergent.data.panel_store.reading import read_settings


def describe_stored(directory: str | Path) -> dict[str, Any]:
    """Return counts, times, columns with their roles, sizes, parts and digest of a stored panel, as values of JSON.

    Raises:
        DataError: If there is no panel.
        UntrustedFileError: If it is damaged or of a newer version.
    """
    path = Path(directory)
    panel = Panel.open(path)
    files = panel.files
    assert files is not None
    ends = panel.frequency.time_at(panel.starts, panel.lengths - 1)
    schema = panel.schema
    features = {role: [feature.name for feature in getattr(panel, role)] for role in ROLES}
    digest = hashlib.sha256("\0".join(files.digests).encode()).hexdigest()
    return {
        "panel": str(directory),
        "format": read_settings(path)["format"],
        "rows": len(panel),
        "series": panel.num_series,
        "shortest": int(panel.lengths.min()),
        "longest": int(panel.lengths.max()),
        "begin": show_time(panel.starts, panel.starts.arg_min() or 0),
        "end": show_time(ends, ends.arg_max() or 0),
        "frequency": str(panel.frequency),
        "columns": {
            "id": schema.id,
            "time": schema.time,
            "target": schema.target,
            "weight": schema.weight,
            "calendar": list(schema.calendar),
            **{role: [name for name in names if name not in schema.calendar] for role, names in features.items()},
        },
        "categories": {name: len(values) for name, values in panel.categories.items()},
        "policies": {"missing": schema.missing, "gaps": schema.gaps, "short": schema.short},
        "has_mask": panel.mask is not None,
        "bytes": sum(entry.size or 0 for entries in files.manifests for entry in entries.values()),
        "bytes_per_row": sum(int(getattr(panel, name).nbytes) for name in BY_ROW if getattr(panel, name) is not None)
        / len(panel),
        "parts": 1 + len(files.parts),
        "sha256": digest,
    }
