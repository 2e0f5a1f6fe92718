"""The page that describes a server, in a browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import SCREENSHOTS
from tests.integration.serving.server_process import TOKEN, ServerProcess, running
from tests.integration.serving.small_graph import digest_of, write_graph

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """Serve a model that needs the token."""
    graph = write_graph(tmp_path_factory.mktemp("graph") / "mean.onnx")
    with running(graph, options=["--host", "0.0.0.0", "--token", TOKEN, "--poll", "0"]) as process:
        yield process


@pytest.fixture
def page(server: ServerProcess, browser: Browser) -> Iterator[tuple[Page, list[str]]]:
    """Open a page that collects errors and requests to other hosts."""
    complaints: list[str] = []
    opened = browser.new_page(viewport={"width": 390, "height": 800})
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    own = f"http://127.0.0.1:{server.port}/"
    opened.on("request", lambda sent: None if sent.url.startswith(("data:", own)) else complaints.append(sent.url))
    yield opened, complaints
    opened.close()


def test_page_shows_the_models_and_sends_the_example(page: tuple[Page, list[str]], server: ServerProcess) -> None:
    opened, complaints = page
    opened.goto(f"http://127.0.0.1:{server.port}/docs#token={TOKEN}")
    expect(opened.locator("h2").first).to_have_text("mean")
    opened.get_by_role("button", name="Send").first.click()
    answer = opened.locator("pre[aria-live]").first
    expect(answer).to_contain_text("200")
    expect(answer).to_contain_text(digest_of(0))
    assert opened.evaluate("document.documentElement.scrollWidth") <= 390
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    opened.screenshot(path=SCREENSHOTS / "serving-page.png", full_page=True)
    assert complaints == []


def test_page_without_the_token_says_how_to_open_it(page: tuple[Page, list[str]], server: ServerProcess) -> None:
    opened, _ = page
    opened.goto(f"http://127.0.0.1:{server.port}/docs")
    expect(opened.locator("#about")).to_contain_text("/docs#token=TOKEN")
