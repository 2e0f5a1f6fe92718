"""Saving and loading, the same for every kind of model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from neuro_divergent.core.storage.atomic import write_directory
from neuro_divergent.forecasting.load import KINDS, read_stored

if TYPE_CHECKING:
    from plotly.graph_objects import Figure as PlotlyFigure


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

    def export(
        self,
        path: str | Path,
        *,
        format: Literal["onnx", "onnx-int8", "torch"] = "onnx",  # noqa: A002 (the word for it)
        levels: Sequence[float] | None = None,
        quantiles: Sequence[float] | None = None,
    ) -> Path:
        """Write the fitted model as one file that other systems run.

        It holds one graph from raw history, with a mask and covariates, to point and quantiles in the units of the
        data, and a description of both; ``neuro_divergent.serving.load`` reads it without torch. Before it is written,
        the graph is compared with ``predict``.

        Args:
            path: The file, which ends with ``.onnx``, or ``.pt2`` for ``torch``; one that is there is replaced.
            format: ``onnx``; ``onnx-int8``, with weights of 8 bits; or ``torch``, a program of ``torch.export``.
            levels: Central intervals to give, in percent. If neither they nor quantiles are given, the quantiles of
                the loss, or else the intervals of 80, 90 and 95 percent that the model can claim.
            quantiles: Quantiles to give, between 0 and 1.

        Returns:
            The path.

        Raises:
            ExportError: If the model cannot be exported, with the reason, or the graph would not forecast what
                ``predict`` does; nothing is written then.
            MissingDependencyError: If packages for it are not installed.
        """
        from neuro_divergent.serving.export.exporter import export_model  # above this room, and looked for here

        model: Any = self
        return export_model(model, path, format=format, levels=levels, quantiles=quantiles)

    def plot(self, forecasts: Any = None, *, series: Any = None, levels: Sequence[float] | None = None) -> PlotlyFigure:
        """Show the end of a series and its forecast with intervals, as ``nd.plots.plot_forecast`` does.

        Args:
            forecasts: What ``predict`` returned, such as for covariates known ahead; unset, ``predict`` is called.
            series: Which series; unset, the first.
            levels: Intervals to show, in percent; unset, 80 and 95 where the model can give them.

        Returns:
            A plotly figure; without plotly, one that a notebook shows as a static picture.
        """
        from neuro_divergent.reporting.plots import plot_forecast  # above this room, and looked for here

        return plot_forecast(self, forecasts, series=series, levels=levels)

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
