"""Processes of `hoplite` for tests: started on free ports, watched, and ended whatever happens."""

import contextlib
import json
import os
import select
import signal
import subprocess
import tempfile
import time
import unittest

HOPLITE = os.environ["HOPLITE"]
UNKNOWN = "00" * 19 + "01"  # an object that nobody puts
PATIENCE = 20  # seconds for anything that should take milliseconds


def wait_until(condition, what, seconds=PATIENCE):
    """Polls until condition() is true; its value. Fails with `what` otherwise."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.02)


class Daemon:
    """A directory or node: ready when the constructor returns; `ready` is what it printed."""

    def __init__(self, *arguments, wrapper=()):
        self.process = subprocess.Popen([*wrapper, HOPLITE, *arguments, "--json"],
                                        stdout=subprocess.PIPE)
        readable, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
        line = self.process.stdout.readline() if readable else b""
        if not line:
            self.end(signal.SIGKILL)
            raise AssertionError(f"{arguments[0]} did not become ready")
        self.ready = json.loads(line)
        if "error" in self.ready:
            self.end()
            raise AssertionError(f"{arguments[0]} did not become ready: {self.ready['error']}")

    def end(self, how=signal.SIGTERM):
        """Sends the signal, waits; the exit status."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        try:
            return self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"did not end on signal {how}")
        finally:
            self.process.stdout.close()


class Cluster(contextlib.ExitStack):
    """A directory and nodes n1, n2, ... with their sockets in a temporary folder."""

    def __init__(self, nodes, memory="64MiB", rate=None, state=False):
        super().__init__()
        self.memory, self.rate = memory, rate
        self.folder = self.enter_context(tempfile.TemporaryDirectory(prefix="hoplite-test-"))
        self.state = ("--state", self.path("state")) if state else ()
        self.directory = self._start_directory("127.0.0.1:0")
        self.nodes = [self.add_node() for _ in range(nodes)] if nodes else []

    def start(self, *arguments, **options):
        daemon = Daemon(*arguments, **options)
        self.callback(self._end_quietly, daemon)
        return daemon

    @staticmethod
    def _end_quietly(daemon):
        if daemon.process.poll() is None:
            daemon.end(signal.SIGTERM)

    def restart_directory(self):
        """Kills the directory and starts another one at the same port, which knows nothing but its state file, if
        there is one."""
        address = self.directory.ready["address"]
        self.directory.end(signal.SIGKILL)
        self.directory = self._start_directory(address)

    def _start_directory(self, address):
        return self.start("directory", "--listen", address, "--recovery-window", "0", *self.state)

    def add_node(self):
        self.count = getattr(self, "count", 0) + 1
        name = f"n{self.count}"
        return self.start(*self.node_command(name, self.path(f"{name}.sock")))

    def node_command(self, name, socket, memory=None, directory=None):
        rate = ["--rate", self.rate] if self.rate else []
        return ("node", "--directory", directory or self.directory.ready["address"], "--listen", "127.0.0.1:0",
                "--socket", socket, "--memory", memory or self.memory, "--name", name, *rate)

    def path(self, name):
        return os.path.join(self.folder, name)

    def socket(self, node):
        return self.nodes[node - 1].ready["socket"]

    def write(self, name, size):
        """A file of random bytes; its path and its bytes."""
        data = os.urandom(size)
        with open(self.path(name), "wb") as file:
            file.write(data)
        return self.path(name), data

    def status(self):
        return json.loads(run("status", "--socket", self.socket(1), "--json").stdout)


def run(*arguments, stdin=None, timeout=60):
    """Runs a command to its end; a CompletedProcess with bytes in stdout and text in stderr."""
    done = subprocess.run([HOPLITE, *arguments], input=stdin, capture_output=True, timeout=timeout)
    done.stderr = done.stderr.decode()
    return done


def read(path):
    with open(path, "rb") as file:
        return file.read()


class CommandTest(unittest.TestCase):
    """Runs commands that must succeed, or fail with a code and a sentence."""

    def succeed(self, *arguments, **options):
        done = run(*arguments, **options)
        self.assertEqual(done.returncode, 0, f"{arguments}: {done.stderr}")
        return done.stdout

    def refuse(self, code, *arguments, **options):
        done = run(*arguments, **options)
        self.assertEqual(done.returncode, 1, f"{arguments}: {done.stderr}")
        self.assertRegex(done.stderr, rf"^{code}: \S")
        return done.stderr


class ClusterTest(CommandTest):
    """Commands at the nodes of clusters; what these leave behind ends with the test."""

    Cluster = Cluster

    def cluster(self, nodes, **options):
        cluster = self.Cluster(nodes, **options)
        self.addCleanup(cluster.close)
        return cluster

    def put(self, cluster, node, size, name):
        path, _ = cluster.write(name, size)
        self.succeed("put", path, "--id", f"name:{name}", "--socket", cluster.socket(node))

    def get(self, cluster, node, name):
        self.succeed("get", f"name:{name}", "--output", "/dev/null", "--timeout", "20s", "--socket", cluster.socket(node))

    def begin(self, cluster, node, *words):
        """A command that waits."""
        process = subprocess.Popen([HOPLITE, *words, "--socket", cluster.socket(node)],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def begin_get(self, cluster, node, name):
        return self.begin(cluster, node, "get", f"name:{name}", "--output", "/dev/null")

    def stop(self, cluster, node):
        process = cluster.nodes[node - 1].process
        process.send_signal(signal.SIGSTOP)
        self.addCleanup(process.send_signal, signal.SIGCONT)
