"""Prints pages to PDF with the installed Chrome, Chromium or Edge."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from neuro_divergent.core.errors import InputError, MissingDependencyError, StorageError
from neuro_divergent.core.storage.atomic import write_file

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge", "msedge")
_PLACES = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    r"C:\Program Files\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe",
)
# A browser that only draws a page makes no network requests and leaves no files.
_ALONE = (
    "--headless", "--disable-gpu", "--disable-extensions", "--disable-background-networking", "--disable-quic",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--no-first-run",
    "--no-default-browser-check", "--host-resolver-rules=MAP * ~NOTFOUND",
)  # fmt: skip


def find_browser() -> Path | None:
    """Return a Chrome, Chromium or Edge: the one that ``CHROME`` names, or one that is installed; ``None`` without any.

    Raises:
        InputError: If ``CHROME`` names what is no program.
    """
    wanted = os.environ.get("CHROME")
    if wanted:
        found = shutil.which(wanted)
        if found is None:
            raise InputError(f"CHROME: {wanted} is no program; name a Chrome, Chromium or Edge, or unset it.")
        return Path(found)
    for name in (*_NAMES, *_PLACES):
        if found := shutil.which(name):
            return Path(found)
    return None


def print_page(page: Path, document: Path, *, seconds: float = 120.0) -> None:
    """Print an HTML page to a PDF document, complete or not at all, as the browser would.

    Raises:
        MissingDependencyError: If there is no browser.
        StorageError: If the browser fails, or writing fails.
    """
    browser = find_browser()
    if browser is None:
        raise MissingDependencyError(
            f"{document}: a PDF needs an installed Chrome, Chromium or Edge, and none was found (CHROME can name one). "
            f"Open the page and print it: {page}"
        )
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    with tempfile.TemporaryDirectory(prefix="nd-print-", ignore_cleanup_errors=True) as work:
        printed = Path(work) / "page.pdf"
        command = [
            str(browser),
            *_ALONE,
            *(["--no-sandbox"] if is_root else []),  # Chrome refuses to run as root with it
            f"--user-data-dir={Path(work) / 'profile'}",
            "--no-pdf-header-footer",
            f"--print-to-pdf={printed}",
            page.absolute().as_uri(),
        ]
        said = _run(command, seconds)
        if not printed.is_file() or not printed.stat().st_size:
            raise StorageError(
                f"{document}: {browser} did not print the page{said}. Open the page and print it: {page}"
            )
        write_file(document, printed.read_bytes())


def _run(command: list[str], seconds: float) -> str:
    """Run a program with all that it starts, and return the last it said, for a message."""
    with tempfile.TemporaryFile() as messages:
        try:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=messages, start_new_session=True
            )
        except OSError as error:
            return f" ({error.strerror or error})"
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            return f" within {seconds:g} seconds"
        finally:
            _end(process)
        messages.seek(0)
        said = messages.read().decode("utf-8", "replace").strip().split("\n")[-1]
    return f" ({said.strip()})" if said and process.returncode else ""


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a program and whatever it has started."""
    if sys.platform != "win32":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    elif process.poll() is None:
        process.kill()
    process.wait()
