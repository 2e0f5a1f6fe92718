"""The checks of a release: what is built, what an installation can do, licences and the oldest dependencies."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

from tools.release.bounds import lowest_versions
from tools.release.licences import licence_table, refused_licences

ROOT = Path(__file__).resolve().parents[2]
PLACE = ROOT / "build" / "release"
BUILT = PLACE / "dist"
CONSTRAINTS = ROOT / "constraints.txt"
PUBLIC_NAMES = ROOT / "tests" / "architecture" / "public_names.txt"
# Of every kind of file that the package reads from itself, one; and what users of types need.
NEEDED = (
    "neuro_divergent/__init__.pyi",
    "neuro_divergent/py.typed",
    "neuro_divergent/reporting/report/style.css",
    "neuro_divergent/reporting/report/run.html",
)
# What the oldest dependencies are tried on: reading tables, settings, tensors, files and the command line.
TESTED = ("tests/unit/core", "tests/unit/data", "tests/unit/forecasting", "tests/unit/runs", "tests/unit/training")
_EXTRAS = ("pandas", "zstd", "remote", "optimizers", "excel", "lifecycle")  # which those tests use
_OTHER_EXTRAS = ("tests/unit/forecasting/statistical", "tests/unit/forecasting/test_artifact.py")
# What these expect is what pandas 3 does; pandas 2 has nanoseconds, and time zones without rules after 2037.
_NEWER_PANDAS = (
    "tests/unit/data/io/test_source.py::test_pandas",
    "tests/unit/data/cleaning/test_frequency.py::test_daylight_saving_time_is_no_gap[1mo-MS]",
)
# What these expect is what pandas 3 does; pandas 2 has nanoseconds, and time zones without rules after 2037.
_NEWER_PANDAS = (
    "tests/unit/data/io/test_source.py::test_pandas",
    "tests/unit/data/cleaning/test_frequency.py::test_daylight_saving_time_is_no_gap[1mo-MS]",
)


class ReleaseError(Exception):
    """Something is wrong with what would be released."""


def check_build() -> str:
    """Build the source archive, and the wheel from nothing but that archive; both must have what they need."""
    shutil.rmtree(PLACE, ignore_errors=True)
    BUILT.mkdir(parents=True)
    _run([sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(BUILT)], ROOT)
    (archive,) = BUILT.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(PLACE / "unpacked", filter="data")
    (source,) = (PLACE / "unpacked").iterdir()
    _run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(BUILT)], source)
    with zipfile.ZipFile(_wheel()) as packed:
        names = set(packed.namelist())
    inside = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src").rglob("*") if path.is_file()}
    inside = {name for name in inside if "__pycache__" not in name and not name.endswith(".pyc")}
    if missing := sorted((inside | set(NEEDED)) - names):
        raise ReleaseError(f"the wheel lacks {', '.join(missing[:5])}")
    if strange := sorted(name for name in names if not name.startswith("neuro_divergent") or "/tests/" in name):
        raise ReleaseError(f"the wheel has {', '.join(strange[:5])}")
    return f"{_wheel().name}, {len(names)} files, {_wheel().stat().st_size / 2**20:.1f} MB; {archive.name}"


def check_installation() -> str:
    """Install the wheel alone into a fresh environment, import every public name and run the demonstration.

    A name that needs an extra must say which.
    """
    python = _environment(PLACE / "fresh", ["-c", str(CONSTRAINTS), str(_wheel())])
    names = _run([str(python), "-c", _IMPORT, str(PUBLIC_NAMES)], PLACE).strip()
    _demonstrate(python)
    return f"{names}, 'nd demo' ran"


def check_licences() -> str:
    """Read the licences of everything that the package or an extra of it installs, and write them to a page."""
    table = licence_table(development=("test", "dev", "bench", "browser", "docs"))
    page = "".join(f"| {name} | {version} | {licence} |\n" for name, version, licence in table)
    PLACE.mkdir(parents=True, exist_ok=True)
    (PLACE / "licences.md").write_text(f"| package | version | licence |\n|---|---|---|\n{page}", "utf-8")
    if refused := refused_licences(table):
        raise ReleaseError(f"licences to look at: {'; '.join(refused)}")
    return f"{len(table)} packages, listed in {(PLACE / 'licences.md').relative_to(ROOT)}"


def check_lowest() -> str:
    """Install the lowest versions that are allowed, run the demonstration and tests of what depends on them most.

    PyTorch is the version of the constraints: for older ones, indexes often have no build without CUDA.
    """
    lowest = lowest_versions(ROOT / "pyproject.toml", _EXTRAS)
    pins = [f"{name}=={version}" for name, version in lowest.items() if name != "torch"]
    (torch,) = (line for line in CONSTRAINTS.read_text().splitlines() if line.startswith("torch=="))
    python = _environment(
        PLACE / "lowest",
        [torch, *pins, str(_wheel()), "pytest", "pytest-xdist", "hypothesis", "xlsxwriter", "psycopg[binary]"],
    )
    _demonstrate(python)
    # The tests of the checkout, on the installed package.
    tests = PLACE / "tested"
    shutil.rmtree(tests, ignore_errors=True)
    shutil.copytree(ROOT / "tests", tests / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "docs", tests / "docs")
    shutil.copyfile(ROOT / "pyproject.toml", tests / "pyproject.toml")
    told = _run(
        [
            str(python),
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-W",
            "ignore:In Polars 2.0:DeprecationWarning",  # of what only tests call
            *(f"--ignore={item}" for item in _OTHER_EXTRAS),
            *(f"--deselect={item}" for item in _NEWER_PANDAS),
            *TESTED,
        ],
        tests,
    )
    return f"{', '.join(pins)}; {told.strip().splitlines()[-1]}"


CHECKS: dict[str, Callable[[], str]] = {
    "build": check_build,
    "installation": check_installation,
    "licences": check_licences,
    "lowest": check_lowest,
}

_IMPORT = """
import sys
import neuro_divergent
assert "site-packages" in neuro_divergent.__file__, neuro_divergent.__file__
from neuro_divergent.core.errors import MissingDependencyError
room, count, others = None, 0, []
for line in open(sys.argv[1], encoding="utf-8").read().splitlines():
    if line.startswith("["):
        name = line.strip("[]")
        room = neuro_divergent if name == "neuro_divergent" else getattr(neuro_divergent, name)
    elif line.strip():
        try:
            getattr(room, line.strip())
            count += 1
        except MissingDependencyError as error:
            assert "pip install" in str(error), error
            others.append(f"{room.__name__}.{line.strip()}")
