"""Tensors as bytes, in the safetensors format, checked before any of them is used.

Reading starts from bytes in memory that were verified against a manifest, and writing returns bytes, so that the caller
controls when they are on the disk.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from safetensors import SafetensorError

from neuro_divergent.core.errors import UntrustedFileError
from neuro_divergent.core.storage import strict_json

if TYPE_CHECKING:
    from torch import Tensor

HEADER_LIMIT = 1024**2
"""Bytes that any header may have: thousands of tensors."""

_PER_TENSOR = 256  # bytes of a header for one tensor, without its name: type, places and a shape of a few numbers
DTYPES = {
    "BOOL": "bool", "U8": "uint8", "I8": "int8", "U16": "uint16", "I16": "int16", "U32": "uint32", "I32": "int32",
    "U64": "uint64", "I64": "int64", "F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64",
    "C64": "complex64",
}  # fmt: skip
"""The types that are written and read, as the format and as torch calls them."""


def dtype_name(tensor: Tensor) -> str | None:
    """Return the name of the type of a tensor in the format, or ``None`` for types that are not written."""
    return _NAMES.get(str(tensor.dtype).removeprefix("torch."))


def dump_tensors(tensors: Mapping[str, Tensor]) -> bytes:
    """Return tensors as the content of a safetensors file; those that share memory are written one by one."""
    from safetensors.torch import save

    return save(_separate(tensors))


def load_tensors(content: bytes, place: str, names: Iterable[str] = ()) -> dict[str, Tensor]:
    """Return the tensors of a safetensors file, on the CPU, each with memory of its own; ``place`` is for messages.

    A header is accepted up to 1 MiB, an eighth of the file, or what the expected ``names`` need, whichever is most:
    reading it never costs more than reading the file has.

    Raises:
        UntrustedFileError: If it is no such file, has a type that we do not write, or does not fill its places.
    """
    import torch
    from safetensors.torch import load

    size = int.from_bytes(content[:8], "little")
    limit = max(HEADER_LIMIT, len(content) // 8, sum(6 * len(name) + _PER_TENSOR for name in names))
    if len(content) < 8 or size > len(content) - 8:
        raise UntrustedFileError(f"{place}: not a safetensors file.")
    header = strict_json.loads(content[8 : 8 + size], f"{place} (header)", limit)
    entries = header.items() if isinstance(header, dict) else [("header", None)]
    for name, entry in entries:
        if name != "__metadata__" and (not isinstance(entry, dict) or str(entry.get("dtype")) not in DTYPES):
            raise UntrustedFileError(f"{place}: {name[:80]!r} is not a tensor of a type that is read.")
    try:
        tensors: dict[str, Tensor] = load(content)
    except (SafetensorError, KeyError, TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise UntrustedFileError(f"{place}: not a safetensors file ({error}).") from None
    for name, tensor in tensors.items():
        # Booleans other than 0 and 1 are undefined in torch.
        if tensor.dtype == torch.bool and tensor.numel() and int(tensor.view(torch.uint8).max()) > 1:
            raise UntrustedFileError(f"{place}: {name[:80]!r} holds truth values that are neither.")
    return tensors


def first_not_finite(tensors: Mapping[str, Tensor]) -> str | None:
    """Return the name of the first tensor that holds a number that is not finite."""
    return next((name for name, tensor in tensors.items() if not tensor.isfinite().all()), None)


def require_finite(tensors: Mapping[str, Tensor], place: str) -> None:
    """Refuse values that are not finite in a file.

    Raises:
        UntrustedFileError: If there is one, with the name of its tensor.
    """
    name = first_not_finite(tensors)
    if name is not None:
        raise UntrustedFileError(f"{place}: {name!r} holds numbers that are not finite.")


def _separate(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Copy tensors that share memory (tied weights): a file has a place for each name."""
    seen: set[int] = set()
    separate = {}
    for name, tensor in tensors.items():
        plain = tensor.detach().cpu().contiguous()
        place = plain.untyped_storage().data_ptr()
        separate[name] = plain.clone() if place and place in seen else plain
        seen.add(place)
    return separate


_NAMES = {torch_name: name for name, torch_name in DTYPES.items()}
