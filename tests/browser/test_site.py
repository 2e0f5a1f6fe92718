"""The documentation in a browser, opened as files: it fits, searches, draws figures and fetches nothing elsewhere."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import SCREENSHOTS

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[2]
SITE = ROOT / "build" / "site"
SIZES: dict[str, dict[str, Any]] = {
    "desktop": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 360, "height": 740}, "is_mobile": True, "color_scheme": "light"},
}
PAGES = ["index.html", "guides/data.html", "guides/troubleshooting.html", "reference/settings.html"]


@pytest.fixture(scope="session")
def site() -> Path:
    """Return the built site, which ``make docs`` leaves; without one it is built here, without tutorials."""
    if not (SITE / "index.html").exists():
        command = [sys.executable, "-m", "tools.site", "build", "--skip-tutorials"]
        subprocess.run(command, cwd=ROOT, check=True, timeout=300)
    return SITE


@pytest.fixture(params=SIZES)
def page(request: pytest.FixtureRequest, browser: Browser) -> Iterator[Page]:
    """A page whose complaints and requests to other hosts fail the test."""
    context = browser.new_context(**SIZES[request.param], reduced_motion="reduce")
    complaints: list[str] = []
    page = context.new_page()
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda asked: complaints.append(asked.url) if asked.url.startswith("http") else None)
    yield page
    context.close()
    assert complaints == []


def picture(page: Page, name: str) -> None:
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    size = page.viewport_size or {}
    page.screenshot(path=SCREENSHOTS / f"site-{name}-{size.get('width')}.png")


@pytest.mark.parametrize("name", PAGES)
def test_pages_fit_the_window_and_ask_nobody_for_anything(page: Page, site: Path, name: str) -> None:
    page.goto((site / name).as_uri())
    page.locator("h1").first.wait_for()
    picture(page, Path(name).stem)
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0


@pytest.mark.parametrize("name", ["reference/errors.html", "guides/coming-from/neuralforecast.html"])
def test_second_column_of_tables_begins_inside_the_window(page: Page, site: Path, name: str) -> None:
    page.goto((site / name).as_uri())
    page.locator("h1").first.wait_for()
    second = "cell => cell.getBoundingClientRect().left / cell.closest('article').getBoundingClientRect().right"
    places = page.locator("article table th:nth-child(2)").evaluate_all(f"cells => cells.map({second})")
    assert places
    assert max(places) < 0.9


def test_colours_follow_the_system(browser: Browser, site: Path) -> None:
    backgrounds = []
    for size in ("desktop", "dark"):
        context = browser.new_context(**SIZES[size])
        page = context.new_page()
        page.goto((site / "index.html").as_uri())
        backgrounds.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        context.close()
    light, dark = (sum(map(int, found.strip("rgb()").split(",")[:3])) for found in backgrounds)
    assert light > 600
    assert dark < 150


def test_search_finds_a_page_without_a_server(page: Page, site: Path) -> None:
    page.goto((site / "index.html").as_uri())
    page.locator("h1").first.wait_for()
    page.keyboard.press("Control+k")
    field = page.get_by_placeholder("Search").last
    field.wait_for()
    field.fill("conformal intervals")
    found = page.locator("a[href*='guides/conformal.html']").filter(has_text="Conformal").last
    expect(found).to_be_visible()
    picture(page, "search")


def test_figures_of_a_tutorial_are_drawn(page: Page, site: Path) -> None:
    tutorial = site / "tutorials" / "01-sales.html"
    if not tutorial.exists():
        pytest.skip("the tutorials were not executed; 'make docs' does that")
    page.goto(tutorial.as_uri())
    figure = page.locator(".nd-figure").first
    figure.locator("svg.main-svg").first.wait_for()
    figure.scroll_into_view_if_needed()
    picture(page, "figure")
    assert figure.locator("path.js-line").count() > 0
