"""Registers: one of many wins, everybody hears, a writer that goes is missed."""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import subprocess
import sys
import time

import hoplite
import pytest
from hoplite import Client, ConflictError, LocalCluster
from hoplite._register import fitting

SOON = 60.0

CLAIMS = """
import sys, time, hoplite
leader = hoplite.connect(sys.argv[1]).register(sys.argv[2])
print(leader.compare_and_set(0, b"child", writer=True, timeout=60), flush=True)
time.sleep(600)
"""


def test_it_holds_what_was_written_last(here: Client, there: Client) -> None:
    with here.register("held") as mine, there.register("held") as theirs:
        assert mine.get(timeout=SOON) == hoplite.RegisterEntry(0, b"", False)
        first = mine.compare_and_set(0, b"a", timeout=SOON)
        assert theirs.get(timeout=SOON) == hoplite.RegisterEntry(first, b"a", False)
        second = theirs.compare_and_set(first, bytearray(b"b"), timeout=SOON)
        assert second > first
        assert mine.changed(after=first, timeout=SOON).value == b"b"


def test_names_of_any_length_fit(here: Client) -> None:
    assert fitting("short") == "short"
    names = {fitting(end + "k" * 5000) for end in "ab"}
    assert len(names) == 2
    for name in names:
        here.register(name).close()


def test_a_conflict_says_what_is_there(here: Client) -> None:
    with here.register("conflict") as register:
        number = register.compare_and_set(0, b"a", timeout=SOON)
        with pytest.raises(ConflictError, match="conflict") as raised:
            register.compare_and_set(number + 1, b"b", timeout=SOON)
        assert raised.value.number == number
        assert raised.value.entry.value == b"a"
        again = pickle.loads(pickle.dumps(raised.value))
        assert (str(again), again.entry) == (str(raised.value), raised.value.entry)


def test_a_coroutine_waits_for_what_is_new(here: Client, there: Client) -> None:
    async def follow() -> list[bytes]:
        with here.register("news") as written, there.register("news") as read:
            seen, number, last = [], 0, 0
            for step in range(5):
                news = asyncio.create_task(read.achanged(number, timeout=SOON))
                last = await written.acompare_and_set(last, b"%d" % step, timeout=SOON)
                entry = await news
                number = entry.number
                seen.append(entry.value)
            assert await read.aget(timeout=SOON) == await written.aget(timeout=SOON)
            return seen

    assert asyncio.run(follow()) == [b"0", b"1", b"2", b"3", b"4"]


def test_a_killed_writer_is_missed(cluster: LocalCluster, there: Client) -> None:
    socket = cluster.socket(0)
    child = subprocess.Popen(
        [sys.executable, "-c", CLAIMS, socket, "killed"], stdout=subprocess.PIPE, text=True
    )
    with child, there.register("killed") as watched:
        assert child.stdout is not None
        number = int(child.stdout.readline())
        entry = watched.changed(after=0, timeout=SOON)
        assert entry == hoplite.RegisterEntry(number, b"child", True)
        os.kill(child.pid, signal.SIGKILL)
        gone = watched.changed(after=number, timeout=SOON)
        assert gone == hoplite.RegisterEntry(number, b"child", False)
        mine = watched.compare_and_set(number, b"successor", writer=True, timeout=SOON)
        assert watched.get(timeout=SOON) == hoplite.RegisterEntry(mine, b"successor", True)


def test_a_writer_that_is_followed_is_refused(here: Client, there: Client) -> None:
    with here.register("fenced") as before, there.register("fenced") as after:
        first = before.compare_and_set(0, b"before", writer=True, timeout=SOON)
        second = after.compare_and_set(first, b"after", writer=True, timeout=SOON)
        with pytest.raises(ConflictError) as raised:
            before.compare_and_set(first, b"once more", timeout=SOON)
        assert raised.value.number == second


def test_a_client_that_is_closed_has_nothing_open(cluster: LocalCluster, there: Client) -> None:
    client = cluster.connect(0)
    kept = client.register("closed")
    number = kept.compare_and_set(0, b"x", writer=True, timeout=SOON)
    with there.register("closed") as watched:
        # The shard knows that it is open there: without anybody a register ends.
        assert watched.get(timeout=SOON).number == number
        client.close()
        assert not watched.changed(after=number, timeout=SOON).has_writer
        with pytest.raises(hoplite.CancelledError):
            kept.get(timeout=SOON)


def test_info_shows_it(cluster: LocalCluster, here: Client, there: Client) -> None:
    with here.register("shown") as register, there.register("shown") as watched:
        number = register.compare_and_set(0, b"who leads", writer=True, timeout=SOON)
        watched.changed(after=0, timeout=SOON)
        info = there.info(hoplite.ObjectId.from_name("shown"), timeout=SOON).as_register
        assert info is not None
        assert (info.number, info.value) == (number, b"who leads")
        assert (info.writer, info.nodes) == (here.node_name, 2)
        assert repr(info) == f"<RegisterInfo number {number}: b'who leads', writer at n0>"
        socket = f"--socket={cluster.socket(1)}"
        command = [sys.executable, "-m", "hoplite", "info", "name:shown", socket]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert 'value     "who leads"' in said
        assert "writer    a client of n0" in said
        assert "open      at 2 nodes" in said


def test_many_that_are_closed_leave_nothing(here: Client, there: Client) -> None:
    names = [f"one of many {number}" for number in range(1000)]
    opened = [here.register(name) for name in names]
    for register in opened:
        register.compare_and_set(0, b"x", writer=True, timeout=SOON)
    ids = [hoplite.ObjectId.from_name(name) for name in names]
    assert all(there.info_many(ids, timeout=SOON))
    for register in opened:
        register.close()
    deadline = time.monotonic() + SOON
    while any(there.info_many(ids, timeout=SOON)):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_bad_input_is_named(here: Client) -> None:
    with pytest.raises(hoplite.InvalidArgumentError, match="0 bytes"):
        here.register("")
    with pytest.raises(TypeError, match="register: name: a text expected, not the int 3"):
        here.register(3)  # type: ignore[arg-type]
    with here.register("bad") as register:
        with pytest.raises(hoplite.InvalidArgumentError, match="1025 bytes"):
            register.compare_and_set(0, b"x" * 1025, timeout=SOON)
        with pytest.raises(TypeError, match="value: bytes expected, not 'text'"):
            register.compare_and_set(0, "text", timeout=SOON)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="expected: an integer expected, not the str 'a'"):
            register.compare_and_set("a", b"x", timeout=SOON)  # type: ignore[arg-type]
        with pytest.raises(hoplite.InvalidArgumentError, match="number of no register"):
            register.changed(after=-1, timeout=SOON)
        with pytest.raises(hoplite.TimeoutError, match='register "bad": nobody wrote it'):
            register.changed(after=0, timeout=0.05)
    assert repr(register) == "<Register 'bad', closed>"
    with pytest.raises(hoplite.CancelledError, match="was closed"):
        register.get(timeout=SOON)
