"""All shards of a directory are killed at once and started again, with much to be told by the nodes."""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

from hosts import Testbed
from operations import format_rate, format_size
from processes import Agent, Failed, end
from rounds import say
from rows import Goal, Row
from transfers import MIB

HOSTS = 4
SHARDS = 4  # one on each host, so that each link carries as much as the others
PORT = 7700
CASES = ((1_000_000, 16, None), (65_536, 16 << 10, "100mbit"))  # the second: bytes, too
OVERHEAD = 1 << 10  # bytes of a node's store that an object may cost besides its own
PROBES = 16  # objects that are put, and got, after the restart: every shard has some
PATIENCE = 1800.0  # seconds, for so many puts; a machine may have other things to do
REOPENED = 60.0  # seconds after which every node has its sessions again
OPENED = "is open"  # what a node logs of each session
GET, PUT, SESSIONS = "first gets", "first puts", "sessions per node and shard"


class Restarts:
    """Runs the cases and collects their rows. programs: the folder of the built ones."""

    def __init__(self, programs, repetitions, failures):
        self._programs = programs
        self._repetitions = repetitions
        self._failures = failures
        self.rows = []

    def run(self):
        for count, size, rate in CASES:
            links = f", {format_rate(rate)} links" if rate else ""
            name = (f"{SHARDS} directory shards killed and started again, {count} objects of {format_size(size)} "
                    f"on {HOSTS} nodes{links}")
            say(name)
            times = Row(name, "s", series={GET: [], PUT: []})
            sessions = Row(SESSIONS, "", goals=[Goal("one", SESSIONS, 1.0)])
            try:
                with Testbed(HOSTS, rate) as bed, \
                        Cluster(self._programs, bed, count, size, self._repetitions) as cluster:
                    for number in range(self._repetitions):
                        gets, puts, opened = cluster.restart(number)
                        times.add(GET, gets)
                        times.add(PUT, puts)
                        sessions.add(SESSIONS, opened)
            except Failed as failure:
                self._failures.append(f"{name}: {failure}")
                say(f"  FAILED {failure}")
            self.rows += [times, sessions]


class Cluster:
    """`with Cluster(...) as cluster:` shards and nodes, and objects on all nodes."""

    def __init__(self, programs, bed, count, size, restarts):
        self._programs = programs
        self._hosts = bed.hosts
        self._count = count
        self._size = size
        self._restarts = restarts
        self._logs = []
        self._nodes = []
        self._shards = []
        self._addresses = ",".join(f"{host.address}:{PORT}" for host in bed.hosts[:SHARDS])

    def __enter__(self):
        self._folder = pathlib.Path(tempfile.mkdtemp(prefix="restarts-"))
        try:
            self._start_shards()
            self._start_nodes()
            for number, node in enumerate(self._nodes):
                node.tell("fill", f"held-{number}", self._count // HOSTS, self._size)
            for node in self._nodes:
                node.answer(PATIENCE)
            for number in range(self._restarts):
                self._nodes[0].ask("fill", f"wanted-{number}", PROBES, self._size)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for shard in self._shards:
            end(shard)
        for node in self._nodes:
            node.signal(signal.SIGKILL)
            node.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def restart(self, number):
        """Seconds from the death of the shards to the last of some gets of what was there (and is not yet at the node
        that gets it) and of some new puts, and the most sessions that a node has opened with one shard since."""
        putter, getter = self._nodes[:2]
        before = self._opened()
        killed = time.monotonic_ns()
        for shard in self._shards:
            end(shard)
        getter.tell("get", f"wanted-{number}", PROBES, self._size, 0, 0)
        putter.tell("put", f"new-{number}", PROBES, self._size, 0, 0)
        self._start_shards()
        gets, puts = ((node.answer()["ends"][-1] - killed) / 1e9 for node in (getter, putter))
        deadline = time.monotonic() + REOPENED
        while min(opened := [after - one for one, after in zip(before, self._opened())]) < SHARDS:
            if time.monotonic() > deadline:
                raise Failed(f"a node has only {min(opened)} of {SHARDS} sessions {REOPENED:.0f} s after the restart")
            time.sleep(0.05)
        return gets, puts, max(opened) / SHARDS

    def _opened(self):
        """By node: how many sessions it has opened so far."""
        return [log.read_text().count(OPENED) for log in self._logs]

    def _start_shards(self):
        self._shards = [
            subprocess.Popen(host.command(self._programs / "hoplite", "directory", "--insecure", "--listen",
                                          f"{host.address}:{PORT}",
                                          "--shards", self._addresses),
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
            for host in self._hosts[:SHARDS]]

    def _start_nodes(self):
        memory = (self._size + OVERHEAD) * self._count // HOSTS + 64 * MIB
        for host in self._hosts:
            self._logs.append(self._folder / host.name)
            with open(self._logs[-1], "w") as log:
                self._nodes.append(Agent(host.command(self._programs / "cluster_hoplite"), log=log,
                                         env={**os.environ, "HOPLITE_LOG": "info"}))
            self._nodes[-1].tell("node", host.name, f"{host.address}:0", self._addresses, memory)
        for node in self._nodes:
            node.answer()
            node.ask("prepare", self._size)
