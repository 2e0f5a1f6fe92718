"""How the dashboard looks, and whether everybody can use it: on a phone, in the dark, by keyboard."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Page

from tests.browser.accessibility import find_problems, walk_by_keyboard
from tests.browser.conftest import SCREENSHOTS, Watch, run_id, wait_until
from tests.browser.runs import HOSTILE_RUN

pytestmark = pytest.mark.browser

# What is there once a tab shows what it is for.
TABS = {
    "training": ".plot .main-svg",
    "forecasts": "#forecast-rows",
    "evaluation": "#scores, .plot .main-svg",
    "diagnostics": "#findings p, .plot .main-svg",
    "model": "#environment dl, .plot .main-svg",
    "checkpoints": "#checkpoints",
    "settings": "#config",
    "log": "#log tbody tr",
}
SIZES: dict[str, dict[str, Any]] = {
    "desktop": {"width": 1280, "height": 900},
    "wide": {"width": 2560, "height": 1200},
    "phone": {"width": 360, "height": 740},
    "dark": {"width": 1280, "height": 900, "scheme": "dark"},
}
Size = Literal["desktop", "wide", "phone", "dark"]

DRAWN = """() => [...document.querySelectorAll("main .plot")].filter((plot) => plot.offsetParent)
    .every((plot) => plot.querySelector(".main-svg"))"""


@pytest.mark.parametrize("size", SIZES)
def test_every_page_fits_and_everybody_can_use_it(watch: Watch, live: Path, size: Size) -> None:
    page = watch.open(**SIZES[size])
    finished, other, training = (run_id(page, name) for name in ("plain", HOSTILE_RUN, live.name))
    pages = {"runs": ("#/", "#runs tbody tr")}
    pages |= {f"run-{tab}": (f"#/run/{finished}/{tab}", shown) for tab, shown in TABS.items()}
    pages |= {
        "live": (f"#/run/{training}", TABS["training"]),
        "hostile": (f"#/run/{other}/forecasts", "#forecast-rows"),
    }
    pages |= {"compare": (f"#/compare/{finished},{other},{training}", "#differences, .plot .main-svg")}
    problems = []
    for name, (fragment, shown) in pages.items():
        page.goto(watch.dashboard.address(fragment))
        settle(page, shown)
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=SCREENSHOTS / f"{size}-{name}.png", full_page=True)
        problems += [f"{name}: {problem}" for problem in [*overflow(page), *find_problems(page)]]
        if size in ("desktop", "phone"):
            problems += [f"{name}: {problem}" for problem in walk_by_keyboard(page)]
    assert problems == []


def test_the_dialog_can_be_used_by_everybody(watch: Watch, live: Path) -> None:
    for scheme in ("light", "dark"):
        page = watch.open(scheme=scheme, width=360)
        page.goto(watch.dashboard.address(f"#/run/{run_id(page, live.name)}"))
        settle(page, TABS["training"])
        page.get_by_role("button", name="Stop training").press("Enter")
        page.get_by_role("dialog").wait_for()
        page.screenshot(path=SCREENSHOTS / f"phone-dialog-{scheme}.png")
        assert find_problems(page) + overflow(page) == []
        page.keyboard.press("Escape")
        page.get_by_role("dialog").wait_for(state="hidden")
        assert page.evaluate("document.activeElement.id") == "stop"


def settle(page: Page, shown: str) -> None:
    """Wait until the page shows all of what is named, with commas between, and all charts are drawn."""
    for selector in shown.split(", "):
        page.locator(f"main {selector} >> visible=true").first.wait_for()
    wait_until(page, DRAWN)
    page.wait_for_timeout(150)


def overflow(page: Page) -> list[str]:
    """Return what makes the page scroll sideways."""
    found: list[str] = page.evaluate(
        """() => {
            const page = document.documentElement;
            if (page.scrollWidth <= page.clientWidth) return [];
            const wide = [...document.querySelectorAll("body *")].filter((element) =>
                element.getBoundingClientRect().right > page.clientWidth + 1 && !element.closest(".wide, pre"));
            return [`the page is ${page.scrollWidth} wide instead of ${page.clientWidth}: ` +
                wide.slice(-3).map((element) => `${element.tagName} ${element.className}`).join(", ")];
        }"""
    )
    return found


def test_problems_are_found_where_there_are_some(watch: Watch) -> None:
    """The checks themselves: a page made of mistakes has each of them reported."""
    page = watch.open()
    page.evaluate(
        """() => {
            const make = (tag, text, attributes = {}) => {
                const element = document.createElement(tag);
                element.textContent = text;
                for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
                document.querySelector("main").append(element);
                return element;
            };
            make("button", "");
            make("input", "");
            make("h4", "far down");
            make("p", "", { id: "twice" });
            make("p", "", { id: "twice" });
            make("p", "pale").style.color = "#bbb";
            make("button", "unseen focus", { class: "bare" }).style.outline = "none";
            make("table", "").append(document.createElement("tr"));
            make("button", "jumps the queue", { tabindex: "3" });
        }"""
    )
    found = "\n".join(find_problems(page))
    for part in ("no name: <button", "no name: <input", "heading level 4", "id twice: twice", "contrast 1.9",
                 "table without headers", "tabindex above 0"):  # fmt: skip
        assert part in found
    assert "the focus is not seen" in "\n".join(walk_by_keyboard(page))
