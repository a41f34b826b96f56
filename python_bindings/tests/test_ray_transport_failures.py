"""Ray's tensor transports of hoplite.ray where something dies, hangs or is not to be had."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import hoplite
import pytest
from hoplite.ray import _setup
from hoplite.ray._object_refs import id_of
from ray_cluster import HERE, THERE, id_exists, ray, remote, wait_until
from ray_tensors import Worker, torch
from test_ray_failures import daemons, drive

pytestmark = pytest.mark.usefixtures("two_hosts")

# Of an actor: it gives a transfer up after 2 s.
IMPATIENT = {"env_vars": {"RAY_rdt_fetch_fail_timeout_milliseconds": "2000"}}


@pytest.fixture
def maker() -> Any:
    """At the other host; tests may kill it."""
    return Worker.options(resources=THERE).remote()


@pytest.fixture(scope="module")
def reader(two_hosts: Any) -> Any:
    return Worker.options(resources=HERE).remote()


@pytest.fixture(scope="module")
def impatient(two_hosts: Any) -> Any:
    return Worker.options(resources=HERE, runtime_env=IMPATIENT).remote()


@contextmanager
def other_host_stopped() -> Iterator[None]:
    """Its Hoplite node stands still."""
    node_id = next(one["NodeID"] for one in ray.nodes() if "there" in one["Resources"])
    (pid,) = daemons("node", f"ray-{node_id[:12]}")
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: ") T " in Path(f"/proc/{pid}/stat").read_text(), "it is stopped")
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def made(maker: Any, value: float = 1.0) -> Any:
    """A tensor of the other host, which is there."""
    ref = maker.make.remote(value)
    assert ray.wait([ref], timeout=30, fetch_local=False)[0] == [ref]
    return ref


def test_the_maker_is_killed_before(maker: Any, reader: Any) -> None:
    ref = maker.make.remote(seconds=60.0)
    use = reader.first.remote(ref)
    total = hoplite.ray.reduce([ref])
    ray.kill(maker)
    with pytest.raises(ray.exceptions.RayError, match="died"):
        ray.get(use, timeout=30)
    with pytest.raises(hoplite.ObjectFailedError, match=f"{ref.hex()}.*died"):
        total.wait(timeout=30)
    assert ray.get(reader.first.remote(torch.ones(1))) == 1.0


def test_the_maker_is_killed_while_it_is_read(maker: Any, reader: Any) -> None:
    ref, pid = made(maker), ray.get(maker.pid.remote())
    with other_host_stopped():
        use = reader.first.remote(ref)
        ray.kill(maker)
        wait_until(lambda: not Path(f"/proc/{pid}").exists(), "the maker's process has ended")
        assert ray.wait([use], timeout=0.3)[0] == []
    assert ray.get(use, timeout=30) == 1.0


def test_the_maker_is_killed_after(maker: Any, reader: Any) -> None:
    ref = made(maker)
    id = id_of(ref)
    ray.kill(maker)
    assert ray.get(reader.first.remote(ref)) == 1.0
    wait_until(lambda: not id_exists(id), "its grace is over")
    with pytest.raises(hoplite.ObjectDeletedError, match=f"{ref.hex()}.*has died"):
        ray.get(ref)
    with pytest.raises(hoplite.ObjectDeletedError, match=f"{ref.hex()}.*has died"):
        ray.get(reader.first.remote(ref))
    with pytest.raises(hoplite.ObjectDeletedError, match=ref.hex()):
        hoplite.ray.reduce([ref]).wait(timeout=30)


def test_one_that_does_not_come_in_time(maker: Any, impatient: Any) -> None:
    ref, other = made(maker), made(maker, 2.0)
    with other_host_stopped():
        with pytest.raises(hoplite.TimeoutError, match="is not complete"):
            ray.get(impatient.first.remote(ref), timeout=30)
        with pytest.raises(ray.exceptions.GetTimeoutError):
            ray.get([ref, other], timeout=0.5)
    assert ray.get(impatient.first.remote(other), timeout=30) == 2.0
    assert ray.get(maker.pid.remote(), timeout=30)  # both live on


def test_ray_aborts_a_transfer(maker: Any, reader: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ref, other = made(maker), made(maker, 2.0)
    monkeypatch.setattr(ray._private.ray_constants, "RDT_FETCH_FAIL_TIMEOUT_SECONDS", 1.0)
    with other_host_stopped():
        uses = [reader.first.remote(one) for one in (ref, other)]  # the second has not begun
        for use in uses:
            with pytest.raises(hoplite.CancelledError, match="aborted"):
                ray.get(use, timeout=30)
    monkeypatch.undo()
    assert ray.get(reader.first.remote(made(maker, 3.0)), timeout=30) == 3.0


def test_a_device_is_refused(maker: Any) -> None:
    with pytest.raises(ValueError, match="device meta"):
        ray.get(maker.make_elsewhere.remote())


def test_ray_limits_who_gets_them_and_how(maker: Any, reader: Any, impatient: Any) -> None:
    @remote()
    class Plain:
        def first(self, value: Any) -> float:
            return float(value[0])

    plain: Any = Plain
    with pytest.raises(ValueError, match="enable_tensor_transport=True"):
        plain.remote().first.options(tensor_transport="hoplite").remote(1)
    with pytest.raises(TimeoutError):
        ray.get(impatient.first.remote(value=made(maker)))
    with pytest.raises(NotImplementedError, match="59644"):
        reader.first_of_nested.remote([maker.make.remote(seconds=0.5)])

    @remote(resources=HERE)
    def first(value: Any) -> float:
        return float(value[0])

    with pytest.raises(ray.exceptions.RaySystemError, match="rdt_tensors"):
        ray.get(first.remote(made(maker)))


PUT_IN_A_TASK = """
import numpy as np
try:
    ray.put(np.ones(3), _tensor_transport="hoplite_numpy")
except hoplite.UnavailableError as error:
    assert "call hoplite.ray.init()" in str(error), error
else:
    raise AssertionError("it was put")
hoplite.ray.init(memory="16MiB")

@ray.remote
def put():
    return ray.put(np.ones(3), _tensor_transport="hoplite_numpy")

try:
    print(json.dumps(str(ray.get(ray.get(put.remote())).sum())))
except ValueError as error:
    print(json.dumps(str(error).splitlines()[-1]))
"""


@pytest.mark.parametrize(
    ("runtime_env", "said"),
    [
        ({}, '"ValueError: Invalid tensor transport: HOPLITE_NUMPY"'),
        ({"worker_process_setup_hook": "hoplite.ray.setup"}, '"3.0"'),
    ],
)
def test_a_task_that_never_imports_the_package_needs_a_hook(
    runtime_env: dict[str, str], said: str, two_hosts: Any
) -> None:
    ended = drive(PUT_IN_A_TASK, address=two_hosts.address, runtime_env=runtime_env)
    assert ended == (0, [said])


def test_an_import_registers_them_and_no_torch_is_imported() -> None:
    program = """
import sys, hoplite.ray
from ray._private.worker import global_worker
from ray.experimental.rdt.util import transport_manager_info
assert {"HOPLITE", "HOPLITE_NUMPY"} <= set(transport_manager_info)
assert "torch" not in sys.modules
assert global_worker._rdt_manager is not None  # or two threads may make one each
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_another_ray_may_lack_them(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _setup.missing() == ""
    monkeypatch.setitem(sys.modules, "ray.experimental.rdt", None)
    assert "tensor_transport='hoplite' (import of ray.experimental.rdt" in _setup.missing()
