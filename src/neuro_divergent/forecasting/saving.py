"""Saving and loading, the same for every kind of model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Self

from neuro_divergent.core.storage.atomic import write_directory
from neuro_divergent.forecasting.load import KINDS, read_stored


class SavedModel:
    """A model that is saved to files and rebuilt from them; subclasses say which."""

    def save(self, path: str | Path, *, context: bool = True) -> None:
        """Write the fitted model to a directory, complete or not at all.

        Args:
            path: The directory; a model that is there is replaced.
            context: Whether the end of each series, its id and times and the parameters of its scaler are saved, which
                ``predict()`` needs. Without them the model forecasts series that it is given as ``data``, and fits the
                series scaler to those. ``holds`` of the loaded model lists what remains.

        Raises:
            NotFittedError: If it is not fitted.
            ConfigError: If its intervals cannot do without ids and times.
            InputError: If something that is not a model is at ``path``.
            StorageError: If the disk refuses.
        """
        write_directory(Path(path), self.to_files(context=context))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what ``save`` wrote, or the model of a run. Nothing in the directory is ever executed.

        Raises:
            UntrustedFileError: If it is something else, was altered, or was written by a newer version.
            StorageError: If it cannot be read.
        """
        kind = next(item.__name__ for item in cls.__mro__ if item.__name__ in KINDS.values())
        stored = read_stored(path, kind)
        return cls.from_files(stored.files, stored.place)

    def to_files(self, *, context: bool = True) -> Iterator[tuple[str, bytes]]:
        """Yield the name and content of the files that ``save`` writes."""
        raise NotImplementedError

    @classmethod
    def from_files(cls, files: dict[str, bytes], place: str) -> Self:
        """Rebuild a model from its files, called ``place`` in messages."""
        raise NotImplementedError
