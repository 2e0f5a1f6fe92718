"""Tensors survive as bytes, and bytes that are not tensors are refused."""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest
import safetensors.torch
import torch

from neuro_divergent.core.errors import UntrustedFileError
from neuro_divergent.core.storage.tensor_file import DTYPES, dtype_name, dump_tensors, load_tensors, require_finite


def file_of(header: Any, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


@pytest.mark.parametrize("dtype", sorted(DTYPES.values()))
def test_every_type_comes_back(dtype: str) -> None:
    kind = getattr(torch, dtype)
    tensors = {
        "a": torch.tensor([[0, 1], [1, 0]]).to(kind),
        "b": torch.zeros(0, 3, dtype=kind),
        "c": torch.ones((), dtype=kind),
    }
    content = dump_tensors(tensors)
    for read in (load_tensors(content, "x"), safetensors.torch.load(content)):
        assert read.keys() == tensors.keys()
        for name, tensor in tensors.items():
            assert (read[name].dtype, read[name].shape) == (kind, tensor.shape)
            assert read[name].tolist() == tensor.tolist()
    assert DTYPES[dtype_name(tensors["a"]) or ""] == dtype


def test_shared_and_turned_tensors_are_written_as_they_look() -> None:
    base = torch.arange(6.0).reshape(2, 3)
    read = load_tensors(dump_tensors({"a": base, "b": base.T, "c": base[1:]}), "x")
    assert read["b"].tolist() == [[0, 3], [1, 4], [2, 5]]
    read["a"] += 1
    assert read["c"].tolist() == [[3, 4, 5]]


ENTRY = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "not a safetensors file"),
        (b"\x80\x04\x95aaaaaaaaaa", "not a safetensors file"),
        (struct.pack("<Q", 2**63) + b"{}", "not a safetensors file"),
        (file_of(b"[]"), "is not a tensor"),
        (file_of(b'{"a": 1, "a": 2}'), "key 'a' twice"),
        (file_of({"a": ENTRY}, b"\0\0\0"), "not a safetensors file"),
        (file_of({"a": ENTRY}, b"\0\0\0\0\0"), "not a safetensors file"),
        (file_of({"a": {**ENTRY, "dtype": "F4"}}, bytes(4)), "of a type that is read"),
        (file_of({"a": {**ENTRY, "dtype": ["F32"]}}, bytes(4)), "of a type that is read"),
        (file_of({"a": {**ENTRY, "shape": [2**62, 4]}}, bytes(4)), "not a safetensors file"),
        (file_of({"a": {**ENTRY, "shape": [-1]}}, bytes(4)), "not a safetensors file"),
        (file_of({"a": ENTRY, "b": ENTRY}, bytes(4)), "not a safetensors file"),
        (file_of({"a": {"dtype": "BOOL", "shape": [4], "data_offsets": [0, 4]}}, b"\0\1\2\0"), "truth values"),
    ],
)
def test_what_is_refused(content: bytes, reason: str) -> None:
    with pytest.raises(UntrustedFileError, match=f"m.safetensors.*{reason}"):
        load_tensors(content, "m.safetensors")


def test_headers_are_bounded_unless_the_names_need_more() -> None:
    tensors = {f"{'name' * 100}.{number}": torch.zeros(1) for number in range(2_500)}
    content = dump_tensors(tensors)
    assert int.from_bytes(content[:8], "little") > 1024**2
    with pytest.raises(UntrustedFileError, match="bytes of JSON, at most 1,048,576 are read"):
        load_tensors(content, "x")
    assert load_tensors(content, "x", tensors).keys() == tensors.keys()
    padded = dump_tensors({**tensors, "large": torch.zeros(4_000_000)})  # the header is a small part of this file
    assert len(load_tensors(padded, "x")) == 2_501


def test_numbers_that_are_not_finite_are_named() -> None:
    fine = {"a": torch.ones(2), "b": torch.tensor([1, 2])}
    require_finite(fine, "x")
    for wrong in (float("nan"), float("inf")):
        with pytest.raises(UntrustedFileError, match="x: 'c' holds numbers that are not finite"):
            require_finite({**fine, "c": torch.tensor([0.0, wrong])}, "x")
