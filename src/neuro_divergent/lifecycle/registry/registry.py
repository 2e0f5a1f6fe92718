"""The registry of models: versions that never change, and aliases that move."""

from __future__ import annotations

import builtins
import re
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from neuro_divergent.core import html
from neuro_divergent.core.errors import InputError, check_choice
from neuro_divergent.core.storage import strict_json
from neuro_divergent.core.storage.store import is_url
from neuro_divergent.lifecycle.database import Database, sqlite_path
from neuro_divergent.lifecycle.dependency import load_sqlalchemy
from neuro_divergent.lifecycle.registry import aliases, versions
from neuro_divergent.lifecycle.registry.address import CHAMPION, Address, check_alias, check_model_name
from neuro_divergent.lifecycle.registry.alias_change import AliasChange
from neuro_divergent.lifecycle.registry.aliases import Motive
from neuro_divergent.lifecycle.registry.blobs import Blobs
from neuro_divergent.lifecycle.registry.evidence import plain
from neuro_divergent.lifecycle.registry.model_version import ModelVersion
from neuro_divergent.lifecycle.registry.orphans import remove_orphans, unmark
from neuro_divergent.lifecycle.registry.submission import Submission
from neuro_divergent.lifecycle.registry.tables import ALIASES, METADATA, MODELS, PART, VERSION, VERSIONS
from neuro_divergent.lifecycle.registry.version_diff import VersionDiff

if TYPE_CHECKING:
    import sqlalchemy as sa

    from neuro_divergent.forecasting.protocol import ForecastModel
    from neuro_divergent.forecasting.warm_start import InitialLike
    from neuro_divergent.lifecycle.registry.submission import ModelLike, ScoresLike
else:
    sa = load_sqlalchemy()

DATABASE, BLOBS = "registry.db", "blobs"
_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_LONGEST = 10_000  # characters of a tag or a reason


