"""Converts files of any size and order into a stored panel."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import time
import warnings
from contextlib import nullcontext
from pathlib import Path

import polars as pl

from neuro_divergent.core.available_memory import available_memory
from neuro_divergent.core.errors import (
    ConversionWarning,
    DataError,
    InputError,
    NeuroDivergentError,
    StorageError,
    UntrustedFileError,
)
from neuro_divergent.core.formatting import format_bytes
from neuro_divergent.core.memory import keeping_memory
from neuro_divergent.core.storage.atomic import (
    MANIFEST,
    flush_directory,
    make_parents,
    require_replaceable,
    seal_directory,
    swap_directory,
)
from neuro_divergent.core.storage.disk import FULL, free_bytes, storage_error
from neuro_divergent.core.storage.lock import RunLock
from neuro_divergent.data.conversion.assembly import OtherFrequencyError, UnsortedError
from neuro_divergent.data.conversion.converter import Converter
from neuro_divergent.data.conversion.journal import Journal, identify, work_directory
from neuro_divergent.data.conversion.progress import Report, Reporter
from neuro_divergent.data.conversion.row_files import is_parquet, is_streamed, open_files
from neuro_divergent.data.conversion.sizes import panel_bytes
from neuro_divergent.data.io.source import find_files
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.data.panel_store.appending import lock_panel
from neuro_divergent.data.panel_store.writing import PanelWriter
from neuro_divergent.data.schema import Schema

MEMORY = 512 * 2**20
"""Bytes that a conversion plans with if nothing else is said; what Python and polars take comes on top."""
_LEAST_MEMORY = 16 * 2**20
_SECONDS_BETWEEN_RECORDS = 5.0
_WHOLE_TIMES = 8  # how many times its size on the disk a table takes that is read as a whole
_SYSTEM_ERROR = re.compile(r"\(os error (\d+)\)")


def convert(
    source: str,
    directory: Path,
    schema: Schema,
    *,
    memory: int | None = None,
    progress: Report | None = None,
    restart: bool = False,
) -> None:
    """Convert CSV or Parquet files of any size and order into a stored panel; others, if they fit into the memory.

    The panel has the values that ``build_panel`` gives for the whole table. It is there completely or not at all. A
    conversion that was killed goes on where it was when it is called again with the same files and settings, and the
    result is the same, byte for byte.

    Args:
        source: A file or a pattern of several.
        directory: Where to write the panel; a panel that is there is replaced.
        schema: The roles of the columns and the policies.
        memory: Bytes to plan with; if not given, 512 MiB or, where that is less, a quarter of what is available. A
            series that needs more takes what it needs.
        progress: Called some times a second.
        restart: Begin again even if an earlier conversion could go on.

    Raises:
        DataError: If the table cannot be used.
        InputError: If something else is at the target, or if another process writes it.
        StorageError: If the disk refuses; where it is full, nothing is left.
    """
    if memory is not None and memory < _LEAST_MEMORY:
        raise InputError(f"memory: {format_bytes(memory)} is too little; give at least {format_bytes(_LEAST_MEMORY)}.")
    files = find_files(source)
    directory = directory.absolute()
    require_replaceable(directory)
    work = work_directory(directory)
    if not is_streamed(files, schema):
        _convert_whole(source, files, directory, schema)
        return
    try:
        make_parents(work)
        work.mkdir(exist_ok=True)
    except OSError as error:
        raise storage_error(directory, "written", error) from error
    with RunLock(work / "lock"):
        journal = Journal(work, identify(files, schema, memory))
        if restart:
            journal.clear()
        elif reason := journal.read():
            warnings.warn(
                f"{directory}: an unfinished conversion is not gone on with: {reason}. It begins again.",
                ConversionWarning,
                stacklevel=3,
            )
        memory = int(journal.state.get("memory") or memory or _usual_memory())
        journal.state["memory"] = memory  # what was written is divided by it
        _convert(_Conversion(source, files, directory, schema, memory, Reporter(progress)), journal)


def _convert_whole(source: str, files: list[str], directory: Path, schema: Schema) -> None:
    """Convert a table that cannot be read in parts.

    Raises:
        DataError: If it is so large that it should be.
    """
    size, available = sum(os.path.getsize(path) for path in files), available_memory()  # noqa: PTH202
    if available is not None and size > available // _WHOLE_TIMES:
        texts = "Parquet files are, with settings of how numbers are written in text,"
        kind = texts if all(map(is_parquet, files)) else "files of this kind are"
        what = "wide tables are" if schema.wide else kind
        raise DataError(
            f"{source}: {format_bytes(size)}, and {what} read as a whole. Write it as a long CSV or Parquet table, "
            "with one row per series and time"
        )
    panel = build_panel(source, schema)
    with lock_panel(directory):
        panel.save(directory)


def _usual_memory() -> int:
    available = available_memory()
    return MEMORY if available is None else min(MEMORY, max(available // 4, _LEAST_MEMORY))


class _Conversion:
    """A conversion to a stored panel, in a work directory."""

    def __init__(
        self, source: str, files: list[str], directory: Path, schema: Schema, memory: int, reporter: Reporter
    ) -> None:
        self.source, self.files, self.directory = source, files, directory
        self.schema, self.memory, self.reporter = schema, memory, reporter
        self.work = work_directory(directory)
        self.needed = 0

    def run(self, journal: Journal) -> None:
        """Go on from the recorded state to the end."""
        panel = self.work / "panel"
        if journal.state.get("stage") != "complete":
            rows = open_files(self.source, self.files, self.schema, self.work / "text", self.memory, self.reporter)
            converter = Converter(rows, self.memory, self.reporter, self.work)
            self.needed = panel_bytes(len(rows), rows.schema)
            if journal.state.get("is_partitioned"):
                self._partition(converter, journal)
            self._check_room()
            try:
                while not self._write(converter, journal, panel):
                    pass
            finally:
                if converter.buckets is not None:
                    converter.buckets.close()
            converter.assembly.warn()
            journal.write(stage="complete", manifest=_digest(panel))
        if _digest(self.directory) != journal.state["manifest"]:  # unless that was the last thing before a kill
            with lock_panel(self.directory) if self.directory.exists() else nullcontext():
                swap_directory(panel, self.directory)
        shutil.rmtree(self.work, ignore_errors=True)
        flush_directory(self.directory.parent)

    def _write(self, converter: Converter, journal: Journal, panel: Path) -> bool:
        """Write the panel; return whether it is complete or has to be written again."""
        with self._open_writer(converter, journal, panel) as writer:
            last = time.monotonic()
            try:
                for part in converter.parts():
                    writer.append(part)
                    if time.monotonic() - last > _SECONDS_BETWEEN_RECORDS:
                        self._record(converter, journal, writer)
                        last = time.monotonic()
            except (UnsortedError, OtherFrequencyError) as error:
                writer.__exit__()
                self._begin_again(converter, journal, panel)
                if isinstance(error, UnsortedError):
                    if converter.buckets is not None:
                        raise DataError(f"{self.source}: the files changed while they were read") from None
                    self._partition(converter, journal)
                return False
            self._record(converter, journal, writer)
            kept = self.work / "chunks"
            kept.mkdir(exist_ok=True)
            for chunk in panel.glob("index-*.parquet"):  # which ``finish`` removes, and a resumed writer needs
                if not (kept / chunk.name).exists():
                    os.link(chunk, kept / chunk.name)
            seal_directory(panel, writer.finish())
        return True

    def _record(self, converter: Converter, journal: Journal, writer: PanelWriter) -> None:
        journal.write(
            stage="writing",
            position=converter.position,
            assembly=converter.assembly.state(),
            writer=writer.state(),
        )

    def _open_writer(self, converter: Converter, journal: Journal, panel: Path) -> PanelWriter:
        state = journal.state
        if state.get("stage") == "writing":
            try:
                for name in (MANIFEST,):
                    (panel / name).unlink(missing_ok=True)
                for chunk in (self.work / "chunks").glob("index-*.parquet"):
                    if not (panel / chunk.name).exists():
                        os.link(chunk, panel / chunk.name)
                writer = PanelWriter.resume(panel, state["writer"])
                converter.position = int(state["position"])
                converter.assembly.load_state(state["assembly"])
                return writer
            except UntrustedFileError as error:
                message = f"{self.directory}: an unfinished conversion is not gone on with: {error}"
                warnings.warn(message, ConversionWarning, stacklevel=2)
        self._begin_again(converter, journal, panel)
        return PanelWriter(panel)

    def _begin_again(self, converter: Converter, journal: Journal, panel: Path) -> None:
        for path in (panel, self.work / "chunks"):
            shutil.rmtree(path, ignore_errors=True)
        panel.mkdir()
        converter.restart()
        journal.write(stage="beginning")

    def _partition(self, converter: Converter, journal: Journal) -> None:
        self.needed = (
            panel_bytes(len(converter.rows), converter.rows.schema) + len(converter.rows) * converter.rows.run_bytes
        )
        self._check_room()
        if journal.state.get("boot") != _boot():  # Runs are not flushed to the disk.
            shutil.rmtree(self.work / "runs", ignore_errors=True)
        journal.write(is_partitioned=True, boot=_boot())
        converter.partition()

    def _check_room(self) -> None:
        """Refuse to begin what surely does not fit on the disk."""
        free = free_bytes(self.work)
        there = sum(path.stat().st_size for path in self.work.rglob("*") if path.is_file())
        if free is not None and self.needed > free + there:
            raise StorageError(
                f"{self.directory}: not enough room: needs about {format_bytes(self.needed)}, "
                f"{format_bytes(free + there)} free."
            )


def _convert(conversion: _Conversion, journal: Journal) -> None:
    """Convert, and leave nothing where it cannot go on later."""
    try:
        with keeping_memory():  # Each part has arrays of the same sizes.
            conversion.run(journal)
    except (OSError, pl.exceptions.PolarsError) as error:
        cause = _cause(error)
        if isinstance(error, NeuroDivergentError) and not isinstance(error, StorageError):
            raise
        if cause is not None and cause.errno in FULL:
            shutil.rmtree(conversion.work, ignore_errors=True)
            raise storage_error(conversion.directory, "written", cause, needed=conversion.needed) from error
        if isinstance(error, NeuroDivergentError):
            if "not enough room" in str(error):
                shutil.rmtree(conversion.work, ignore_errors=True)
            raise
        if cause is None:
            raise
        raise storage_error(conversion.directory, "written", cause) from error
    except NeuroDivergentError:
        shutil.rmtree(conversion.work, ignore_errors=True)
        raise


def _boot() -> str:
    """Return what tells one start of the system from the next."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("utf-8").strip()
    except OSError:
        return ""


def _digest(panel: Path) -> str:
    """Return the digest of the manifest of a panel, or nothing if there is none."""
    try:
        return hashlib.sha256((panel / MANIFEST).read_bytes()).hexdigest()
    except OSError:
        return ""


def _cause(error: BaseException) -> OSError | None:
    """Return the error of the system behind an error; polars tells its number only in the text."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, OSError) and seen.errno is not None:
            return seen
        if found := _SYSTEM_ERROR.search(str(seen)):
            number = int(found[1])
            return OSError(number, os.strerror(number))
        seen = seen.__cause__ or seen.__context__
    return None
