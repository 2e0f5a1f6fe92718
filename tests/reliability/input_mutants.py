"""Damaged inputs by number, and a process that reads them: ``python -m tests.reliability.input_mutants 0 1000 PLACE``.

Each input is made from its number alone, so that one that does harm can be made again. The process writes a line per
input, before it (the number) and after it (what happened), so that nothing is lost if an input ends the process.
"""

from __future__ import annotations

import gzip
import io
import re
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from random import Random

import numpy as np
import polars as pl

from neuro_divergent.core.config import read_toml
from neuro_divergent.core.errors import DataWarning, NeuroDivergentError
from neuro_divergent.data.future import read_future
from neuro_divergent.data.lengths import check_lengths
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.data.schema import Schema
from neuro_divergent.interfaces.cli.session import check

SLOW = 2.0  # seconds of the processor that reading one input may take
POLICIES = ("error", "interpolate", "forward", "zero", "mask")
TOKENS = [
    b"", b",", b"\n", b"\r\n", b'"', b'""', b"\0", b"\xff", b"\xe9", b"\xef\xbb\xbf", b"NaN", b"nan", b"inf", b"-inf",
    b"1e400", b"1e39", b"-0", b"9" * 400, b"n/a", b"null", b"True", b"2024-02-30", b"9999-12-31", b"0001-01-01",
    b"2024-01-01T00:00Z", b"2024-01-01 00:00:00.5", b"03/04/21", b"20240101", b"A", b"unique_id", b"ds", b"y", b";",
    b"\t", b"'", b"=", b"[", b"]", b"{", b"}", b"[[", b"none", b"-1", b"1.5", b"horizon", b"training", b"# ", b"'''",
    b'"""', b"\\u0000", b"\\", b"1979-05-27T07:32:00", b"0x", b"_", b".", b"a.b.c", b"\x80\x04", b"PAR1", b"\x7f" * 4,
]  # fmt: skip

RUN = b"""
teacher = "none"
[data]
path = "sales.csv"
target = "y"
past = ["x"]
calendar = ["hour", "day_of_week"]
frequency = "1h"
missing = "interpolate"
[model]
name = "nhits"
hidden_size = 64
[task]
horizon = 24
input_size = 96
validation = 0.2
loss = { name = "quantile", quantiles = [0.1, 0.5, 0.9] }
scaler = "standard"
[training]
max_steps = 500
batch_size = 32
preset = "quick"
clip = { name = "norm", limit = 1.0 }
[training.optimizer]
name = "adamw"
lr = 1e-3
[training.schedule]
name = "cosine"
"""


@cache
def table() -> pl.DataFrame:
    random = np.random.default_rng(0)
    rows = 120
    return pl.DataFrame(
        {
            "unique_id": ["A"] * rows + ["B"] * rows,
            "ds": [datetime(2024, 1, 1) + timedelta(hours=n) for n in range(rows)] * 2,
            "y": random.standard_normal(2 * rows).round(4),
            "x": pl.Series(random.integers(0, 9, 2 * rows)).set(pl.Series(random.random(2 * rows) < 0.05), None),
            "c": random.choice(["p", "qq", "rrr"], 2 * rows),
        }
    )


@cache
def bases(kind: str) -> list[bytes]:
    """Good inputs of a kind, as they are written by the programs that people use."""
    if kind == "toml":
        return [RUN]
    text = table().write_csv().encode()
    if kind == "csv":
        return [text, text.replace(b"\n", b"\r\n"), table().write_csv(quote_style="always").encode()]
    if kind == "csv.gz":
        return [gzip.compress(text, mtime=0)]
    import pyarrow.parquet

    found = []
    for compression in ("zstd", "snappy", "gzip", "uncompressed"):
        buffer = io.BytesIO()
        table().write_parquet(buffer, compression=compression, row_group_size=100)
        found.append(buffer.getvalue())
    for version in ("1.0", "2.0"):
        buffer = io.BytesIO()
        pyarrow.parquet.write_table(table().to_arrow(), buffer, data_page_version=version, compression="NONE")
        found.append(buffer.getvalue())
    return found


@cache
def delicate() -> bytes:
    """A Parquet file whose texts are stored by differences."""
    import pyarrow.parquet

    buffer = io.BytesIO()
    encodings = {"unique_id": "DELTA_BYTE_ARRAY", "c": "DELTA_LENGTH_BYTE_ARRAY", "ds": "DELTA_BINARY_PACKED"}
    pyarrow.parquet.write_table(table().to_arrow(), buffer, use_dictionary=False, column_encoding=encodings)
    return buffer.getvalue()


def kind_of(number: int) -> str:
    return ("csv", "parquet", "toml", "csv", "parquet", "toml", "parquet", "csv.gz")[number % 8]


