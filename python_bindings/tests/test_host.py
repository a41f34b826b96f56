"""What a runtime keeps running on a host: a directory, nodes, and their sockets."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import hoplite
import pytest
from hoplite import _daemon, _host
from waiting import until


def program_of(socket: Path) -> int:
    """The process that runs with that socket."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            arguments = (process / "cmdline").read_text().split("\0")
        except OSError:  # it has ended
            continue
        if f"--socket={socket}" in arguments:
            return int(process.name)
    raise AssertionError(f"nobody runs with {socket}")


def connected(socket: Path) -> hoplite.Client:
    deadline = time.monotonic() + 20
    while True:
        try:
            return hoplite.connect(socket)
        except hoplite.UnavailableError:
            assert time.monotonic() < deadline
            time.sleep(0.02)


def test_a_host_keeps_a_directory_and_nodes(tmp_path: Path) -> None:
    host = _host.Host(
        "a cluster", "127.0.0.1", tmp_path / "sockets", tmp_path / "logs", _host.new_secret()
    )
    directory = host.keep_directory(lambda: None, "directory", "--orphan-grace=5s")
    address = str(directory.ready()["address"])
    nodes = [
        host.keep_node(f"host-{name}", address, "16MiB", name, f"node-{name}") for name in "ab"
    ]
    for node in nodes:
        node.ready()
    with connected(host.socket("host-a")) as a, connected(host.socket("host-b")) as b:
        assert (a.node_name, b.node_name) == ("a", "b")
        assert bytes(b.get(a.put(b"sent"), timeout=20)) == b"sent"
        os.kill(program_of(host.socket("host-a")), signal.SIGKILL)
        with pytest.raises(hoplite.UnavailableError):
            a.get(hoplite.ObjectId.random())
    with connected(host.socket("host-a")) as again:
        assert again.node_name == "a"
    assert host.log("node-a").parent == tmp_path / "logs" and host.log("node-a").exists()


def test_a_daemon_that_is_stopped_stays_away(tmp_path: Path) -> None:
    host = _host.Host("stopped", "127.0.0.1", tmp_path, tmp_path, _host.new_secret())
    directory = host.keep_directory(lambda: None, "directory")
    address = str(directory.ready()["address"])
    node = host.keep_node("node", address, "16MiB", "node", "node")
    node.ready()
    for daemon in (node, directory):
        daemon.stop()
        daemon.stop()
    until(lambda: "" if list(tmp_path.glob(host.socket("node").name)) else "gone", "gone")
    with pytest.raises(hoplite.UnavailableError):
        hoplite.connect(host.socket("node"))


def test_sockets_have_short_paths_of_their_own(tmp_path: Path) -> None:
    hosts = [_host.Host(name, "", tmp_path, tmp_path) for name in ("one", "other")]
    sockets = {host.socket(node) for host in hosts for node in ("0" * 56, "1" * 56)}
    assert len(sockets) == 4 and {len(one.name) for one in sockets} == {12}
    assert (_host.any_port("::1"), _host.any_port("10.0.0.1")) == ("[::1]:0", "10.0.0.1:0")


def test_a_daemon_that_is_not_ready_in_time_says_what_it_was_doing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "program"
    program.write_text('#!/bin/sh\necho "$HOPLITE_LOG: reserves memory" >&2\nexec sleep 5\n')
    program.chmod(0o700)
    monkeypatch.setenv("HOPLITE_PROGRAM", str(program))
    monkeypatch.delenv("HOPLITE_LOG", raising=False)
    monkeypatch.setattr(_daemon, "START_TIMEOUT", 1.0)
    log = tmp_path / "log"
    daemon = _daemon.Daemon(lambda: ["node"], log)
    until(lambda: log.read_text() if log.exists() else "", "reserves memory")
    with pytest.raises(hoplite.UnavailableError, match=r"within 1 s: info: reserves memory .*log"):
        daemon.ready()
    daemon._given_up = True
