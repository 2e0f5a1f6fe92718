"""A client of a federation within a job of NVIDIA FLARE."""

from __future__ import annotations

from pathlib import Path

from nvflare.apis.event_type import EventType
from nvflare.apis.executor import Executor
from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.apis.shareable import Shareable, make_reply
from nvflare.apis.signal import Signal

from neuro_divergent.core.errors import DivergedError, NeuroDivergentError
from neuro_divergent.federated.client import Client
from neuro_divergent.federated.client_memory import ClientMemory
from neuro_divergent.federated.directory import MODEL
from neuro_divergent.federated.global_model import GlobalModel
from neuro_divergent.federated.settings import FederationConfig
from neuro_divergent.federated.shared_network import SharedNetwork
from neuro_divergent.federated.transport.nvflare.job import FEDERATION
from neuro_divergent.federated.transport.nvflare.message import ALIVE, FINISH, TRAIN, carry_answer, content_of
from neuro_divergent.federated.transport.nvflare.site import Site
from neuro_divergent.federated.wire import decode_task, encode_update

_STATE = "state"


class FederationExecutor(Executor):  # type: ignore[misc]
    """Trains on the table of this client when it is asked to, and keeps the final model.

    Why something failed is in the log of the client and nowhere else, since it may show data.

    Args:
        federation: Name of the federation.
    """

    def __init__(self, federation: str) -> None:
        super().__init__()
        self._federation = federation
        self._client: Client | None = None

    def handle_event(self, event_type: str, fl_ctx: FLContext) -> None:
        """Begin to answer when the server asks for a sign of life."""
        if event_type == EventType.START_RUN:
            fl_ctx.get_engine().register_aux_message_handler(topic=ALIVE, message_handle_func=_say_alive)

    def execute(self, task_name: str, shareable: Shareable, fl_ctx: FLContext, abort_signal: Signal) -> Shareable:
        """Do what the server asks for, and return the answer."""
        try:
            if task_name == TRAIN:
                return self._train(shareable, fl_ctx)
            if task_name == FINISH:
                return self._keep(shareable, fl_ctx)
        except DivergedError as error:
            self.log_warning(fl_ctx, str(error))
            return carry_answer("refused", problem="its training diverged")
        except NeuroDivergentError as error:
            self.log_error(fl_ctx, str(error))
            return carry_answer("failed", problem=f"{type(error).__name__}; its log says more")
        return make_reply(ReturnCode.TASK_UNKNOWN)

    def _train(self, message: Shareable, context: FLContext) -> Shareable:
        client = self._opened(context)
        layout = client.shared.layout
        update = client.train(decode_task(content_of(message), layout))
        return carry_answer("update", encode_update(update, layout), frequency=client.frequency)

    def _keep(self, message: Shareable, context: FLContext) -> Shareable:
        """Write the final model, which this client can then make forecasts with."""
        shared = self._opened(context).shared
        task = decode_task(content_of(message), shared.layout)
        GlobalModel.of(shared, task.weights, task.round, None).save(self._place(context) / MODEL)
        return carry_answer("update")

    def _opened(self, context: FLContext) -> Client:
        if self._client is None:
            workspace, name = context.get_workspace(), context.get_identity_name()
            job = Path(workspace.get_app_config_dir(context.get_job_id()))
            shared = SharedNetwork(FederationConfig.from_toml(job / FEDERATION))
            table = self._site(context).table(self._federation)
            self._client = Client(name, shared, table, ClientMemory(self._place(context) / _STATE))
        return self._client

    def _place(self, context: FLContext) -> Path:
        return self._site(context).place(self._federation)

    def _site(self, context: FLContext) -> Site:
        return Site.read(Path(context.get_workspace().get_site_config_dir()))


def _say_alive(topic: str, request: Shareable, fl_ctx: FLContext) -> Shareable:
    return make_reply(ReturnCode.OK)
