"""A state survives the disk exactly, and nothing else does."""

from __future__ import annotations

import json
import math
import tempfile
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file
from torch import nn

from neuro_divergent.core.errors import InputError, StorageError, UntrustedFileError
from neuro_divergent.training.checkpointing.checkpoint import (
    in_order,
    pack_state,
    read_checkpoint,
    step_name,
    unpack_state,
    write_checkpoint,
)

DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.uint8, torch.bool]


@st.composite
def tensors(draw: st.DrawFn) -> torch.Tensor:
    shape = draw(st.lists(st.integers(0, 3), max_size=3))
    numbers = torch.randn(shape, generator=torch.Generator().manual_seed(draw(st.integers(0, 99)))) * 50
    tensor = numbers.clamp(0, 255).to(draw(st.sampled_from(DTYPES)))
    return tensor.transpose(0, -1) if tensor.ndim and draw(st.booleans()) else tensor


words = st.text(max_size=4) | st.sampled_from(["$kind", "value", "a.b", "a", "b", "'", "0"])
scalars = st.none() | st.booleans() | st.integers() | st.floats() | words
keys = words | st.integers() | st.tuples(st.integers(), words)
trees = st.recursive(
    scalars | tensors(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(words, inner, max_size=3)
        | st.dictionaries(keys, inner, max_size=3)
    ),
    max_leaves=12,
)
states = st.dictionaries(st.from_regex("[a-z][a-z0-9_]{0,3}", fullmatch=True), trees, max_size=3)


def assert_same(left: Any, right: Any) -> None:
    """Compare with types: True is not 1, 1 is not 1.0, a tuple is not a list, and NaN is itself."""
    assert type(left) is type(right)
    if isinstance(left, torch.Tensor):
        assert (left.dtype, left.shape) == (right.dtype, right.shape)
        assert torch.equal(left, right)
    elif isinstance(left, (list, tuple)):
        assert len(left) == len(right)
        for one, other in zip(left, right, strict=True):
            assert_same(one, other)
    elif isinstance(left, dict):
        assert_same(list(left), list(right))
        for one, other in zip(left.values(), right.values(), strict=True):
            assert_same(one, other)
    elif isinstance(left, float):
        assert repr(left) == repr(right)  # tells -0.0 from 0.0, and knows NaN
    else:
        assert left == right


@settings(max_examples=80)
@given(states)
def test_every_tree_comes_back_as_it_was(state: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as place:
        write_checkpoint(Path(place) / "made", state)
        assert_same(read_checkpoint(Path(place) / "made"), state)


def test_optimizers_and_generators_go_on_as_if_nothing_had_happened(tmp_path: Path) -> None:
    """Ten steps with dropout, with and without a trip over the disk in the middle, give the same bits."""

    def make() -> tuple[nn.Module, torch.optim.Optimizer]:
        torch.manual_seed(0)
        module = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 1))
        return module, torch.optim.AdamW(module.parameters(), lr=0.1, amsgrad=True)

    def steps(module: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        for _ in range(5):
            optimizer.zero_grad()
            module(torch.randn(16, 3)).square().mean().backward()
            optimizer.step()

    module, optimizer = make()
    steps(module, optimizer)
    state = {"module": module.state_dict(), "optimizer": optimizer.state_dict(), "random": torch.get_rng_state()}
    write_checkpoint(tmp_path / "made", state)
    steps(module, optimizer)

    again, other = make()
    loaded = read_checkpoint(tmp_path / "made")
    again.load_state_dict(loaded["module"])
    other.load_state_dict(loaded["optimizer"])
    torch.set_rng_state(loaded["random"])
    steps(again, other)
    for one, two in zip(module.state_dict().values(), again.state_dict().values(), strict=True):
        assert torch.equal(one, two)


def test_weights_have_their_own_names_in_a_file_of_their_own(tmp_path: Path) -> None:
    module = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    module[1].weight = module[0].weight  # tied weights share memory, which a file does not
    write_checkpoint(tmp_path / "made", {"module": module.state_dict(), "state": {"step": 3}})
    assert sorted(path.name for path in (tmp_path / "made").iterdir()) == [
        "manifest.json",
        "module.safetensors",
        "state.json",
    ]
    weights = load_file(tmp_path / "made" / "module.safetensors")
    nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2)).load_state_dict(weights)
    assert torch.equal(weights["1.weight"], module[0].weight)