def mutant(number: int) -> bytes:
    """Return damaged input number so and so: most are damaged a little, so that they get far, and some a lot."""
    random, kind = Random(number), kind_of(number)
    if kind == "csv.gz" and random.random() < 0.7:
        text = bytearray(random.choice(bases("csv")))
        _replace_value(text, random)
        return gzip.compress(bytes(text), mtime=0)
    whole = bytearray(delicate() if kind == "parquet" and random.random() < 0.002 else random.choice(bases(kind)))
    if random.random() < 0.6:
        for _ in range(random.choice((1, 1, 2))):
            _flip(whole, random) if kind in ("parquet", "csv.gz") else _replace_value(whole, random)
        return bytes(whole)
    for _ in range(random.choice((1, 1, 2, 3, 8))):
        begin = random.randrange(len(whole) + 1)
        end = min(len(whole), begin + int(random.expovariate(1 / 8)) + 1)
        _mutate(whole, begin, end, random)
    return bytes(whole)


def _flip(whole: bytearray, random: Random) -> None:
    place = random.randrange(len(whole))
    if random.random() < 0.3:  # The end of a Parquet file says what is where.
        place = max(len(whole) - random.randrange(1, 900), 0)
    whole[place] = random.choice((random.randrange(256), whole[place] ^ 1 << random.randrange(8), 0, 255, 127))


def _replace_value(whole: bytearray, random: Random) -> None:
    """Put something else in the place of one field or value."""
    found = random.choice(list(re.finditer(rb"[^,=\n\[\]]+", whole)))
    texts = [match[0] for match in (found, random.choice(list(re.finditer(rb"[^,=\n]+", whole))))]
    odd = random.choice(TOKENS) if random.random() < 0.7 else texts[1]
    whole[found.start() : found.end()] = random.choice((odd, odd, texts[0] + odd, texts[0][:-1], texts[0] + b"0"))


def _mutate(whole: bytearray, begin: int, end: int, random: Random) -> None:
    choice = random.random()
    if choice < 0.35 and begin < len(whole):
        whole[begin] = random.choice((random.randrange(256), whole[begin] ^ 1 << random.randrange(8), 0, 255, 127))
    elif choice < 0.6:
        whole[begin:end] = random.choice(TOKENS)
    elif choice < 0.7:
        del whole[begin:end]
    elif choice < 0.8:
        whole[begin:begin] = whole[begin:end] * random.choice((1, 2, 50))
    elif choice < 0.88:
        place = random.randrange(len(whole) + 1)
        whole[place:place] = whole[begin : begin + random.randrange(200)]
    elif choice < 0.94:
        del whole[begin:]
    else:
        lines = whole.split(b"\n")
        random.shuffle(lines)
        whole[:] = b"\n".join(lines)


def read(path: Path, number: int) -> None:
    """Read an input as a command would."""
    if path.suffix == ".toml":
        check(read_toml(path), (80.0,))
        return
    random = Random(-number)
    roles = random.choice(({}, {"past": ("x",)}, {"past": ("x",), "static": (), "future": ("c",)}))
    schema = Schema(**roles, missing=random.choice(POLICIES), gaps=random.choice(POLICIES), short="pad")
    if random.random() < 0.1:
        read_future(path, _known(), 3)
        return
    panel = check_lengths(build_panel(path, schema), input_size=8, horizon=4)
    for array in (panel.y, panel.past_x, panel.future_x):
        assert array is None or np.isfinite(array).all()
    assert panel.times().null_count() == 0


@cache
def _known() -> Panel:
    return build_panel(table().filter(pl.int_range(pl.len()) % 120 < 100), Schema(future=("c",)))


def main(first: int, last: int, place: Path, tell: Callable[[str], object]) -> None:
    for kind in ("csv", "parquet", "toml"):  # What is loaded at first use must not count as slowness.
        path = place / f"good.{kind}"
        path.write_bytes(bases(kind)[0])
        read(path, 0)
    for number in range(first, last):
        path = place / f"mutant.{kind_of(number)}"
        path.write_bytes(mutant(number))
        tell(f"{number} ")
        begin = time.process_time()  # of this process: others may keep the machine busy
        outcome = "accepted"
        try:
            read(path, number)
        except NeuroDivergentError as error:
            outcome = "refused" if "\n" not in str(error) and str(error) else f"BUG {error!r}"
        except BaseException:  # noqa: BLE001 - whatever it is, it is what this is looking for
            outcome = f"BUG {' '.join(traceback.format_exc().split())[-600:]}"
        seconds = time.process_time() - begin
        tell(f"{f'SLOW {seconds:.1f} s' if seconds > SLOW else outcome}\n")


if __name__ == "__main__":
    warnings.simplefilter("ignore", DataWarning)

    def tell(text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()

    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]), tell)
