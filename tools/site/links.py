"""Finds what leads nowhere in a built site: pages, anchors and files, and anything that is fetched from elsewhere."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from posixpath import normpath
from urllib.parse import unquote, urlsplit

_FETCHED = {("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("video", "src"), ("audio", "src")}
_FETCHING_RELATIONS = {"stylesheet", "preload", "icon", "preconnect", "modulepreload", "dns-prefetch"}


class _Page(HTMLParser):
    """Collects the anchors of a page, where its links lead and what a browser fetches for it."""

    def __init__(self) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take what an element names."""
        values = {name: value or "" for name, value in attrs}
        self.anchors.update(values[name] for name in ("id", "name") if values.get(name))
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag == "link" and _FETCHING_RELATIONS & set(values.get("rel", "").split()):
            self.fetched.append(values.get("href", ""))
        self.fetched.extend(values[name] for kind, name in _FETCHED if kind == tag and values.get(name))


def check_site(site: Path, *, complete: bool = True) -> list[str]:
    """Return what leads nowhere in the pages below ``site``, one sentence each.

    Args:
        site: Directory of the built site.
        complete: Whether tutorials are there; otherwise links to them are not followed.
    """
    pages = {path.relative_to(site).as_posix(): _read(path) for path in sorted(site.rglob("*.html"))}
    problems = []
    for name, page in pages.items():
        for target in page.fetched:
            if urlsplit(target).scheme in ("http", "https") or target.startswith("//"):
                problems.append(f"{name}: fetches {target}")
            elif (found := _problem(site, pages, name, target)) and (complete or "tutorials" not in name):
                problems.append(f"{name}: {found}")
        for target in page.links:
            if not complete and "tutorials/" in normpath(f"{Path(name).parent}/{target}"):
                continue
            if found := _problem(site, pages, name, target):
                problems.append(f"{name}: {found}")
    return sorted(set(problems))


def _problem(site: Path, pages: dict[str, _Page], name: str, target: str) -> str | None:
    """Return why a link of a page leads nowhere, if it does."""
    parts = urlsplit(target)
    if parts.scheme or parts.netloc or target.startswith("data:"):
        return None
    if name == "404.html" and parts.path.startswith("/"):  # such a page is shown at any address
        return None
    path = normpath(f"{Path(name).parent.as_posix()}/{unquote(parts.path)}") if parts.path else name
    if path.endswith(".") or (site / path).is_dir():
        path = normpath(f"{path}/index.html")
    if not (site / path).is_file():
        return f"{target} does not exist"
    anchor = unquote(parts.fragment)
    if anchor and path in pages and anchor not in pages[path].anchors and not anchor.startswith("__"):
        return f"{target} has no such anchor"
    return None


def _read(path: Path) -> _Page:
    page = _Page()
    page.feed(path.read_text("utf-8"))
    return page