def test_what_is_read_does_not_share_memory(tmp_path: Path) -> None:
    shared = torch.zeros(3)
    write_checkpoint(tmp_path / "made", {"part": [shared, shared, shared[1:]]})
    one, two, three = read_checkpoint(tmp_path / "made")["part"]
    one += 1
    assert two.tolist() == [0, 0, 0]
    assert three.tolist() == [0, 0]


def test_json_is_strict(tmp_path: Path) -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    write_checkpoint(tmp_path / "made", {"part": {"best": math.inf, "worst": -math.inf, "none": math.nan}})
    json.loads((tmp_path / "made" / "state.json").read_text(), parse_constant=refuse)


@pytest.mark.parametrize("thing", [{1, 2}, b"x", object(), 1j, torch.float32, torch.zeros(2).to_sparse()])
def test_anything_else_is_refused_with_its_place(tmp_path: Path, thing: Any) -> None:
    with pytest.raises(InputError, match=r"checkpoint: callbacks\.0\.mine is a "):
        write_checkpoint(tmp_path / "made", {"callbacks": [{"mine": thing}]})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("part", ["../up", "", "A", "a.b", 3])
def test_parts_cannot_name_other_files(tmp_path: Path, part: Any) -> None:
    with pytest.raises(InputError, match="lower-case names"):
        write_checkpoint(tmp_path / "made", {part: 1})


def test_damage_is_noticed(tmp_path: Path) -> None:
    made = tmp_path / "made"
    write_checkpoint(made, {"module": {"weight": torch.ones(3)}})
    content = bytearray((made / "module.safetensors").read_bytes())
    content[-1] ^= 1
    (made / "module.safetensors").write_bytes(content)
    with pytest.raises(UntrustedFileError, match="SHA-256 differs"):
        read_checkpoint(made)
    (made / "module.safetensors").unlink()
    with pytest.raises(UntrustedFileError, match="manifest lists"):
        read_checkpoint(made)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ([], "does not describe a checkpoint"),
        ({"format": 99, "state": {}}, "format 99, this version reads up to 3"),
        ({"format": 1}, "does not describe a checkpoint"),
        ({"format": 1, "state": {"a": {"$kind": "tensor", "value": "missing"}}}, "does not describe a checkpoint"),
        ({"format": 1, "state": {"a": {"$kind": "code", "value": "1"}}}, "unknown kind 'code'"),
    ],
)
def test_other_descriptions_are_refused(tmp_path: Path, content: Any, reason: str) -> None:
    from neuro_divergent.core.storage.atomic import new_directory

    with new_directory(tmp_path / "made") as work:
        (work / "state.json").write_text(json.dumps(content))
    with pytest.raises(UntrustedFileError, match=reason):
        read_checkpoint(tmp_path / "made")


def test_what_is_not_a_checkpoint_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UntrustedFileError, match="is not a checkpoint"):
        read_checkpoint(tmp_path)


def test_a_place_that_cannot_be_written_to_is_an_error_of_storage(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError):
        write_checkpoint(tmp_path / "file" / "made", {"a": 1})


def test_checkpoints_are_listed_by_step(tmp_path: Path) -> None:
    steps = [1_500_000_000, 3, 20]
    for step in steps:
        write_checkpoint(tmp_path / step_name(step), {"state": {"step": step}})
    (tmp_path / "step-latest").mkdir()
    (tmp_path / ".step-000000004-removed").mkdir()
    names = in_order(path.name for path in tmp_path.iterdir())
    assert names == ["step-000000003", "step-000000020", "step-1500000000"]


@settings(max_examples=60)
@given(states, st.booleans())
def test_every_tree_survives_in_memory(state: dict[str, Any], compress: bool) -> None:
    files = dict(pack_state(state, compress=compress))
    assert list(files)[-1] == "state.json"
    assert_same(unpack_state(files, "x"), state)


def test_compressed_checkpoints_are_smaller_and_the_same(tmp_path: Path) -> None:
    state = {"module": {"weight": torch.zeros(10_000), "bias": torch.arange(5.0)}, "state": {"step": 3}}
    write_checkpoint(tmp_path / "made", state, compress=True)
    names = sorted(path.name for path in (tmp_path / "made").iterdir())
    assert names == ["manifest.json", "module.safetensors.zst", "state.json"]
    assert (tmp_path / "made" / "module.safetensors.zst").stat().st_size < 1000
    assert_same(read_checkpoint(tmp_path / "made"), state)


