"""What a client keeps from round to round."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from torch import Tensor

from neuro_divergent.core.storage.atomic import clear_leftovers, read_directory, remove_directory, write_directory
from neuro_divergent.core.storage.tensor_file import dump_tensors, load_tensors

_TENSORS = "state.safetensors"
_NAME = re.compile(r"round-(\d{6,})")


class ClientMemory:
    """Tensors of a client after each of its rounds, in memory or in a directory.

    A round may be done again, if the server was killed before it was complete: the state before it is kept until a
    later round is begun, so that the round gives the same update again.

    Args:
        directory: Where the tensors are; ``None`` for in memory.
    """

    def __init__(self, directory: Path | None = None) -> None:
        self._directory = directory
        self._states: dict[int, dict[str, Tensor]] = {}
        if directory is not None and directory.is_dir():
            clear_leftovers(directory)

    def load(self, before: int) -> dict[str, Tensor]:
        """Return the state after the last round before one; nothing where there is none."""
        known = [number for number in self._rounds() if number < before]
        if not known:
            return {}
        if self._directory is None:
            return dict(self._states[known[-1]])
        files = read_directory(self._path(known[-1]))
        return load_tensors(files[_TENSORS], str(self._path(known[-1]) / _TENSORS))

    def save(self, number: int, state: Mapping[str, Tensor]) -> None:
        """Keep the state after a round, and the one before it."""
        if self._directory is None:
            self._states[number] = {name: item.clone() for name, item in state.items()}
        else:
            self._directory.mkdir(parents=True, exist_ok=True)
            write_directory(self._path(number), [(_TENSORS, dump_tensors(state))])
        earlier = [item for item in self._rounds() if item < number]
        for old in earlier[:-1]:
            self._remove(old)

    def _rounds(self) -> list[int]:
        if self._directory is None:
            return sorted(self._states)
        if not self._directory.is_dir():
            return []
        found = (_NAME.fullmatch(path.name) for path in self._directory.iterdir())
        return sorted(int(match[1]) for match in found if match)

    def _remove(self, number: int) -> None:
        if self._directory is None:
            del self._states[number]
        else:
            remove_directory(self._path(number))

    def _path(self, number: int) -> Path:
        assert self._directory is not None
        return self._directory / f"round-{number:06d}"
