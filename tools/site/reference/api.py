"""Pages of the public names, one for each namespace."""

from __future__ import annotations

import inspect
from collections import defaultdict
from importlib import import_module

from tools.site.reference.docstring import docstring_of, read_docstring
from tools.site.reference.entry import Entry
from tools.site.reference.markdown import code, table
from tools.site.reference.names import Links, PublicName, namespaces
from tools.site.reference.texts import Texts

# The guides that explain what a page lists.
GUIDES = {
    "augment": ("regularisation",),
    "callbacks": ("callbacks", "reliability"),
    "data": ("data", "large-data"),
    "diagnostics": ("diagnostics", "doctor"),
    "distributed": ("distributed",),
    "evaluation": ("cross-validation", "metrics", "conformal"),
    "federated": ("federated",),
    "forecasting": ("uncertainty", "ensembles", "hierarchy", "statistical", "saved-models", "pretraining"),
    "lifecycle": ("pipeline", "registry", "drift", "promotion", "continuous"),
    "losses": ("uncertainty", "metrics"),
    "metrics": ("metrics",),
    "models": ("models",),
    "optimizers": ("optimizers",),
    "plots": ("plots", "report"),
    "privacy": ("privacy",),
    "runs": ("runs",),
    "scalers": ("data",),
    "schedules": ("schedules",),
    "search": ("search", "auto"),
    "serving": ("export", "serving", "scoring"),
    "splitters": ("splitters", "cross-validation"),
    "training": ("training", "gradients", "regularisation"),
}
_FEW = 12


def namespace_of(page: str) -> str:
    """Return the namespace that a page such as ``api/losses.md`` is of."""
    return page.removeprefix("api/").removesuffix(".md")


def summary_of(space: str) -> str:
    """Return what a namespace holds in a sentence."""
    module = namespaces().get(space) or import_module(f"neuro_divergent.{space}")
    return read_docstring(module.__doc__).summary


def write_page(page: str, links: Links) -> str:
    """Return the page of a namespace."""
    space = namespace_of(page)
    texts = Texts(links, page)
    names = [name for name in links.names if name.page == page]
    parts = [f"# {title_of_space(space)}\n", f"{texts.line(summary_of(space))}\n"]
    if guides := [texts.guide(f"guides/{guide}.md") for guide in GUIDES.get(space, ())]:
        parts.append(f"Guides: {', '.join(guides)}.\n")
    if space == "models":
        parts.append(f"The architectures themselves are on a page of {texts.to('architectures.md', 'their own')}.\n")
    groups = group_names(names)
    for title, members in groups.items():
        if title:
            parts.append(f"**{title}**\n")
        parts.append(_overview(members, texts))
    for title, members in groups.items():
        if title:
            parts.append(f"## {title}\n")
        parts += [_entry(name, texts, level=3 if len(groups) > 1 else 2) for name in members]
    return "\n".join(parts)


def title_of_space(space: str) -> str:
    """Return the title of the page of a namespace."""
    return f"`nd.{space}`" if space in namespaces() else space.capitalize()


def group_names(names: list[PublicName]) -> dict[str, list[PublicName]]:
    """Sort many names by the package within the room that they come from; few are one group without a title."""
    if len(names) <= _FEW:
        return {"": names}
    found: dict[str, list[PublicName]] = defaultdict(list)
    for name in names:
        found[_group_of(name)].append(name)
    small = [title for title, members in found.items() if title and len(members) < 2]
    for title in small:
        found[""] += found.pop(title)
    if len(found) == 1:
        return {"": names}
    in_order = sorted(found, key=lambda title: (title != "General" and title != "", title))
    return {title or "General": sorted(found[title], key=lambda name: name.name.lower()) for title in in_order}


def _group_of(name: PublicName) -> str:
    """Return the package below the room, such as ``drift``, as a title; of a module in the room itself nothing."""
    parts = name.room.split(".")[1:-1]
    words = [part for part in parts if part not in ("optimizers", "schedules", "callbacks", "scaling", "augment")]
    return words[0].replace("_", " ").capitalize() if words else ""


def _overview(names: list[PublicName], texts: Texts) -> str:
    rows = []
    for name in names:
        text = docstring_of(name.value) if not inspect.isclass(name.value) else read_docstring(name.value.__doc__)
        rows.append((f"[{code(name.path)}](#{name.path})", texts.line(text.summary, name.path)))
    return table(("name", "what it is"), rows)


def _entry(name: PublicName, texts: Texts, level: int) -> str:
    settings = ""
    if name.path in SETTINGS_SECTIONS:
        link = texts.to("settings.md", "Settings", SETTINGS_SECTIONS[name.path])
        settings = f"What each of them means: {link}.\n"
    return Entry(name, texts, level=level, settings=settings).write()


# Configs whose tables are on the page of settings, and where there.
SETTINGS_SECTIONS = {
    "nd.Schema": "data",
    "nd.Task": "task",
    "nd.TrainingConfig": "training",
    "nd.callbacks.Checkpointing": "checkpoints",
}
