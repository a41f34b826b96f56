"""Clusters of processes: they start, lose members, and leave nothing behind."""

from __future__ import annotations

import fcntl
import os
import re
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable
from pathlib import Path

import hoplite
import numpy as np
import pytest
from hoplite import LocalCluster
from hoplite._folder import Folder

QUIET = """
import numpy as np, hoplite
with hoplite.LocalCluster(nodes=2, memory="16MiB") as cluster:
    a, b = cluster.connect(0), cluster.connect(1)
    x, y = a.put(np.arange(10, dtype=np.float32)), b.put(np.ones(10, dtype=np.float32))
    view = b.get(x, timeout=5.0)
    total = a.get(a.reduce([x, y], op="sum").target, timeout=5.0)
"""


def test_a_node_that_dies_and_comes_back() -> None:
    with LocalCluster(nodes=3, memory="32MiB") as cluster:
        one, two = cluster.connect(0), cluster.connect(1)
        name = one.put(np.arange(1_000_000))
        view = two.get(name, timeout=10)
        cluster.kill(0)
        with pytest.raises(hoplite.UnavailableError):
            one.put(b"late")
        third = cluster.connect(2)
        np.testing.assert_array_equal(third.get(name, timeout=10), view)
        cluster.restart(0)
        np.testing.assert_array_equal(cluster.connect(0).get(name, timeout=10), view)


def test_a_drained_node_loses_nothing() -> None:
    with LocalCluster(nodes=2, memory="32MiB") as cluster:
        leaving, staying = cluster.connect(0), cluster.connect(1)
        names = [leaving.put(np.arange(n)) for n in (10, 10_000, 1_000_000)]
        staying.get(names[1], timeout=10)
        outcome = leaving.drain(timeout=20)
        assert (outcome.handed_on, outcome.left_count, outcome.left) == (1, 0, [])
        assert repr(outcome) == "DrainOutcome(handed_on=1, left_count=0)"
        with pytest.raises(hoplite.UnavailableError, match="is drained"):
            leaving.put(b"late")
        cluster.kill(0)
        for name, n in zip(names, (10, 10_000, 1_000_000), strict=True):
            np.testing.assert_array_equal(staying.get(name, timeout=10), np.arange(n))


def test_a_drain_says_what_is_left_and_why() -> None:
    with LocalCluster(nodes=1, memory="16MiB") as cluster, cluster.connect(0) as client:
        name = client.put(np.arange(10_000))
        outcome = client.drain(timeout=1.0)
        assert (outcome.handed_on, outcome.left_count) == (0, 1)
        assert outcome.left[0].id == name
        assert isinstance(outcome.left[0].why, hoplite.UnavailableError)
        np.testing.assert_array_equal(client.get(name, timeout=10), np.arange(10_000))


def test_nothing_is_left() -> None:
    cluster = LocalCluster(nodes=2, memory="16MiB")
    folder = os.path.dirname(cluster.socket(0))
    pids = [node.pid for node in cluster._nodes if node is not None]
    assert os.path.isdir(folder) and all(os.path.exists(f"/proc/{pid}") for pid in pids)
    cluster.close()
    cluster.close()
    assert not os.path.exists(folder)
    assert not any(os.path.exists(f"/proc/{pid}") for pid in pids)


