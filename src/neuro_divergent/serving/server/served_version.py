"""One version of a model that answers requests."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import Executor

from neuro_divergent.serving.exported_model import ExportedModel
from neuro_divergent.serving.server.batcher import Batcher
from neuro_divergent.serving.server.http_message import Header
from neuro_divergent.serving.server.metrics import Metrics
from neuro_divergent.serving.server.settings import ServerSettings
from neuro_divergent.serving.server.tensors import example_inputs

VERSION_HEADER = b"model-version"


class ServedVersion:
    """A loaded model with its batches.

    A request holds the version that it began with, so a swap changes nothing for it.

    Attributes:
        model: The model.
        name: Name under which it is served.
        version: Its version: the digest of the saved model.
        headers: Headers of its answers.
        batcher: Runs its network.
        loaded: Time at which it was ready, in seconds since 1970.
    """

    def __init__(self, model: ExportedModel, name: str, batcher: Batcher) -> None:
        self.model = model
        self.name = name
        self.version = model.version
        self.headers: tuple[Header, ...] = ((VERSION_HEADER, model.version.encode("latin-1", "replace")),)
        self.batcher = batcher
        self.loaded = time.time()

    @classmethod
    async def start(
        cls,
        model: ExportedModel,
        name: str,
        *,
        settings: ServerSettings,
        metrics: Metrics,
        executor: Executor,
        loader: Executor,
    ) -> ServedVersion:
        """Warm a model up in a thread, and return it ready for requests.

        Args:
            model: The model.
            name: Name under which it is served.
            settings: Settings of the server.
            metrics: Where its batches are counted.
            executor: Thread for batches that take long.
            loader: Thread to warm it up in.
        """
        batcher = Batcher(
            model.run,
            executor,
            largest=settings.limits.batch,
            inline_seconds=settings.inline_seconds,
            observe=metrics.batch_observer(name, model.description.target_range),
        )
        example = example_inputs(model.description)
        await asyncio.get_running_loop().run_in_executor(loader, batcher.warm_up, example)
        return cls(model, name, batcher)
