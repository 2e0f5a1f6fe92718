"""Settings: checked when made, exact through dict and TOML, clear when wrong."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import neuro_divergent as nd
from neuro_divergent.core.config import Config, knob, read_toml


class Inner(Config):
    size: int = knob(3, low=1, high=9, ge=1)


class Outer(Config):
    inner: Inner = Inner()
    rate: float | None = 0.5
    label: str | None = None
    sizes: tuple[int, ...] = (1, 2)


@given(
    st.builds(
        lambda size, rate, label, sizes: Outer(inner=Inner(size=size), rate=rate, label=label, sizes=tuple(sizes)),
        st.integers(1, 100),
        st.none() | st.floats(allow_nan=False, allow_infinity=False),
        st.none() | st.text(st.characters(exclude_categories=["Cs"])).filter(lambda text: text != "none"),
        st.lists(st.integers(-5, 5)),
    )
)
def test_round_trips_exactly(made: Outer) -> None:
    assert Outer.from_dict(made.to_dict()) == made
    assert Outer.from_toml(made.to_toml()) == made


def test_training_config_round_trips_with_every_part_changed() -> None:
    made = nd.TrainingConfig(
        max_steps=None,
        max_epochs=3,
        batch_size=7,
        optimizer=nd.optimizers.SGD(lr=0.3, nesterov=True),
        schedule=nd.schedules.Plateau(patience=2),
        clip=None,
        early_stopping=nd.EarlyStopping(patience=3, mode="max"),
        threads=2,
    )
    assert nd.TrainingConfig.from_toml(made.to_toml()) == made


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: nd.TrainingConfig(max_step=3), "unknown setting 'max_step'. Did you mean 'max_steps'?"),
        (lambda: nd.TrainingConfig(batch_size=0), "batch_size: 0 must be greater than or equal to 1 or 'auto'"),
        (lambda: nd.TrainingConfig(optimizer="adamm"), "Did you mean 'adam'"),
        (lambda: nd.TrainingConfig(optimizer={"name": "sgd", "momentun": 1}), "Did you mean 'momentum'"),
        (lambda: nd.TrainingConfig(max_steps=None, max_epochs=None), "training would never end"),
        (lambda: nd.Task(horizon=-3), "horizon: -3 must be greater than or equal to 1"),
        (lambda: nd.Task(horizon="x"), "horizon: 'x' must be an integer"),
        (lambda: nd.Task(), "horizon: field required"),
        (lambda: nd.Schema(past=["a"], future=["a"]), "column 'a' has more than one role"),
    ],
)
def test_a_wrong_setting_is_named(make: object, message: str) -> None:
    with pytest.raises(nd.errors.ConfigError) as caught:
        make()  # type: ignore[operator]
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_knob_stores_the_search_range_with_the_field() -> None:
    extra = Inner.model_fields["size"].json_schema_extra
    assert extra == {"search": {"low": 1, "high": 9, "log": False}}


def test_replace_checks_again() -> None:
    assert Inner().replace(size=5).size == 5
    with pytest.raises(nd.errors.ConfigError):
        Inner().replace(size=0)


def test_toml_errors_name_the_file_and_the_place(tmp_path: Path) -> None:
    broken = tmp_path / "run.toml"
    broken.write_text("[training\nmax_steps = 3\n")
    with pytest.raises(nd.errors.ConfigError, match=r"run\.toml: .*line 1"):
        read_toml(broken)
    with pytest.raises(nd.errors.ConfigError, match="not found"):
        read_toml(tmp_path / "absent.toml")
    with pytest.raises(nd.errors.ConfigError, match="is a directory"):
        read_toml(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a." * 100_000 + "b = 1", "nested too deeply"),
        ("a = " + "[" * 100_000, "nested too deeply"),
        ('"a b".' * 10_000 + "c = 1", "nested too deeply"),
        ("a = " + "1" * 10_000, "Exceeds the limit"),
        ("[task\n", "Expected ']' at the end of a table declaration"),
    ],
    ids=["long key", "deep list", "quoted key", "long number", "open table"],
)
def test_toml_that_would_take_forever_is_refused_at_once(text: str, message: str) -> None:
    begin = time.process_time()
    with pytest.raises(nd.errors.ConfigError, match=f"TOML: .*{re.escape(message)}"):
        read_toml(text)
    assert time.process_time() - begin < 2


def test_invalid_toml_is_refused(tmp_path: Path) -> None:
    large, pipe = tmp_path / "large.toml", tmp_path / "pipe.toml"
    large.write_bytes(b"#" * (1 << 20) + b"\n")
    os.mkfifo(pipe)
    with pytest.raises(nd.errors.ConfigError, match=r"large\.toml: 1,048,577 bytes, settings have 1,048,576 at most"):
        read_toml(large)
    with pytest.raises(nd.errors.ConfigError, match=r"pipe\.toml: is not a regular file"):
        read_toml(pipe)
    with pytest.raises(nd.errors.ConfigError, match="cannot be read: File name too long"):
        read_toml(tmp_path / ("x" * 300))
    assert read_toml("sentence = 'a.b.c. d.e'\nnumbers = [" + "0.5, " * 100 + "]")["numbers"] == [0.5] * 100