@pytest.mark.parametrize(
    ("nodes", "memory", "why"),
    [
        (0, "16MiB", "nodes: 0"),
        (1, "a lot", "hoplite node: --memory: .*'a lot'"),
        (1, "10", "hoplite node: .*--memory: 10 bytes .*is below the least"),
    ],
)
def test_what_can_not_start(
    nodes: int, memory: str, why: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(hoplite.InvalidArgumentError, match=why):
        LocalCluster(nodes=nodes, memory=memory)
    assert capfd.readouterr().err == ""


def test_a_node_that_can_not_have_so_much_memory() -> None:
    with pytest.raises(hoplite.ResourceExhaustedError, match="hoplite node: "):
        LocalCluster(nodes=1, memory=1 << 50)


def test_nodes_on_one_disk_have_no_more_than_it_has(tmp_path: Path) -> None:
    disk = os.statvfs(tmp_path)
    limit = disk.f_blocks * disk.f_frsize * 2 // 3
    with LocalCluster(nodes=1, memory="16MiB", spill=tmp_path, spill_limit=limit):
        pass
    with pytest.raises(hoplite.InvalidArgumentError, match="the limit of its nodes, "):
        LocalCluster(nodes=2, memory="16MiB", spill=tmp_path, spill_limit=limit)


def test_nothing_is_said_where_nothing_is_wrong() -> None:
    """Not at the end either, when clients are still there."""
    done = subprocess.run([sys.executable, "-c", QUIET], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")


def test_what_a_process_says_later_is_passed_on() -> None:
    done = subprocess.run(
        [sys.executable, "-c", QUIET],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "HOPLITE_LOG": "info"},
    )
    assert "n0: serves at" in done.stderr and "directory shard 0 is joined" in done.stderr


UNREAD = """
import os, socket, hoplite
cluster = hoplite.LocalCluster(nodes=2, memory="16MiB")
os.set_blocking(2, False)
try:
    while True:
        os.write(2, bytes(4096))
except BlockingIOError:
    os.set_blocking(2, True)
for _ in range(3000):
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.connect(cluster.socket(0))
        stranger.sendall(b"no request")
cluster.kill(1)
cluster.restart(1)
with cluster.connect(1) as client:
    print(client.get(client.put("still there"), timeout=20))
cluster.close()
print("closed", flush=True)
"""


def test_nobody_waits_for_whoever_reads_what_processes_say() -> None:
    """Its standard error is a pipe that is full: a cluster starts, goes on, and ends."""
    with subprocess.Popen(
        [sys.executable, "-c", UNREAD],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "HOPLITE_LOG": "debug"},
    ) as owner:
        try:
            assert owner.wait(60) == 0
            assert owner.stdout is not None
            assert owner.stdout.read() == "still there\nclosed\n"
        finally:
            owner.kill()


def test_only_nodes_that_there_are(cluster: LocalCluster) -> None:
    assert len(cluster) == 2
    for index in (-1, 2):
        with pytest.raises(IndexError):
            cluster.connect(index)


def test_the_program_of_the_package() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "hoplite", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"hoplite {hoplite.__version__}\n"


def test_empty_folders_of_others_stay() -> None:
    with tempfile.TemporaryDirectory(prefix="hoplite-", dir="/tmp") as folder:
        Folder().remove()
        assert os.path.isdir(folder)


