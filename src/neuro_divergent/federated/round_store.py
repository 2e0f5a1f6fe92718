"""Rounds that are complete, in memory or on disk."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from neuro_divergent.core.errors import UntrustedFileError
from neuro_divergent.core.storage import strict_json
from neuro_divergent.core.storage.atomic import clear_leftovers, read_directory, remove_directory, write_directory
from neuro_divergent.core.storage.tensor_file import dump_tensors, load_tensors, require_finite

_TENSORS, _STATE = "weights.safetensors", "round.json"
_NAME = re.compile(r"round-(\d{6,})")
_WEIGHTS, _AGGREGATION = "weights", "aggregation."
_FORMAT, _KEPT = 1, 2


@dataclass(frozen=True, eq=False)
class RoundState:
    """What a federation is after a round.

    Attributes:
        round: Number of the round; 0 before the first.
        weights: The shared weights.
        aggregation: State of the aggregation.
        row: What happened in the round.
    """

    round: int
    weights: Tensor
    aggregation: dict[str, Tensor]
    row: dict[str, Any]


class MemoryRounds:
    """Keeps the last round in memory."""

    def __init__(self) -> None:
        self._state: RoundState | None = None

    def latest(self) -> RoundState | None:
        """Return the last complete round, if there is one."""
        return self._state

    def commit(self, state: RoundState) -> None:
        """Make a round the last complete one."""
        self._state = state


class StoredRounds(MemoryRounds):
    """Keeps the last rounds in a directory; a round is there complete or not at all.

    Args:
        directory: Where the rounds are.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        if directory.is_dir():
            clear_leftovers(directory)

    def latest(self) -> RoundState | None:
        """Return the last complete round.

        Raises:
            UntrustedFileError: If it was altered or damaged.
        """
        numbers = self._rounds()
        return self._read(numbers[-1]) if numbers else None

    def commit(self, state: RoundState) -> None:
        tensors = {f"{_AGGREGATION}{name}": item for name, item in state.aggregation.items()}
        document = {"format": _FORMAT, "round": state.round, "row": state.row}
        self._directory.mkdir(parents=True, exist_ok=True)
        write_directory(
            self._path(state.round),
            [(_TENSORS, dump_tensors({_WEIGHTS: state.weights, **tensors})), (_STATE, strict_json.dumps(document))],
        )
        for number in self._rounds()[:-_KEPT]:
            remove_directory(self._path(number))

    def _read(self, number: int) -> RoundState:
        place = self._path(number)
        files = read_directory(place)
        if set(files) != {_TENSORS, _STATE}:
            raise UntrustedFileError(f"{place}: is not a round: holds {sorted(files)}.")
        document = strict_json.loads(files[_STATE], f"{place}/{_STATE}")
        tensors = load_tensors(files[_TENSORS], f"{place}/{_TENSORS}")
        require_finite(tensors, f"{place}/{_TENSORS}")
        sound = isinstance(document, dict) and document.get("format") == _FORMAT and document.get("round") == number
        if not sound or not isinstance(document.get("row"), dict) or _WEIGHTS not in tensors:
            raise UntrustedFileError(f"{place}: does not describe round {number}.")
        weights = tensors.pop(_WEIGHTS)
        state = {name.removeprefix(_AGGREGATION): item for name, item in tensors.items()}
        return RoundState(number, weights, state, document["row"])

    def _rounds(self) -> list[int]:
        if not self._directory.is_dir():
            return []
        found = (_NAME.fullmatch(path.name) for path in self._directory.iterdir())
        return sorted(int(match[1]) for match in found if match)

    def _path(self, number: int) -> Path:
        return self._directory / f"round-{number:06d}"
