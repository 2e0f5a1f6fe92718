"""Files in the store that no version has: left by processes that were killed before they inserted their row.

A file is removed only some time after it was first found without a version, so that one whose row is about to be
inserted stays. Whoever is about to register files that are marked takes the mark away first.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from typing import TYPE_CHECKING

from neuro_divergent.lifecycle.database import Database
from neuro_divergent.lifecycle.dependency import load_sqlalchemy
from neuro_divergent.lifecycle.registry.blobs import Blobs
from neuro_divergent.lifecycle.registry.tables import ORPHANS, VERSIONS

if TYPE_CHECKING:
    import sqlalchemy as sa
else:
    sa = load_sqlalchemy()

_MARKED = sa.select(ORPHANS.c.digest).where(ORPHANS.c.digest == sa.bindparam("sought"))


def remove_orphans(database: Database, blobs: Blobs, older_than: float) -> list[str]:
    """Mark new orphans, remove those that were marked at least ``older_than`` seconds ago, and return these."""
    stored = blobs.digests()

    def mark(connection: sa.Connection) -> list[str]:
        used = _used(connection)
        marked = set(connection.scalars(sa.select(ORPHANS.c.digest)))
        orphans = {digest for digest in stored if digest not in used}
        if gone := marked - orphans:
            connection.execute(sa.delete(ORPHANS).where(ORPHANS.c.digest.in_(gone)))
        if new := sorted(orphans - marked):
            seen = time.time()
            connection.execute(sa.insert(ORPHANS), [{"digest": digest, "seen": seen} for digest in new])
        old = sa.select(ORPHANS.c.digest).where(ORPHANS.c.seen <= time.time() - older_than)
        return sorted(connection.scalars(old))

    removed = [digest for digest in database.transact(mark) if _remove(database, blobs, digest)]
    blobs.clear_leftovers(older_than)
    return removed


def unmark(database: Database, digests: Collection[str]) -> None:
    """Take away the marks of files that are about to be registered."""
    with database.read() as connection:
        is_marked = any(connection.scalar(_MARKED, {"sought": digest}) for digest in digests)
    if is_marked:
        mine = ORPHANS.c.digest.in_(list(digests))
        database.transact(lambda connection: connection.execute(sa.delete(ORPHANS).where(mine)), idempotent=True)


def _remove(database: Database, blobs: Blobs, digest: str) -> bool:
    """Remove the files of a digest if it is still marked and no version has it."""

    def work(connection: sa.Connection) -> bool:
        # The row is locked until the files are gone, so that whoever takes the mark away stores them again after.
        mark = sa.select(ORPHANS.c.digest).where(ORPHANS.c.digest == digest).with_for_update()
        is_used = sa.or_(VERSIONS.c.digest == digest, VERSIONS.c.evidence == digest)
        if connection.scalar(mark) is None or connection.scalar(sa.select(VERSIONS.c.number).where(is_used).limit(1)):
            return False
        blobs.remove(digest)
        connection.execute(sa.delete(ORPHANS).where(ORPHANS.c.digest == digest))
        return True

    return database.transact(work)


def _used(connection: sa.Connection) -> set[str]:
    """Return the digests that versions have."""
    rows = connection.execute(sa.select(VERSIONS.c.digest, VERSIONS.c.evidence))
    return {digest for row in rows for digest in row if digest is not None}
