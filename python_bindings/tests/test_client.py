"""Errors, deadlines, threads, Ctrl-C, and what outlives what."""

from __future__ import annotations

import gc
import pickle
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import hoplite
import numpy as np
import pytest
from hoplite import Client, LocalCluster, ObjectId, _program, errors


def test_very_many_ids_are_one_call(here: Client, there: Client) -> None:
    ids = [ObjectId.random() for _ in range(5000)]
    here.own(ids)
    for id in (ids[0], ids[4999]):
        here.put(b"x", id=id)
    assert [bytes(value) for value in there.get_many([ids[4999], ids[0]], timeout=20.0)] == [
        b"x",
        b"x",
    ]
    here.disown(ids[:1])
    with pytest.raises(hoplite.ObjectDeletedError):
        for _ in range(2000):  # until the shard has heard of it
            there.get(ids[0], timeout=20.0)
            time.sleep(0.01)
    with pytest.raises(hoplite.ObjectDeletedError, match="1 of 5000 objects have an error"):
        here.own(ids)
    here.delete(ids)
    with pytest.raises(hoplite.ObjectDeletedError):
        here.get(ids[4999], timeout=20.0)


# More than one client may hold: at once, and not at the deadline, which there is none of.
def test_more_ids_than_a_client_may_hold_are_refused(here: Client) -> None:
    with pytest.raises(
        hoplite.ResourceExhaustedError, match="65537 objects are asked for together"
    ):
        here.get_many([ObjectId.random() for _ in range(65537)])


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


@pytest.mark.parametrize(
    ("said", "kind", "text"),
    [
        ("no luck", hoplite.ObjectFailedError, "no luck"),
        (ZeroDivisionError("by zero"), hoplite.ObjectFailedError, "ZeroDivisionError: by zero"),
        (hoplite.InvalidArgumentError("a bad shape"), hoplite.InvalidArgumentError, "a bad shape"),
    ],
)
def test_an_error_in_place_of_an_object(
    here: Client, there: Client, said: str | Exception, kind: type[Exception], text: str
) -> None:
    name = ObjectId.random()
    with ThreadPoolExecutor(1) as pool:
        waits = pool.submit(there.get, name, 20)
        here.fail(name, said)
        for get in (waits.result, lambda: here.get(name, 10), lambda: here.get_many([name], 10)):
            with pytest.raises(kind) as told:
                get()
            assert type(told.value) is kind and str(told.value) == text
    assert str(there.info(name).failure) == text
    assert there.wait([name], timeout=10) == ([name], [])
    with pytest.raises(hoplite.AlreadyExistsError, match=f"has failed already: {text}"):
        there.put(b"late", id=name)
    with pytest.raises(kind, match=f"{name.hex()}, a source, failed: {text}"):
        there.reduce([name], dtype="float32").wait(timeout=20)


def test_what_others_say_steers_no_terminal(here: Client) -> None:
    name = ObjectId.random()
    here.fail(name, "\x1b[2Jgpj.\u202eexe")
    for command in ("info", "get", "why"):
        ask = [_program.path(), command, name.hex(), "--socket", here._socket]
        said = subprocess.run(ask, check=False, capture_output=True, timeout=60)
        shown = (said.stdout + said.stderr).decode()
        assert r"\u{1b}[2Jgpj.\u{202e}exe" in shown and "\x1b" not in shown


def test_more_than_fits_names_both_sizes(here: Client) -> None:
    with pytest.raises(hoplite.ResourceExhaustedError, match="67108864"):
        here.put(np.zeros(100 << 20, np.uint8), timeout=1)


def test_a_store_full_of_views_says_how_many(here: Client) -> None:
    gc.collect()
    ids = [here.put(np.zeros(10 << 20, np.uint8)) for _ in range(6)]
    views = [here.get(id) for id in ids]
    with pytest.raises(hoplite.ResourceExhaustedError, match=r"6 views.* 62914560 bytes"):
        here.put(np.zeros(10 << 20, np.uint8), timeout=0.1)
    views.append(here.get(ids[0], writable=True))
    with pytest.raises(hoplite.ResourceExhaustedError, match="7 views"):
        here.put(np.zeros(10 << 20, np.uint8), timeout=0.1)
    del views
    gc.collect()
    here.delete(ids)
    here.delete(here.put(np.zeros(10 << 20, np.uint8), timeout=10))


