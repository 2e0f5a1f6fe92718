"""Looks for what keeps people from using a page: without a pointer, without seeing it, or with eyes that need contrast.

Works on any page in a browser; ``find_problems`` looks at what is shown now, and ``walk_by_keyboard`` goes through it
with the tabulator. Both return sentences, none if all is well.
"""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page

_RULES = (Path(__file__).parent / "accessibility.js").read_text(encoding="utf-8")
_MOST_STOPS = 400


def find_problems(page: Page) -> list[str]:
    """Return what is wrong with names, headings, ids, tables, language and contrast of what is visible."""
    found: list[str] = page.evaluate(f"() => {{ {_RULES}; return findProblems(); }}")
    return found


def walk_by_keyboard(page: Page) -> list[str]:
    """Press the tabulator through the page: everything must be reached, and it must be seen where the focus is."""
    page.evaluate(
        "() => { document.activeElement?.blur(); document.getSelection().removeAllRanges(); scrollTo(0, 0); }"
    )
    # Where the walk begins does not depend on what was clicked before.
    page.evaluate(
        "() => { document.body.tabIndex = -1; document.body.focus(); document.body.removeAttribute('tabindex'); }"
    )
    page.evaluate(
        f"() => {{ {_RULES}; window.reached = new Set(); window.inFocus = inFocus; window.notReached = notReached; }}"
    )
    problems: list[str] = []
    for _ in range(_MOST_STOPS):
        page.keyboard.press("Tab")
        stop = page.evaluate("() => inFocus()")
        if stop is None:
            break
        problems += stop["problems"]
    else:
        problems.append(f"the tabulator goes round in circles: {_MOST_STOPS} stops")
    left: list[str] = page.evaluate("() => notReached()")
    return problems + left
