"""The manifest of a set of files: the size and SHA-256 of each.

A manifest has exactly one valid serialization, so that no byte of the files or of the manifest can change without being
detected. A manifest detects damage; it does not prove who wrote the files.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from neuro_divergent.core.errors import InputError, NewerFormatError, UntrustedFileError
from neuro_divergent.core.storage import strict_json

MANIFEST = "manifest.json"
FORMAT = 2
MANIFEST_LIMIT = 4 * 1024**2
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
_DIGEST = re.compile(r"[0-9a-f]{64}")


class Entry(NamedTuple):
    """Entry of a file in a manifest: its SHA-256 and its size, which manifests of format 1 did not have."""

    digest: str
    size: int | None


def is_name(name: str) -> bool:
    """Whether this is a valid name of a file or directory: a single path component that is not hidden."""
    return _NAME.fullmatch(name) is not None


def check_name(name: str) -> None:
    """Refuse to write a file under a name that would not be read.

    Raises:
        InputError: If the name is not valid, or is that of the manifest.
    """
    if not is_name(name) or name == MANIFEST:
        raise InputError(f"{name!r} cannot be the name of a file next to a manifest.")


def entry_of(content: bytes) -> Entry:
    """Return the manifest entry of a file with this content."""
    return Entry(hashlib.sha256(content).hexdigest(), len(content))


def write_manifest(entries: Mapping[str, Entry]) -> bytes:
    """Return the manifest of some files."""
    for name in entries:
        check_name(name)
    files = {name: {"sha256": entries[name].digest, "size": entries[name].size} for name in sorted(entries)}
    return strict_json.dumps({"format": FORMAT, "files": files}, indent=2)


def digest_of(files: Mapping[str, bytes]) -> str:
    """Return the SHA-256 of the manifest of files, which holds the SHA-256 of each."""
    return hashlib.sha256(write_manifest({name: entry_of(content) for name, content in files.items()})).hexdigest()


def read_manifest(content: bytes, place: str) -> dict[str, Entry]:
    """Return the entries of a manifest; ``place`` is its name in messages.

    Raises:
        UntrustedFileError: If it is not the valid serialization, or was written by a newer version.
    """
    value = strict_json.loads(content, place, MANIFEST_LIMIT)
    files = value.get("files") if isinstance(value, dict) else None
    if not isinstance(files, dict) or not all(is_name(name) and name != MANIFEST for name in files):
        raise UntrustedFileError(f"{place}: not a manifest.")
    version = value.get("format", 1)
    if type(version) is int and version > FORMAT:
        raise NewerFormatError(place, version, FORMAT)
    try:
        entries = {
            name: _entry(item) if version == FORMAT else Entry(_digest(item), None) for name, item in files.items()
        }
    except (KeyError, TypeError, ValueError):
        raise UntrustedFileError(f"{place}: not a manifest.") from None
    expected = write_manifest(entries) if version == FORMAT else _first_format(entries)
    if content != expected:
        raise UntrustedFileError(f"{place}: not spelled as it was written; the manifest was altered or damaged.")
    return entries


def check_listing(entries: Mapping[str, Entry], present: set[str], place: str) -> None:
    """Refuse files that are not listed, and a lack of those that are.

    Raises:
        UntrustedFileError: If there is a difference.
    """
    if present != set(entries):
        raise UntrustedFileError(f"{place}: holds {sorted(present)}, the manifest lists {sorted(entries)}.")


def check_file(content: bytes, entry: Entry, place: str) -> None:
    """Refuse a file that differs from its entry in the manifest.

    Raises:
        UntrustedFileError: If its size or SHA-256 differs.
    """
    check_size(len(content), entry, place)
    check_digest(hashlib.sha256(content).hexdigest(), entry, place)


def check_size(size: int, entry: Entry, place: str) -> None:
    """Refuse a file of another size."""
    if entry.size is not None and size != entry.size:
        raise UntrustedFileError(f"{place}: {size:,} bytes, the manifest lists {entry.size:,}; altered or damaged.")


def check_digest(digest: str, entry: Entry, place: str) -> None:
    """Refuse a file with another SHA-256."""
    if digest != entry.digest:
        raise UntrustedFileError(f"{place}: SHA-256 differs from manifest; the file was altered or damaged.")


def verify_files(files: Mapping[str, bytes], place: str) -> dict[str, bytes]:
    """Verify files in memory, including their manifest, and return them without it.

    Raises:
        UntrustedFileError: If the manifest is missing or a file is missing, additional or different.
    """
    if MANIFEST not in files:
        raise UntrustedFileError(f"{place}/{MANIFEST}: not found.")
    entries = read_manifest(files[MANIFEST], f"{place}/{MANIFEST}")
    content = {name: item for name, item in files.items() if name != MANIFEST}
    check_listing(entries, set(content), place)
    for name, item in content.items():
        check_file(item, entries[name], f"{place}/{name}")
    return content


def _entry(item: Any) -> Entry:
    size = item["size"]
    if type(size) is not int or size < 0:
        raise ValueError(size)
    return Entry(_digest(item["sha256"]), size)


def _digest(text: Any) -> str:
    if not _DIGEST.fullmatch(text):
        raise ValueError(text)
    return str(text)


def _first_format(entries: Mapping[str, Entry]) -> bytes:
    """Serialize a manifest in format 1."""
    files = {name: entries[name].digest for name in sorted(entries)}
    return json.dumps({"files": files}, indent=2).encode("utf-8")
