"""A stretch's cluster of real processes: directory shards and nodes, each on a host of its own;
what can befall them, and what they hold.

Hosts are the namespaces of the benchmark's testbed, or, without root, this machine's loopback; then
nodes limit their own rates and no link can be cut.
"""

import collections
import json
import os
import pathlib
import select
import signal
import socket
import subprocess
import sys
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "bench" / "cluster"))
import hosts  # noqa: E402

PATIENCE = 40.0  # seconds for what takes one on a machine with nothing else to do
DATA_PORT, SHARD_PORT = 7100, 7000
CONNECTION = "socket"  # a descriptor's kind: of TCP


class Trouble(Exception):
    """A member does not do what it must."""


class Loopback:
    """Stands in for the testbed: one host for everybody."""

    address = "127.0.0.1"
    port = None  # no link of its own

    def command(self, *words):
        return [str(word) for word in words]


class Places:
    """The hosts of one lane: six for nodes, two for shards. A context manager."""

    def __init__(self, nodes, rate):
        self.rate = rate
        self._bed = None
        if os.geteuid() == 0:
            self._bed = hosts.Testbed(nodes + 1, rate)
        self._nodes = nodes

    def __enter__(self):
        self.why_loopback = "" if self._bed else "not root"
        if self._bed:
            try:
                self._bed.__enter__()
            except OSError as error:
                self.why_loopback, self._bed = str(error), None
        return self

    def __exit__(self, *problem):
        if self._bed:
            self._bed.__exit__(*problem)

    def node(self, number):
        return self._bed.hosts[number - 1] if self._bed else Loopback()

    def shard(self, index):
        if not self._bed:
            return Loopback()
        return self._bed.control if index == 0 else self._bed.hosts[self._nodes + index - 1]

    def own_rate(self):
        return [] if self._bed else ["--rate", self.rate]


def outliving_nobody(command):
    """The command, killed with whoever started it."""
    return ["setpriv", "--pdeathsig", "KILL", *command]


