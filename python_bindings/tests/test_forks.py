"""Views in other processes than those that got them, and in processes that the node can't see."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from multiprocessing.queues import Queue
from pathlib import Path

import hoplite
import numpy as np
import numpy.typing as npt
import pytest
from hoplite import Client, LocalCluster, ObjectId, _program

COUNT = 600_000  # of a view; three of them fit into the store, with little room to spare
VALUES = np.arange(COUNT, dtype=np.int64)
NEARLY_ALL = 15 << 20


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    """One node, whose memory is soon wanted by others."""
    with LocalCluster(nodes=1, memory="16MiB") as one:
        yield one


def press(client: Client) -> None:
    """Writes to all of the store that is free."""
    for fill in range(3):
        others = [client.put(np.full(COUNT, fill, np.int64), timeout=10) for _ in range(2)]
        client.delete(others, timeout=10)


def has_room(client: Client, patience: float = 20.0) -> bool:
    """Whether the whole store can be had, soon."""
    deadline = time.monotonic() + patience
    while True:
        try:
            client.delete(client.put(bytes(NEARLY_ALL), timeout=1), timeout=10)
        except (hoplite.ResourceExhaustedError, hoplite.TimeoutError):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        else:
            return True


class Forked:
    """A child that works when it is told to, and ends with 0 if what it worked out is true."""

    def __init__(self, work: Callable[[], bool]) -> None:
        told, self._tell = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            os.close(self._tell)
            try:
                os.read(told, 1)
                os._exit(0 if work() else 1)
            finally:
                os._exit(2)
        os.close(told)

    def go(self) -> None:
        """Now."""
        os.write(self._tell, b"x")

    def work(self) -> int:
        """How it went; negative: the signal that ended it."""
        self.go()
        return self.end()

    def end(self) -> int:
        """Waits for its end."""
        os.close(self._tell)
        return os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])

    def kill(self) -> None:
        """kill -9."""
        os.kill(self._pid, signal.SIGKILL)
        self.end()


def test_a_child_reads_what_its_parent_dropped(here: Client) -> None:
    name = here.put(VALUES)
    views = [here.get(name, timeout=10), here.get(name, timeout=10, writable=True)]
    views[1][0] = 7

    def unchanged() -> bool:
        view, tuned = views
        tuned[1] = 8
        return bool((view == VALUES).all() and tuned[0] == 7 and (tuned[2:] == VALUES[2:]).all())

    child = Forked(unchanged)
    assert views[1][1] == 1
    views.clear()
    here.delete(name)
    press(here)
    assert not has_room(here, patience=0), "the child has it"
    assert child.work() == 0
    assert has_room(here)


def test_the_pins_of_a_fork_end_with_exec(here: Client) -> None:
    name = here.put(VALUES)
    view = here.get(name, timeout=10)
    child = Forked(lambda: os.execlp("sleep", "sleep", "1000"))
    del view
    here.delete(name)
    assert not has_room(here, patience=0)
    child.go()
    assert has_room(here)
    child.kill()


def sums(view: npt.NDArray[np.int64], told: Queue[bool], said: Queue[int]) -> None:
    """What a worker of multiprocessing does with a view that it was started with."""
    told.get(timeout=60)
    said.put(int(view.sum()))


def test_a_worker_of_multiprocessing_reads_a_view(here: Client) -> None:
    name = here.put(VALUES)
    view = here.get(name, timeout=10)
    fork = multiprocessing.get_context("fork")
    told, said = fork.Queue(), fork.Queue()
    worker = fork.Process(target=sums, args=(view, told, said))
    worker.start()
    del view
    here.delete(name)
    press(here)
    told.put(True)
    assert said.get(timeout=60) == VALUES.sum()
    worker.join(60)
    assert worker.exitcode == 0
    assert has_room(here)


def test_a_data_loader_reads_a_tensor(here: Client) -> None:
    data = pytest.importorskip("torch.utils.data", reason="PyTorch is not installed")
    torch = pytest.importorskip("torch")
    name = here.put(torch.arange(COUNT))
    tensor = here.get(name, timeout=10)
    loader = data.DataLoader(
        data.TensorDataset(tensor), COUNT // 4, num_workers=1, multiprocessing_context="fork"
    )
    assert sum(int(batch.sum()) for (batch,) in loader) == VALUES.sum()
    del tensor, loader
    here.delete(name)
    assert has_room(here)


# Gets an object and looks at it when it is told to; or forks a child that does.
LOOKER = """
import os, sys, time
import hoplite

