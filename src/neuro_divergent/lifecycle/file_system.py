"""The type of the file system that a path is on."""

from __future__ import annotations

import re
from pathlib import Path

from neuro_divergent.core.errors import InputError

_MOUNTS = Path("/proc/self/mountinfo")
# SQLite relies on locks and shared memory, which these do not give to processes of different machines (or at all).
_NETWORK = {
    *("nfs", "nfs4", "cifs", "smb2", "smb3", "smbfs", "9p", "afs", "ceph", "lustre", "gpfs", "beegfs", "glusterfs"),
    *("ocfs2", "gfs2", "orangefs", "pvfs2", "panfs", "wekafs", "ncpfs", "coda", "vboxsf", "prl_fs", "vmhgfs"),
}
_LOCAL_FUSE = {"fuse-overlayfs", "gocryptfs", "encfs", "bindfs", "mergerfs", "ntfs-3g", "exfat"}
_ESCAPE = re.compile(r"\\([0-7]{3})")


def file_system_type(path: Path, mounts: str | None = None) -> str | None:
    """Return the type of the file system of a path, such as ``ext4`` or ``nfs4``, or ``None`` if unknown.

    Args:
        path: A path; it need not exist.
        mounts: Mounted file systems as the kernel of Linux lists them; those of this process if not given.
    """
    if mounts is None:
        try:
            mounts = _MOUNTS.read_text("utf-8", errors="surrogateescape")
        except OSError:
            return None
    place = path.resolve()
    found: tuple[int, str] | None = None
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        fields = before.split(" ")
        if len(fields) < 5 or not after:
            continue
        mount = Path(_ESCAPE.sub(lambda match: chr(int(match[1], 8)), fields[4]))
        depth = len(mount.parts)
        # Of several on the same point the last one hides the others.
        if place.is_relative_to(mount) and (found is None or depth >= found[0]):
            found = depth, after.split(" ")[0]
    return None if found is None else found[1]


def is_network_type(kind: str) -> bool:
    """Whether a type of file system is one on which SQLite cannot lock its files reliably."""
    name = kind.removeprefix("fuse.")
    return kind in _NETWORK or (kind.startswith("fuse.") and name not in _LOCAL_FUSE)


def refuse_network(path: Path, mounts: str | None = None) -> None:
    """Refuse a place for a SQLite database that is on a network file system.

    Raises:
        InputError: If it is on one.
    """
    kind = "a network share" if str(path).startswith(("\\\\", "//")) else file_system_type(path, mounts)
    if kind is not None and (kind == "a network share" or is_network_type(kind)):
        raise InputError(
            f"{path}: is on a network file system ({kind}), where SQLite can lose data. Use a local disk, or "
            "PostgreSQL for several machines: postgresql://user@host/database."
        )
