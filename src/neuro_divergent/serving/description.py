"""The description of an exported model: all that a caller of its graph needs to know, stored in the file's metadata."""

from __future__ import annotations

from typing import Literal

import msgspec

from neuro_divergent.core.errors import NewerFormatError, UntrustedFileError

FORMAT = 1
KEY = "neuro_divergent"
"""Key of the description in the metadata of an ONNX file."""


class ExportedFeature(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A covariate of the graph.

    Attributes:
        name: Column.
        categories: Values in the order of their codes, from 1; code 0 is for all others. ``None`` for numbers.
    """

    name: str
    categories: tuple[str | int | float | bool, ...] | None = None


class Description(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an exported graph reads and returns.

    Inputs of the graph, all float32 but ``series``; those that a model does not use are absent. B is the number of
    windows, C the number of channels: 1, or all series of a joint model.

    - ``past_y`` (B, input_size, C): history in the units of the data, 0 where missing.
    - ``past_mask`` (B, input_size, C): 1 where a value was observed.
    - ``past_x`` (B, input_size, features): covariates known only in the past.
    - ``future_x`` (B, input_size + horizon, features): covariates known ahead, calendar features last.
    - ``static_x`` (B, features).
    - ``series`` (B), int64: place in ``series`` below; -1 for a series that was not in training.

    The output ``forecast`` (B, horizon, C, 1 + quantiles) is the point and then each of ``quantiles``, in the units of
    the data.

    Attributes:
        format: Version of this description.
        package: Version of the package that wrote it.
        kind: Class of the model: ``Forecaster``, ``Ensemble`` or ``Conformal``.
        architecture: Name of the architecture.
        digest: SHA-256 of the manifest of the saved model, which names its files; the version of answers.
        precision: Of the weights: ``float32`` or ``int8``.
        horizon: Steps that are forecast.
        input_size: Steps of history.
        channels: Series that a window holds side by side.
        joint: Whether a window holds all series of training.
        target: Column of the values.
        time: Column of the times.
        id: Column of the ids; ``None`` for a table of one series.
        time_type: Type of the times.
        time_unit: Resolution of times of type ``datetime``: ``ms``, ``us`` or ``ns``; ``None`` for others.
        time_zone: Of ``datetime``; ``None`` for naive ones.
        frequency: Step between rows, as ``Frequency.parse`` reads it.
        quantiles: Quantiles of the output, after the point, in its order.
        past: Covariates of ``past_x``.
        future: Covariates of ``future_x`` without the calendar features.
        static: Covariates of ``static_x``.
        calendar: Calendar features, computed from the times; the last columns of ``future_x``.
        missing: Policy for missing values, as in ``Schema``.
        gaps: Policy for missing rows, as in ``Schema``.
        short: Policy for histories that are too short, as in ``Schema``.
        unknown_category: Policy for new categories, as in ``Schema``.
        encoding: How CSV files are written, as in ``Schema``; ``None`` for UTF-8.
        date_format: How times of CSV files are written, as in ``Schema``; ``None`` for ISO 8601.
        reading: Other fields of ``Schema`` that say how tables are read, where they are not the usual ones.
        takes_series: Whether the graph has the input ``series``.
        requires_known_series: Whether series that were not in training are refused.
        series: Ids of training, for ``takes_series`` and ``joint``; empty for others.
        target_range: Lowest and highest target of training; ``None`` where it is not known.
        integer_valued: Whether quantiles are counts.

    Examples:
        >>> import neuro_divergent as nd
        >>> made_by = {"package": "0.1.0", "kind": "Forecaster", "architecture": "nlinear", "digest": "1f3a"}
        >>> columns = {"target": "y", "time": "ds", "time_type": "date", "frequency": "1mo"}
        >>> described = nd.serving.Description(**made_by, **columns, horizon=12, input_size=36, quantiles=(0.1, 0.9))
        >>> described.id is None, described.quantiles
        (True, (0.1, 0.9))
        >>> nd.serving.Description.from_json(described.to_json(), "model.onnx") == described
        True
    """

    format: int = FORMAT
    package: str
    kind: str
    architecture: str
    digest: str
    precision: Literal["float32", "int8"] = "float32"
    horizon: int
    input_size: int
    channels: int = 1
    joint: bool = False
    target: str
    time: str
    id: str | None = None
    time_type: Literal["date", "datetime", "integer"]
    time_unit: Literal["ms", "us", "ns"] | None = None
    time_zone: str | None = None
    frequency: str
    quantiles: tuple[float, ...] = ()
    past: tuple[ExportedFeature, ...] = ()
    future: tuple[ExportedFeature, ...] = ()
    static: tuple[ExportedFeature, ...] = ()
    calendar: tuple[str, ...] = ()
    missing: str = "error"
    gaps: str = "error"
    short: str = "pad"
    unknown_category: str = "error"
    encoding: str | None = None
    date_format: str | tuple[str, ...] | None = None
    reading: dict[str, str | int | bool | tuple[str, ...]] = {}
    takes_series: bool = False
    requires_known_series: bool = False
    series: tuple[str | int, ...] = ()
    target_range: tuple[float, float] | None = None
    integer_valued: bool = False

    def to_json(self) -> bytes:
        """Return it as JSON."""
        values = msgspec.to_builtins(self)
        if not self.reading:
            del values["reading"]  # which earlier versions do not know
        return msgspec.json.encode(values)

    @classmethod
    def from_json(cls, content: bytes | str, place: str) -> Description:
        """Read it again.

        Args:
            content: What ``to_json`` returned.
            place: Name of the file in messages.

        Raises:
            UntrustedFileError: If it is something else, or was written by a newer version.
        """
        try:
            version = msgspec.json.decode(content, type=_Version).format
            if version > FORMAT:
                raise NewerFormatError(place, version, FORMAT)
            return msgspec.json.decode(content, type=cls)
        except msgspec.MsgspecError as error:
            raise UntrustedFileError(f"{place}: is not an exported model ({error}).") from None


class _Version(msgspec.Struct):
    format: int