def test_checkpoints_at_a_url(tmp_path: Path) -> None:
    state = {"module": {"weight": torch.ones(3)}, "state": {"step": 3}}
    for place in ("memory://checkpoints/step-000000003", f"local://{tmp_path}/run/step-000000003"):
        write_checkpoint(place, state)
        assert_same(read_checkpoint(place), state)
        with pytest.raises(UntrustedFileError, match="not found"):
            read_checkpoint(f"{place}4")
    assert_same(read_checkpoint(tmp_path / "run" / "step-000000003"), state)  # the same files as on a disk
    with pytest.raises(InputError, match="is a whole store"):
        write_checkpoint("memory://bucket", state)


def test_a_malformed_state_is_refused_before_memory_is_allocated() -> None:
    with pytest.raises(InputError, match=r"callbacks\.0 is a object"):
        pack_state({"callbacks": [object()]})


def change_json(files: dict[str, bytes], change: Any) -> dict[str, bytes]:
    description = json.loads(files["state.json"])
    change(description)
    return {**files, "state.json": json.dumps(description).encode()}


TENSOR = {"$kind": "tensor", "value": "weight", "dtype": "F32", "shape": [3]}


@pytest.mark.parametrize(
    "change",
    [
        lambda made: made["state"]["module"]["weight"].update(dtype="F64"),
        lambda made: made["state"]["module"]["weight"].update(shape=[3, 1]),
        lambda made: made["state"]["module"]["weight"].update(shape=None),
        lambda made: made["state"]["module"]["weight"].update(value="other"),
        lambda made: made["state"]["module"]["weight"].update(value=["weight"]),
        lambda made: made["state"]["module"]["weight"].update(more=1),
        lambda made: made["state"]["module"].update(again=TENSOR),
        lambda made: made["state"]["module"].clear(),
        lambda made: made["state"].pop("module"),
        lambda made: made["state"].update({"../up": 1}),
        lambda made: made["files"].clear(),
        lambda made: made["files"].update({"module.safetensors": 1}),
        lambda made: made["files"].update({"module.safetensors": True}),
        lambda made: made["files"].update({"other.safetensors": 10}),
        lambda made: made.pop("files"),
        lambda made: made.update(files=["module.safetensors"]),
        lambda made: made.update(format=True),
        lambda made: made.update(format=0),
        lambda made: made.update(format=1),
        lambda made: made.update(state=[]),
        lambda made: made["state"].update(a={"$kind": "float", "value": "1.5"}),
        lambda made: made["state"].update(a={"$kind": "float", "value": []}),
        lambda made: made["state"].update(a={"$kind": "tuple", "value": "abc"}),
        lambda made: made["state"].update(a={"$kind": "tuple", "value": [], "more": 1}),
        lambda made: made["state"].update(a={"$kind": "dict", "value": [[1, 2], [1, 3]]}),
        lambda made: made["state"].update(a={"$kind": "dict", "value": [[[], 2]]}),
        lambda made: made["state"].update(a={"$kind": "dict", "value": [1]}),
        lambda made: made["state"].update(a={"$kind": []}),
    ],
)
def test_descriptions_that_do_not_fit_are_refused(change: Any) -> None:
    files = dict(pack_state({"module": {"weight": torch.ones(3)}}))
    assert_same(unpack_state(files, "x"), {"module": {"weight": torch.ones(3)}})
    with pytest.raises(UntrustedFileError, match=r"^x.*does not describe a checkpoint"):
        unpack_state(change_json(files, change), "x")


def test_files_that_the_description_does_not_name_are_refused() -> None:
    files = dict(pack_state({"module": {"weight": torch.ones(3)}}))
    for name in ("extra.safetensors", "module.safetensors.zst", "extra.txt"):
        with pytest.raises(UntrustedFileError, match="does not describe a checkpoint"):
            unpack_state({**files, name: files["module.safetensors"]}, "x")


def test_no_more_is_decompressed_than_the_description_says() -> None:
    files = dict(pack_state({"module": {"weight": torch.zeros(1_000_000)}}, compress=True))
    small = change_json(files, lambda made: made["files"].update({"module.safetensors.zst": 1000}))
    with pytest.raises(UntrustedFileError, match="does not hold 1,000 bytes"):
        unpack_state(small, "x")


def test_types_that_are_not_read_are_not_written() -> None:
    with pytest.raises(InputError, match="complex128"):
        pack_state({"module": torch.zeros(1, dtype=torch.complex128)})


def test_something_else_is_not_replaced_by_a_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    with pytest.raises(InputError, match="holds something else"):
        write_checkpoint(tmp_path, {"a": 1})
