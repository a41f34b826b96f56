"""Errors, deadlines, threads, Ctrl-C, and what outlives what."""

from __future__ import annotations

import gc
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import hoplite
import numpy as np
import pytest
from hoplite import Client, LocalCluster, ObjectId, errors


def test_a_deadline_names_what_was_missing(here: Client) -> None:
    name = ObjectId.random()
    with pytest.raises(TimeoutError, match=name.hex()) as caught:
        here.get(name, timeout=0.2)
    assert isinstance(caught.value, hoplite.TimeoutError)
    assert caught.value.code == "timeout"


def test_a_put_again_is_refused(here: Client) -> None:
    name = here.put(b"one")
    with pytest.raises(hoplite.AlreadyExistsError):
        here.put(b"two", id=name)


def test_what_was_deleted_says_so(here: Client, there: Client) -> None:
    name = here.put(np.zeros(100_000))
    view = there.get(name, timeout=10)
    here.delete(name)
    with pytest.raises(hoplite.ObjectDeletedError):
        here.get(name, timeout=10)
    assert view.sum() == 0


def test_more_than_fits_names_both_sizes(here: Client) -> None:
    with pytest.raises(hoplite.ResourceExhaustedError, match="67108864"):
        here.put(np.zeros(100 << 20, np.uint8), timeout=1)


@pytest.mark.parametrize("timeout", [-1, float("nan")])
def test_a_timeout_that_is_none(here: Client, timeout: float) -> None:
    with pytest.raises(ValueError, match="seconds"):
        here.get(ObjectId.random(), timeout=timeout)


def test_wrong_types_are_type_errors(here: Client) -> None:
    with pytest.raises(TypeError):
        here.get("not an id")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        here.delete([b"nor this"])  # type: ignore[list-item]


def test_get_many_keeps_the_order(here: Client, there: Client) -> None:
    ids = [here.put(np.full(1000, i)) for i in range(50)]
    values = there.get_many(ids, timeout=10)
    assert [value[0] for value in values] == list(range(50))


def test_info(here: Client) -> None:
    name = here.put(np.zeros(100_000))
    info = here.info(name)
    assert info.size_bytes == 800_000
    assert [(holder.node, holder.complete) for holder in info.holders] == [("n0", True)]
    with pytest.raises(hoplite.NotFoundError):
        here.info(ObjectId.random())


def test_clients_know_their_node_and_cluster(here: Client, there: Client) -> None:
    assert here.node_name != there.node_name
    assert here.cluster_id == there.cluster_id
    assert len(here.cluster_id) == 16


def test_a_closed_client_refuses(cluster: LocalCluster) -> None:
    client = cluster.connect(0)
    name = client.put(np.arange(100_000))
    view = client.get(name, timeout=10)
    client.close()
    client.close()
    with pytest.raises(hoplite.HopliteError):
        client.put(b"late")
    assert view[-1] == 99_999


def test_close_ends_the_waits_of_other_threads(cluster: LocalCluster) -> None:
    client = cluster.connect(0)
    with ThreadPoolExecutor(16) as pool:
        waits = [pool.submit(client.get, ObjectId.random()) for _ in range(16)]
        time.sleep(0.2)
        client.close()
        for wait in waits:
            with pytest.raises(hoplite.HopliteError):
                wait.result(timeout=10)


def test_a_waiting_get_lets_other_threads_run(here: Client, there: Client) -> None:
    name = ObjectId.random()
    with ThreadPoolExecutor(1) as pool:
        wait = pool.submit(there.get, name, 10)
        here.put(b"here it is", id=name)
        assert wait.result(timeout=10) == b"here it is"


def test_a_view_outlives_its_cluster() -> None:
    with LocalCluster(nodes=1, memory="16MiB") as alone, alone.connect(0) as client:
        view = client.get(client.put(np.arange(100_000)), timeout=10)
    assert view.sum() == sum(range(100_000))


def test_a_writable_view_is_nobody_elses(here: Client, there: Client) -> None:
    name = here.put({"step": 1, "weights": np.zeros((300, 300))})
    mine = there.get(name, timeout=10, writable=True)
    mine["weights"][:] = 7
    assert there.get(name, timeout=10)["weights"].sum() == 0
    assert here.get(name)["weights"].sum() == 0
    plain = here.get(here.put(b"bytes"), writable=True)
    plain[0] = ord("B")
    assert bytes(plain) == b"Bytes"
    there.delete(name)
    del there
    assert (mine["weights"] == 7).all()


def test_views_that_go_give_their_memory_back(here: Client) -> None:
    for _ in range(20):  # 20 x 32 MB through 64 MiB
        name = here.put(np.zeros(4_000_000), timeout=10)
        view = here.get(name, timeout=10)
        here.delete(name)
        del view
        gc.collect()


def test_clients_do_not_pickle(here: Client) -> None:
    with pytest.raises(TypeError, match="connect"):
        pickle.dumps(here)


@pytest.mark.parametrize("kind", errors.BY_CODE.values())
def test_errors_pickle(kind: type[hoplite.HopliteError]) -> None:
    again = pickle.loads(pickle.dumps(kind("one sentence")))
    assert type(again) is kind and str(again) == "one sentence" and again.code == kind.code


def test_no_socket_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOPLITE_SOCKET", raising=False)
    with pytest.raises(hoplite.InvalidArgumentError, match="HOPLITE_SOCKET"):
        hoplite.connect()
    with pytest.raises(hoplite.UnavailableError):
        hoplite.connect("/nowhere/hoplite.sock")


def test_the_socket_of_the_environment(
    cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOPLITE_SOCKET", cluster.socket(0))
    with hoplite.connect() as client:
        assert client.get(client.put(b"x"), timeout=10) == b"x"


@pytest.mark.parametrize("call", ["get", "reduce"])
def test_ctrl_c_interrupts_a_wait(here: Client, call: str) -> None:
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        if call == "get":
            here.get(ObjectId.random(), timeout=30)
        else:
            here.reduce([ObjectId.random()], dtype="int8").wait(timeout=30)
    assert time.monotonic() - start < 10
    timer.join()


EXITS = {
    "with views": "view = client.get(client.put(b'x' * 100_000), timeout=10)",
    "with a thread in get": (
        "import threading; threading.Thread(target=client.get, "
        "args=(hoplite.ObjectId.random(), 2), daemon=True).start()"
    ),
    "with a draft": "draft = client.create(100_000)",
    "with a reduction": "r = client.reduce([hoplite.ObjectId.random()], dtype='int8')",
}


@pytest.mark.parametrize("what", EXITS)
def test_the_interpreter_exits_cleanly(cluster: LocalCluster, what: str) -> None:
    program = f"import hoplite; client = hoplite.connect({cluster.socket(0)!r})\n{EXITS[what]}"
    done = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, timeout=30
    )
    assert (done.returncode, done.stderr) == (0, b"")
