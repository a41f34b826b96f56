"""A stretch's cluster of real processes: directory shards and nodes, each on a host of its own;
what can befall them, and what they hold.

places.py has the hosts.
"""

import collections
import contextlib
import json
import os
import re
import resource
import select
import signal
import socket
import subprocess
import time

from places import Loopback

PATIENCE = 40.0  # seconds for anything that takes one second on an idle machine
DATA_PORT, SHARD_PORT = 7100, 7000
CONNECTION = "socket"  # the kind of a descriptor that is a TCP connection


class Trouble(Exception):
    """A member does not do what it must."""


def outliving_nobody(command):
    """The command, made to be killed with the process that started it."""
    return ["setpriv", "--pdeathsig", "KILL", *command]


class Member:
    """A directory shard or a node: one process at a time."""

    def __init__(self, name, host, command, log, spare=None):
        """`spare`: so many descriptors may it open beside those that it has when it is ready."""
        self._spare = spare
        self.name = name
        self.host = host
        self._command = command
        self._log = log
        self.process = None

    def launch(self):
        """Starts the process; `output` can be read when it is ready, or has ended."""
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
        """Reads what the process said. It may be refused while its predecessor is taken for alive."""
        if b'"ready"' in self.output.readline():
            self._limit()
            return True
        self.kill()
        if time.monotonic() > self._give_up:
            raise Trouble(f"{self.name} did not become ready: {self.last_words()}")
        return False

    def _limit(self):
        if self._spare is None:
            return
        most = max(map(int, os.listdir(f"/proc/{self.process.pid}/fd"))) + 1 + self._spare
        resource.prlimit(self.process.pid, resource.RLIMIT_NOFILE, (most, most))

    def start(self):
        """Waits until the member is ready."""
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
        """Ends it as a user would; its exit status must be 0."""
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
        """How many descriptors of each kind are open."""
        folder = f"/proc/{self.process.pid}/fd"
        kinds = collections.Counter()
        for name in os.listdir(folder):
            try:
                target = os.readlink(f"{folder}/{name}")
            except FileNotFoundError:
                continue  # closed meanwhile
            target = re.sub(r"#\d+ \(deleted\)$", "# (deleted)", target)  # a file without a name: of --spill
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

    def __init__(self, hoplite, places, shape, folder, nodes, security):
        self.hoplite = hoplite
        self._security = security
        self.folder = folder
        self._places = places.on_loopback() if shape.kind.loopback else places
        self._kind = shape.kind
        self._parted = False
        self._links = contextlib.ExitStack()
        places = self._places
        needs_links = shape.kind.directory_rate or shape.kind.apart or shape.kind.rates
        self.kind = "plain" if needs_links and places.why_loopback else shape.kind.name
        ports = [SHARD_PORT + index for index in range(shape.shards)]
        if places.why_loopback:
            ports = free_ports(shape.shards)
        addresses = [f"{places.shard(index).address}:{port}" for index, port in enumerate(ports)]
        self.directory = ",".join(addresses)
        self.shards = [self._shard(index, address) for index, address in enumerate(addresses)]
        self.nodes = {number: self._node(number, shape.memory) for number in range(1, nodes + 1)}

    def _shard(self, index, address):
        host = self._places.shard(index)
        command = (self.hoplite, "directory", *self._security.directory, "--listen", address, "--shards", self.directory,
                   "--json")
        return Member(f"shard {index}", host, command, self.folder / f"shard{index}.log",
                      self._kind.shard_descriptors)

    def _node(self, number, memory):
        host = self._places.node(number)
        port = 0 if self._places.why_loopback else DATA_PORT
        directory = self.directory
        if self._kind.loopback and number % 2:
            directory = directory.replace(Loopback.address, "localhost")
        site = ("--site", f"site {number % self._kind.sites}") if self._kind.sites > 1 else ()
        disk = ("--spill", self.folder, "--spill-limit", self._kind.disk) if self._kind.disk else ()
        command = (self.hoplite, "node", *self._security.node, *site, *disk, "--directory", directory, "--listen",
                   f"{host.address}:{port}", "--socket", self.socket(number), "--memory", memory,
                   "--name", f"n{number}", *self._places.own_rate(), "--json")
        return Member(f"n{number}", host, command, self.folder / f"n{number}.log",
                      self._kind.node_descriptors)

    def socket(self, number):
        return self.folder / f"n{number}.sock"

    def members(self):
        return [*self.shards, *self.nodes.values()]

    def __enter__(self):
        try:
            if self._kind.directory_rate:
                self._places.reshape_shards(self._kind.directory_rate)
            self._links.enter_context(self._places.changing_links(self._kind.rates))
            if self._kind.apart:
                self._places.part(*self._kind.apart)
                self._parted = True
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
        self._links.close()
        if self._kind.directory_rate:
            self._places.reshape_shards(self._places.rate)
        if self._parted:
            self._places.join(*self._kind.apart)

    def end(self):
        """Ends all members in an orderly way; nothing of them must be left."""
        for member in reversed(self.members()):
            member.end()
        left = [path.name for path in self.folder.iterdir() if path.suffix != ".log"]
        if left:
            raise Trouble(f"left behind: {left}")

    def command(self, node, *words):
        """The command line of a client at this node's host."""
        words = (self.hoplite, *words, "--socket", self.socket(node), "--json")
        return outliving_nobody(self.nodes[node].host.command(*words))

    def bulk_command(self, call):
        """The command line of a process that puts or gets many objects."""
        words = (self.hoplite.parent / "chaos_bulk", self.socket(call.node), call.kind.partition("_")[0], call.thing,
                 call.count, call.size, int(call.timeout * 1000))
        return outliving_nobody(self.nodes[call.node].host.command(*words))

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
                                              *self._security.client, "--json")
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
        if done.returncode != 0:
            raise Trouble(f"status: {done.stderr.strip()}")
        return json.loads(done.stdout)


def free_ports(count):
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports
