"""Ways to alter files: blindly, knowing JSON, and knowing safetensors."""

from __future__ import annotations

import copy
import hashlib
import json
import struct
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from neuro_divergent.core.storage.manifest import MANIFEST, entry_of, write_manifest

Files = dict[str, bytes]

_VALUES: list[Any] = [
    None, True, False, 0, 1, -1, 2, 3, 7, 255, 10**6, 10**9, 2**31, 2**63, 2**64, -(2**63), 10**400,
    0.0, 0.5, -1.5, 1e-300, 1e300, float("nan"), float("inf"),
    "", "x", "none", "nan", "inf", "../../etc/passwd", "os:system", "$kind", "\0", "\ud800",
    "ä" * 50, [], {}, [[]], [None], {"name": "x"}, {"name": "mae"}, {"$kind": "tensor", "value": "x"},
    {"$kind": "dict", "value": [[[], 1]]}, {"$kind": "float", "value": "1"}, {"$float": "nan"}, "cuda:99", "2262-04-12",
]  # fmt: skip


def seal(files: Mapping[str, bytes]) -> Files:
    """Return files with a manifest that fits them."""
    content = {name: item for name, item in files.items() if name != MANIFEST}
    return {**content, MANIFEST: write_manifest({name: entry_of(item) for name, item in content.items()})}


def alter(random: Random, files: Files, others: Files) -> Files:
    """Change something, and leave the manifest behind."""
    return random.choice(_ALTERATIONS)(random, dict(files), others)


def forge(random: Random, files: Files, description: str) -> Files:
    """Change what a description or a tensor file says, and seal it again."""
    made = dict(files)
    tensors = sorted(name for name in made if name.endswith(".safetensors"))
    if random.random() < 0.6 or not tensors:
        made[description] = mutate_json(random, made[description])
    else:
        name = random.choice(tensors)
        change = random.choice([mutate_header, mutate_header, mutate_numbers, mutate_bytes])
        made[name] = change(random, made[name])
    return seal(made)


def mutate_bytes(random: Random, content: bytes) -> bytes:
    """Flip, set, cut, add, remove, double or zero some bytes."""
    place = random.randrange(len(content)) if content else 0
    size = random.choice([1, 1, 1, 2, 8, 64])
    kind = random.randrange(8)
    if kind == 0 and content:
        return content[:place] + bytes([content[place] ^ (1 << random.randrange(8))]) + content[place + 1 :]
    if kind == 1:
        return content[:place] + random.randbytes(size) + content[place + size :]
    if kind == 2:
        return content[:place]
    if kind == 3:
        return content + random.randbytes(size)
    if kind == 4:
        return content[:place] + random.randbytes(size) + content[place:]
    if kind == 5:
        return content[:place] + content[place + size :]
    if kind == 6:
        return content[: place + size] + content[place:]
    return content[:place] + bytes(min(size, len(content) - place)) + content[place + size :]


def mutate_json(random: Random, content: bytes) -> bytes:
    """Change a document that stays JSON, mostly."""
    if random.random() < 0.1:
        return _mutate_text(random, content)
    tree = json.loads(content)
    try:
        for _ in range(random.choice([1, 1, 1, 2, 5])):
            tree = _mutate_tree(random, tree)
        return json.dumps(tree, indent=random.choice([None, 1])).encode("utf-8")
    except RecursionError:  # branches copied into branches: deeper than Python itself can write
        return b"[" * 100_000 + content


def mutate_header(random: Random, content: bytes) -> bytes:
    """Change the header of a safetensors file."""
    size = int.from_bytes(content[:8], "little")
    header = mutate_json(random, content[8 : 8 + size])
    return struct.pack("<Q", len(header)) + header + content[8 + size :]


