"""Which short types this processor really computes in, found out before training uses them.

Some virtual machines show tile instructions (AMX) and do not run them. What torch computes bfloat16 and float16 with
(oneDNN) believes what is shown: the process is killed, or from then on float32 fails as well. So the types are tried in
a process of its own; where that fails it is tried again with fewer instruction sets (``ONEDNN_MAX_CPU_ISA``), and what
works is set here and for child processes. The result is remembered in a file in the user's cache directory.

oneDNN reads the variable when torch computes for the first time, so a limit has no effect after that.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from neuro_divergent.core.errors import ConfigError, NeuroDivergentError
from neuro_divergent.core.processor import read_processor
from neuro_divergent.core.storage import strict_json
from neuro_divergent.core.storage.atomic import write_file
from neuro_divergent.core.storage.regular_file import read_file

SHORT_TYPES = ("bf16", "fp16")
VARIABLE = "ONEDNN_MAX_CPU_ISA"
_VARIABLES = (
    VARIABLE,
    "DNNL_MAX_CPU_ISA",
    "ONEDNN_DEFAULT_FPMATH_MODE",
    "DNNL_DEFAULT_FPMATH_MODE",
    "ATEN_CPU_CAPABILITY",
)
_PROBE = "neuro_divergent.core.instruction_probe"
_PATIENCE = 300.0  # seconds; it takes two on a quiet machine
_LARGEST = 64 * 1024


# Those to try, in order; when one is in effect, torch says no to the operator, which a processor with the flag has.
_LIMITS = {
    "AVX512_CORE_BF16": ("_is_mkldnn_fp16_supported", "avx512_fp16"),
    "AVX2": ("_is_mkldnn_bf16_supported", "avx512_bf16"),
}


@dataclass(frozen=True)
class Instructions:
    """What was found out about a processor.

    Attributes:
        problems: Why short types do not work, by their names; those that work are not in it.
        limit: What ``ONEDNN_MAX_CPU_ISA`` has to be set to for that; ``None`` to leave it as it is.
    """

    problems: dict[str, str]
    limit: str | None = None


def find_instructions() -> Instructions:
    """Return what short types work here: what is remembered of this machine, or else what trying them shows."""
    key = _key()
    return _remembered(key) or _found(strict_json.dumps(key).decode())


def limit_instructions(precision: str) -> None:
    """Set the limit that short types need here, before torch computes anything.

    Nothing is tried for other precisions: on a processor that shows tile instructions, what is remembered is set, so
    that short types still work later in this process; elsewhere nothing is done.
    """
    if precision in SHORT_TYPES:
        found = find_instructions()
    elif read_processor().shows_tiles:
        found = _remembered(_key()) or Instructions({})
    else:
        return
    if found.limit is not None:
        _set_limit(found.limit)


def require_usable(precision: str) -> None:
    """Set the limit that a short type needs on this processor; other precisions always work.

    Raises:
        ConfigError: If the type does not work, or torch has computed something before the limit could be set.
    """
    limit_instructions(precision)
    if precision not in SHORT_TYPES:
        return
    found = find_instructions()
    processor = read_processor().model
    if precision in found.problems:
        own = os.environ.get(VARIABLE)
        given = f" with {VARIABLE}={own}" if own else ""
        raise ConfigError(
            f"precision: {precision!r} does not work on this processor ({processor}){given}: "
            f"{found.problems[precision].rstrip('.')}. Use float32; 'nd hardware' shows what works."
        )
    if found.limit is not None:  # it could not be set, else the same question would have another answer
        raise ConfigError(
            f"precision: {precision!r} needs {VARIABLE}={found.limit} on this processor ({processor}), and torch has "
            "computed in this process before that could be set. Set it before Python starts, or use float32."
        )


def cache_file(key: dict[str, Any]) -> Path | None:
    """Return where a result is remembered, in the user's cache directory; ``None`` if there is none."""
    place = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME")
    name = f"instructions-{hashlib.sha256(strict_json.dumps(key)).hexdigest()[:16]}.json"
    with suppress(RuntimeError):  # there is no home
        usual = "Library/Caches" if sys.platform == "darwin" else ".cache"
        return Path(place or Path.home() / usual) / "neuro-divergent" / name
    return None


def _key(**changes: str) -> dict[str, Any]:
    """Return what a result depends on."""
    processor = read_processor()
    try:
        torch = version("torch")
    except PackageNotFoundError:
        torch = ""
    return {
        "processor": processor.model,
        "flags": " ".join(sorted(processor.flags)),
        "kernel": f"{platform.system()} {platform.release()} {platform.machine()}",
        "torch": torch,
        "variables": {name: os.environ[name] for name in _VARIABLES if os.environ.get(name)} | changes,
    }


@cache
def _found(text: str) -> Instructions:
    """Try, and remember the result; also in this process, for where no file can be written."""
    key = json.loads(text)
    best: Instructions | None = None
    for limit in (None, *(() if VARIABLE in key["variables"] or "DNNL_MAX_CPU_ISA" in key["variables"] else _LIMITS)):
        problems = _try(SHORT_TYPES, limit)
        if problems is None:  # no process can be started
            reason = "it shows instructions that some machines do not run, and they could not be tried"
            return Instructions(dict.fromkeys(SHORT_TYPES, reason) if read_processor().shows_tiles else {})
        if best is None or len(problems) < len(best.problems):
            best = Instructions(problems, limit)
        if not problems:
            break
    assert best is not None
    _remember(key, best)
    if best.limit is not None:  # child processes find the variable set
        _remember(_key(**{VARIABLE: best.limit}), Instructions(best.problems))
    return best


def _try(types: tuple[str, ...], limit: str | None) -> dict[str, str] | None:
    """Return why types do not work, or ``None`` if no process can be started."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    if limit is not None:
        environment[VARIABLE] = limit
    problems: dict[str, str] = {}
    while types:
        try:
            done = subprocess.run(
                [sys.executable, "-P", "-m", _PROBE, *types],
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_PATIENCE,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return problems | dict.fromkeys(types, f"no answer within {_PATIENCE:.0f} seconds")
        except (OSError, ValueError):
            return None
        answers = _answers(done.stdout)
        works = [name for name in types if name in answers and answers[name] is None]
        rest = [name for name in types if name not in works]
        if rest:  # what the first one does to a process tells nothing about the others
            problems[rest[0]] = answers.get(rest[0]) or _ending(done)
        types = tuple(rest[1:])
    return problems


def _answers(output: bytes) -> dict[str, str | None]:
    answers = {}
    for line in output.splitlines():
        with suppress(ValueError, TypeError):
            name, problem = json.loads(line)
            answers[str(name)] = None if problem is None else str(problem)
    return answers


def _ending(done: subprocess.CompletedProcess[bytes]) -> str:
    """Say how a process ended that had not answered."""
    if done.returncode < 0:
        with suppress(ValueError):
            return f"a process that tried it was killed by {signal.Signals(-done.returncode).name}"
    last = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2][:200]
    return f"a process that tried it ended with code {done.returncode} ({last})"


def _set_limit(limit: str) -> None:
    """Set a limit here and for child processes, unless torch has computed already and would not heed it."""
    os.environ[VARIABLE] = limit
    torch = sys.modules.get("torch")
    if torch is None:
        return
    operator, flag = _LIMITS[limit]
    with suppress(AttributeError, RuntimeError):  # torch has no such operator any more
        if flag in read_processor().flags and not getattr(torch.ops.mkldnn, operator)():
            return
    del os.environ[VARIABLE]


def _remember(key: dict[str, Any], found: Instructions) -> None:
    path = cache_file(key)
    if path is not None and not any("no answer" in reason for reason in found.problems.values()):
        with suppress(NeuroDivergentError, OSError):
            write_file(path, strict_json.dumps({"key": key, **asdict(found)}, indent=2))


def _remembered(key: dict[str, Any]) -> Instructions | None:
    """Return what is remembered, if it is exactly about this machine."""
    path = cache_file(key)
    try:
        content = None if path is None else strict_json.loads(read_file(path, limit=_LARGEST), str(path))
    except (NeuroDivergentError, OSError):
        return None
    if not isinstance(content, dict) or content.keys() != {"key", "problems", "limit"} or content["key"] != key:
        return None
    problems, limit = content["problems"], content["limit"]
    is_known = limit is None or (isinstance(limit, str) and limit in _LIMITS)
    if not is_known or not isinstance(problems, dict) or not problems.keys() <= set(SHORT_TYPES):
        return None
    return Instructions(problems, limit) if all(isinstance(text, str) for text in problems.values()) else None
