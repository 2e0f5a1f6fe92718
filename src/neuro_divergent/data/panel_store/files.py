"""Names and format of the files of a panel, and the files of one that is open.

    panel/  panel.json      schema, frequency, covariates, categories, format
            index.parquet   name and first time of each series      offsets.npy   first row of each series
            y.float32       the target of all series, end to end    static_x.npy  covariates of each series
            mask.bool  weight.float32  past_x.float32  future_x.float32   where there are such
            manifest.json   size and SHA-256 of each file
            parts.json      names of appended parts and the SHA-256 of their manifests
            parts/0001/     the same files, with the rows of one append; series.npy and is_new.npy tell which series

Files of values have no header: their type is the ending of their name, their shape follows from the offsets. So they
can grow while their SHA-256 is computed. The list of parts is replaced at once when a part is complete; all else is
never changed, but for the number of the format, by which versions that know no parts refuse the panel.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from neuro_divergent.core.storage.manifest import Entry
from neuro_divergent.data.panel_store.mapping import MappedFile
from neuro_divergent.data.panel_store.stored import PANEL

FORMAT_NPY = 1
"""Format of panels of earlier versions, whose arrays are ``.npy`` files."""
FORMAT = 2
"""Format of panels whose values are files without a header, so that their SHA-256 is known when they are written."""
WITH_PARTS = 3
"""Format of a panel of either kind to which parts were appended."""

INDEX = "index.parquet"
PARTS = "parts"
PARTS_LIST = "parts.json"
BY_ROW = ("y", "mask", "weight", "past_x", "future_x")
ARRAYS = ("offsets", *BY_ROW, "static_x")
ARRAY_FILES = {name: f"{name}.{'bool' if name == 'mask' else 'float32'}" for name in BY_ROW}
"""Names of the files of the arrays that have values for each row; the ending is the type."""
ROLES = ("past", "future", "static")
AT_ONCE = (PANEL, INDEX, "offsets.npy", "static_x.npy", "series.npy", "is_new.npy")
"""Files that are read even if the values stay on disk."""


@dataclass(frozen=True, eq=False)
class PanelFiles:
    """The files of a panel that is open.

    Attributes:
        directory: Where they are.
        parts: Names of the appended parts, oldest first.
        manifests: Entries of the manifest of the first part and of each appended one.
        mapped: The files that are mapped into memory.
        earlier: Fingerprints that the same content had in other files.
        fields: Fields of the panel as it was opened.
    """

    directory: Path
    parts: tuple[str, ...]
    manifests: tuple[dict[str, Entry], ...]
    mapped: tuple[MappedFile, ...]
    earlier: tuple[str, ...] = ()
    fields: dict[str, Any] = field(default_factory=dict)

    @property
    def digests(self) -> tuple[str, ...]:
        """The SHA-256 of every file with values per row, part by part."""
        names = {name for array in BY_ROW for name in (ARRAY_FILES[array], f"{array}.npy")}
        return tuple(entry.digest for entries in self.manifests for name, entry in entries.items() if name in names)

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave out the fields: another process has no use for what is not part of its panel."""
        return PanelFiles, (self.directory, self.parts, self.manifests, self.mapped, self.earlier)

    def check(self) -> None:
        """Raise a ``StorageError`` if a mapped file was cut off or written to since it was opened."""
        for file in self.mapped:
            file.check()