client = hoplite.connect(sys.argv[1])
view = client.get(hoplite.ObjectId(sys.argv[2]), timeout=20)
if sys.argv[3] == "forks" and os.fork():
    time.sleep(1000)
print("got", flush=True)
sys.stdin.readline()
print(view.sum(), flush=True)
sys.stdin.readline()
"""


class Looker:
    """A process that runs that."""

    def __init__(self, socket: str, name: ObjectId, how: str, *before: str) -> None:
        self._popen = subprocess.Popen(
            [*before, sys.executable, "-c", LOOKER, socket, name.hex(), how],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._said() == "got"

    def _said(self) -> str:
        assert self._popen.stdout is not None
        return self._popen.stdout.readline().strip()

    def sum(self) -> int:
        """Of the view, now."""
        assert self._popen.stdin is not None
        print(file=self._popen.stdin, flush=True)
        return int(self._said())

    def kill(self) -> None:
        """kill -9, of the process that was started; a child that it forked lives on."""
        self._popen.kill()
        self._popen.wait()

    def close(self) -> None:
        """Its child ends."""
        assert self._popen.stdin is not None and self._popen.stdout is not None
        self._popen.stdin.close()
        self._popen.stdout.close()


def test_the_pins_of_a_fork_outlive_the_parent(cluster: LocalCluster, here: Client) -> None:
    name = here.put(VALUES)
    looker = Looker(cluster.socket(0), name, "forks")
    looker.kill()
    here.delete(name)
    press(here)
    assert looker.sum() == VALUES.sum()
    assert not has_room(here, patience=0)
    looker.close()
    assert has_room(here)


def own_namespace() -> list[str]:
    """What starts a program where it sees no process but itself. Without root: as root of a user
    namespace."""
    unshare = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if os.geteuid() != 0:
        unshare[1:1] = ["--user", "--map-root-user"]
    try:
        subprocess.run([*unshare, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no pid namespace can be made here: {error}")
    return unshare


@pytest.mark.parametrize("how", ["looks", "forks"])
def test_a_worker_in_another_pid_namespace_keeps_its_pins(
    cluster: LocalCluster, here: Client, how: str
) -> None:
    name = here.put(VALUES)
    looker = Looker(cluster.socket(0), name, how, *own_namespace())
    here.delete(name)
    press(here)
    assert looker.sum() == VALUES.sum()
    assert not has_room(here, patience=0)
    looker.kill()
    looker.close()
    assert has_room(here)


@pytest.mark.parametrize("how", ["looks", "forks"])
def test_a_node_that_sees_no_worker_keeps_their_pins(
    cluster: LocalCluster, tmp_path: Path, how: str
) -> None:
    socket = str(tmp_path / "hidden.sock")
    arguments = [
        *("node", "--listen=127.0.0.1:0", f"--directory={cluster.directory_address}"),
        *("--memory=16MiB", "--name=hidden", "--json", f"--socket={socket}"),
    ]
    node = subprocess.Popen([*own_namespace(), _program.path(), *arguments], stdout=subprocess.PIPE)
    try:
        assert node.stdout is not None
        assert json.loads(node.stdout.readline())
        with hoplite.connect(socket) as client:
            name = client.put(VALUES)
            looker = Looker(socket, name, how)
            if how == "forks":
                looker.kill()
            client.delete(name)
            press(client)
            assert looker.sum() == VALUES.sum()
            assert not has_room(client, patience=0)
            looker.kill()
            looker.close()
            assert has_room(client)
    finally:
        node.kill()
        node.communicate()
