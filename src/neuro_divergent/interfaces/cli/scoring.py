"""``nd predict`` with a directory as output: scoring of many files, a part at a time."""

from __future__ import annotations

import glob
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuro_divergent.core.errors import InputError, check_choice
from neuro_divergent.core.formatting import format_count
from neuro_divergent.data.io.address import is_address, refuse_password
from neuro_divergent.data.panel_store.stored import is_stored_panel
from neuro_divergent.interfaces.cli.exported_forecast import PredictOptions

if TYPE_CHECKING:
    from neuro_divergent.serving.scoring.score_files import Observer, PartDone, ScoringSummary

_TABLES = (".csv", ".parquet", ".json")
_FORMATS = ("parquet", "csv", "delta")
_INTERRUPTED = "Interrupted. Finished files are complete; run the same command again to resume."


@dataclass(frozen=True)
class ScoringOptions:
    """Options of ``nd predict`` that only scoring has.

    Attributes:
        as_of: Rows after this time are left out.
        if_newer: Do nothing where neither data nor model changed.
        sql: Query whose rows are the series.
        database: Address of its database.
        source_format: ``parquet``, ``csv`` or ``delta``, where the name does not tell.
    """

    as_of: str | None = None
    if_newer: bool = False
    sql: str | None = None
    database: str | None = None
    source_format: str | None = None

    @property
    def given(self) -> str | None:
        """The first of these options that was given, as on the command line; ``None`` for none."""
        options = {
            "--as-of": self.as_of, "--if-newer": self.if_newer or None, "--sql": self.sql,
            "--database": self.database, "--format": self.source_format,
        }  # fmt: skip
        return next((name for name, value in options.items() if value is not None), None)


def writes_directory(output: str | None, data: str | None, scoring: ScoringOptions) -> bool:
    """Whether the output of ``nd predict`` is a directory of forecasts, and not a table.

    It is one if it ends with a slash, exists as one, or has no ending of a table while the series come from a pattern,
    a query, a Delta table or a stored panel.

    Raises:
        InputError: If an option of scoring is given with another output.
    """
    if output is None:
        is_directory = False
    else:
        is_source = scoring.sql is not None or scoring.source_format == "delta"
        is_source = is_source or (
            data is not None and (glob.has_magic(data) or is_stored_panel(data)) and not is_address(data)
        )
        is_table = Path(output).suffix.lower() in _TABLES
        is_directory = output.endswith(("/", "\\")) or Path(output).is_dir() or (is_source and not is_table)
    if not is_directory and scoring.given is not None:
        raise InputError(f"{scoring.given} needs a directory for the forecasts: pass --output forecasts/")
    return is_directory


def score_to_directory(
    model: Path, options: PredictOptions, scoring: ScoringOptions, output: str, *, as_json: bool = False
) -> None:
    """Forecast the series of many files, and write the forecasts to a directory.

    Raises:
        InputError: If the options do not go together.
        DataError: If the series cannot be forecast.
        SystemExit: With 130 after an interruption; what was written is complete.
    """
    from neuro_divergent.interfaces.cli.interruption import ends_with
    from neuro_divergent.interfaces.cli.progress import shown_progress
    from neuro_divergent.interfaces.cli.screen import Screen
    from neuro_divergent.interfaces.cli.silence import silenced
    from neuro_divergent.serving.scoring.score_files import score_files

    source = _source(options.data, scoring, options.changes.get("query"))
    screen = Screen(as_json=as_json)
    with ends_with(_INTERRUPTED), shown_progress(screen.messages), _parts() as observe, silenced():
        summary = score_files(
            model,
            source,
            output,
            future=options.future,
            levels=options.levels,
            quantiles=options.quantiles,
            horizon=options.horizon,
            changes=options.changes,
            as_of=scoring.as_of,
            if_newer=scoring.if_newer,
            source_format=scoring.source_format,  # type: ignore[arg-type]
            observe=observe,
        )
    screen.say(_describe(summary))
    screen.result(_document(summary))


def _source(data: str | None, scoring: ScoringOptions, query: str | None = None) -> Any:
    if scoring.source_format is not None:
        check_choice("format", scoring.source_format, _FORMATS)
    if query is not None and data is not None and is_address(data):
        if scoring.sql is not None or scoring.database is not None:
            raise InputError("--query: names the rows of DATA already; leave --sql and --database out.")
        from neuro_divergent.serving.scoring.database import SqlQuery

        refuse_password(data)
        return SqlQuery(query, data)
    if (scoring.sql is None) != (scoring.database is None):
        raise InputError("--sql and --database go together: a query, and the address of the database.")
    if scoring.sql is not None and scoring.database is not None:
        if data is not None:
            raise InputError(f"{data}: leave DATA out with --sql, whose rows are the series.")
        from neuro_divergent.serving.scoring.database import SqlQuery

        return SqlQuery(scoring.sql, scoring.database)
    if data is None:
        raise InputError('pass the series to forecast as DATA, such as "in/*.parquet", or as --sql and --database.')
    return data


def _describe(summary: ScoringSummary) -> str:
    series, files = format_count(summary.series, "series", "series"), format_count(len(summary.parts), "file")
    if not summary.is_new:
        return f"Nothing new: {series} of {summary.made_at} in {summary.directory} are up to date"
    return f"{series}, {summary.rows:,} rows in {files} written to {summary.directory}"


def _document(summary: ScoringSummary) -> dict[str, Any]:
    return {
        "output": str(summary.directory),
        "made_at": summary.made_at,
        "model_version": summary.model_version,
        "series": summary.series,
        "rows": summary.rows,
        "is_new": summary.is_new,
        "parts": [dict(part) for part in summary.parts],
    }


@contextmanager
def _parts() -> Iterator[Observer]:
    """Yield what counts the parts that are done."""
    from neuro_divergent.core.progress import track

    with track("Forecasting", unit="part") as shown:
        made = 0

        def observe(part: PartDone) -> None:
            nonlocal made
            made += not part.was_there  # what was there took no time now
            shown.total = part.total
            shown.seconds_left = (part.total - part.number) * shown.seconds / made if made else None
            shown.update(part.number, f"{part.name}{' was there' if part.was_there else ''}")

        yield observe
