"""Exports of models that have none beside them, made once and kept by digest."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path

from neuro_divergent import __version__
from neuro_divergent.core.errors import InputError, MissingDependencyError, NeuroDivergentError, UntrustedFileError
from neuro_divergent.serving.export_file import export_path, stored_digest
from neuro_divergent.serving.exported_model import ExportedModel
from neuro_divergent.serving.onnx_runner import OnnxRunner

_PROCESS = "neuro_divergent.serving.server.export_process"
_LONGEST_SECONDS = 1800
_LONGEST_REASON = 500
_log = logging.getLogger(__name__)


def usual_cache() -> Path:
    """Return the directory where exports are kept by default, as the XDG specification has it."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "neuro-divergent" / "exports"


class ExportCache:
    """A directory of exported models by the digest of the saved ones.

    Exporting runs in a process of its own, so that torch and its memory stay out of the server.

    Args:
        directory: Where they are.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._process: subprocess.Popen[bytes] | None = None
        self._is_cancelled = False

    def load(self, model: Path, *, name: str, threads: int) -> ExportedModel:
        """Load a saved model: the export beside it, one of the cache, a new one, or else with torch.

        Args:
            model: Directory of the saved model.
            name: What answers call it.
            threads: Threads of the network.

        Raises:
            NeuroDivergentError: If it cannot be loaded in any of these ways.
        """
        digest = stored_digest(model)
        beside = export_path(model)
        if beside.is_file():
            runner = OnnxRunner.open(beside, threads=threads)
            if runner.description.digest == digest:
                return ExportedModel(runner.description, runner, name=name)
            _log.warning("%s: is of another version of the model and is not used", beside)
        found = self.find(digest, name=name, threads=threads)
        return found if found is not None else self.add(model, digest, name=name, threads=threads)

    def find(self, digest: str, *, name: str, threads: int) -> ExportedModel | None:
        """Return the export of a digest, or ``None`` if there is none that can be read."""
        path = self._path(digest)
        if not path.is_file():
            return None
        try:
            runner = OnnxRunner.open(path, threads=threads)
        except UntrustedFileError as error:
            _log.warning("%s; it is made again", error)
            return None
        is_right = runner.description.digest == digest
        return ExportedModel(runner.description, runner, name=name) if is_right else None

    def add(self, model: Path, digest: str, *, name: str, threads: int) -> ExportedModel:
        """Export a saved model into the cache and load it; serve it with torch where it cannot be exported.

        Raises:
            MissingDependencyError: If what exports models is not installed.
            NeuroDivergentError: If the model cannot be loaded.
        """
        path = self._path(digest)
        path.parent.mkdir(parents=True, exist_ok=True)
        _log.info("%s: there is no export of it; exporting to %s", name, path)
        reason = self._export(model, path, digest)
        if reason is None:
            exported = self.find(digest, name=name, threads=threads)
            if exported is not None:
                return exported
            reason = "the export could not be read"
        _log.warning("%s: cannot be exported (%s); it is served with torch, which is slower", name, reason)
        return _load_with_torch(model, digest, name, threads)

    def cancel(self) -> None:
        """End an export that is under way, and start none any more."""
        self._is_cancelled = True
        if self._process is not None:
            self._process.kill()

    def _export(self, model: Path, path: Path, digest: str) -> str | None:
        """Export a model in a process of its own; return the reason where the model cannot be exported.

        Raises:
            NeuroDivergentError: If the process failed for another reason.
        """
        command = [sys.executable, "-m", _PROCESS, str(model), str(path), digest]
        if self._is_cancelled:
            raise NeuroDivergentError(f"{model}: the server stops, so it is not exported.")
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        with self._process as process:
            if self._is_cancelled:  # between the first look and the start, when there was nothing to kill
                process.kill()
            try:
                _, stderr = process.communicate(timeout=_LONGEST_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                return f"it took longer than {_LONGEST_SECONDS} seconds"
            finally:
                self._process = None
        if self._is_cancelled:
            raise NeuroDivergentError(f"{model}: the server stops, so it is not exported.")
        return None if process.returncode == 0 else _problem(model, process.returncode, stderr)

    def _path(self, digest: str) -> Path:
        return self._directory / f"{digest}-{__version__}.onnx"


def _problem(model: Path, code: int, stderr: bytes) -> str:
    """Return why a model cannot be exported, from how the process ended.

    Raises:
        NeuroDivergentError: If it failed for a reason that torch could not avoid either.
    """
    lines = stderr.decode("utf-8", "replace").strip().splitlines() or ["no reason was given"]
    if code == InputError.exit_code:
        return lines[-1][:_LONGEST_REASON]
    if "No module named" in lines[-1]:
        raise MissingDependencyError(
            f"{model}: is not exported, and exporting it here needs more packages ({lines[-1]}). Export it where it "
            'was trained (nd export), or: pip install "neuro-divergent[export]"'
        )
    raise NeuroDivergentError(f"{model}: exporting failed: {lines[-1][:_LONGEST_REASON]}")


def _load_with_torch(model: Path, digest: str, name: str, threads: int) -> ExportedModel:
    from neuro_divergent.forecasting.load import load
    from neuro_divergent.serving.export.exporter import exportable
    from neuro_divergent.serving.export.torch_runner import TorchRunner

    module, description = exportable(load(model), None, None, digest)
    return ExportedModel(description, TorchRunner(module), name=name)
