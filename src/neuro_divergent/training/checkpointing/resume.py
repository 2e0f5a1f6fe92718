"""Finding the checkpoint to resume from."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from neuro_divergent.core.errors import InputError, NewerFormatError, StorageError, StorageWarning, UntrustedFileError
from neuro_divergent.core.storage.manifest import MANIFEST
from neuro_divergent.core.storage.store import Store, is_url, open_store
from neuro_divergent.training.checkpointing.checkpoint import in_order, read_checkpoint, step_of, unpack_state


def load_latest(place: str | Path) -> dict[str, Any]:
    """Read one checkpoint (``.../step-000001200``), or the latest of several that is not damaged, at a path or URL."""
    is_one = step_of(str(place).rstrip("/").rpartition("/")[2]) is not None
    if is_one or (not is_url(place) and (Path(place) / MANIFEST).is_file()):
        return read_checkpoint(place)
    if not is_url(place) and Path(place).is_file():
        raise InputError(
            f"{place}: is a file; a checkpoint is a directory that Checkpointing wrote. For weights of torch use "
            "module.load_state_dict(...) before training."
        )
    found = find_latest(open_store(place))
    if found is None:
        raise InputError(f"{place}: no checkpoint to go on from.")
    return found


def find_latest(store: Store) -> dict[str, Any] | None:
    """Return the state of the latest checkpoint that is not damaged, or ``None`` if there is no checkpoint at all.

    Damaged ones are set aside, with a warning, so that they are neither taken for good nor lost. If none is left, the
    last refusal of the disk is raised, or else an ``UntrustedFileError``.
    """
    refusal: StorageError | None = None
    names = in_order(store.names())
    for name in reversed(names):
        place = f"{store.place}/{name}"
        try:
            return unpack_state(store.read(name), place)
        except NewerFormatError:
            raise  # nothing is wrong with it
        except StorageError as error:
            refusal = error
            warnings.warn(f"{str(error).rstrip('.')}; the one before is taken.", StorageWarning, stacklevel=2)
        except UntrustedFileError as error:
            reason = str(error).removeprefix(f"{place}: ").removeprefix(f"{place}/").rstrip(".")
            warnings.warn(
                f"{place}: damaged ({reason}); {_put_away(store, name)}; the one before is taken.",
                StorageWarning,
                stacklevel=2,
            )
    if refusal is not None:
        raise refusal
    if names:
        raise UntrustedFileError(f"{store.place}: all {len(names)} checkpoints are damaged.")
    return None


def _put_away(store: Store, name: str) -> str:
    try:
        return f"set aside as {store.quarantine(name)}"
    except StorageError as error:
        return f"it could not be quarantined ({error})"
