"""The state of training on disk: tensors as safetensors, everything else as JSON, a manifest with hashes over both.

Format 1 had no sizes and types, format 2 has a file of tensors for each part, and format 3, that of differential
checkpoints, has files of single tensors as well. All others are written in format 2, which older versions read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from neuro_divergent import __version__
from neuro_divergent.core.errors import InputError, NewerFormatError, UntrustedFileError
from neuro_divergent.core.storage import strict_json
from neuro_divergent.core.storage.atomic import read_directory, write_directory
from neuro_divergent.core.storage.compression import ENDING as COMPRESSED
from neuro_divergent.core.storage.compression import compress as compressed
from neuro_divergent.core.storage.compression import decompress
from neuro_divergent.core.storage.pickle_guard import refuse_pickle
from neuro_divergent.core.storage.reusable import Content
from neuro_divergent.core.storage.store import is_url, open_store, split_url
from neuro_divergent.core.storage.tensor_file import dtype_name, dump_tensors, load_tensors
from neuro_divergent.training.checkpointing.shared_tensors import SharedTensors, is_shared_file, load_shared

FORMAT = 3
BEST = "best.json"
_COMPLETE = 2
_STATE = "state.json"
_ENDING = ".safetensors"
_KIND = "$kind"  # marks a JSON object that stands for something JSON does not have
_PART = re.compile(r"[a-z][a-z0-9_]*")
_STEP = re.compile(r"step-(\d{9,})")
_FLOATS = ("inf", "-inf", "nan")


_Description = tuple[str | None, list[int] | None]
"""Type and shape of a tensor; format 1 gave the name alone."""


def pack_state(state: Mapping[str, Any], *, compress: bool = False) -> Iterator[tuple[str, bytes]]:
    """Return a state as names and contents of files.

    Each part (``module``, ``optimizer``, ...) has its tensors in a file of its own under the names they have in it, so
    that ``module.safetensors`` holds weights any tool can read. The rest is in ``state.json``, which comes last. The
    state is looked through at once; the content of a file is made when it is asked for.

    Args:
        state: Parts by name. Parts are made of tensors, numbers, strings, booleans, ``None``, lists, tuples and
            dictionaries, nested as one likes; all of them come back as they were, except that subclasses (ordered
            dictionaries, named tuples, parameters) come back as what they derive from.
        compress: Whether to compress the tensors with Zstandard.

    Raises:
        InputError: If there is something else in it.
        MissingDependencyError: If it is to be compressed and zstandard is not installed.
    """
    parts, tree = _split(state, compress)
    return _files(parts, tree, compress)


def pack_differential(
    state: Mapping[str, Any], *, since: str | None, compress: bool = False
) -> Iterator[tuple[str, Content]]:
    """Return a state as names and contents of files, of which a store need not write those that it has already.

    Large tensors have files of their own that are named after their content; see ``shared_tensors``. All else is as in
    ``pack_state``.

    Args:
        state: As for ``pack_state``.
        since: Name of the checkpoint in the same store whose files may be used again; ``None`` if there is none.
        compress: Whether to compress the tensors with Zstandard.
    """
    parts, tree = _split(state, compress)
    return _differential_files(parts, tree, since, compress)


def unpack_state(files: Mapping[str, bytes], place: str) -> dict[str, Any]:
    """Return the state that files hold, with its tensors on the CPU; ``place`` is what they are called in messages.

    Raises:
        UntrustedFileError: If they do not describe a state exactly, or were written by a newer version.
    """
    if _STATE not in files:
        raise UntrustedFileError(f"{place}: is not a checkpoint: a checkpoint is a directory with a {_STATE}.")
    description = strict_json.loads(files[_STATE], f"{place}/{_STATE}")
    version = description.get("format") if isinstance(description, dict) else None
    if type(version) is not int or version < 1 or not isinstance(description.get("state"), dict):
        raise UntrustedFileError(f"{place}/{_STATE}: does not describe a checkpoint.")
    if version > FORMAT:
        raise NewerFormatError(place, version, FORMAT)
    try:
        return _unpack(files, description, place)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise UntrustedFileError(f"{place}: does not describe a checkpoint ({reason}).") from error


def write_checkpoint(place: Path | str, state: Mapping[str, Any], *, compress: bool = False) -> None:
    """Write a state to a directory or URL, complete or not at all; a checkpoint that is there is replaced.

    Raises:
        InputError: If there is something in it that cannot be written, or if something else is at ``place``.
        StorageError: If the disk refuses.
    """
    files = pack_state(state, compress=compress)
    if is_url(place):
        parent, name = split_url(str(place))
        open_store(parent).write(name, files)
    else:
        write_directory(Path(place), files)


def read_checkpoint(place: Path | str) -> dict[str, Any]:
    """Read a state back from a directory or URL, with its tensors on the CPU.

    Raises:
        UntrustedFileError: If it is not a checkpoint, was altered, or was written by a newer version.
        StorageError: If it cannot be read.

    Examples:
        >>> import neuro_divergent as nd
        >>> import pathlib, tempfile, torch
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     config = nd.TrainingConfig(max_steps=30)
        ...     writing = nd.callbacks.Checkpointing(directory=directory)
        ...     trainer = nd.Trainer(torch.nn.Linear(1, 1), nd.losses.MSE(), config, callbacks=writing)
        ...     _ = trainer.fit((torch.ones(8, 1), torch.ones(8, 1)))
        ...     state = nd.training.read_checkpoint(pathlib.Path(directory, "step-000000030"))
        >>> sorted(state["module"])
        ['bias', 'weight']
    """
    place = place if is_url(place) else Path(place)
    refuse_pickle(place, "a checkpoint")
    if isinstance(place, Path):
        if not (place / _STATE).is_file():
            raise UntrustedFileError(f"{place}: is not a checkpoint: a checkpoint is a directory with a {_STATE}.")
        files = read_directory(place)
    else:
        parent, name = split_url(str(place))
        files = open_store(parent).read(name)
    return unpack_state(files, str(place))


def step_name(step: int) -> str:
    """Return what the checkpoint of a step is called."""
    return f"step-{step:09d}"


def step_of(name: str) -> int | None:
    """Return the step in the name of a checkpoint, or ``None`` if it is not one."""
    match = _STEP.fullmatch(name)
    return None if match is None else int(match[1])


def in_order(names: Iterable[str]) -> list[str]:
    """Return the names of checkpoints in the order of their steps; other names are left out."""
    steps = {name: step_of(name) for name in names}
    return [name for _, name in sorted((step, name) for name, step in steps.items() if step is not None)]


def _split(state: Mapping[str, Any], compress: bool) -> tuple[dict[str, dict[str, Tensor]], dict[str, Any]]:
    """Return the tensors of each part by name, and the rest as JSON."""
    parts: dict[str, dict[str, Tensor]] = {}
    tree: dict[str, Any] = {}
    for part, value in state.items():
        if not isinstance(part, str) or not _PART.fullmatch(part):
            raise InputError(f"checkpoint: the parts of a state have lower-case names; got {part!r}.")
        parts[part] = {}
        tree[part] = _encode(value, part, "", parts[part])
    if compress:
        compressed(b"")  # raises before anything is written if it is not installed
    return parts, tree


def _files(parts: dict[str, dict[str, Tensor]], tree: dict[str, Any], compress: bool) -> Iterator[tuple[str, bytes]]:
    sizes: dict[str, int] = {}
    yield from _part_files(parts, sizes, compress)
    yield _STATE, _describe(_COMPLETE, files=sizes, state=tree)


def _differential_files(
    parts: dict[str, dict[str, Tensor]], tree: dict[str, Any], since: str | None, compress: bool
) -> Iterator[tuple[str, Content]]:
    shared = SharedTensors(parts, since=since, compress=compress)
    yield from shared.files()
    sizes = dict(shared.sizes)
    yield from _part_files(shared.small, sizes, compress)
    yield _STATE, _describe(FORMAT, files=sizes, shared=shared.names, state=tree)


def _part_files(
    parts: dict[str, dict[str, Tensor]], sizes: dict[str, int], compress: bool
) -> Iterator[tuple[str, bytes]]:
    """Yield a file for each part that has tensors, and note its size before compression."""
    for part, tensors in parts.items():
        if tensors:
            content = dump_tensors(tensors)
            name = f"{part}{_ENDING}{COMPRESSED if compress else ''}"
            sizes[name] = len(content)
            yield name, compressed(content) if compress else content


def _describe(version: int, **content: Any) -> bytes:
    return strict_json.dumps({"format": version, "version": __version__, **content})


def _unpack(files: Mapping[str, bytes], description: dict[str, Any], place: str) -> dict[str, Any]:
    """Return the state of a description whose format is known; a malformed one may raise any error."""
    first, tree = description["format"] == 1, description["state"]
    expected: dict[str, dict[str, _Description]] = {part: {} for part in tree}
    for part, value in tree.items():
        if not _PART.fullmatch(part):
            raise ValueError(f"part {part!r}")
        _collect(value, expected[part], first)
    # Format 1 had one file for each part, never compressed, and did not write down their sizes.
    first_sizes = {name: len(content) for name, content in files.items() if name != _STATE}
    sizes = first_sizes if first else description["files"]
    if set(files) != {_STATE, *sizes}:
        raise ValueError(f"files {sorted(files)}, named are {sorted({_STATE, *sizes})}")
    tensors: dict[str, dict[str, Tensor]] = {part: {} for part in tree}
    for name, size in sizes.items():
        if is_shared_file(name):
            continue
        part = name.removesuffix(COMPRESSED).removesuffix(_ENDING)
        if name not in (f"{part}{_ENDING}", f"{part}{_ENDING}{COMPRESSED}") or part not in tree or tensors[part]:
            raise ValueError(f"file {name!r}")
        content = files[name]
        if name.endswith(COMPRESSED):
            content = decompress(content, _count(size), f"{place}/{name}")
        elif len(content) != _count(size):
            raise ValueError(f"{name} has {len(content)} bytes, not {size}")
        tensors[part] = load_tensors(content, f"{place}/{name}", expected[part])
    shared = description["shared"] if description["format"] == FORMAT else {}
    counts = {name: _count(size) for name, size in sizes.items()}
    for part, found in load_shared(shared, files, counts, place).items():
        if found.keys() & tensors[part].keys():
            raise ValueError(f"{part}: tensors {sorted(found.keys() & tensors[part].keys())[:5]} twice")
        tensors[part] |= found
    for part, wanted in expected.items():
        _compare(part, wanted, tensors[part])
    return {part: _decode(value, tensors[part]) for part, value in tree.items()}


def _count(size: Any) -> int:
    if type(size) is not int or size < 0:
        raise ValueError(f"size {size!r}")
    return size


def _compare(part: str, wanted: dict[str, _Description], found: Mapping[str, Tensor]) -> None:
    """Refuse tensors that are not the ones that the description names."""
    if set(wanted) != set(found):
        raise ValueError(f"{part}: tensors {sorted(set(wanted) ^ set(found))[:5]} are not in both files")
    for name, tensor in found.items():
        dtype, shape = wanted[name]
        if dtype is not None and (dtype_name(tensor), list(tensor.shape)) != (dtype, shape):
            raise ValueError(f"{part}: {name!r} is {dtype_name(tensor)} {list(tensor.shape)}, not {dtype} {shape}")


def _encode(value: Any, part: str, path: str, tensors: dict[str, Tensor]) -> Any:
    """Return a value as JSON, and its tensors by their path."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {_KIND: "float", "value": str(float(value))}
    if isinstance(value, Tensor):
        name = _enter(value, part, path, tensors)
        return {_KIND: "tensor", "value": name, "dtype": dtype_name(value), "shape": list(value.shape)}
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


