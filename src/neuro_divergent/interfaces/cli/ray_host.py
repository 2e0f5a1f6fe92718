"""The processes of one training on the machines of a Ray cluster.

Ray finds room for them, starts a worker for each and notices when a machine is lost. The worker starts the program that
``nd train --processes`` starts, with the same variables, and passes signals and what it writes on.
"""

from __future__ import annotations

import os
import queue
import signal
import socket
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import IO, Any, NamedTuple

from neuro_divergent.core.errors import InputError, NeuroDivergentError, ProcessLostError
from neuro_divergent.core.launched import LAUNCHER
from neuro_divergent.distributed.ray_cluster import connected, load_ray
from neuro_divergent.interfaces.cli.child_process import Child, Events, started
from neuro_divergent.interfaces.cli.launcher import MESSAGE, Host, launch_on
from neuro_divergent.interfaces.cli.supervised import PARENT

LOST = 255
"""Exit code of a process whose Ray worker is gone. No process of ours has it."""
_LOOK = 0.5
_PATIENCE = 15.0  # seconds to wait for room before that is said
_SECONDS_TO_DIE = 10.0


class Room(NamedTuple):
    """What each process asks for.

    Attributes:
        cpus: CPUs, which are also its threads.
        uses_gpu: Whether it takes a GPU, where the cluster has one for each process.
    """

    cpus: int = 1
    uses_gpu: bool = False


def launch_on_ray(address: str, command: Sequence[str], processes: int, room: Room) -> int:
    """Run a command in processes on the machines of a cluster, as ``launch_on`` does.

    A process whose worker or machine is lost gives the exit code of a lost contact.
    """
    with ray_host(address, processes, room) as host:
        code = launch_on(host, command)
    return ProcessLostError.exit_code if code == LOST else code


@contextmanager
def ray_host(address: str, processes: int, room: Room) -> Iterator[RayHost]:
    """Give the machines of a cluster with a worker for each process, for the block.

    Raises:
        InputError: If there is no cluster at the address.
    """
    with connected(address, cpus=processes * room.cpus) as ray:
        gpus = int(room.uses_gpu and ray.cluster_resources().get("GPU", 0) >= processes)
        bundle = {"CPU": room.cpus, **({"GPU": 1} if gpus else {})}
        group = ray.util.placement_group([bundle] * processes, strategy="PACK")
        workers: list[Any] = []
        try:
            _wait(ray, group, processes, bundle)
            where = ray.util.scheduling_strategies
            asked = {"num_cpus": room.cpus, "num_gpus": gpus, "max_concurrency": 4, "max_restarts": 0}
            for place in range(processes):
                strategy = where.PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=place)
                workers.append(ray.remote(RayWorker).options(**asked, scheduling_strategy=strategy).remote())
            yield RayHost(ray, workers, room.cpus)
        except ray.exceptions.RayError as error:
            # Often the package is missing on a machine, or is another version.
            raise NeuroDivergentError(f"Ray could not start the processes: {_last_line(error)}") from None
        finally:
            with suppress(ray.exceptions.RayError):  # of a cluster that is gone
                for worker in workers:
                    ray.kill(worker)
                ray.util.remove_placement_group(group)


def _last_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[-1].strip()


def _wait(ray: Any, group: Any, processes: int, bundle: dict[str, int]) -> None:
    """Wait until the cluster has room for all processes; machines may be added to it meanwhile."""
    if group.wait(_PATIENCE):
        return
    asked = " and ".join(f"{count} {kind}" for kind, count in bundle.items())
    has = ray.cluster_resources()
    has = ", ".join(f"{has.get(kind, 0):g} {kind}" for kind in bundle)
    sys.stderr.write(f"waiting for room for {processes} processes with {asked} each; the cluster has {has} in all\n")
    while not group.wait(_PATIENCE):
        pass


class RayHost(Host):
    """Starts each process through the Ray worker that was made for it."""

    counters: Path | None = None  # processes of different machines share no memory

    def __init__(self, ray: Any, workers: Sequence[Any], threads: int) -> None:
        self._ray, self._workers, self._threads = ray, workers, threads
        self.size = len(workers)
        self._places: list[Place] = ray.get([worker.place.remote() for worker in workers])
        self._port: int = ray.get(workers[0].free_port.remote())
        self._processes: dict[int, RayProcess] = {}

    @contextmanager
    def start(self, command: Sequence[str], rank: int, events: Events) -> Iterator[Child]:
        told = {
            **{name: value for name, value in os.environ.items() if name.startswith("ND_") and name != PARENT},
            **variables(self._places, rank, self._port),
            "OMP_NUM_THREADS": str(self._threads),
            LAUNCHER: "1",
        }
        process = RayProcess(self._ray, self._workers[rank], rank, self.name(rank), events)
        self._processes[rank] = process
        # The interpreter of a machine may be elsewhere.
        process.start(command[1:], told, str(Path.cwd()))
        try:
            yield process
        finally:
            process.kill()
            process.wait()

    def said(self, rank: int) -> str:
        return self._processes[rank].said

    def name(self, rank: int) -> str:
        return f"process {rank} of {self.size} (on {self._places[rank].address})"


class Place(NamedTuple):
    """Where a worker is: the node of the cluster, its address, and the GPUs that the worker has there."""

    node: str
    address: str
    gpus: tuple[str, ...] = ()


