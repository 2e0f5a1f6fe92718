"""How the report looks, and whether everybody can read it: on a phone, in the dark, on paper."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.browser.accessibility import find_problems, walk_by_keyboard
from tests.browser.conftest import SCREENSHOTS
from tests.browser.runs import HOSTILE_RUN

pytestmark = pytest.mark.browser

SIZES: dict[str, dict[str, Any]] = {
    "desktop": {"viewport": {"width": 1280, "height": 900}},
    "phone": {"viewport": {"width": 360, "height": 740}, "is_mobile": True},
    "dark": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "dark"},
}


@pytest.mark.parametrize("run", ["plain", HOSTILE_RUN], ids=["plain", "hostile"])
@pytest.mark.parametrize("size", SIZES)
def test_the_report_fits_and_everybody_can_read_it(browser: Browser, runs: Path, run: str, size: str) -> None:
    context = browser.new_context(**SIZES[size])
    complaints: list[str] = []
    page = context.new_page()
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: complaints.append(dialog.message) or dialog.dismiss())
    page.on("request", lambda request: complaints.append(request.url) if request.url.startswith("http") else None)
    page.goto((runs / run / "report.html").as_uri())
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    name = "plain" if run == "plain" else "hostile"
    page.screenshot(path=SCREENSHOTS / f"{size}-report-{name}.png", full_page=True)
    wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wide <= 0
    assert page.locator("script").count() == 0
    assert page.locator("svg").count() >= 10
    assert find_problems(page) == []
    assert walk_by_keyboard(page) == []
    assert complaints == []
    context.close()


def test_on_paper_nothing_is_dark_or_cut(browser: Browser, runs: Path) -> None:
    context = browser.new_context(viewport={"width": 794, "height": 1123}, color_scheme="dark")
    page = context.new_page()
    page.goto((runs / "plain" / "report.html").as_uri())
    page.emulate_media(media="print", color_scheme="dark")
    page.screenshot(path=SCREENSHOTS / "print-report.png", full_page=True)
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper in ("rgb(255, 255, 255)", "rgba(0, 0, 0, 0)")
    assert find_problems(page) == []
    breaks = page.evaluate("[...document.querySelectorAll('figure')].map((item) => getComputedStyle(item).breakInside)")
    assert set(breaks) == {"avoid"}
    context.close()