print(f"{count} public names imported, {len(others)} need an extra and say so ({', '.join(others)})")
"""


def _demonstrate(python: Path) -> None:
    place = PLACE / "demonstration"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    _run([str(python.parent / "nd"), "demo"], place)
    if not (place / "demo" / "report.html").exists():
        raise ReleaseError("'nd demo' wrote no report")


def _environment(place: Path, requirements: Sequence[str]) -> Path:
    """Return the interpreter of a new environment with some requirements."""
    shutil.rmtree(place, ignore_errors=True)
    _run([sys.executable, "-m", "venv", str(place)], ROOT)
    python = place / "bin" / "python"
    install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
    _run([str(python), *install, *requirements], PLACE)
    return python


def _wheel() -> Path:
    wheels = list(BUILT.glob("*.whl"))
    if len(wheels) != 1:
        raise ReleaseError("there is no wheel; run the check 'build' first")
    return wheels[0]


def _run(command: Sequence[str], directory: Path) -> str:
    """Run a command outside of the checkout's influence, and return what it printed."""
    settings = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    made = subprocess.run(command, cwd=directory, env=settings, capture_output=True, text=True, check=False)
    if made.returncode:
        raise ReleaseError(f"{' '.join(command[:6])} failed:\n{made.stdout[-3000:]}{made.stderr[-3000:]}")
    return made.stdout
