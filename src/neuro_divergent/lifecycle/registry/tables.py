"""The tables of the registry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuro_divergent.lifecycle.dependency import load_sqlalchemy

if TYPE_CHECKING:
    import sqlalchemy as sa
else:
    sa = load_sqlalchemy()

PART, VERSION = "registry", 1
"""Name of this set of tables and its version, as ``Database.open`` takes them."""

METADATA = sa.MetaData()

MODELS = sa.Table(
    "registry_models",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("last", sa.Integer, nullable=False),  # number of the newest version
    sa.Column("revision", sa.Integer, nullable=False),  # changes of aliases so far
    sa.Column("created", sa.Text, nullable=False),
)

VERSIONS = sa.Table(
    "registry_versions",
    METADATA,
    sa.Column("model", sa.ForeignKey(MODELS.c.id), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("major", sa.Integer, nullable=False),
    sa.Column("minor", sa.Integer, nullable=False),
    sa.Column("patch", sa.Integer, nullable=False),
    sa.Column("digest", sa.Text, nullable=False),
    sa.Column("evidence", sa.Text),
    sa.Column("interface", sa.Text, nullable=False),
    sa.Column("recipe", sa.Text, nullable=False),
    sa.Column("parent", sa.Integer),
    sa.Column("created", sa.Text, nullable=False),
    sa.Column("archived", sa.Boolean, nullable=False),
    sa.Column("record", sa.Text, nullable=False),  # everything that is only read, as JSON
    sa.UniqueConstraint("model", "digest"),
    sa.UniqueConstraint("model", "major", "minor", "patch"),
    sa.ForeignKeyConstraint(["model", "parent"], ["registry_versions.model", "registry_versions.number"]),
)

TAGS = sa.Table(
    "registry_tags",
    METADATA,
    sa.Column("model", sa.Integer, primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
    sa.ForeignKeyConstraint(["model", "number"], [VERSIONS.c.model, VERSIONS.c.number]),
)

ALIASES = sa.Table(
    "registry_aliases",
    METADATA,
    sa.Column("model", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("alias", sa.Text, primary_key=True),
    sa.Column("number", sa.Integer, nullable=False),
    sa.ForeignKeyConstraint(["model", "number"], [VERSIONS.c.model, VERSIONS.c.number]),
)

CHANGES = sa.Table(
    "registry_alias_changes",
    METADATA,
    sa.Column("model", sa.ForeignKey(MODELS.c.id), primary_key=True),
    sa.Column("revision", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("action", sa.Text, nullable=False),
    sa.Column("alias", sa.Text, nullable=False),
    sa.Column("before", sa.Text, nullable=False),  # all aliases of the model as JSON
    sa.Column("after", sa.Text, nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("evidence", sa.Text),
    sa.Column("created", sa.Text, nullable=False),
)

ORPHANS = sa.Table(
    "registry_orphans",
    METADATA,
    sa.Column("digest", sa.Text, primary_key=True),
    sa.Column("seen", sa.Float, nullable=False),  # seconds since 1970
)

sa.Index("registry_versions_digest", VERSIONS.c.digest)
sa.Index("registry_versions_evidence", VERSIONS.c.evidence)
