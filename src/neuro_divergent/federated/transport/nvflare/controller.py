"""The server of a federation within a job of NVIDIA FLARE."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nvflare.apis.client import Client
from nvflare.apis.fl_context import FLContext
from nvflare.apis.impl.controller import Controller
from nvflare.apis.shareable import Shareable
from nvflare.apis.signal import Signal

from neuro_divergent.core.errors import ConfigError, DataError, Interrupted, UntrustedFileError
from neuro_divergent.federated.directory import FederationDirectory
from neuro_divergent.federated.settings import FederationConfig
from neuro_divergent.federated.shared_network import SharedNetwork
from neuro_divergent.federated.stored_run import opened_run
from neuro_divergent.federated.transport.nvflare.job import FEDERATION
from neuro_divergent.federated.transport.nvflare.job_log import begin_line, problem_line, round_line
from neuro_divergent.federated.transport.nvflare.site import Site
from neuro_divergent.federated.transport.nvflare.transport import NVFlareTransport


class FederationController(Controller):  # type: ignore[misc]
    """Trains the rounds that are left of a federation, and keeps each in a directory of the server.

    Args:
        federation: Name of the federation.
        clients: Names of all clients, which are names of sites.
        lost_after: Seconds without a sign of life after which a client is lost.
        start_within: The same for a client that has given none in this job.
    """

    def __init__(
        self, federation: str, clients: list[str], lost_after: float = 30.0, start_within: float = 120.0
    ) -> None:
        super().__init__()
        self._federation = federation
        self._clients = list(clients)
        self._lost_after, self._start_within = float(lost_after), float(start_within)

    def start_controller(self, fl_ctx: FLContext) -> None:
        """Do nothing: all that is needed is read when the rounds begin."""

    def stop_controller(self, fl_ctx: FLContext) -> None:
        """Do nothing: the directory is closed when the rounds end."""

    def process_result_of_unknown_task(
        self, client: Client, task_name: str, client_task_id: str, result: Shareable, fl_ctx: FLContext
    ) -> None:
        """Drop the answer to a round that has ended."""

    def control_flow(self, abort_signal: Signal, fl_ctx: FLContext) -> None:
        """Train until the last round, or until the job is ended."""
        try:
            self._train(abort_signal, fl_ctx)
        except (ConfigError, DataError, UntrustedFileError) as error:
            self.log_error(fl_ctx, problem_line(error))
            raise

    def _train(self, abort: Signal, context: FLContext) -> None:
        workspace = context.get_workspace()
        config = FederationConfig.from_toml(Path(workspace.get_app_config_dir(context.get_job_id())) / FEDERATION)
        site = Site.read(Path(workspace.get_site_config_dir()))
        place = FederationDirectory(site.place(self._federation))
        shared = SharedNetwork(config)
        with opened_run(place, config, {"vectorize": False}) as run:
            self.log_info(context, begin_line(run.complete))

            def observe(row: dict[str, Any]) -> None:
                self.log_info(context, round_line(row, config.federation.rounds))

            transport = NVFlareTransport(
                self,
                context,
                abort,
                shared.layout,
                self._clients,
                lost_after=self._lost_after,
                start_within=self._start_within,
            )
            try:
                run.train(shared, transport, observe=observe, stops=lambda: bool(abort.triggered))
            except Interrupted:  # which NVIDIA FLARE would not catch
                place.finish("interrupted", "the job was ended")
