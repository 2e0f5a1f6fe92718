"""All parts of a stored panel, written as one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from neuro_divergent.data.panel import BLOCK_ROWS, Panel
from neuro_divergent.data.panel_store.appending import lock_panel
from neuro_divergent.data.panel_store.fingerprint import fingerprint
from neuro_divergent.data.panel_store.progress import ByteProgress
from neuro_divergent.data.panel_store.reading import read_settings
from neuro_divergent.data.panel_store.writing import write_parts


def compact(directory: str | Path, *, progress: ByteProgress | None = None) -> int:
    """Write a stored panel again as one part, and return how many parts it had.

    The new files replace the old ones at once; who has the panel open keeps the old ones. For a while both need room
    on the disk. A run on the panel can still be resumed.

    Args:
        directory: The panel; one without appended parts stays as it is.
        progress: Called with the bytes written so far and all bytes.

    Raises:
        InputError: If another process is appending to the panel.
        UntrustedFileError: If it is damaged.
        StorageError: If the disk refuses; the panel is then as it was.
    """
    path = Path(directory)
    read_settings(path)
    with lock_panel(path):
        panel = Panel.open(path)
        files = panel.files
        assert files is not None
        if not files.parts:
            return 1
        known = [*files.earlier]
        if len(panel) > BLOCK_ROWS:  # smaller ones have a fingerprint of their content
            known.append(fingerprint(panel)["sha256"])
        write_parts(_parts(panel, progress), path, earlier=known)
        return 1 + len(files.parts)


def _parts(panel: Panel, progress: ByteProgress | None) -> Iterator[Panel]:
    done, total = 0, panel.nbytes
    for first, end in panel.series_blocks():
        part = panel.part(first, end)
        yield part
        done += part.nbytes
        panel.check_files()
        if progress is not None:
            progress(done, total)
