"""Options that the commands of ``nd registry`` share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from neuro_divergent.lifecycle.registry.registry import Registry

USUAL = "models"

Location = Annotated[
    str,
    typer.Option(
        "--registry",
        metavar="PLACE",
        envvar="ND_REGISTRY",
        help="Directory of the registry, or postgresql://user@host/database.",
    ),
]
BlobPlace = Annotated[
    str | None,
    typer.Option(
        "--blobs",
        metavar="PLACE",
        envvar="ND_REGISTRY_BLOBS",
        help="Path or URL of the files of models; needed for PostgreSQL.",
        show_default=False,
    ),
]
VersionName = Annotated[
    str, typer.Argument(metavar="VERSION", help="sales@champion, sales==1.4.2, sales==v7, or sales for the newest.")
]
Reason = Annotated[str, typer.Option("--reason", help="Why, for the history.", show_default=False)]
Expect = Annotated[
    int | None,
    typer.Option(
        "--expect", metavar="REVISION", help="Refuse if the aliases changed since this revision.", show_default=False
    ),
]


def open_registry(location: str, blobs: str | None, *, create: bool = False) -> Registry:
    """Open a registry; one that is not there is made only if ``create`` says so."""
    from neuro_divergent.lifecycle.registry.registry import Registry

    return Registry(location, blobs=blobs, create=create)
