"""No byte of a sealed set can change."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuro_divergent.core.errors import InputError, UntrustedFileError
from neuro_divergent.core.storage.atomic import write_directory
from neuro_divergent.core.storage.manifest import (
    MANIFEST,
    entry_of,
    is_name,
    read_manifest,
    verify_files,
    write_manifest,
)

FILES = {"a.bin": b"first", "b.json": b"{}", "empty": b""}


def sealed(files: dict[str, bytes]) -> dict[str, bytes]:
    return {**files, MANIFEST: write_manifest({name: entry_of(content) for name, content in files.items()})}


def first_format(files: dict[str, bytes]) -> dict[str, bytes]:
    """Seal files as the first version did."""
    digests = {name: hashlib.sha256(files[name]).hexdigest() for name in sorted(files)}
    return {**files, MANIFEST: json.dumps({"files": digests}, indent=2).encode()}


both = pytest.mark.parametrize("seal", [sealed, first_format])


@both
def test_what_was_sealed_is_verify_filesed(seal: object) -> None:
    assert verify_files(seal(FILES), "x") == FILES  # type: ignore[operator]


@both
def test_every_single_changed_byte_is_noticed(seal: object) -> None:
    files = seal(FILES)  # type: ignore[operator]
    tried = 0
    for name, content in files.items():
        for place in range(len(content)):
            for flip in (1, 2, 4, 8, 16, 32, 64, 128):
                changed = content[:place] + bytes([content[place] ^ flip]) + content[place + 1 :]
                with pytest.raises(UntrustedFileError):
                    verify_files({**files, name: changed}, "x")
                tried += 1
    assert tried == 8 * sum(map(len, files.values()))


@both
@pytest.mark.parametrize("extra", [b" ", b"\n", b"\0"])
def test_nothing_can_be_added_to_a_manifest(seal: object, extra: bytes) -> None:
    files = seal(FILES)  # type: ignore[operator]
    for changed in (files[MANIFEST] + extra, extra + files[MANIFEST], files[MANIFEST].replace(b": ", b":" + extra, 1)):
        if changed != files[MANIFEST]:
            with pytest.raises(UntrustedFileError):
                verify_files({**files, MANIFEST: changed}, "x")


def test_files_can_neither_come_nor_go() -> None:
    files = sealed(FILES)
    for wrong in ({**files, "c": b""}, {name: files[name] for name in files if name != "empty"}, FILES):
        with pytest.raises(UntrustedFileError):
            verify_files(wrong, "x")


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../up", "a/b", "a\\b", ".hidden", "a\0", "a\n", "x" * 201, "ä", "a:b"]
)
def test_names_are_plain(name: str) -> None:
    assert not is_name(name)
    with pytest.raises(InputError, match="cannot be the name of a file"):
        sealed({name: b""})
    with pytest.raises(UntrustedFileError, match="not a manifest"):
        read_manifest(first_format({name: b""})[MANIFEST], "x")


def test_a_manifest_does_not_list_itself(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        write_directory(tmp_path / "model", [(MANIFEST, b"{}")])
    with pytest.raises(InputError):
        write_directory(tmp_path / "model", [("../up", b"")])
    assert not list(tmp_path.iterdir())


def test_a_newer_manifest_is_refused() -> None:
    content = sealed(FILES)[MANIFEST].replace(b'"format": 2', b'"format": 3')
    with pytest.raises(UntrustedFileError, match="format 3, this version reads up to 2"):
        read_manifest(content, "x")


@settings(max_examples=40)
@given(st.recursive(st.none() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)))
def test_other_json_is_not_a_manifest(value: object) -> None:
    for content in (value, {"files": value}, {"format": 2, "files": value}, {"format": 2, "files": {"a": value}}):
        if content not in ({"files": {}}, {"format": 2, "files": {}}):
            with pytest.raises(UntrustedFileError):
                read_manifest(json.dumps(content, indent=2).encode(), "x")