def mutate_numbers(random: Random, content: bytes) -> bytes:
    """Put numbers that are not finite, huge or negative into the data of a safetensors file."""
    size = 8 + int.from_bytes(content[:8], "little")
    if len(content) - size < 4:
        return content
    place = size + 4 * random.randrange((len(content) - size) // 4)
    number = random.choice([float("nan"), float("inf"), -float("inf"), 3e38, -1.0, 0.0, 1e-40])
    return content[:place] + struct.pack("<f", number) + content[place + 4 :]


def _mutate_tree(random: Random, tree: Any) -> Any:
    """Change a random place of a tree, in place where possible."""
    places = list(_places(tree))
    if not places:
        return random.choice(_VALUES)
    parent, key = random.choice(places)
    kind = random.randrange(8)
    if kind <= 2:
        parent[key] = copy.deepcopy(random.choice(_VALUES))
    elif kind == 3:
        del parent[key]
    elif kind == 4:
        value = parent[key]
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        parent[key] = random.choice([value + 1, value - 1, value * 2, -value]) if is_number else [value]
    elif kind == 5:
        other, name = random.choice(places)
        try:
            parent[key] = copy.deepcopy(other[name])
        except (KeyError, IndexError):
            parent[key] = None
    elif kind == 6 and isinstance(parent, dict):
        parent[random.choice([key + "_", "format", "name", "unknown", "__metadata__"])] = parent.pop(key)
    elif isinstance(parent, list):
        parent.insert(random.randrange(len(parent) + 1), copy.deepcopy(parent[key]))
    else:
        deep: Any = parent[key]
        for _ in range(random.choice([1, 5, 60])):
            deep = [deep]
        parent[key] = deep
    return tree


def _places(tree: Any) -> Any:
    stack = [tree]
    while stack:
        item = stack.pop()
        keys = list(item) if isinstance(item, dict) else range(len(item)) if isinstance(item, list) else ()
        for key in keys:
            yield item, key
            stack.append(item[key])


def _mutate_text(random: Random, content: bytes) -> bytes:
    """Change the spelling: a key twice, white space, constants, brackets."""
    kind = random.randrange(6)
    if kind == 0:
        return content.replace(b"{", b'{"format": 1, ', 1)
    if kind == 1:
        place = random.randrange(len(content))
        return content[:place] + random.choice([b" ", b"\n", b"\t"]) + content[place:]
    if kind == 2:
        return content.replace(random.choice([b"0", b"1", b"null"]), random.choice([b"NaN", b"1e999", b"9" * 5000]), 1)
    if kind == 3:
        return b"[" * random.choice([10, 1000, 100_000]) + content
    if kind == 4:
        return content + b" " + content
    return mutate_bytes(random, content)


def _one_file(random: Random, files: Files, _others: Files) -> Files:
    name = random.choice(sorted(files))
    files[name] = mutate_bytes(random, files[name])
    return files


def _description(random: Random, files: Files, _others: Files) -> Files:
    name = random.choice(sorted(name for name in files if name.endswith(".json")))
    files[name] = mutate_json(random, files[name])
    return files


def _remove(random: Random, files: Files, _others: Files) -> Files:
    del files[random.choice(sorted(files))]
    return files


def _rename(random: Random, files: Files, _others: Files) -> Files:
    name = random.choice(sorted(files))
    files[random.choice([f"{name}.bak", "extra.safetensors", "x", name.upper()])] = files.pop(name)
    return files


def _double(random: Random, files: Files, _others: Files) -> Files:
    name = random.choice(sorted(files))
    files[f"copy-{name}"] = files[name]
    return files


def _swap(random: Random, files: Files, _others: Files) -> Files:
    one, other = random.sample(sorted(files), 2)
    files[one], files[other] = files[other], files[one]
    return files


def _splice(random: Random, files: Files, others: Files) -> Files:
    name, other = random.choice(sorted(files)), random.choice(sorted(others))
    if random.random() < 0.5:
        files[name] = others[other]
    else:
        place = random.randrange(len(files[name]) + 1)
        files[name] = files[name][:place] + others[other][place:]
    return files


def _wrong_digest(random: Random, files: Files, _others: Files) -> Files:
    """Let the manifest list another hash or size for one file."""
    name = random.choice(sorted(set(files) - {MANIFEST}))
    digest = hashlib.sha256(files[name]).hexdigest().encode()
    changed = random.choice([digest.upper(), digest[::-1], digest[:-1], hashlib.sha256(digest).hexdigest().encode()])
    files[MANIFEST] = files[MANIFEST].replace(digest, changed)
    return files


_ALTERATIONS: list[Callable[[Random, Files, Files], Files]] = [
    *[_one_file] * 6, _description, _remove, _rename, _double, _swap, _splice, _wrong_digest,
]  # fmt: skip
