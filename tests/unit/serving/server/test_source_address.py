"""Models are named on a command line by file, directory, registry address and name."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuro_divergent.core.errors import ConfigError, InputError, UntrustedFileError
from neuro_divergent.lifecycle.registry.registry import Registry
from neuro_divergent.serving.server.settings import Limits
from neuro_divergent.serving.server.source_address import SourceReader, read_limits
from tests.integration.serving.small_graph import digest_of, write_graph


def test_files_are_named_after_themselves_or_as_given(tmp_path: Path) -> None:
    plain = write_graph(tmp_path / "sales.int8.onnx")
    one, other = SourceReader(tmp_path / "cache").read([str(plain), f"b={plain}"])
    assert (one.name, other.name) == ("sales", "b")
    model = other.load()
    assert (model.name, model.version) == ("b", digest_of(0))


def test_state_of_a_file_changes_when_it_is_replaced(tmp_path: Path) -> None:
    path = write_graph(tmp_path / "m.onnx")
    (source,) = SourceReader(tmp_path / "cache").read([str(path)])
    before = source.state()
    assert source.state() == before
    write_graph(path, version=1)
    assert source.state() != before
    assert source.load().version == digest_of(1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nothing.onnx", "not found; export a model"),
        (".", "holds no model"),
        ("sales@champion", "of the registry that --registry names"),
        ("no/where", "not found; give an .onnx file"),
        ("sales==v3", "of the registry that --registry names"),
    ],
)
def test_what_is_no_model_is_refused_with_what_is_accepted(
    text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=message):
        SourceReader(tmp_path / "cache").read([text])


def test_name_that_cannot_be_part_of_an_address_is_refused(tmp_path: Path) -> None:
    path = write_graph(tmp_path / "strange name.onnx")
    with pytest.raises(InputError, match="Give another as name=path"):
        SourceReader(tmp_path / "cache").read([str(path)])


def test_file_that_is_no_graph_is_refused_when_it_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "bad.onnx").write_bytes(b"rubbish")
    (source,) = SourceReader(tmp_path / "cache").read([str(tmp_path / "bad.onnx")])
    with pytest.raises(UntrustedFileError, match="cannot be read as an ONNX file"):
        source.load()


def test_limits_are_read_by_name() -> None:
    assert read_limits(["body=1000", "request_seconds=0.5"]) == Limits(body=1000, request_seconds=0.5)
    with pytest.raises(ConfigError, match="Did you mean 'series'"):
        read_limits(["serie=3"])
    with pytest.raises(ConfigError, match="not a number"):
        read_limits(["body=many"])
    with pytest.raises(ConfigError, match="must be above 0"):
        read_limits(["queue=0"])


def test_versions_are_looked_up_in_the_usual_registry_if_none_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Registry("models").close()
    (source,) = SourceReader(tmp_path / "cache").read(["sales@champion"])
    assert source.name == "sales"
    with pytest.raises(InputError, match="sales"):
        source.load()
    with pytest.raises(InputError, match="not found"):
        SourceReader(tmp_path / "cache").read(["sales"])
