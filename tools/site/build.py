"""Builds the site: hand-written pages, tutorials that were executed and the generated reference, checked for links."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from importlib.resources import files
from pathlib import Path
from posixpath import normpath
from typing import Any

import tomli_w

from tools.site.links import check_site
from tools.site.reference import write_reference
from tools.site.tutorials import ROOT, run_all

PAGES = ROOT / "docs"
STAGED = ROOT / "build" / "docs"
SITE = ROOT / "build" / "site"
_EXECUTED = PAGES / "tutorials"
_TITLES = {"api": "Python", "commands": "Commands"}
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)\s]+)\)")


class BuildError(Exception):
    """The site could not be built, or something in it leads nowhere."""


def build(*, tutorials: bool = True) -> Path:
    """Build the site and return its first page; anything that is missing is an error."""
    sources = sorted(_EXECUTED.glob("[0-9]*.md"))
    kept = STAGED / "tutorials"
    _stage(kept)
    write_reference(STAGED / "reference")
    if tutorials:
        run_all(sources, kept)
    _run_zensical(strict=tutorials)
    if problems := check_site(SITE, complete=tutorials):
        listed = "\n  ".join(problems)
        raise BuildError(f"{len(problems)} problems in the pages:\n  {listed}")
    return SITE / "index.html"


def _stage(kept: Path) -> None:
    """Copy the pages to where generated ones join them; what tutorials left there stays, since it may be up to date."""
    STAGED.mkdir(parents=True, exist_ok=True)
    for item in STAGED.iterdir():
        if item == kept:
            continue
        shutil.rmtree(item) if item.is_dir() else item.unlink()
    for source in PAGES.rglob("*"):
        place = source.relative_to(PAGES)
        if source.is_dir() or (source.parent == _EXECUTED and source.name[0].isdigit()):
            continue
        target = STAGED / place
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix == ".md":
            target.write_text(_inside(source.read_text("utf-8"), place.parent.as_posix()), "utf-8")
        else:
            shutil.copyfile(source, target)
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8")
    (STAGED / "changelog.md").write_text(_inside(changes, ".."), "utf-8")
    _copy_assets(STAGED / "assets")


def _copy_assets(target: Path) -> None:
    """Copy our own assets, and the library that draws figures from its installed package."""
    shutil.copytree(Path(__file__).parent / "assets", target, dirs_exist_ok=True)
    library = files("plotly") / "package_data" / "plotly.min.js"
    (target / "plotly.min.js").write_bytes(library.read_bytes())


def _inside(text: str, directory: str) -> str:
    """Return a page in which a link to a file of the checkout outside of ``docs`` is the name of that file."""

    def rewrite(found: re.Match[str]) -> str:
        words, target = found.groups()
        path = target.partition("#")[0]
        if "://" in target or target.startswith(("#", "mailto:")) or not path:
            return found.group()
        full = normpath(f"docs/{directory}/{path}")
        if full.startswith("docs/"):
            return found.group() if directory != ".." else f"[{words}]({target.removeprefix('docs/')})"
        return words if full in words else f"{words} (`{full}`)"

    return _LINK.sub(rewrite, text)


def _run_zensical(*, strict: bool) -> None:
    """Build the site from the staged pages, with those of the reference and the decisions in its navigation."""
    settings = tomllib.loads((Path(__file__).parent / "zensical.toml").read_text("utf-8"))
    settings["project"]["nav"] = _navigation(settings["project"]["nav"])
    (STAGED.parent / "zensical.toml").write_text(tomli_w.dumps(settings), "utf-8")
    program = Path(sys.executable).parent / "zensical"
    command = [str(program), "build", "--clean", *(["--strict"] if strict else [])]
    made = subprocess.run(command, cwd=STAGED.parent, capture_output=True, text=True, check=False)
    if made.returncode:
        raise BuildError(f"zensical failed:\n{_COLOUR.sub('', made.stdout + made.stderr).split('Traceback')[0]}")


def _navigation(entries: list[Any]) -> list[Any]:
    """Return the navigation with every page of a directory after its index, where only the index is named."""
    made = []
    for entry in entries:
        if isinstance(entry, dict):
            (title, below), *_ = entry.items()
            if isinstance(below, list):
                entry = {title: _navigation(below) if len(below) > 1 else _pages_after(below[0])}
        made.append(entry)
    return made


def _pages_after(index: str) -> list[Any]:
    """Return the pages of a directory, the index first, and those of directories below it as groups."""
    directory = STAGED / Path(index).parent
    pages = sorted(path.relative_to(STAGED).as_posix() for path in directory.glob("*.md"))
    groups = [place for place in sorted(directory.iterdir()) if any(place.glob("*.md"))]
    below = [
        {_TITLES[place.name]: _pages_after(f"{place.relative_to(STAGED).as_posix()}/index.md")} for place in groups
    ]
    first = [index] if index in pages else []
    return [*first, *(page for page in pages if page != index), *below]