def _collect(value: Any, into: dict[str, _Description], first: bool) -> None:
    """Find the tensors that a description refers to, each once."""
    if isinstance(value, list):
        for item in value:
            _collect(item, into, first)
    elif isinstance(value, dict) and value.get(_KIND) == "tensor":
        name = value["value"]
        known = {_KIND, "value"} if first else {_KIND, "value", "dtype", "shape"}
        if not isinstance(name, str) or name in into or set(value) != known:
            raise ValueError(f"tensor {name!r}")
        into[name] = value.get("dtype"), value.get("shape")
    elif isinstance(value, dict):
        for item in value.values():
            _collect(item, into, first)


def _decode(value: Any, tensors: Mapping[str, Tensor]) -> Any:
    """Undo ``_encode``."""
    if isinstance(value, list):
        return [_decode(item, tensors) for item in value]
    if not isinstance(value, dict):
        return value
    if _KIND not in value:
        return {key: _decode(item, tensors) for key, item in value.items()}
    kind, content = value[_KIND], value["value"]
    if kind == "tensor":
        return tensors[content]
    if len(value) != 2:
        raise ValueError(f"keys {sorted(value)}")
    if kind == "float" and content in _FLOATS:
        return float(content)
    if kind == "tuple" and isinstance(content, list):
        return tuple(_decode(item, tensors) for item in content)
    if kind == "dict" and isinstance(content, list):
        made = {_decode(key, tensors): _decode(item, tensors) for key, item in content}
        if len(made) != len(content):
            raise ValueError("a key twice")
        return made
    raise ValueError(f"unknown kind {kind!r}")


def _enter(tensor: Tensor, part: str, path: str, tensors: dict[str, Tensor]) -> str:
    """Add a tensor under its path, or one like it where two paths read the same, and return the name."""
    if tensor.layout != torch.strided or tensor.is_quantized or dtype_name(tensor) is None:
        raise InputError(f"checkpoint: {part}{path} is a {tensor.layout} tensor of {tensor.dtype}, not a plain one.")
    name = path.removeprefix(".") or part
    while name in tensors:
        name += "'"
    tensors[name] = tensor.detach()
    return name
