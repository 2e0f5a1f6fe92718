"""The state of training on disk: tensors as safetensors, everything else as JSON, a manifest with hashes over both."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from neuro_divergent import __version__
from neuro_divergent.core.atomic import new_directory, read_json, verify_directory
from neuro_divergent.core.errors import InputError, UntrustedFileError

FORMAT = 1
BEST = "best.json"
_STATE = "state.json"
_ENDING = ".safetensors"
_KIND = "$kind"  # marks a JSON object that stands for something JSON does not have
_PART = re.compile(r"[a-z][a-z0-9_]*")
_STEP = re.compile(r"step-(\d{9,})")


def write_checkpoint(directory: Path, state: Mapping[str, Any]) -> None:
    """Write a state, complete or not at all; what is at ``directory`` is replaced.

    Each part (``module``, ``optimizer``, ...) has its tensors in a file of its own under the names they have in it, so
    that ``module.safetensors`` holds weights any tool can read. The rest is in ``state.json``.

    Args:
        directory: Where to.
        state: Parts by name. Parts are made of tensors, numbers, strings, booleans, ``None``, lists, tuples and
            dictionaries, nested as one likes; all of them come back as they were, except that subclasses (ordered
            dictionaries, named tuples, parameters) come back as what they derive from.

    Raises:
        InputError: If there is something else in it.
        StorageError: If the disk refuses.
    """
    files: dict[str, dict[str, Tensor]] = {}
    tree: dict[str, Any] = {}
    for part, value in state.items():
        if not isinstance(part, str) or not _PART.fullmatch(part):
            raise InputError(f"checkpoint: the parts of a state have lower-case names; got {part!r}.")
        files[part] = {}
        tree[part] = _encode(value, part, "", files[part])
    with new_directory(directory) as work:
        for part, tensors in files.items():
            if tensors:
                save_file(_separate(tensors), work / f"{part}{_ENDING}")
        description = {"format": FORMAT, "version": __version__, "state": tree}
        (work / _STATE).write_text(json.dumps(description, allow_nan=False), "utf-8")


def read_checkpoint(directory: Path) -> dict[str, Any]:
    """Read a state back, with its tensors on the CPU.

    Raises:
        UntrustedFileError: If it is not a checkpoint, was altered, or was written by a newer version.
    """
    if not (directory / _STATE).is_file():
        raise UntrustedFileError(f"{directory}: is not a checkpoint: a checkpoint is a directory with a {_STATE}.")
    verify_directory(directory)
    description = read_json(directory / _STATE)
    if not isinstance(description, dict) or not isinstance(description.get("format"), int):
        raise UntrustedFileError(f"{directory / _STATE}: does not describe a checkpoint.")
    if description["format"] > FORMAT:
        raise UntrustedFileError(
            f"{directory}: format {description['format']}, this version reads up to {FORMAT}. Upgrade neuro-divergent."
        )
    try:
        tensors = {path.name[: -len(_ENDING)]: load_file(path) for path in directory.glob(f"*{_ENDING}")}
        return {part: _decode(value, tensors.get(part, {})) for part, value in description["state"].items()}
    except (KeyError, TypeError, ValueError, AttributeError, SafetensorError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise UntrustedFileError(f"{directory}: does not describe a checkpoint ({reason}).") from error


def step_directory(directory: Path, step: int) -> Path:
    """Return where the checkpoint of a step is, in a directory of checkpoints."""
    return directory / f"step-{step:09d}"


def list_checkpoints(directory: Path) -> list[Path]:
    """Return the checkpoints in a directory in the order of their steps."""
    found = {path: _STEP.fullmatch(path.name) for path in directory.glob("step-*")}
    return sorted((path for path, match in found.items() if match), key=lambda path: int(path.name[5:]))


def best_checkpoint(directory: Path) -> Path | None:
    """Return the checkpoint that is marked as the best, or ``None`` if none is."""
    if not (directory / BEST).is_file():
        return None
    marker = read_json(directory / BEST)
    name = marker.get("checkpoint") if isinstance(marker, dict) else None
    if not isinstance(name, str) or not _STEP.fullmatch(name):
        raise UntrustedFileError(f"{directory / BEST}: does not name a checkpoint.")
    return directory / name


def _encode(value: Any, part: str, path: str, tensors: dict[str, Tensor]) -> Any:
    """Return a value as JSON, and its tensors by their path."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {_KIND: "float", "value": str(float(value))}
    if isinstance(value, Tensor):
        return {_KIND: "tensor", "value": _enter(value, part, path, tensors)}
    if isinstance(value, (list, tuple)):
        items = [_encode(item, part, f"{path}.{place}", tensors) for place, item in enumerate(value)]
        return items if isinstance(value, list) else {_KIND: "tuple", "value": items}
    if isinstance(value, Mapping):
        encoded = {key: _encode(item, part, f"{path}.{key}", tensors) for key, item in value.items()}
        if _KIND not in value and all(isinstance(key, str) for key in value):
            return encoded
        pairs = [[_encode(key, part, f"{path}.{key}", tensors), item] for key, item in encoded.items()]
        return {_KIND: "dict", "value": pairs}
    raise InputError(
        f"checkpoint: {part}{path} is a {type(value).__name__}; a state holds tensors, numbers, strings, booleans, "
        "None, lists, tuples and dictionaries."
    )


def _decode(value: Any, tensors: Mapping[str, Tensor]) -> Any:
    """Undo ``_encode``."""
    if isinstance(value, list):
        return [_decode(item, tensors) for item in value]
    if not isinstance(value, dict):
        return value
    if _KIND not in value:
        return {key: _decode(item, tensors) for key, item in value.items()}
    kind, content = value[_KIND], value["value"]
    if kind == "float":
        return float(content)
    if kind == "tensor":
        return tensors[content]
    if kind == "tuple":
        return tuple(_decode(item, tensors) for item in content)
    if kind == "dict":
        return {_decode(key, tensors): _decode(item, tensors) for key, item in content}
    raise ValueError(f"unknown kind {kind!r}")


def _enter(tensor: Tensor, part: str, path: str, tensors: dict[str, Tensor]) -> str:
    """Add a tensor under its path, or one like it where two paths read the same, and return the name."""
    if tensor.layout != torch.strided or tensor.is_quantized or tensor.dtype == torch.complex128:
        raise InputError(f"checkpoint: {part}{path} is a {tensor.layout} tensor of {tensor.dtype}, not a plain one.")
    name = path.removeprefix(".") or part
    while name in tensors:
        name += "'"
    tensors[name] = tensor.detach().cpu().contiguous()
    return name


def _separate(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Copy tensors that share memory (tied weights): a file has a place for each name."""
    seen: set[int] = set()
    separate = {}
    for name, tensor in tensors.items():
        place = tensor.untyped_storage().data_ptr()
        separate[name] = tensor.clone() if place and place in seen else tensor
        seen.add(place)
    return separate
