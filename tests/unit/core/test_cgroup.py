"""Limits of control groups, read from fabricated file trees."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuro_divergent.core.cgroup import cpu_quota, memory_quota

V2_MOUNT = "35 24 0:31 {top} /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate"
V1_MOUNT = "36 25 0:32 {top} /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:5 - cgroup cgroup rw,cpu,cpuacct"


def tree(root: Path, cgroup: str, mounts: str, **files: str) -> Path:
    """Write ``/proc/self`` and the files of groups, whose names have ``__`` for a slash and ``_DOT_`` for a dot."""
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/cgroup").write_text(cgroup)
    (root / "proc/self/mountinfo").write_text(mounts)
    for name, content in files.items():
        path = root / "sys/fs/cgroup" / name.replace("__", "/").replace("_DOT_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return root


@pytest.mark.parametrize(
    ("content", "cores"),
    [
        ("100000 100000\n", 1),
        ("150000 100000\n", 2),
        ("20000 100000\n", 1),
        ("6400000 100000\n", 64),
        ("max 100000\n", None),
        ("", None),
        ("nonsense", None),
        ("0 100000\n", None),
        ("-5 100000\n", None),
        ("100000 0\n", None),
    ],
)
def test_quota_of_version_2_is_rounded_up_to_whole_cores(tmp_path: Path, content: str, cores: int | None) -> None:
    root = tree(tmp_path, "0::/\n", V2_MOUNT.format(top="/"), cpu_DOT_max=content)
    assert cpu_quota(root) == cores


def test_quota_of_nested_groups_is_the_tightest_of_all(tmp_path: Path) -> None:
    root = tree(
        tmp_path,
        "0::/system.slice/job.service/worker\n",
        V2_MOUNT.format(top="/"),
        system_DOT_slice__cpu_DOT_max="400000 100000",
        system_DOT_slice__job_DOT_service__cpu_DOT_max="250000 100000",
        system_DOT_slice__job_DOT_service__worker__cpu_DOT_max="max 100000",
        other__cpu_DOT_max="100000 100000",
    )
    assert cpu_quota(root) == 3


def test_quota_of_version_1_is_read_from_its_two_files(tmp_path: Path) -> None:
    files = {
        "cpu,cpuacct__docker__abc__cpu_DOT_cfs_quota_us": "150000\n",
        "cpu,cpuacct__docker__abc__cpu_DOT_cfs_period_us": "100000\n",
        "cpu,cpuacct__cpu_DOT_cfs_quota_us": "-1\n",
        "cpu,cpuacct__cpu_DOT_cfs_period_us": "100000\n",
    }
    root = tree(tmp_path, "4:cpuset:/\n3:cpu,cpuacct:/docker/abc\n", V1_MOUNT.format(top="/"), **files)
    assert cpu_quota(root) == 2


def test_quota_of_version_1_without_a_limit_is_none(tmp_path: Path) -> None:
    files = {
        "cpu,cpuacct__cpu_DOT_cfs_quota_us": "-1\n",
        "cpu,cpuacct__cpu_DOT_cfs_period_us": "100000\n",
    }
    assert cpu_quota(tree(tmp_path, "3:cpu,cpuacct:/\n", V1_MOUNT.format(top="/"), **files)) is None


def test_group_that_is_mounted_as_the_root_of_a_container_is_found(tmp_path: Path) -> None:
    """Without a namespace the process sees its path on the host, and only its own group is mounted."""
    files = {
        "cpu,cpuacct__cpu_DOT_cfs_quota_us": "200000",
        "cpu,cpuacct__cpu_DOT_cfs_period_us": "100000",
    }
    root = tree(tmp_path, "3:cpu,cpuacct:/docker/abc\n", V1_MOUNT.format(top="/docker/abc"), **files)
    assert cpu_quota(root) == 2


@pytest.mark.parametrize("path", ["/../elsewhere", "/other/place"])
def test_group_outside_of_the_mount_takes_the_limit_of_the_mount(tmp_path: Path, path: str) -> None:
    root = tree(tmp_path, f"0::{path}\n", V2_MOUNT.format(top="/mine"), cpu_DOT_max="100000 100000")
    assert cpu_quota(root) == 1


def test_both_versions_side_by_side_give_the_tighter_limit(tmp_path: Path) -> None:
    mounts = "\n".join(
        [V1_MOUNT.format(top="/"), V2_MOUNT.format(top="/").replace("cgroup rw", "cgroup/unified rw", 1)]
    )
    files = {
        "cpu,cpuacct__cpu_DOT_cfs_quota_us": "300000",
        "cpu,cpuacct__cpu_DOT_cfs_period_us": "100000",
        "unified__cpu_DOT_max": "200000 100000",
    }
    assert cpu_quota(tree(tmp_path, "1:cpu,cpuacct:/\n0::/\n", mounts, **files)) == 2


def test_mount_point_with_a_space_is_found(tmp_path: Path) -> None:
    mount = V2_MOUNT.format(top="/").replace("/sys/fs/cgroup", r"/sys/fs/cgroup/a\040b")
    assert cpu_quota(tree(tmp_path, "0::/\n", mount, **{"a b__cpu_DOT_max": "100000 100000"})) == 1


def test_memory_limits_of_both_versions_are_read(tmp_path: Path) -> None:
    mount = V1_MOUNT.format(top="/").replace("cpu,cpuacct", "memory")
    first = tree(tmp_path / "1", "4:memory:/a\n", mount, memory__a__memory_DOT_limit_in_bytes="1048576")
    second = tree(tmp_path / "2", "0::/a\n", V2_MOUNT.format(top="/"), a__memory_DOT_max="max", memory_DOT_max="77")
    assert (memory_quota(first), memory_quota(second)) == (1048576, 77)


def test_system_without_control_groups_has_no_limits(tmp_path: Path) -> None:
    assert cpu_quota(tmp_path) is None
    assert memory_quota(tmp_path) is None


@given(st.integers(1, 10**9), st.integers(1, 10**7), st.lists(st.sampled_from("abc"), max_size=4))
def test_any_quota_in_any_depth_is_rounded_up(quota: int, period: int, path: list[str]) -> None:
    with TemporaryDirectory() as place:
        name = "__".join([*path[:2], "cpu_DOT_max"])
        root = tree(Path(place), f"0::/{'/'.join(path)}\n", V2_MOUNT.format(top="/"), **{name: f"{quota} {period}"})
        found = cpu_quota(root)
    assert found == -(-quota // period) >= 1


@given(st.text(max_size=200), st.text(max_size=200))
def test_damaged_descriptions_never_fail(cgroup: str, mounts: str) -> None:
    with TemporaryDirectory() as place:
        root = Path(place)
        (root / "proc/self").mkdir(parents=True)
        (root / "proc/self/cgroup").write_bytes(cgroup.encode("utf-8", "surrogatepass"))
        (root / "proc/self/mountinfo").write_bytes(mounts.encode("utf-8", "surrogatepass"))
        assert cpu_quota(root) is None
