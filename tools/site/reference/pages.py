"""All pages of the reference."""

from __future__ import annotations

from pathlib import Path

from tools.site.reference import api, architectures, commands, errors, index, settings
from tools.site.reference.entry import anchors_of
from tools.site.reference.names import Links, find_public_names


def write_reference(target: Path) -> list[Path]:
    """Write the pages of the reference as Markdown.

    The page of a run directory, which is written by hand, is not among them: it is ``docs/reference/run-directory.md``.

    Args:
        target: Directory to write to; it is made if it is missing, and other files in it stay.

    Returns:
        The pages that were written.
    """
    written = []
    for name, text in sorted(render_reference().items()):
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        written.append(path)
    return written


def render_reference() -> dict[str, str]:
    """Return all pages by name, such as ``api/losses.md``; the same bytes every time."""
    links = make_links()
    spaces = sorted({name.page for name in links.names if name.page.startswith("api/")})
    return {
        index.PAGE: index.write_page(links, spaces),
        **{page: api.write_page(page, links) for page in spaces},
        architectures.PAGE: architectures.write_page(links),
        errors.PAGE: errors.write_page(links),
        settings.PAGE: settings.write_page(links),
        **commands.write_pages(links),
    }


def make_links() -> Links:
    """Find everything that texts may name."""
    names = find_public_names()
    links = Links(names)
    for name in names:
        for path, anchor in anchors_of(name, links):
            links.add(path, name.page, anchor)
        section = api.SETTINGS_SECTIONS.get(name.path)
        if section is not None:
            for field in name.value.model_fields:
                links.add(f"{name.path}.{field}", settings.PAGE, f"{section}.{field}")
    settings.add_places(links)
    for command in commands.read_commands().all:
        page, anchor = commands.place_of(command)
        links.add(command.path, page, anchor)
    return links