class Registry:
    """Versions of models with their evidence, and aliases such as ``champion`` that point at them.

    Several processes may use one at the same time, and several machines one in PostgreSQL. What a method has returned
    is on the disk. A process that is killed leaves nothing half done.

    Args:
        location: Directory of a registry, which gets ``registry.db`` and ``blobs/``; or an address of a database,
            ``sqlite:///path`` or ``postgresql://user@host/database``.
        blobs: Where files of models are stored: a path or a URL such as ``s3://bucket/models``. Needed for PostgreSQL;
            else next to the database.
        create: Whether a registry that is not there is made.

    Raises:
        InputError: If nothing is there and ``create`` is off, or SQLite would be on a network file system.
        ConfigError: If the address is not of a supported database.
        MissingDependencyError: If SQLAlchemy or a driver is not installed.
        StorageError: If it cannot be opened.

    Examples:
        >>> import neuro_divergent as nd
        >>> registry = nd.Registry("models")
        >>> model = nd.Statistical("seasonal_naive", horizon=12).fit(nd.datasets.air_passengers())
        >>> print(registry.register(model, "flights", tags={"team": "planning"}))
        flights==1.0.0 (v1)
        >>> registry.promote("flights==v1", "champion", reason="the first one")
        1
        >>> registry.get("flights@champion").load().predict().height
        12
    """

    def __init__(self, location: str | Path, *, blobs: str | Path | None = None, create: bool = True) -> None:
        database, place = _places(location, blobs)
        if not create and isinstance(database, Path) and not database.is_file():
            raise InputError(
                f"{location}: there is no registry. 'nd registry register RUN NAME' makes one; "
                "--registry names another."
            )
        self.blobs = Blobs(place)
        self._database = Database.open(database, METADATA, part=PART, version=VERSION, create=create)
        self.location = str(location) if self._database.path is not None else self._database.address

    def __repr__(self) -> str:
        return f"Registry({self.location!r})"

    def _repr_html_(self) -> str:
        rows = [
            (item.name, item.version, f"v{item.number}", ", ".join(item.aliases), item.kind, item.created)
            for item in self.list()
        ]
        columns = ["model", "version", "number", "aliases", "kind", "registered"]
        return html.card("Registry", self.location, html.table(columns, rows) if rows else html.paragraph("no models"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections to the database."""
        self._database.close()

    def register(
        self,
        model: ModelLike,
        name: str,
        *,
        run: str | Path | None = None,
        parent: int | ModelVersion | None = None,
        scores: ScoresLike | None = None,
        data: Mapping[str, Any] | None = None,
        gate: Any = None,
        privacy: Any = None,
        tags: Mapping[str, str] | None = None,
        recipe: Mapping[str, Any] | None = None,
        context: bool = True,
    ) -> ModelVersion:
        """Store a fitted model as a new version.

        The files are stored first and the row after them. Registering the same files again returns the version that
        has them, unchanged, so that it can be repeated after a crash.

        Args:
            model: A fitted model, the directory of a saved one, or that of a run, which brings its evidence.
            name: Name of the model.
            run: Directory of the run that made it: settings, scores, back-test and environment are stored with it.
            parent: Version that it was made from; unset, the present champion.
            scores: Scores instead of those of the run, with the windows they are of; an ``Evaluation`` brings its
                forecasts as the back-test.
            data: Instead of what the run or the model knows: ``fingerprint``, ``start``, ``end``, ``rows``, ``series``.
            gate: Decision of a gate, as a dict or an object with ``to_dict``.
            privacy: What was charged to a privacy budget, likewise.
            tags: Text by name.
            recipe: What makes two versions the same recipe, such as the ranges of a search or the rule by which single
                trainings vary; unset, the settings of the model.
            context: Whether the ends and ids of the series are stored. Without them the back-test is left out too.

        Raises:
            NotFittedError: If the model is not fitted.
            InputError: If the name, the run or the parent cannot be used.
            UntrustedFileError: If the directory does not hold a model.
            StorageError: If it cannot be stored.
        """
        check_model_name(name)
        if isinstance(parent, ModelVersion) and parent.name != name:
            raise InputError(f"parent: {parent} is a version of another model than {name}.")
        checked = _checked_tags(tags or {})
        submission = Submission.of(model, run=run, context=context)
        submission = submission.updated(scores=scores, data=data, context=context)
        digest, evidence = submission.digests()
        candidate = versions.Candidate(
            name=name,
            digest=digest,
            evidence=evidence,
            signature=submission.description.signature(plain(recipe)),
            record=strict_json.dumps(submission.record(gate=plain(gate), privacy=plain(privacy))).decode("utf-8"),
            parent=parent.number if isinstance(parent, ModelVersion) else parent,
            tags={key: value for key, value in checked.items() if value is not None},
        )
        unmark(self._database, [item for item in (digest, evidence) if item is not None])
        submission.store(self.blobs)
        place = self._database.transact(
            lambda connection: versions.insert_version(connection, candidate), idempotent=True
        )
        with self._database.read() as connection:
            return versions.read_version(connection, self.blobs, *place)

    def train_and_register(
        self,
        model: ForecastModel,
        data: Any,
        name: str,
        *,
        run: str | Path | None = None,
        initial: InitialLike | ModelVersion | None = None,
        **schema: Any,
    ) -> ModelVersion:
        """Fit a model, score it on what was held out, and register it.

        Args:
            model: An unfitted model.
            data: As for its ``fit``.
            name: Name of the model in the registry.
            run: Directory for the run, for models whose ``fit`` has one.
            initial: Weights to start from, as for ``fit``, or a version, which becomes the parent.
            schema: Fields of ``Schema``, as for ``fit``.
        """
        from neuro_divergent.lifecycle.registry.training import train

        check_model_name(name)
        parent = initial if isinstance(initial, ModelVersion) else None
        start = initial.load() if isinstance(initial, ModelVersion) else initial
        scores, described = train(model, data, run=run, initial=start, schema=schema)
        return self.register(model, name, run=run, parent=parent, scores=scores, data=described)

    def get(self, address: str) -> ModelVersion:
        """Return a version: ``sales`` (the newest), ``sales@champion``, ``sales==1.4.2`` or ``sales==v7``.

        Raises:
            InputError: If there is none.
        """
        return self._version(Address.parse(address))

    def list(self, name: str | None = None, *, archived: bool = False) -> builtins.list[ModelVersion]:
        """Return the versions of a model or of all, by name and number; with ``archived``, those in the archive too.

        Raises:
            InputError: If there is no model of this name.
        """
        conditions = [] if archived else [sa.not_(VERSIONS.c.archived)]
        with self._database.read() as connection:
            if name is not None:
                conditions.append(VERSIONS.c.model == versions.find_model(connection, name).id)
            return versions.read_versions(connection, self.blobs, *conditions)

    def names(self) -> builtins.list[str]:
        """Return the names of all models."""
        with self._database.read() as connection:
            return list(connection.scalars(sa.select(MODELS.c.name).where(MODELS.c.last > 0).order_by(MODELS.c.name)))

    def aliases(self, name: str) -> dict[str, int]:
        """Return the aliases of a model and the numbers of the versions they point at; empty for an unknown model."""
        with self._database.read() as connection:
            query = sa.select(ALIASES.c.alias, ALIASES.c.number).join(MODELS, MODELS.c.id == ALIASES.c.model)
            rows = connection.execute(query.where(MODELS.c.name == name).order_by(ALIASES.c.alias))
            return {row.alias: row.number for row in rows}

    def history(self, name: str) -> builtins.list[AliasChange]:
        """Return the changes of the aliases of a model, the oldest first."""
        with self._database.read() as connection:
            return aliases.read_changes(connection, versions.find_model(connection, name).id)

    def revision(self, name: str) -> int:
        """Return how often the aliases of a model changed; 0 for an unknown model."""
        with self._database.read() as connection:
            return connection.scalar(sa.select(MODELS.c.revision).where(MODELS.c.name == name)) or 0

    def promote(
        self, address: str, alias: str = CHAMPION, *, reason: str = "", evidence: Any = None, expect: int | None = None
    ) -> int:
        """Point an alias at a version, in one transaction, and return the revision of the model's aliases.

        When the champion moves, the old one becomes ``previous``, and a challenger that becomes champion is challenger
        no more. If the alias points there already, nothing changes.

        Args:
            address: The version, as for ``get``.
            alias: ``champion``, ``challenger`` or another name.
            reason: Why, for the history.
            evidence: What the decision rests on: a dict or an object with ``to_dict``.
            expect: The revision at which the decision was made; it is refused if the aliases changed since.

        Raises:
            InputError: If there is no such version, or it is archived.
            ConflictError: If the revision is another one than expected.
        """
        check_alias(alias)
        target, motive = Address.parse(address), _motive(reason, evidence, expect)
        return self._database.transact(
            lambda connection: aliases.promote(connection, target, alias, motive), idempotent=True
        )

    def rollback(self, name: str, *, reason: str = "", evidence: Any = None, expect: int | None = None) -> int:
        """Make ``previous`` the champion again, in one transaction, and return the revision.

        Afterwards there is no ``previous``: the version that was taken back is not one to go back to.

        Raises:
            InputError: If there is no previous champion.
            ConflictError: If the revision is another one than expected.
        """
        motive = _motive(reason, evidence, expect)
        return self._database.transact(lambda connection: aliases.rollback(connection, name, motive))

    def remove_alias(
        self, name: str, alias: str, *, reason: str = "", evidence: Any = None, expect: int | None = None
    ) -> int:
        """Remove an alias, such as that of a challenger that lost, and return the revision."""
        motive = _motive(reason, evidence, expect)
        return self._database.transact(
            lambda connection: aliases.remove_alias(connection, name, alias, motive), idempotent=True
        )

    def tag(self, address: str, **tags: str | None) -> ModelVersion:
        """Set tags of a version, or remove those whose value is ``None``."""
        target, checked = Address.parse(address), _checked_tags(tags)

        def work(connection: sa.Connection) -> int:
            model = versions.find_model(connection, target.name, lock=True)
            number: int = versions.find_version(connection, model, target).number
            versions.write_tags(connection, model.id, number, checked)
            return number

        return self._version(Address(target.name, number=self._database.transact(work, idempotent=True)))

    def archive(self, address: str, *, undo: bool = False) -> ModelVersion:
        """Put a version into the archive, where ``list`` and ``get(name)`` do not find it, or take it out again.

        Its files stay, and ``get`` finds it by number or version.

        Raises:
            InputError: If an alias points at it.
        """
        target = Address.parse(address)

        def work(connection: sa.Connection) -> int:
            model = versions.find_model(connection, target.name, lock=True)
            number: int = versions.find_version(connection, model, target).number
            names = [alias for alias, at in aliases.read_aliases(connection, model.id).items() if at == number]
            if names and not undo:
                raise InputError(f"{target.name}==v{number}: is {' and '.join(names)}, so it cannot be archived.")
            mine = sa.and_(VERSIONS.c.model == model.id, VERSIONS.c.number == number)
            connection.execute(sa.update(VERSIONS).where(mine).values(archived=not undo))
            return number

        return self._version(Address(target.name, number=self._database.transact(work, idempotent=True)))

    def diff(self, a: str, b: str) -> VersionDiff:
        """Return how two versions differ: interface, settings, data, scores, code and environment."""
        return VersionDiff.of(self.get(a), self.get(b))

    def export(self, address: str, path: str | Path, format: Literal["directory", "mlflow"] = "directory") -> Path:  # noqa: A002
        """Write a version to a new directory, complete or not at all, and return its path.

        Args:
            address: The version, as for ``get``.
            path: Directory to create.
            format: ``directory``, with ``model/`` and the files of its run, which ``nd.load`` reads; or ``mlflow``,
                which ``mlflow.pyfunc.load_model`` reads where this package is installed.

        Raises:
            InputError: If there is something at ``path``.
        """
        from neuro_divergent.lifecycle.registry.export import FORMATS, export_version

        check_choice("format", format, FORMATS)
        return export_version(self.get(address), Path(path), format)

    def remove_orphans(self, older_than: timedelta = timedelta(days=1)) -> builtins.list[str]:
        """Remove stored files that no version has, which killed processes leave, and return their digests.

        They are removed when they were found at least ``older_than`` ago by an earlier call, so that files whose row
        is about to be inserted stay. With ``timedelta(0)``, nobody may be registering.
        """
        return remove_orphans(self._database, self.blobs, older_than.total_seconds())

    def _version(self, address: Address) -> ModelVersion:
        with self._database.read() as connection:
            model = versions.find_model(connection, address.name)
            number = versions.find_version(connection, model, address).number
            return versions.read_version(connection, self.blobs, model.id, number)


def _places(location: str | Path, blobs: str | Path | None) -> tuple[str | Path, str | Path]:
    """Return where the database and the files of a registry are."""
    path = sqlite_path(location)
    if path is None:
        if blobs is None:
            raise InputError(
                "blobs: a registry in PostgreSQL needs a place for the files of models that all machines reach: "
                'a path, or a URL such as "s3://bucket/models".'
            )
        return str(location), blobs
    is_file = is_url(location) or path.suffix == ".db"
    database = path if is_file else path / DATABASE
    return database, database.parent / BLOBS if blobs is None else blobs


def _motive(reason: str, evidence: Any, expect: int | None) -> Motive:
    _check_text("reason", reason)
    return Motive(reason, plain(evidence), expect)


def _checked_tags(tags: Mapping[str, str | None]) -> Mapping[str, str | None]:
    for key, value in tags.items():
        if not isinstance(key, str) or not _KEY.fullmatch(key):
            raise InputError(f"tag {str(key)[:120]!r}: a name has up to 100 letters, digits, '.', '_' and '-'.")
        if value is not None:
            _check_text(f"tag {key!r}", value)
    return tags


def _check_text(what: str, text: object) -> None:
    if not isinstance(text, str) or len(text) > _LONGEST or "\0" in text:
        raise InputError(f"{what}: must be text of at most {_LONGEST:,} characters, without the character 0.")
