"""The page of all settings of a run, section by section as in its TOML document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

from neuro_divergent.core.config import Component, Config
from neuro_divergent.forecasting.run_config import DataConfig, RunConfig
from neuro_divergent.forecasting.task import Task
from neuro_divergent.training.callbacks.checkpointing import Checkpointing
from neuro_divergent.training.config import TrainingConfig
from tools.site.reference.annotations import show_value
from tools.site.reference.calls import show_call
from tools.site.reference.docstring import docstring_of, read_docstring
from tools.site.reference.fields import COLUMNS, families_of, settings_of, settings_table
from tools.site.reference.markdown import code, code_block, heading, table
from tools.site.reference.names import Links
from tools.site.reference.texts import Texts

PAGE = "settings.md"
SECTIONS: dict[str, type[Config]] = {
    "data": DataConfig,
    "task": Task,
    "training": TrainingConfig,
    "checkpoints": Checkpointing,
}
_INTRODUCTION = """\
# Settings

Everything that a run can be told, with type, default, the values that are valid, what a search tries and what it means.
The reasons for the defaults are in {decision}.

A setting has the same name everywhere:

```python
nd.Forecaster("nhits", horizon=24, training=nd.TrainingConfig(max_steps=500, optimizer=nd.AdamW(lr=3e-4)))
```

```toml
[training]
max_steps = 500
optimizer = {{ name = "adamw", lr = 3e-4 }}
```

```sh
nd train sales.csv --horizon 24 --max-steps 500 --set training.optimizer.lr=3e-4
```

`nd init` writes a TOML document with all of them, commented. `None` is `"none"` in TOML and on the command line. An
unknown name is refused with the closest known one.

The settings of the architectures, the section `model`, are on {architectures}.
"""


def write_page(links: Links) -> str:
    """Return the page."""
    texts = Texts(links, PAGE)
    decision = texts.guide("decisions/0004-defaults.md")
    parts = [_INTRODUCTION.format(decision=decision, architectures=texts.to("architectures.md", "a page of their own"))]
    for section, cls in SECTIONS.items():
        parts += _section(section, cls, texts)
    parts += _run(texts)
    for cls in sorted(inner_configs(), key=lambda cls: cls.__name__):
        if links.name_of(cls) is None:
            parts += _inner(cls, texts)
    for family, paths in all_families().items():
        parts += _family(paths, family, texts)
    parts += _every_class(texts)
    return "\n".join(part for part in parts if part)


def _section(section: str, cls: type[Config], texts: Texts) -> Iterator[str]:
    yield heading(2, code(section), section, section)
    text = read_docstring(cls.__doc__)
    public = next((base for base in cls.__mro__ if texts.links.name_of(base)), None)
    shown = "" if public is None else f" In Python: {texts.code(public.__name__)}."
    yield f"{texts.line(text.summary)}{shown}\n"
    yield texts.paragraphs(text.body)
    yield settings_table(cls, texts, section)


def _run(texts: Texts) -> Iterator[str]:
    """Describe the settings of a run that are in no section."""
    yield heading(2, "The run itself", "run")
    yield "Settings beside the sections, at the top of a TOML document.\n"
    rows = [row for row in settings_of(RunConfig, texts) if row.name not in (*SECTIONS, "model")]
    yield table(COLUMNS, [row.row(f"run.{row.name}") for row in rows])


def _inner(cls: type[Config], texts: Texts) -> Iterator[str]:
    yield heading(2, code(cls.__name__), cls.__name__, cls.__name__)
    text = read_docstring(cls.__doc__)
    yield f"{texts.line(text.summary)}\n"
    yield texts.paragraphs(text.body)
    yield settings_table(cls, texts, cls.__name__)


def _family(paths: list[str], family: type[Component], texts: Texts) -> Iterator[str]:
    """List the components that a setting accepts by name."""
    yield heading(2, f"Names for {' and '.join(map(code, paths))}", anchor_of_names(paths), f"Names for {paths[0]}")
    yield f"{texts.line(read_docstring(family.__doc__).summary)}\n"
    rows = []
    for registered in family.registry.names():
        member = family.registry.get(registered)
        public = texts.links.name_of(member)
        shown = f"`{member.__name__}`" if public is None else texts.code(public.path)
        rows.append(
            (code(f'"{registered}"'), shown, texts.line(read_docstring(member.__doc__).summary), _given(member))
        )
    yield table(("name", "class", "what it is", "settings and defaults"), rows)


def _given(member: type[Component]) -> str:
    fields = member.model_fields.items()
    shown = (name if field.is_required() else f"{name}={_short(field)}" for name, field in fields)
    return ", ".join(map(code, shown))


def _short(field: Any) -> str:
    return show_value(field.get_default(call_default_factory=True, validated_data={}))


def _every_class(texts: Texts) -> Iterator[str]:
    yield heading(2, "Every class of settings", "every-class-of-settings")
    yield (
        "All classes above, optimizers, losses, architectures and the like included, are frozen: a changed copy takes "
        "the place of a changed object. They have these methods.\n"
    )
    for name in ("replace", "to_dict", "from_dict", "to_toml", "from_toml"):
        method = vars(Config)[name]
        function = getattr(method, "__func__", method)
        text = docstring_of(function)
        called = f"nd.TrainingConfig.{name}" if isinstance(method, classmethod) else f"config.{name}"
        yield heading(3, code(name), f"every-class-of-settings.{name}", name)
        yield f"{texts.line(text.summary)}\n"
        yield code_block(show_call(called, function, bound=True), "python")
        yield texts.paragraphs(text.body)


def anchor_of_names(paths: list[str]) -> str:
    """Return the anchor of the list of names that some settings accept."""
    return f"names-{paths[0]}"


def inner_configs() -> list[type[Config]]:
    """Return the classes of settings that are fields of other settings of a run, except members of families."""
    found: list[type[Config]] = []
    owners: list[type[Config]] = [*SECTIONS.values(), RunConfig]
    waiting: list[Any] = [field.annotation for cls in owners for field in cls.model_fields.values()]
    while waiting:
        item = waiting.pop()
        if isinstance(item, type) and issubclass(item, Config):
            plain = not issubclass(item, Component)
            if plain and item not in found and item not in SECTIONS.values():
                found.append(item)
                waiting += [field.annotation for field in item.model_fields.values()]
        else:
            waiting += get_args(item)
    return found


def all_families() -> dict[type[Component], list[str]]:
    """Return the families of components that are settings of a run, each with the settings."""
    found: dict[type[Component], list[str]] = {}
    owners: dict[str, type[Config]] = {**SECTIONS, **{cls.__name__: cls for cls in inner_configs()}}
    for section, cls in owners.items():
        for name, field in cls.model_fields.items():
            for family in families_of(field.annotation):
                found.setdefault(family, []).append(f"{section}.{name}")
    return found


def add_places(links: Links) -> None:
    """Make the sections of this page known."""
    for cls in inner_configs():
        if links.name_of(cls) is None:
            links.add_object(cls, PAGE, cls.__name__)
    for family, paths in all_families().items():
        links.add_object(family.registry, PAGE, anchor_of_names(paths))
    for section, cls in SECTIONS.items():
        for field in cls.model_fields:
            links.add(f"nd.{section}.{field}", PAGE, f"{section}.{field}")  # as in ``task.refit``