def test_a_folder_waits_for_whoever_looks_whether_its_owner_lives(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[int] = []
    make = tempfile.mkdtemp

    def looked_at_once_made(**where: str) -> str:
        path = make(**where)
        made.append(os.open(path, os.O_RDONLY))
        fcntl.flock(made[-1], fcntl.LOCK_EX)
        if len(made) == 1:
            os.rmdir(path)  # it looked left over
        os.close(made[-1])
        return path

    monkeypatch.setattr(tempfile, "mkdtemp", looked_at_once_made)
    folder = Folder()
    assert len(made) == 2 and os.path.isdir(folder.path)
    folder.remove()


def test_library_package_and_wheel_are_of_one_version() -> None:
    root = Path(__file__).parents[2]
    lists = (root / "CMakeLists.txt").read_text()
    declared = re.search(r"project\(hoplite VERSION ([\d.]+)", lists)
    wheel = tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"]
    assert declared is not None
    cited = re.search(r"^version: (\S+)$", (root / "CITATION.cff").read_text(), re.MULTILINE)
    assert cited is not None
    assert hoplite.__version__ == declared[1] == wheel == cited[1]


def test_a_put_right_after_the_start_waits_for_memory() -> None:
    """A node is ready when the first of its memory is reserved."""
    size = 200 << 20
    with LocalCluster(nodes=1, memory=size + (1 << 20)) as one, one.connect(0) as client:
        with client.create(size, np.uint8) as draft:
            draft.array[-1] = 7
        assert client.get(draft.id, timeout=10)[-1] == 7


# It tells which processes it has, and where their sockets are; then it ends in some way.
OWNER = """
import ctypes, os, sys, time, hoplite
cluster = hoplite.LocalCluster(nodes=1, memory="16MiB")
print(cluster.socket(0), *(one.pid for one in cluster._nodes + cluster._directories), flush=True)
"""
ENDS = {
    "SIGTERM": "os.kill(os.getpid(), 15); time.sleep(60)",
    "SIGHUP": "os.kill(os.getpid(), 1); time.sleep(60)",
    "SIGKILL": "os.kill(os.getpid(), 9)",
    "_exit": "os._exit(3)",
    "SIGSEGV": "ctypes.string_at(0)",
    "exit": "sys.exit(0)",
    "exception": "1 / 0",
}


def within(seconds: float, condition: Callable[[], bool]) -> bool:
    """Whether it comes true so soon."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


@pytest.mark.parametrize("end", ENDS)
def test_its_processes_end_with_their_owner_however_that_ends(end: str) -> None:
    owner = [sys.executable, "-c", OWNER + ENDS[end]]
    with subprocess.Popen(
        owner, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        socket, *pids = process.stdout.readline().split()
    assert len(pids) == 2
    assert within(20, lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pids))
    assert not os.path.exists(socket)
    # The folder of one that was killed goes when the next one is made.
    LocalCluster(nodes=1, memory="16MiB").close()
    assert not os.path.exists(os.path.dirname(socket))


AT_A_PROMPT = """
import os, signal, time, hoplite
cluster = hoplite.LocalCluster(nodes=1, memory="16MiB")
try:
    os.killpg(0, signal.SIGINT)  # as the terminal does
    time.sleep(60)
except KeyboardInterrupt:
    pass
time.sleep(0.2)
with cluster.connect(0) as client:
    print(client.get(client.put("still there"), timeout=5))
cluster.close()
"""


def test_ctrl_c_at_a_prompt_ends_none_of_its_processes() -> None:
    done = subprocess.run(
        [sys.executable, "-c", AT_A_PROMPT],
        capture_output=True,
        text=True,
        check=True,
        start_new_session=True,
    )
    assert (done.stdout, done.stderr) == ("still there\n", "")


def test_a_forked_child_that_ends_takes_nothing_along(cluster: LocalCluster) -> None:
    child = os.fork()
    if child == 0:
        cluster.close()  # as the interpreter does at its exit
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert os.path.exists(cluster.socket(0))
    with cluster.connect(0) as client:
        assert client.get(client.put("still there"), timeout=5) == "still there"


def test_a_long_tmpdir_is_no_obstacle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = tmp_path / ("x" * 100)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    with LocalCluster(nodes=1, memory="16MiB") as one, one.connect(0) as client:
        client.put(b"x", timeout=5)


WITHOUT_STANDARD_ERROR = """
import os, sys, hoplite
with open(sys.argv[1], "w") as file:
    assert file.fileno() == 2, file.fileno()
    with hoplite.LocalCluster(nodes=1, memory="16MiB") as cluster, cluster.connect(0) as client:
        client.put(b"x", timeout=5)
"""


def test_no_log_line_goes_into_a_file_that_got_the_number_of_standard_error(tmp_path: Path) -> None:
    file = tmp_path / "own"
    subprocess.run(
        ["sh", "-c", 'exec "$@" 2>&-', "sh", sys.executable, "-c", WITHOUT_STANDARD_ERROR, file],
        check=True,
        env={**os.environ, "HOPLITE_LOG": "debug"},
    )
    assert file.read_bytes() == b""