def test_wait_says_which_exist(here: Client, there: Client) -> None:
    ids = [ObjectId.random() for _ in range(3)]
    assert here.wait(ids, num_returns=0) == ([], ids)
    there.put(b"x", ids[2])
    assert here.wait(ids, timeout=10) == ([ids[2]], ids[:2])
    there.put(np.zeros(100_000), ids[0])
    assert here.wait(ids, num_returns=2, timeout=10) == ([ids[0], ids[2]], [ids[1]])
    # One of the two: each call asks anew, and returns with the first answer.
    (one,), others = here.wait(ids, num_returns=1, timeout=10)
    assert one in (ids[0], ids[2]) and others == [id for id in ids if id != one]
    # Nobody puts the third. How long it takes to hear of the others the machine decides.
    for timeout in (0.1, 1, 10):
        found = here.wait(ids, num_returns=3, timeout=timeout)
        if len(found[0]) == 2:
            break
    assert found == ([ids[0], ids[2]], [ids[1]])
    assert there.info(ids[0]).holders[0].node == "n1"  # it was not brought here
    with pytest.raises(hoplite.InvalidArgumentError, match="num_returns is 4, of 3"):
        here.wait(ids, num_returns=4)
    with pytest.raises(hoplite.InvalidArgumentError, match="twice"):
        here.wait([ids[0], ids[0]])


def test_nobody_waits_for_what_was_deleted(here: Client, there: Client) -> None:
    stays, deleted = here.put(b"stays"), here.put(b"deleted")
    here.delete(deleted)
    assert there.wait([deleted, stays], timeout=60) == ([stays], [deleted])
    with pytest.raises(hoplite.ObjectDeletedError, match=deleted.hex()):
        there.wait([deleted, stays], num_returns=2, timeout=60)


def test_wait_sleeps_until_somebody_puts(here: Client, there: Client) -> None:
    ids = [ObjectId.random() for _ in range(100)]
    with ThreadPoolExecutor(1) as pool:
        wait = pool.submit(here.wait, ids, 100, 20)
        there.put(np.zeros(100_000), ids[0])
        for id in ids[1:]:
            there.put(b"x", id)
        assert wait.result(timeout=20) == (ids, [])


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
    here.delete(name)
    with pytest.raises(hoplite.ObjectDeletedError, match=f"{name.hex()} was deleted"):
        here.info(name)


def test_clients_know_their_node_and_cluster(here: Client, there: Client) -> None:
    assert here.node_name != there.node_name
    assert here.cluster_id == there.cluster_id
    assert len(here.cluster_id) == 16


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


def a_loop_that_waits(made_by: str) -> str:
    """In a thread that is left alone."""
    return f"""
import asyncio, threading, uvloop
loop = {made_by}.new_event_loop()
waiting = client.aget(hoplite.ObjectId.random())
threading.Thread(target=loop.run_until_complete, args=(waiting,), daemon=True).start()
threading.Event().wait(0.2)
"""


EXITS = {
    "with views": "view = client.get(client.put(b'x' * 100_000), timeout=10)",
    "with a thread in get": (
        "import threading; threading.Thread(target=client.get, "
        "args=(hoplite.ObjectId.random(), 2), daemon=True).start()"
    ),
    "with a draft": "draft = client.create(100_000)",
    "with a reduction": "r = client.reduce([hoplite.ObjectId.random()], dtype='int8')",
    "with a running loop": a_loop_that_waits("asyncio"),
    "with a running loop of uvloop": a_loop_that_waits("uvloop"),
    "out of a running loop": """
import asyncio
async def leave():
    waiting = asyncio.create_task(client.aget(hoplite.ObjectId.random()))
    await asyncio.sleep(0.05)
    raise SystemExit
asyncio.run(leave())
""",
}


@pytest.mark.parametrize("what", EXITS)
def test_the_interpreter_exits_cleanly(cluster: LocalCluster, what: str) -> None:
    program = f"import hoplite; client = hoplite.connect({cluster.socket(0)!r})\n{EXITS[what]}"
    done = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, timeout=30
    )
    assert (done.returncode, done.stderr) == (0, b"")
