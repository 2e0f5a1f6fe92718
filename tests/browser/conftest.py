"""A browser that is watched: what it complains about, and with whom it talks."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, BrowserContext, Error, Page, Playwright, Route, expect, sync_playwright

from tests.browser.runs import HOSTILE_RUN, Dashboard, dashboard_of, train_command, training, wait_for, write_table

SCREENSHOTS = Path(__file__).parents[2] / "build" / "screenshots"
_FLAGS = (
    "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
_PATIENCE = 20_000
expect.set_options(timeout=_PATIENCE)


def find_chromium() -> str:
    """Return where the browser is; these tests are not skipped without one."""
    path = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if path is None:
        pytest.fail("There is no Chromium: install it (Debian: apt install chromium), or set CHROMIUM to where it is.")
    return path


class Watch:
    """Opens pages, and remembers all that should not have happened in them.

    Args:
        browser: Who shows them.
        dashboard: The only one they may talk to.
    """

    def __init__(self, browser: Browser, dashboard: Dashboard) -> None:
        self._browser = browser
        self.dashboard = dashboard
        self._contexts: list[BrowserContext] = []
        self._expected: list[re.Pattern[str]] = []
        self.complaints: list[str] = []
        self.addresses: list[str] = []

    def open(
        self,
        fragment: str = "#/",
        *,
        has_token: bool = True,
        width: int = 1280,
        height: int = 900,
        scheme: Literal["light", "dark"] = "light",
    ) -> Page:
        """Open the dashboard in a window of its own."""
        context = self._browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce"
        )
        context.set_default_timeout(_PATIENCE)
        context.grant_permissions(["clipboard-read", "clipboard-write"], origin=self.dashboard.base)
        context.route(lambda address: not address.startswith(f"{self.dashboard.base}/"), self._block)
        context.on("request", lambda request: self.addresses.append(request.url))
        self._contexts.append(context)
        page = context.new_page()
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self.complaints.append(f"error in the page: {error}"))
        page.on("dialog", self._dismiss)
        page.goto(self.dashboard.address_with_token if has_token else self.dashboard.address(fragment))
        page.locator("main h1").first.wait_for()
        if has_token and fragment != "#/":
            page.goto(self.dashboard.address(fragment))
            page.locator("main h1").first.wait_for()
        return page

    def expect(self, pattern: str) -> None:
        """Let the browser complain about something that a test brings about."""
        self._expected.append(re.compile(pattern))

    def close(self) -> list[str]:
        """Close all pages, and return what should not have happened."""
        for context in self._contexts:
            context.close()
        found = [text for text in self.complaints if not any(pattern.search(text) for pattern in self._expected)]
        foreign = [
            address for address in self.addresses
            if not address.startswith((f"{self.dashboard.base}/", "data:", f"blob:{self.dashboard.base}/"))
        ]  # fmt: skip
        return found + [f"asked for {address}" for address in foreign]

    def _hear(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.type} on the console: {message.text} {message.location}")

    def _dismiss(self, dialog: Any) -> None:
        self.complaints.append(f"a dialog opened: {dialog.message}")
        dialog.dismiss()

    @staticmethod
    def _block(route: Route) -> None:
        route.abort()


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as found:
        yield found


@pytest.fixture(scope="session")
def browser(playwright: Playwright) -> Iterator[Browser]:
    # Chromium refuses its sandbox to root, as which containers run.
    flags = [*_FLAGS, "--no-sandbox"] if os.geteuid() == 0 else [*_FLAGS]
    browser = playwright.chromium.launch(executable_path=find_chromium(), args=flags)
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("browser") / "sales.csv"
    write_table(path)
    return path


@pytest.fixture(scope="session")
def runs(table: Path) -> Path:
    """Two finished runs that differ in their settings, one of them in a directory with a name like markup."""
    root = table.parent / "runs"
    short = ("--max-steps", "60", "--set", "training.log_every=2")
    commands = [
        train_command(table, root / "plain", "--model", "nlinear", "--lr", "0.001", *short),
        train_command(table, root / HOSTILE_RUN, "--model", "dlinear", "--lr", "0.01", *short),
    ]
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
    return root


@pytest.fixture(scope="session")
def dashboard(runs: Path) -> Iterator[Dashboard]:
    with dashboard_of(runs) as dashboard:
        yield dashboard


@pytest.fixture
def watch(browser: Browser, dashboard: Dashboard) -> Iterator[Watch]:
    watch = Watch(browser, dashboard)
    yield watch
    assert watch.close() == []


@pytest.fixture(scope="session")
def live(table: Path, runs: Path) -> Iterator[Path]:
    """A run that trains as long as the tests take."""
    run = runs / "live"
    with training(table, run):
        yield run


def run_id(page: Page, name: str) -> str:
    """Return the id of the run with a name, from the server the page comes from."""
    found: list[str] = page.evaluate(
        """async (name) => (await (await fetch("/api/runs?limit=1000")).json()).runs
               .filter((run) => run.name === name).map((run) => run.id)""",
        name,
    )
    assert len(found) == 1, f"{len(found)} runs are named {name}"
    return found[0]


def wait_until(page: Page, expression: str, argument: Any = None) -> None:
    """Wait until an expression is true in the page, whose own policy does not let the browser's way of waiting work.

    An expression that looks into what the page has not drawn yet is not true yet.
    """

    def is_true() -> bool:
        try:
            return bool(page.evaluate(expression, argument))
        except Error as error:
            if re.search("Cannot read properties of (null|undefined)", error.message):
                return False
            raise

    wait_for(is_true, _PATIENCE / 1000, expression)


def open_run(watch: Watch, name: str, tab: str = "training", **options: Any) -> Page:
    """Open the page of a run."""
    page = watch.open(**options)
    page.goto(watch.dashboard.address(f"#/run/{run_id(page, name)}/{tab}"))
    page.locator(f"#panel-{tab}").wait_for()
    return page