class Member:
    """A directory shard or a node: one process at a time."""

    def __init__(self, name, host, command, log):
        self.name = name
        self.host = host
        self._command = command
        self._log = log
        self.process = None

    def launch(self):
        """Its process begins; `output` can be read when it is ready, or has ended."""
        with open(self._log, "ab") as log:
            self.process = subprocess.Popen(
                outliving_nobody(self.host.command(*self._command)), stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=log, start_new_session=True,
                env={**os.environ, "HOPLITE_LOG": "info"})
        self._give_up = time.monotonic() + PATIENCE

    @property
    def output(self):
        return self.process.stdout

    def is_ready(self):
        """Reads what it said. While its predecessor is taken for alive it may be refused."""
        if self.output.readline():
            return True
        self.kill()
        if time.monotonic() > self._give_up:
            raise Trouble(f"{self.name} did not become ready: {self.last_words()}")
        return False

    def start(self):
        """Returns when it is ready."""
        self.launch()
        if not select.select([self.output], [], [], PATIENCE)[0] or not self.is_ready():
            raise Trouble(f"{self.name} did not become ready: {self.last_words()}")

    def last_words(self):
        with open(self._log, encoding="utf-8", errors="replace") as log:
            return log.read()[-500:].strip()

    def alive(self):
        return self.process.poll() is None

    def kill(self):
        self._signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()

    def stop(self):
        self._signal(signal.SIGSTOP)

    def go_on(self):
        self._signal(signal.SIGCONT)

    def end(self):
        """As a user would: its exit status must be 0."""
        self._signal(signal.SIGTERM)
        try:
            status = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
            raise Trouble(f"{self.name} does not end on SIGTERM") from None
        self.process.stdout.close()
        if status != 0:
            raise Trouble(f"{self.name} ended with {status}: {self.last_words()}")

    def _signal(self, number):
        if self.process.poll() is None:
            self.process.send_signal(number)

    def cut(self):
        self.host.cut()

    def connect(self):
        self.host.connect()

    def descriptors(self):
        """How many of each kind are open."""
        folder = f"/proc/{self.process.pid}/fd"
        kinds = collections.Counter()
        for name in os.listdir(folder):
            try:
                target = os.readlink(f"{folder}/{name}")
            except FileNotFoundError:
                continue  # closed meanwhile
            kind, _, number = target.partition(":[")
            if kind == "socket":
                kind = self._kind_of_socket(number.rstrip("]"))
            kinds[kind if target.startswith(("socket", "pipe", "anon_inode")) else target] += 1
        return kinds

    def _kind_of_socket(self, inode):
        with open(f"/proc/{self.process.pid}/net/unix", encoding="ascii") as table:
            unix = any(line.split()[6] == inode for line in table)
        return "unix socket" if unix else CONNECTION

    def resident(self):
        """Bytes in memory that are not the shared segment's."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            fields = dict(line.split(":", 1) for line in file if ":" in line)
        return int(fields["RssAnon"].split()[0]) * 1024


class Cluster:
    """Starts with `with`; ends everything with it."""

    def __init__(self, hoplite, places, shape, folder, nodes):
        self.hoplite = hoplite
        self.folder = folder
        self._places = places
        ports = [SHARD_PORT + index for index in range(shape.shards)]
        if places.why_loopback:
            ports = free_ports(shape.shards)
        addresses = [f"{places.shard(index).address}:{port}" for index, port in enumerate(ports)]
        self.directory = ",".join(addresses)
        self.shards = [self._shard(index, address) for index, address in enumerate(addresses)]
        self.nodes = {number: self._node(number, shape.memory) for number in range(1, nodes + 1)}

    def _shard(self, index, address):
        host = self._places.shard(index)
        command = (self.hoplite, "directory", "--listen", address, "--shards", self.directory,
                   "--json")
        return Member(f"shard {index}", host, command, self.folder / f"shard{index}.log")

    def _node(self, number, memory):
        host = self._places.node(number)
        port = 0 if self._places.why_loopback else DATA_PORT
        command = (self.hoplite, "node", "--directory", self.directory, "--listen",
                   f"{host.address}:{port}", "--socket", self.socket(number), "--memory", memory,
                   "--name", f"n{number}", *self._places.own_rate(), "--json")
        return Member(f"n{number}", host, command, self.folder / f"n{number}.log")

    def socket(self, number):
        return self.folder / f"n{number}.sock"

    def members(self):
        return [*self.shards, *self.nodes.values()]

    def __enter__(self):
        try:
            for member in self.members():
                member.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for member in self.members():
            if member.process and member.alive():
                member.kill()

    def end(self):
        """Everybody leaves in an orderly way, and nothing of them is left."""
        for member in reversed(self.members()):
            member.end()
        left = [path.name for path in self.folder.iterdir() if path.suffix != ".log"]
        if left:
            raise Trouble(f"left behind: {left}")

    def command(self, node, *words):
        """A client's, at this node's host."""
        words = (self.hoplite, *words, "--socket", self.socket(node), "--json")
        return outliving_nobody(self.nodes[node].host.command(*words))

    def run(self, node, *words, timeout=PATIENCE):
        """A client's command to its end: its standard output."""
        try:
            done = subprocess.run(self.command(node, *words), capture_output=True, text=True,
                                  timeout=timeout)
        except subprocess.TimeoutExpired:
            raise Trouble(f"{words} at n{node}: not done after {timeout} s") from None
        if done.returncode != 0:
            raise Trouble(f"{words} at n{node}: {done.stderr.strip()}")
        return done.stdout

    def status(self):
        """What the shards say themselves."""
        command = self.shards[0].host.command(self.hoplite, "status", "--directory", self.directory,
                                              "--json")
        done = subprocess.run(command, capture_output=True, text=True, timeout=40)
        if done.returncode != 0:
            raise Trouble(f"status: {done.stderr.strip()}")
        return json.loads(done.stdout)


def free_ports(count):
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports
