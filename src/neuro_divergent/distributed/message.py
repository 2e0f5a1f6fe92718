"""What processes send each other, as bytes: tensors as safetensors and the rest as JSON, as in checkpoints.

Nothing is pickled, so that a process that sends something else can do no more harm than to end training.
"""

from __future__ import annotations

import json
from typing import Any

from neuro_divergent.core.errors import UntrustedFileError
from neuro_divergent.training.checkpointing.checkpoint import pack_state, unpack_state

_WIDTH = 8  # bytes of a length
_PLACE = "a message of another process"


def encode(value: Any) -> bytes:
    """Return numbers, text, ``None`` and tensors, in dicts, lists and tuples, as bytes."""
    files = dict(pack_state({"value": value}))
    head = json.dumps([[name, len(content)] for name, content in files.items()]).encode()
    return b"".join((len(head).to_bytes(_WIDTH, "big"), head, *files.values()))


def decode(content: bytes) -> Any:
    """Return what ``encode`` was given.

    Raises:
        UntrustedFileError: If the bytes are something else.
    """
    try:
        start = _WIDTH + int.from_bytes(content[:_WIDTH], "big")
        sizes = json.loads(content[_WIDTH:start])
        files = {}
        for name, size in sizes:
            files[name] = content[start : start + size]
            start += size
    except (ValueError, TypeError) as error:
        raise UntrustedFileError(f"{_PLACE} is not one of ours ({type(error).__name__}).") from None
    return unpack_state(files, _PLACE)["value"]
