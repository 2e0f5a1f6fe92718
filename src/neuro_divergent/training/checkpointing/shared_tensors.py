"""Tensors with a file of their own, named after its content, so that several checkpoints can share it.

A differential checkpoint has its large tensors in such files. A tensor that has not changed since the checkpoint before
has the same name there, and the store links the file instead of writing it; tensors of one checkpoint with the same
content (weights and the best weights, for instance) are one file.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from torch import Tensor

from neuro_divergent.core.storage.compression import ENDING as COMPRESSED
from neuro_divergent.core.storage.compression import compress as compressed
from neuro_divergent.core.storage.compression import decompress
from neuro_divergent.core.storage.reusable import Content, Reusable
from neuro_divergent.core.storage.tensor_file import dump_tensors, load_tensors

SMALLEST = 64 * 1024
"""Bytes from which on a tensor has a file of its own: each new one is a flush of the disk."""

_NAME = "tensor"
_FILE = re.compile(r"tensor-[0-9a-f]{64}\.safetensors(\.zst)?")


class SharedTensors:
    """Takes the large tensors of a state out of its parts, and gives their files.

    Args:
        parts: Tensors by part and name.
        since: Name of the checkpoint before, which may have some of the files; ``None`` if there is none.
        compress: Whether to compress them.

    Attributes:
        small: The tensors that are left, by part and name.
        names: Name of the file of each large tensor, by part and name; complete once ``files`` was consumed.
        sizes: Bytes of each file before compression, likewise.
    """

    def __init__(self, parts: Mapping[str, Mapping[str, Tensor]], *, since: str | None, compress: bool) -> None:
        self._large = {part: {n: t for n, t in tensors.items() if is_large(t)} for part, tensors in parts.items()}
        self._since = since
        self._compress = compress
        self.small = {part: {n: t for n, t in tensors.items() if not is_large(t)} for part, tensors in parts.items()}
        self.names: dict[str, dict[str, str]] = {}
        self.sizes: dict[str, int] = {}

    def files(self) -> Iterator[tuple[str, Content]]:
        """Yield the name and the content of each file, one tensor at a time."""
        for part, tensors in self._large.items():
            for name, tensor in tensors.items():
                content = dump_tensors({_NAME: tensor})
                ending = COMPRESSED if self._compress else ""
                file = f"tensor-{hashlib.sha256(content).hexdigest()}.safetensors{ending}"
                self.names.setdefault(part, {})[name] = file
                if file not in self.sizes:
                    self.sizes[file] = len(content)
                    yield file, self._content(content)

    def _content(self, content: bytes) -> Content:
        make = partial(compressed if self._compress else bytes, content)
        return make() if self._since is None else Reusable(self._since, make)


def is_large(tensor: Tensor) -> bool:
    """Whether a tensor has a file of its own."""
    return tensor.numel() * tensor.element_size() >= SMALLEST


def is_shared_file(name: str) -> bool:
    """Whether a file of a checkpoint is that of one tensor."""
    return _FILE.fullmatch(name) is not None


def load_shared(
    names: Any, files: Mapping[str, bytes], sizes: Mapping[str, int], place: str
) -> dict[str, dict[str, Tensor]]:
    """Return tensors by part and name, each with memory of its own; a malformed description may raise any error."""
    loaded: dict[str, Tensor] = {}
    made: dict[str, dict[str, Tensor]] = {}
    for part, tensors in names.items():
        made[part] = {}
        for name, file in tensors.items():
            if file in loaded:
                made[part][name] = loaded[file].clone()
            else:
                made[part][name] = loaded[file] = _load(files[file], sizes[file], f"{place}/{file}")
    unused = {file for file in sizes if is_shared_file(file)} ^ set(loaded)
    if unused:
        raise ValueError(f"files {sorted(unused)[:5]} are not those of a tensor, or of none")
    return made


def _load(content: bytes, size: int, place: str) -> Tensor:
    if place.endswith(COMPRESSED):
        content = decompress(content, size, place)
    elif len(content) != size:
        raise ValueError(f"{place} has {len(content)} bytes, not {size}")
    tensors = load_tensors(content, place, [_NAME])
    if set(tensors) != {_NAME}:
        raise ValueError(f"{place} has the tensors {sorted(tensors)[:5]}")
    return tensors[_NAME]