def variables(places: Sequence[Place], rank: int, port: int) -> dict[str, str]:
    """Return what a process has to know of the others: the variables of ``torchrun``, and the GPUs of its machine.

    All processes of a machine see the GPUs of all, in the order of their numbers there, so that process ``LOCAL_RANK``
    takes ``cuda:LOCAL_RANK`` as it does elsewhere.
    """
    own = places[rank]
    local = [place for place in places if place.node == own.node]
    told = {
        "RANK": str(rank),
        "WORLD_SIZE": str(len(places)),
        "LOCAL_RANK": str(Counter(place.node for place in places[:rank])[own.node]),
        "LOCAL_WORLD_SIZE": str(len(local)),
        "MASTER_ADDR": places[0].address,
        "MASTER_PORT": str(port),
    }
    gpus = [gpu for place in local for gpu in place.gpus]
    return {**told, **({"CUDA_VISIBLE_DEVICES": ",".join(gpus)} if gpus else {})}


class RayProcess(Child):
    """A process that a Ray worker started, as ``subprocess.Popen`` would show it. Process 0 writes to this terminal."""

    def __init__(self, ray: Any, worker: Any, rank: int, name: str, events: Events) -> None:
        self._ray, self._worker, self._rank, self._name, self._events = ray, worker, rank, name, events
        self.returncode: int | None = None
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._tail = b""

    def start(self, command: Sequence[str], environment: Mapping[str, str], directory: str) -> None:
        """Let the worker start the process.

        Raises:
            InputError: If its machine does not have the directory.
        """
        told = self._ray.get(self._worker.start.remote(list(command), dict(environment), directory))
        if told is not None:
            raise InputError(told)
        self._thread.start()

    @property
    def said(self) -> str:
        """The end of what it wrote to standard error, or that its worker is gone."""
        return self._tail[-MESSAGE:].decode("utf-8", "replace")

    def poll(self) -> int | None:
        return self.returncode

    def wait(self) -> int:
        self._thread.join()
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, sig: int, /) -> None:
        self._worker.send_signal.remote(int(sig))  # nothing to do about one that is gone

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        if self.returncode is not None:
            return
        self.send_signal(getattr(signal, "SIGKILL", signal.SIGTERM))
        self._thread.join(_SECONDS_TO_DIE)
        if self.returncode is None:
            self._ray.kill(self._worker)

    def _follow(self) -> None:
        """Take what the process writes until it has ended."""
        while self.returncode is None:
            try:
                output, errors, code = self._ray.get(self._worker.read.remote())
            except self._ray.exceptions.RayError as error:
                reason = f"its Ray worker is gone: {str(error).strip().splitlines()[0]}"
                output, errors, code = b"", f"error: {reason}\n".encode(), LOST
                if self._rank == 0:  # which else speaks for itself
                    errors = f"error: {self._name} failed: {reason}\n".encode()
            if self._rank == 0:
                _write(sys.stdout, output)
                _write(sys.stderr, errors)
            self._tail = (self._tail + errors)[-MESSAGE:]
            self.returncode = code
        self._events.put(-self._rank)


def _write(stream: Any, content: bytes) -> None:
    if content:
        stream.flush()
        stream.buffer.write(content)  # whose characters may be cut in two
        stream.buffer.flush()


class RayWorker:
    """Starts one process of a training on the machine that Ray chose. A Ray actor, called by several threads."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._ended: Events = SimpleQueue()
        self._written: queue.Queue[tuple[int, bytes]] = queue.Queue(maxsize=1000)
        self._child: subprocess.Popen[bytes] | None = None
        self._readers: list[threading.Thread] = []

    def place(self) -> Place:
        """Return where this is."""
        ray = load_ray()
        context = ray.get_runtime_context()
        gpus = context.get_accelerator_ids().get("GPU", [])
        return Place(context.get_node_id(), ray.util.get_node_ip_address(), tuple(map(str, gpus)))

    def free_port(self) -> int:
        """Return a port of this machine that nobody uses."""
        with socket.socket() as free:
            free.bind(("", 0))
            return int(free.getsockname()[1])

    def start(self, arguments: list[str], environment: dict[str, str], directory: str) -> str | None:
        """Start Python with some arguments, and return why that cannot be, if so."""
        if not Path(directory).is_dir():
            return (
                f"{directory}: there is no such directory on {socket.gethostname()}; start from a directory on storage "
                "that all machines see, where the data and the run directory are, too."
            )
        if hasattr(signal, "pthread_sigmask"):  # Ray blocks it in its workers, and children inherit that
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "cwd": directory}
        command = [sys.executable, *arguments]
        self._child = self._stack.enter_context(started(command, environment, self._ended, **pipes))
        for place, stream in enumerate((self._child.stdout, self._child.stderr)):
            reader = threading.Thread(target=self._pump, args=(place, stream), daemon=True)
            reader.start()
            self._readers.append(reader)
        return None

    def read(self) -> tuple[bytes, bytes, int | None]:
        """Return what was written to standard output and error since the last call, and the exit code at the end."""
        written = [b"", b""]
        code = None
        is_over = not any(reader.is_alive() for reader in self._readers)  # all that they have read is in the queue then
        with suppress(Empty):
            place, content = self._written.get(timeout=_LOOK)
            written[place] += content
            while True:
                place, content = self._written.get_nowait()
                written[place] += content
        assert self._child is not None
        if is_over and not any(written):
            self._stack.close()  # after the process has ended
            code = self._child.returncode
        return written[0], written[1], code

    def send_signal(self, number: int) -> None:
        """Send a signal to the process, if it runs."""
        if self._child is not None:
            self._child.send_signal(number)

    def _pump(self, place: int, stream: IO[bytes]) -> None:
        with stream:
            while content := os.read(stream.fileno(), 1 << 16):
                self._written.put((place, content))
