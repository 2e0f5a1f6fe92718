"""The pages of the reference: everything is there once, has a text, and no link leads nowhere."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from posixpath import dirname, join, normpath
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field
from typer.main import get_command

import neuro_divergent as nd
from neuro_divergent.core.config import Config
from neuro_divergent.forecasting.statistical.methods.base import StatisticalMethod
from neuro_divergent.interfaces.cli.main import app
from tests.architecture.test_public_names import recorded
from tests.integration.test_bad_inputs_on_the_command_line import CASES, PREDICTIONS
from tools.site.reference import commands, errors, settings
from tools.site.reference.annotations import describe_range, show_value
from tools.site.reference.api import GUIDES
from tools.site.reference.docstring import read_docstring
from tools.site.reference.fields import meanings_of
from tools.site.reference.members import attributes_of, fields_of
from tools.site.reference.names import ROOT, Links, find_public_names
from tools.site.reference.pages import make_links, render_reference
from tools.site.reference.texts import Texts

DOCS = ROOT / "docs"
MESSAGES = {case.name: case for case in (*CASES, *PREDICTIONS)}


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return render_reference()


@pytest.fixture(scope="module")
def links() -> Links:
    return make_links()


def anchors_of(page: str) -> list[str]:
    return re.findall(r'\{ ?#(\S+?)(?: ?\}| data)|<span id="([^"]+)">', page)  # type: ignore[return-value]


def row_of(page: str, anchor: str) -> list[str]:
    """Return the cells of the row with an anchor, the first without it."""
    (line,) = [line for line in page.splitlines() if f"{{ #{anchor} }}" in line]
    return [cell.strip() for cell in line.replace(f"{{ #{anchor} }}", "").strip("|").split(" | ")]


def test_every_public_name_is_described_on_exactly_one_page(pages: dict[str, str]) -> None:
    anchors = [first or second for page in pages.values() for first, second in anchors_of(page)]
    paths = {
        ".".join(filter(None, ("nd", space.replace("neuro_divergent", ""), name)))
        for space, names in recorded().items()
        for name in names
    }
    paths -= {f"nd.{space}" for space in recorded()}
    assert {path: anchors.count(path) for path in paths if anchors.count(path) != 1} == {}


def test_no_anchor_is_there_twice_on_a_page(pages: dict[str, str]) -> None:
    for name, page in pages.items():
        found = anchors_of(page)
        assert sorted({anchor for anchor in found if found.count(anchor) > 1}) == [], name


def all_configs() -> list[type[Config]]:
    """Return every class of settings that the pages describe; those that other tests have registered are none."""
    members = [family.registry.get(name) for family in settings.all_families() for name in family.registry.names()]
    statistical = [StatisticalMethod.registry.get(name) for name in StatisticalMethod.registry.names()]
    public = [name.value for name in find_public_names() if inspect.isclass(name.value)]
    found = [*public, *members, *statistical, *settings.inner_configs(), *settings.SECTIONS.values()]
    ours = [cls for cls in found if issubclass(cls, Config) and cls.__module__.startswith("neuro_divergent.")]
    return list(dict.fromkeys(ours))


def test_every_setting_of_every_config_has_a_text_in_a_docstring() -> None:
    configs = all_configs()
    assert {nd.TrainingConfig, nd.Task, nd.Schema, nd.NHITS, nd.AdamW, nd.Architecture.registry.get("stemgnn")} <= {
        *configs
    }
    missing = [f"{cls.__name__}.{name}" for cls in configs for name, text in meanings_of(cls).items() if not text]
    assert missing == []


def test_every_field_of_a_public_dataclass_or_tuple_has_a_text_in_a_docstring() -> None:
    missing = []
    for name in find_public_names():
        if inspect.isclass(name.value) and not issubclass(name.value, Config):
            texts = {**attributes_of(name.value), **read_docstring(name.value.__doc__).arguments}
            missing += [f"{name.path}.{field}" for field, _, _ in fields_of(name.value) if not texts.get(field)]
    assert missing == []


@pytest.mark.parametrize("section", settings.SECTIONS)
def test_every_setting_of_a_run_has_a_row_with_type_default_and_meaning(pages: dict[str, str], section: str) -> None:
    page = pages["settings.md"]
    for name in settings.SECTIONS[section].model_fields:
        cells = row_of(page, f"{section}.{name}")
        assert cells[0] == f"`{name}`"
        assert all(cells), name


def test_a_row_of_a_setting_has_its_type_default_range_search_and_meaning(pages: dict[str, str]) -> None:
    assert row_of(pages["settings.md"], "task.balance")[1:3] == ["`float`; 0 to 1", "`0.5`"]
    assert row_of(pages["settings.md"], "task.horizon")[1:] == ["`int`; at least 1", "required", "Steps to forecast."]
    meaning = "Units per hidden layer.<br>*Search:* 32 to 1024 (logarithmic)"
    expected = ["`hidden_size`", "`int`; at least 1", "`512`", meaning]
    assert row_of(pages["architectures.md"], "nd.NHITS.hidden_size") == expected


def test_every_architecture_has_a_row_for_each_setting_also_those_of_its_base_classes(pages: dict[str, str]) -> None:
    for name in nd.Architecture.registry.names():
        cls = nd.Architecture.registry.get(name)
        for field in cls.model_fields:
            assert row_of(pages["architectures.md"], f"nd.{cls.__name__}.{field}")[2], f"{name}: {field}"


def test_every_option_that_help_shows_is_on_the_page_of_its_command(
    pages: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    root = commands.read_commands()
    assert {"nd train", "nd runs delete", "nd privacy audit"} < {command.path for command in root.all}
    program = get_command(app)
    for command in root.all:
        program.main([*command.path.split()[1:], "--help"], prog_name="nd", standalone_mode=False)
        shown = capsys.readouterr().out
        page = pages["commands.md" if command is root else commands.page_of(command)]
        options = re.findall(r"^  (?:-\w, )?(--[\w-]+)", shown, re.MULTILINE)
        assert "--help" in options
        if command is not root:
            assert [name for name in options if f"{{ #{command.anchor}{name} }}" not in page] == [], command.path
        for inner in re.findall(r"^  (\w+)  ", shown.partition("Commands:\n")[2], re.MULTILINE):
            assert f"{command.path} {inner}" in pages["commands.md"]


def test_links_lead_to_pages_and_anchors_that_exist(pages: dict[str, str]) -> None:
    anchors = {name: {part for pair in anchors_of(page) for part in pair} for name, page in pages.items()}
    titles = {name: set(re.findall(r"^#+ ([A-Z][\w ]*)$", page, re.MULTILINE)) for name, page in pages.items()}
    for name, page in pages.items():
        for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"```.*?```", "", page, flags=re.DOTALL)):
            path, _, anchor = target.partition("#")
            if "://" in target:
                continue
            place = normpath(join(dirname(name), path)) if path else name
            if place not in pages:
                assert (DOCS / "reference" / place).is_file(), f"{name}: {target}"
            elif anchor:
                known = anchors[place] | {title.lower().replace(" ", "-") for title in titles[place]}
                assert anchor in known, f"{name}: {target}"


def test_guides_of_the_namespaces_exist(pages: dict[str, str]) -> None:
    assert {f"api/{space}.md" for space in GUIDES} <= set(pages)


def test_pages_hold_no_addresses_of_objects_and_no_paths_of_this_machine(pages: dict[str, str]) -> None:
    for name, page in pages.items():
        assert not re.search(r" at 0x[0-9a-f]{6}|<factory>|<function|site-packages", page), name
        assert str(ROOT) not in page, name


@pytest.mark.long
def test_two_processes_write_the_same_bytes(tmp_path: Any) -> None:
    code = "import sys, pathlib as p; from tools.site.reference import write_reference as w; w(p.Path(sys.argv[1]))"
    written = []
    for seed, columns in (("0", "120"), ("7", "40")):
        place = tmp_path / seed
        environment = {**os.environ, "PYTHONHASHSEED": seed, "COLUMNS": columns}
        subprocess.run([sys.executable, "-c", code, str(place)], cwd=ROOT, env=environment, check=True)
        written.append({path.relative_to(place).as_posix(): path.read_text("utf-8") for path in place.rglob("*.md")})
    assert written[0] == written[1]
    assert "index.md" in written[0]


@pytest.mark.long
def test_every_row_of_a_table_has_as_many_cells_as_its_heading(pages: dict[str, str]) -> None:
    markdown = pytest.importorskip("markdown").Markdown(extensions=["tables", "attr_list", "fenced_code", "toc"])
    for name, page in pages.items():
        html = markdown.reset().convert(page)
        assert "| ---" not in html, name
        for table in re.findall(r"<table>.*?</table>", html, re.DOTALL):
            cells = {len(re.findall(r"<t[dh]\b", row)) for row in re.findall(r"<tr>.*?</tr>", table, re.DOTALL)}
            assert len(cells) == 1, f"{name}: {table[:200]}"


def test_every_error_says_when_it_is_raised_and_what_to_do() -> None:
    found = errors.all_errors()
    assert {nd.errors.DataError, nd.errors.StorageWarning, nd.errors.Interrupted} < {*found}
    assert [cls.__name__ for cls in found if not read_docstring(cls.__doc__).body] == []


def test_every_error_and_its_exit_code_is_on_the_page(pages: dict[str, str]) -> None:
    page = pages["errors.md"]
    for cls in errors.all_errors():
        number = getattr(cls, "exit_code", None)
        assert f"[`{cls.__name__}`](#" in page
        if isinstance(number, int):
            assert re.search(rf"\[`{cls.__name__}`\]\(#\S+\), exit code {number}\n", page)
            assert re.search(rf"^\| {number} \| ", page, re.MULTILINE)


def test_messages_on_the_page_of_errors_are_those_that_the_command_line_writes() -> None:
    items = [item for group in errors.read_messages() for item in group["messages"]]
    for item in items:
        case = MESSAGES[item["case"]]
        is_pattern = case.message.startswith("re:")
        pattern = case.message[3:] if is_pattern else re.escape(case.message).replace(r"\{file\}", "{file}")
        patterns = [pattern.replace("{file}", rf"{stem}\.{case.ending}") for stem in ("sales", case.name)]
        assert any(re.fullmatch(each, item["message"]) for each in patterns), (item["case"], patterns)
        assert item["advice"]
    named = [name for item in items for name in (item["case"], *item.get("like", ()))]
    assert sorted(named) == sorted(MESSAGES)


@pytest.mark.parametrize(
    ("annotation", "metadata", "text"),
    [
        (int, [], ""),
        (Annotated[int, Field(ge=1)], [], "at least 1"),
        (Annotated[int, Field(ge=1)] | None, [], "at least 1"),
        (Annotated[float, Field(gt=0, lt=1)], [], "above 0 to below 1"),
        (Annotated[float, Field(ge=0, le=1)] | Literal["auto"], [], "0 to 1"),
        (Annotated[float, Field(le=2.5)], [], "at most 2.5"),
        (
            Annotated[int, Field(ge=0)] | Annotated[float, Field(gt=0, lt=1)],
            [],
            "`int`: at least 0; `float`: above 0 to below 1",
        ),
        (tuple[Annotated[int, Field(gt=0)], ...], [], "each above 0"),
        (Annotated[tuple[int, ...], Field(min_length=1)], [], "at least 1 item"),
    ],
)
def test_range_of_a_type_in_words(annotation: Any, metadata: list[Any], text: str) -> None:
    assert describe_range(annotation, metadata) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (nd.AdamW(), "AdamW()"),
        (nd.AdamW(lr=0.01), "AdamW(lr=0.01)"),
        (("a", 1), '("a", 1)'),
        ((2,), "(2,)"),
        (None, "None"),
        (object(), "object()"),
    ],
)
def test_value_as_it_is_written_in_python(value: Any, text: str) -> None:
    assert show_value(value) == text


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("``TrainingConfig``", "[`TrainingConfig`](training.md#nd.TrainingConfig)"),
        ("``nd.Forecaster``", "[`nd.Forecaster`](forecasting.md#nd.Forecaster)"),
        ("``Forecaster.resume(run)``", "[`Forecaster.resume(run)`](forecasting.md#nd.Forecaster.resume)"),
        ("``task.refit``", "[`task.refit`](../settings.md#task.refit)"),
        ("'nd runs delete'", "[`nd runs delete`](../commands/runs.md#nd-runs-delete)"),
        ("``nd train run.toml``", "[`nd train run.toml`](../commands/train.md)"),
        ("see docs/guides/runs.md.", "see [Runs](../../guides/runs.md)."),
        ("``loss`` and ``Evaluation`` of two namespaces", "`loss` and `Evaluation` of two namespaces"),
        ("``TrainingConfigs`` < 3 * 2", r"`TrainingConfigs` &lt; 3 \* 2"),
    ],
)  # fmt: skip
def test_code_in_a_text_becomes_a_link_where_it_names_something(links: Links, text: str, markdown: str) -> None:
    assert Texts(links, "api/losses.md").line(text) == markdown


def test_docstring_is_read_with_all_of_its_sections() -> None:
    found = read_docstring(
        """Do it.

        More of it.

        Args:
            x: First
                and more.
            **others: The rest.

        Returns:
            Two things: a and b.

        Raises:
            ValueError: If not.

        Examples:
            Like this:

            >>> f(1)
            2
        """
    )
    assert (found.summary, found.body) == ("Do it.", "More of it.")
    assert found.arguments == {"x": "First\nand more.", "**others": "The rest."}
    assert found.returns == "Two things: a and b."
    assert found.raises == [("ValueError", "If not.")]
    assert found.examples == ["Like this:", ">>> f(1)\n2"]
