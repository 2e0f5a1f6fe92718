"""Texts of docstrings as Markdown: code, lists, and links to what they name."""

from __future__ import annotations

import re
import textwrap
from functools import cache

from tools.site.reference.markdown import code_block, escape
from tools.site.reference.names import ROOT, Links, relative

_SPAN = re.compile(r"(?<!`)(``?)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_PAGE = re.compile(r"docs/((?:guides|results|decisions|tutorials)/[\w-]+\.md)")
_ADDRESS = re.compile(r"https?://[^\s)>,]+[^\s)>,.]")
_COMMAND = re.compile(r"'(nd [a-z][^']*)'")


class Texts:
    """Writes the texts of one page.

    Args:
        links: Where everything is.
        page: The page, seen from the directory of the reference.
    """

    def __init__(self, links: Links, page: str) -> None:
        self.links = links
        self.page = page

    def paragraphs(self, text: str, owner: str = "") -> str:
        """Return paragraphs, lists and blocks of code; ``owner`` is the name that the text describes."""
        blocks: list[str] = []
        for block in re.split(r"\n\s*\n", text.strip("\n")):
            if block.startswith("  ") and blocks and blocks[-1].startswith("```"):  # goes on after an empty line
                blocks[-1] = f"{blocks[-1][:-4]}\n{textwrap.dedent(block)}\n```\n"
            elif block.lstrip().startswith(">>>"):
                blocks.append(code_block(textwrap.dedent(block), "pycon"))
            elif block.startswith("    "):
                blocks.append(code_block(textwrap.dedent(block), "python"))
            elif block.strip() != "::":
                blocks.append(f"{self.line(block.removesuffix(':') if block.endswith('::') else block, owner)}\n")
        return "\n".join(block for block in blocks if block.strip())

    def line(self, text: str, owner: str = "") -> str:
        """Return text with links instead of the code that names something."""
        parts: list[str] = []
        place = 0
        for found in _SPAN.finditer(text):
            parts += [self._plain(text[place : found.start()]), self.code(" ".join(found[2].split()), owner)]
            place = found.end()
        return "".join([*parts, self._plain(text[place:])])

    def code(self, text: str, owner: str = "") -> str:
        """Return code within a line, as a link where it names something."""
        return self.links.link(text, self.page, owner)

    def to(self, page: str, text: str, anchor: str = "") -> str:
        """Return a link to a page of the reference."""
        return f"[{text}]({relative(page, self.page)}{f'#{anchor}' if anchor else ''})"

    def guide(self, path: str) -> str:
        """Return a link to a page such as ``guides/runs.md``, with its title."""
        return f"[{title_of(path)}]({relative(f'../{path}', self.page)})"

    def _plain(self, text: str) -> str:
        parts: list[str] = []
        place = 0
        for found in re.finditer(rf"{_PAGE.pattern}|{_COMMAND.pattern}|{_ADDRESS.pattern}", text):
            shown = self.guide(found[1]) if found[1] else self.code(found[2]) if found[2] else f"<{found[0]}>"
            parts += [escape(text[place : found.start()]), shown]
            place = found.end()
        return "".join([*parts, escape(text[place:])])


@cache
def title_of(path: str) -> str:
    """Return the title of a page below ``docs``."""
    first = (ROOT / "docs" / path).read_text("utf-8").splitlines()[0]
    return first.removeprefix("# ").strip()
