"""Commands for federations over NVIDIA FLARE: prepare a machine, write a job, submit it until it is done."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from neuro_divergent.core.errors import InputError, NeuroDivergentError
from neuro_divergent.federated.settings import FederationConfig
from neuro_divergent.federated.transport.nvflare.job import write_job
from neuro_divergent.federated.transport.nvflare.site import Site, prepare_site


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command, and return its exit code."""
    options = _parser().parse_args(arguments)
    try:
        options.run(options)
    except NeuroDivergentError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m neuro_divergent.federated.transport.nvflare", description=__doc__)
    commands = parser.add_subparsers(required=True)
    site = commands.add_parser("site", help="prepare the startup kit of a server or client")
    site.add_argument("kit", type=Path, help="directory of the startup kit")
    site.add_argument("--directory", type=Path, required=True, help="where federations are kept")
    site.add_argument("--table", action="append", default=[], metavar="FEDERATION=PATH", help="table of a client")
    site.set_defaults(run=_site)
    job = commands.add_parser("job", help="write the job of a federation")
    job.add_argument("settings", type=Path, help="settings of the federation, in TOML")
    job.add_argument("job", type=Path, help="directory to write; its last part is the name of the federation")
    job.add_argument("--clients", nargs="+", required=True, help="names of the sites that take part")
    job.set_defaults(run=_job)
    submit = commands.add_parser("submit", help="submit a job, and again whenever it died, until it is done")
    submit.add_argument("job", type=Path, help="directory of the job")
    submit.add_argument("--kit", type=Path, required=True, help="startup kit of an administrator")
    submit.add_argument("--user", required=True, help="name of the administrator")
    submit.set_defaults(run=_submit)
    return parser


def _site(options: argparse.Namespace) -> None:
    tables = dict(item.partition("=")[::2] for item in options.table)
    if not all(tables.values()):
        raise InputError("--table: give the name of the federation and a path, such as demand=/data/sales.parquet.")
    paths = {name: str(Path(path).resolve()) for name, path in tables.items()}
    prepare_site(options.kit, Site(directory=str(options.directory.resolve()), tables=paths))


def _job(options: argparse.Namespace) -> None:
    write_job(options.job, FederationConfig.from_toml(options.settings), options.clients)


def _submit(options: argparse.Namespace) -> None:
    from neuro_divergent.federated.transport.nvflare.submission import submit

    def tell(job: str, status: str) -> None:
        sys.stdout.write(f"{job} {status}\n")
        sys.stdout.flush()

    submit(options.job, options.kit, options.user, observe=tell)


if __name__ == "__main__":
    sys.exit(main())
