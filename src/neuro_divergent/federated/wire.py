"""Tasks and updates as bytes: a JSON header and tensors in the safetensors format.

What comes from the other side is not trusted: sizes are bounded, JSON is strict, and tensors must have the names,
shapes and types of the shared network.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from neuro_divergent.core.errors import RejectedUpdateError, UntrustedFileError
from neuro_divergent.core.storage import strict_json
from neuro_divergent.core.storage.tensor_file import dump_tensors, load_tensors
from neuro_divergent.federated.update import RoundTask, Update
from neuro_divergent.federated.weight_layout import WeightLayout

_HEADER_LIMIT = 64 * 1024
_ROOM = 1024**2  # for headers
_MAIN, _FURTHER = "main", "further."


def largest_message(layout: WeightLayout, vectors: int = 2) -> int:
    """Return the bytes that a task or an update of a network may have at most.

    Args:
        layout: The shared weights.
        vectors: Vectors as long as the weights that are in it at most.
    """
    names = sum(len(name.encode()) for name in layout.names)
    return vectors * (layout.num_bytes + 6 * names + 512 * len(layout.names)) + _ROOM


def encode_task(task: RoundTask, layout: WeightLayout) -> bytes:
    """Return a task as bytes."""
    header = {"round": task.round, "lr_scale": task.lr_scale}
    return _encode(header, task.weights, task.message, layout)


def decode_task(content: bytes, layout: WeightLayout) -> RoundTask:
    """Return the task that bytes hold.

    Raises:
        UntrustedFileError: If they hold something else.
    """
    header, main, further = _decode(content, layout, {"round": int, "lr_scale": float})
    return RoundTask(header["round"], main, header["lr_scale"], further)


def encode_update(update: Update, layout: WeightLayout) -> bytes:
    """Return an update as bytes."""
    header = {"round": update.round, "examples": update.examples, "loss": update.loss}
    return _encode(header, update.delta, update.message, layout)


def decode_update(content: bytes, layout: WeightLayout, client: str) -> Update:
    """Return the update that a client sent.

    Args:
        content: What it sent.
        layout: The shared weights.
        client: Who sent it, as the transport knows.

    Raises:
        RejectedUpdateError: If it is no update of this network.
    """
    try:
        expected: dict[str, type | tuple[type, ...]] = {
            "round": int,
            "examples": int,
            "loss": (float, int, type(None)),
        }
        header, main, further = _decode(content, layout, expected)
    except UntrustedFileError as error:
        raise RejectedUpdateError(str(error)) from None
    loss = header["loss"]
    return Update(client, header["round"], main, header["examples"], None if loss is None else float(loss), further)


def _encode(header: dict[str, Any], main: Tensor, further: Mapping[str, Tensor], layout: WeightLayout) -> bytes:
    vectors = {f"{_MAIN}.": main, **{f"{_FURTHER}{name}.": vector for name, vector in further.items()}}
    tensors = {prefix + name: item for prefix, vector in vectors.items() for name, item in layout.split(vector).items()}
    text = strict_json.dumps({**header, "further": sorted(further)})
    return len(text).to_bytes(8, "little") + text + dump_tensors(tensors)


def _decode(
    content: bytes, layout: WeightLayout, fields: Mapping[str, type | tuple[type, ...]]
) -> tuple[dict[str, Any], Tensor, dict[str, Tensor]]:
    size = int.from_bytes(content[:8], "little")
    if len(content) < 8 or size > min(len(content) - 8, _HEADER_LIMIT):
        raise UntrustedFileError("not a message of a federation.")
    header = strict_json.loads(content[8 : 8 + size], "header", _HEADER_LIMIT)
    names = header.pop("further", None) if isinstance(header, dict) else None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise UntrustedFileError("header: does not describe a message of a federation.")
    if set(header) != set(fields) or any(not _is(header[name], kind) for name, kind in fields.items()):
        raise UntrustedFileError(f"header: expected {', '.join(fields)}.")
    tensors = load_tensors(content[8 + size :], "tensors", layout.names)
    groups: dict[str, dict[str, Tensor]] = {}
    for prefix in (f"{_MAIN}.", *(f"{_FURTHER}{name}." for name in names)):
        groups[prefix] = {name[len(prefix) :]: tensors[name] for name in tensors if name.startswith(prefix)}
    if sum(map(len, groups.values())) != len(tensors) or len(groups) != 1 + len(names):
        raise UntrustedFileError("tensors: not those of the message.")
    try:
        vectors = {prefix: layout.join(group) for prefix, group in groups.items()}
    except ValueError as error:
        raise UntrustedFileError(f"tensors: {error}.") from None
    main = vectors.pop(f"{_MAIN}.")
    return header, main, {name: vectors[f"{_FURTHER}{name}."] for name in names}


def _is(value: Any, kind: type | tuple[type, ...]) -> bool:
    """Whether a value is of a kind; true and false are no numbers."""
    return isinstance(value, kind) and not isinstance(value, bool)
