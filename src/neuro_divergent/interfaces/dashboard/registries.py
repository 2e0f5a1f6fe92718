"""Registries of models among the runs: what a list shows of them, and what their page shows."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuro_divergent.core.errors import InputError, NeuroDivergentError, StorageError, UntrustedFileError
from neuro_divergent.interfaces.dashboard.database_copy import (
    DatabaseStamp,
    copied,
    database_stamp,
    is_database,
    time_of,
)
from neuro_divergent.interfaces.dashboard.list_row import list_row
from neuro_divergent.interfaces.dashboard.passwords import without_passwords
from neuro_divergent.runs.values import number, rows

if TYPE_CHECKING:
    from neuro_divergent.lifecycle.registry.model_version import ModelVersion
    from neuro_divergent.lifecycle.registry.registry import Registry

# The registry itself is imported when one is opened: it needs SQLAlchemy, which the dashboard does without.
DATABASE = "registry.db"
CHAMPION = "champion"
DAMAGES = (TypeError, ValueError, KeyError, AttributeError, IndexError, ArithmeticError, RecursionError)
_METRICS = ("mase", "mae", "rmse", "wape", "smape", "mse")  # the first of them that there is stands in the table
_MOST_NAMES = 3
_MOST_CHANGES = 500
_SECONDS_UNTIL_RETRY = 10.0

Json = dict[str, Any]


@dataclass(frozen=True)
class RegistryEntry:
    """A registry, as it was when it was last read by the monotonic clock; if that failed, its row says why."""

    id: str
    path: Path
    row: Json
    stamp: DatabaseStamp
    read_at: float

    @property
    def is_held(self) -> bool:
        """Whether a process works on it; of a registry that is not known."""
        return False

    @property
    def is_readable(self) -> bool:
        """Whether it could be read."""
        return bool(self.row["state"] != "damaged")


def is_registry(path: Path) -> bool:
    """Whether a directory holds a registry."""
    return is_database(path / DATABASE)


def describe_registry(key: str, path: Path, known: RegistryEntry | None) -> RegistryEntry:
    """Describe the registry in a directory, unless it is unchanged since it was ``known``."""
    stamp, now = database_stamp(path / DATABASE), time.monotonic()
    if known is not None and known.stamp == stamp and (known.is_readable or now - known.read_at < _SECONDS_UNTIL_RETRY):
        return known
    return RegistryEntry(key, path, _row(key, path, time_of(stamp)), stamp, now)


@contextmanager
def opened_registry(path: Path) -> Iterator[Registry]:
    """Give the registry of a directory for reading; it is a copy of one moment.

    Raises:
        NeuroDivergentError: If it cannot be read, also inside the block.
    """
    with copied(path / DATABASE) as database:
        try:
            from neuro_divergent.lifecycle.registry.registry import Registry

            with Registry(database, create=False) as registry:
                yield registry
        except NeuroDivergentError as error:
            raise StorageError(str(error).replace(str(database), str(path / DATABASE))) from error
        except DAMAGES as error:
            raise UntrustedFileError(f"{path / DATABASE}: is damaged: {error}.") from error


class RegistryView:
    """What the page of a registry shows.

    Args:
        path: Its directory.
        find_run: Gives the id of a run directory that is shown here.
    """

    def __init__(self, path: Path, find_run: Callable[[Path], str | None]) -> None:
        self.path, self._find_run = path, find_run

    def models(self) -> list[Json]:
        """Return the models with their aliases and the version of each."""
        with opened_registry(self.path) as registry:
            return [_model(registry, name) for name in registry.names()]

    def aliases(self, name: str) -> list[Json]:
        """Return the aliases of a model and where they point; none for an unknown model."""
        with opened_registry(self.path) as registry:
            return _model(registry, name)["aliases"] if name in registry.names() else []

    def model(self, name: str) -> Json | None:
        """Return the versions of a model, the newest first, and the changes of its aliases; ``None`` without one."""
        with opened_registry(self.path) as registry:
            if name not in registry.names():
                return None
            versions = [_table_row(item) for item in reversed(registry.list(name, archived=True))]
            changes = [item.to_dict() for item in reversed(registry.history(name)[-_MOST_CHANGES:])]
            return {
                **_model(registry, name),
                "revision": registry.revision(name),
                "versions": versions,
                "history": without_passwords(changes),
            }

    def version(self, name: str, number: int) -> Json | None:
        """Return everything that is recorded of a version; ``None`` if there is none."""
        with opened_registry(self.path) as registry:
            found = _find(registry, name, number)
            if found is None:
                return None
            return {
                **without_passwords(found.to_dict()),
                **_table_row(found),
                "run_id": None if not found.run else self._find_run(Path(found.run)),
                "scores_table": _score_rows(found),
                "commands": self._commands(f"{name}==v{number}"),
            }

    def diff(self, name: str, a: int, b: int) -> Json | None:
        """Return how two versions of a model differ; ``None`` if one is not there."""
        with opened_registry(self.path) as registry:
            if _find(registry, name, a) is None or _find(registry, name, b) is None:
                return None
            found: Json = without_passwords(registry.diff(f"{name}==v{a}", f"{name}==v{b}").to_dict())
            return found

    def _commands(self, address: str) -> list[Json]:
        """Return what is to be typed to use a version or to make it champion, which cannot be done here."""
        place = str(self.path)
        promote = ["nd", "registry", "promote", address, "--registry", place, "--reason", "..."]
        return [
            {"label": "Make it champion, in a terminal", "text": shlex.join(promote)},
            {
                "label": "Make it champion, in Python",
                "text": f'nd.Registry({place!r}).promote("{address}", reason="...")',
            },
            {"label": "Load it, in Python", "text": f'nd.Registry({place!r}).get("{address}").load()'},
        ]


def _row(key: str, path: Path, moment: float) -> Json:
    try:
        with opened_registry(path) as registry:
            aliases = {name: registry.aliases(name) for name in registry.names()}
    except NeuroDivergentError as error:
        return list_row("registry", key, path.name, "damaged", message=str(error), time=moment)
    champions = [f"{name} v{found[CHAMPION]}" for name, found in aliases.items() if CHAMPION in found]
    return list_row(
        "registry",
        key,
        path.name,
        "ready",
        message=f"champions: {', '.join(champions)}" if champions else "no champion yet",
        step=len(aliases),
        time=moment,
        model=_names(list(aliases)) or None,
        data=f"champion {_names(champions)}" if champions else None,
    )


def _names(names: list[str]) -> str:
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more:,} more" if more > 0 else "")


def _model(registry: Registry, name: str) -> Json:
    aliases = registry.aliases(name)
    named = [
        {"alias": alias, "number": aliases[alias], "version": registry.get(f"{name}==v{aliases[alias]}").version}
        for alias in sorted(aliases, key=_rank)
    ]
    return {"name": name, "aliases": named}


def _table_row(version: ModelVersion) -> Json:
    """Return what the table of versions shows of one."""
    gate, config = version.gate or {}, version.config or {}
    model = config.get("model")
    return {
        "number": version.number,
        "version": version.version,
        "created": version.created,
        "parent": version.parent,
        "aliases": list(version.aliases),
        "archived": version.archived,
        "tags": without_passwords(version.tags),
        "architecture": model.get("name") if isinstance(model, dict) else version.kind,
        "data_range": _data_range(version),
        "main_score": _main_score(version),
        "gate_passed": gate.get("passed"),
    }


def _rank(alias: str) -> tuple[int, str]:
    known = (CHAMPION, "challenger", "previous")
    return (known.index(alias) if alias in known else len(known)), alias


def _find(registry: Registry, name: str, place: int) -> ModelVersion | None:
    if name not in registry.names():
        return None
    try:
        return registry.get(f"{name}==v{place}")
    except InputError:
        return None


def _data_range(version: ModelVersion) -> Json | None:
    data = version.data
    return None if not isinstance(data, dict) else {name: data.get(name) for name in ("start", "end", "rows", "series")}


def _score_rows(version: ModelVersion) -> list[Json]:
    """Return the scores of the model, then those of the baselines; one row if there are no names."""
    scores = version.scores if isinstance(version.scores, dict) else {}
    named = rows(scores.get("scores"))
    if not named:
        own = {name: number(value) for name, value in scores.items() if number(value) is not None}
        return [{"name": version.name, **own}] if own else []
    return sorted(named, key=lambda row: row.get("name") != scores.get("model"))


def _main_score(version: ModelVersion) -> Json | None:
    """Return one score of a version for the table, and the part of the data that it is of."""
    own = next(iter(_score_rows(version)), {})
    metric = next((name for name in _METRICS if number(own.get(name)) is not None), None)
    if metric is None:
        return None
    return {"metric": metric, "value": own[metric], "part": (version.scores or {}).get("part")}
