"""Processes of hoplite.ray that die, hosts that come late, and what is left at the end: nothing."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hoplite
import numpy as np
import pytest
from conftest import LARGER_THAN_MEMORY
from ray_cluster import HERE, THERE, add_host, ray, remote, wait_until

pytestmark = pytest.mark.usefixtures("two_hosts")


@remote()
def put_here(value: Any) -> hoplite.ray.Ref:
    return hoplite.ray.put(value)


@remote()
def first_of(ref: Any) -> float:
    return float(hoplite.ray.get(ref, timeout=20)[0])


def daemons(role: str, word: str) -> set[int]:
    """Processes ``hoplite ROLE`` that have that word in their command lines; of any role: ""."""
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            arguments = (folder / "cmdline").read_bytes().decode().split("\0")
        except OSError:
            continue
        if not arguments[0].endswith("/hoplite") or role not in ("", arguments[1]):
            continue
        if any(word in argument for argument in arguments):
            found.add(int(folder.name))
    return found


def place() -> hoplite.ray._keepers.Place:
    return hoplite.ray._job.Job.of_this_process().place


def works(call: Callable[[], bool]) -> bool:
    try:
        return call()
    except (hoplite.HopliteError, ray.exceptions.RayError):
        return False


def works_again(where: dict[str, float]) -> None:
    """Objects go from there to here."""

    def there_and_back() -> bool:
        ref = ray.get(put_here.options(resources=where).remote(np.ones(100_000)))
        return bool(hoplite.ray.get(ref, timeout=5)[0] == 1.0)

    wait_until(lambda: works(there_and_back), "objects flow", 30)


def test_a_host_that_comes_late_gets_a_node_at_first_use(two_hosts: Any) -> None:
    ref = hoplite.ray.put(np.full(100_000, 7.0))
    before = daemons("node", place().cluster)
    folder = tempfile.mkdtemp(prefix="ray-late-")  # a --temp-dir of its own, as hosts may have
    late = add_host(two_hosts, "late", temp_dir=folder)
    try:
        wait_until(lambda: "late" in ray.cluster_resources(), "Ray knows it")
        assert daemons("node", place().cluster) == before
        task = first_of.options(resources={"late": 0.001}).remote(ref)
        assert ray.get(task, timeout=60) == 7.0
        (its_node,) = daemons("node", place().cluster) - before
        assert f"--socket={folder}/" in Path(f"/proc/{its_node}/cmdline").read_text()
    finally:
        two_hosts.remove_node(late)
        shutil.rmtree(folder, ignore_errors=True)
    wait_until(lambda: daemons("node", place().cluster) == before, "its node went with it")


def test_the_keeper_of_the_directory_is_killed() -> None:
    ref = ray.get(put_here.options(resources=THERE).remote(np.full(100_000, 3.0)))
    keeper = ray.get_actor(place().directory_name)
    address = ray.get(keeper.address.remote())
    (before,) = daemons("directory", place().cluster)
    ray.kill(keeper, no_restart=False)
    wait_until(lambda: before not in daemons("directory", place().cluster), "the first is gone")
    assert ray.get(keeper.address.remote(), timeout=60) == address
    assert hoplite.ray.get(ref, timeout=20)[0] == 3.0  # what the nodes hold is not lost
    works_again(THERE)


def test_the_directory_is_killed() -> None:
    ref = ray.get(put_here.options(resources=THERE).remote(np.full(100_000, 4.0)))
    late = [hoplite.ray.new_ref() for _ in range(2)]
    reduction = hoplite.ray.reduce(late)
    (before,) = daemons("directory", place().cluster)
    os.kill(before, signal.SIGKILL)
    wait_until(lambda: len(daemons("directory", place().cluster) - {before}) == 1, "another")
    assert hoplite.ray.get(ref, timeout=20)[0] == 4.0
    for source in late:
        hoplite.ray.put(np.ones(100_000), source)
    assert hoplite.ray.wait(late, num_returns=2, timeout=20) == (late, [])
    assert reduction.get(timeout=20)[0] == 2.0


def id_there() -> str:
    """Of the second Ray node."""
    return str(next(one["NodeID"] for one in ray.nodes() if "there" in one["Resources"]))


def node_there() -> str:
    """What its Hoplite node is called."""
    return f"ray-{id_there()[:12]}"


@pytest.mark.parametrize("what", ["keeper", "node"])
def test_the_node_of_a_host_is_killed(what: str) -> None:
    node_id = id_there()
    kept = hoplite.ray.put(np.full(100_000, 5.0))
    assert ray.get(first_of.options(resources=THERE).remote(kept)) == 5.0
    (before,) = daemons("node", node_there())
    if what == "keeper":
        ray.kill(ray.get_actor(place().node_name(node_id)), no_restart=False)
    else:
        os.kill(before, signal.SIGKILL)
    wait_until(lambda: len(daemons("node", node_there()) - {before}) == 1, "another", 30)
    works_again(THERE)
    assert ray.get(first_of.options(resources=THERE).remote(kept), timeout=30) == 5.0


def test_a_source_that_was_lost_with_its_node_is_not_there_yet() -> None:
    @remote()
    def put_there(ref: hoplite.ray.Ref) -> None:
        hoplite.ray.put(np.ones(100_000), ref)

    lost, other = hoplite.ray.new_ref(), hoplite.ray.put(np.full(100_000, 2.0))
    ray.get(put_there.options(resources=THERE).remote(lost))
    kill_the_node_there()
    wait_until(lambda: hoplite.ray.wait([lost], timeout=0.1)[0] == [], "the object is lost")
    one = hoplite.ray.reduce([lost, other], num_objects=1)
    assert one.get(timeout=20)[0] == 2.0 and one.unused == [lost]
    both = hoplite.ray.reduce([lost, other])
    works_again(THERE)
    ray.get(put_there.options(resources=THERE).remote(lost))
    assert both.get(timeout=20)[0] == 3.0


def kill_the_node_there() -> None:
    """Returns when another runs in its place."""
    (before,) = daemons("node", node_there())
    os.kill(before, signal.SIGKILL)
    wait_until(lambda: len(daemons("node", node_there()) - {before}) == 1, "another", 30)


def test_who_gets_a_sum_that_was_lost_with_its_node_is_told() -> None:
    @remote()
    def put_there() -> hoplite.ray.Ref:
        return hoplite.ray.put(np.ones(100_000))

    sources = ray.get([put_there.options(resources=THERE).remote() for _ in range(2)])
    reduction = hoplite.ray.reduce(sources).wait(timeout=20)
    assert [one.node for one in hoplite.ray._job.client().info(reduction.ref.id).holders] == [
        node_there()
    ]
    kill_the_node_there()
    with pytest.raises(hoplite.PeerLostError, match=node_there()):
        reduction.get(timeout=30)
    with pytest.raises(hoplite.PeerLostError):
        hoplite.ray.get(reduction.ref, timeout=30)
    works_again(THERE)


def test_who_gets_what_was_put_at_a_lost_node_is_told() -> None:
    @remote(resources=THERE)
    class Maker:
        def put(self) -> list[hoplite.ray.Ref]:
            self.refs = [hoplite.ray.put(np.ones(100_000)) for _ in range(2)]
            return self.refs

    actor_class: Any = Maker
    maker = actor_class.remote()
    kept, lost = ray.get(maker.put.remote())
    assert hoplite.ray.get(kept, timeout=20)[0] == 1.0
    kill_the_node_there()
    with pytest.raises(hoplite.PeerLostError, match=node_there()):
        hoplite.ray.get(lost, timeout=30)
    assert hoplite.ray.get(kept, timeout=20)[0] == 1.0
    works_again(THERE)


def test_an_actor_that_is_started_again_attaches_again() -> None:
    @remote(max_restarts=1, max_task_retries=1, resources=THERE)
    class Adder:
        def total(self, ref: Any) -> float:
            return float(hoplite.ray.get(ref, timeout=20).sum())

    adder: Any = Adder
    actor = adder.remote()
    ref = hoplite.ray.put(np.ones(100_000))
    assert ray.get(actor.total.remote(ref)) == 100_000
    ray.kill(actor, no_restart=False)
    assert ray.get(actor.total.remote(ref)) == 100_000


def test_nodes_listen_at_the_address_of_their_ray_node() -> None:
    for node in ray.nodes():
        if node["Alive"]:
            (pid,) = daemons("node", f"ray-{node['NodeID'][:12]}")
            arguments = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
            assert f"--listen={node['NodeManagerAddress']}:0" in arguments


def test_its_socket_has_no_longer_a_path_than_one_of_ray() -> None:
    session = Path("/tmp/ray/session")
    sockets = {
        hoplite.ray._keepers.Place(session, job).socket(node)
        for job in ("01000000", "02000000")
        for node in ("0" * 56, "1" + "0" * 55)
    }
    assert len(sockets) == 4
    assert all(len(str(one)) <= len(f"{session}/sockets/plasma_store") for one in sockets)


BEGIN = """
import json, os, ray, hoplite.ray
ray.init(log_to_driver=False, **json.loads(os.environ["HOW"]))
"""
WORK = """
hoplite.ray.init(memory="16MiB")
ref = hoplite.ray.put(b"x")
assert bytes(hoplite.ray.get(ref)) == b"x"
print(json.dumps(hoplite.ray._job.Job.of_this_process().place.cluster), flush=True)
"""


def drive(program: str, **how: Any) -> tuple[int, list[str]]:
    """A driver of its own, with these arguments of ray.init: its exit status, its lines of JSON.
    (Ray, too, writes to standard output.)"""
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + textwrap.dedent(program)],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        timeout=100,
        env={**os.environ, "HOW": json.dumps(how)},
    )
    return done.returncode, [line for line in done.stdout.splitlines() if line.startswith('"')]


def test_a_node_that_can_not_start_says_why(two_hosts: Any) -> None:
    program = """
    try:
        hoplite.ray.init(memory="nonsense")
    except hoplite.InvalidArgumentError as error:
        print(json.dumps(str(error)))
    """
    # What the second one stores is freed at once: together it is four times the memory.
    free = """
    for fill in range(8):
        hoplite.ray.put(bytes(8 << 20))
    """
    again = textwrap.indent(WORK, "    ") + free
    status, lines = drive(program + again, address=two_hosts.address)
    assert status == 0
    reason = json.loads(lines[0])
    assert "'nonsense' is no size" in reason and ".log" in reason and len(lines) == 2


@pytest.mark.parametrize(
    ("memory", "arrays", "elements"), [("64MiB", 12, 2 << 20), LARGER_THAN_MEMORY]
)
def test_more_than_the_memory_lies_on_a_disk(
    two_hosts: Any, tmp_path: Path, memory: str, arrays: int, elements: int
) -> None:
    program = f"""
    import numpy as np
    hoplite.ray.init(memory="{memory}", spill="{tmp_path}", spill_limit="4GiB")
    refs = [hoplite.ray.put(np.full({elements}, float(i))) for i in range({arrays})]
    for i, ref in enumerate(refs):
        assert hoplite.ray.get(ref).sum() == i * {elements}, i
    print(json.dumps("all"), flush=True)
    """
    status, lines = drive(program, address=two_hosts.address)
    assert status == 0 and lines == ['"all"']


ENDS = [
    ("", 0),
    (
        """
        old, got = hoplite.ray.new_ref(), hoplite.ray.get(ref)
        ray.shutdown()
        calls = [
            lambda: hoplite.ray.get(ref),
            lambda: hoplite.ray.put(b"x", old),
            lambda: hoplite.ray.wait([ref, old]),
            lambda: hoplite.ray.reduce([ref]),
            lambda: hoplite.ray.free([ref, old]),
            hoplite.ray.new_ref,
        ]
        for call in calls:
            try:
                call()
            except hoplite.UnavailableError as error:
                assert "shut down" in str(error), error
            else:
                raise AssertionError("it was done")
        assert bytes(got) == b"x" and old.hex() in repr(old)
        ray.init(log_to_driver=False, **json.loads(os.environ["HOW"]))
        hoplite.ray.init(memory="16MiB")
        try:
            hoplite.ray.get(old)  # of a cluster that is no more
        except hoplite.ObjectDeletedError as error:
            assert "nobody owns it" in str(error), error
        else:
            raise AssertionError("it was got")
        del ref, old
        assert bytes(hoplite.ray.get(hoplite.ray.put(b"again"))) == b"again"
        """,
        0,
    ),
    (
        # Ray's core is gone, and Ray has not yet forgotten it, when the reductions' threads end.
        """
        import time

        class Slow:
            def __init__(self, core):
                self.core = core

            def __getattr__(self, name):
                return getattr(self.core, name)

            def shutdown_driver(self):
                self.core.shutdown_driver()
                time.sleep(2)

        for _ in range(4):
            hoplite.ray.reduce([hoplite.ray.new_ref() for _ in range(2)])
        worker = ray._private.worker.global_worker
        worker.core_worker = Slow(worker.core_worker)
        ray.shutdown()
        """,
        0,
    ),
    ("raise SystemExit(3)", 3),
    ("os.kill(os.getpid(), 9)", -9),
]


@pytest.mark.parametrize(
    ("end", "status"), ENDS, ids=["end", "shutdown", "reducing", "exit", "kill"]
)
def test_nothing_is_left_when_the_job_ends(end: str, status: int, two_hosts: Any) -> None:
    ended, lines = drive(WORK + textwrap.dedent(end), address=two_hosts.address)
    assert ended == status
    other = json.loads(lines[-1])
    assert other != place().cluster
    wait_until(lambda: not daemons("", other), "no process of that job is left")
    works_again(HERE)  # the others go on


def test_nothing_is_left_of_a_cluster_whose_driver_is_killed() -> None:
    own = {"address": "local", "num_cpus": 1, "object_store_memory": 100_000_000}
    ended, lines = drive(WORK + "os.kill(os.getpid(), 9)", **own)
    assert ended == -9
    wait_until(lambda: not daemons("", json.loads(lines[-1])), "no process of it is left")
