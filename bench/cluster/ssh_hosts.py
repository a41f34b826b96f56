"""Real hosts as a testbed, reached by ssh: their links are what they are, and their clocks are compared.

Nothing is installed there. The programs of the comparison lie in a folder of their own meanwhile, which goes when the block ends;
processes end with the ssh that started them, since they read their standard input to its end.
"""

import contextlib
import pathlib
import shlex
import socket
import subprocess
import time
import uuid

import processes

SSH = ("ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10")
PROGRAMS = ("cluster_bare", "cluster_hoplite")
# Tells the time of the host for each line that it gets.
CLOCK = "import sys, time\nfor _ in sys.stdin: print('{\"now\": %d}' % time.monotonic_ns(), flush=True)"
LOOKS = 30  # at a host's clock, of which the quickest counts
LEAD = 300_000_000  # nanoseconds: words take their way to the hosts


class Command(list):
    """A command line, and by how many nanoseconds the clock of its host is ahead of this one's."""

    ahead = 0


class Host:
    def __init__(self, word, folder):
        """word: HOST or USER@HOST as ssh takes it, or HOST=ADDRESS where the data goes another way."""
        self.login, _, address = word.partition("=")
        self.name = self.login.rpartition("@")[2]
        self.address = address or resolved(self.name)
        self._folder = folder
        self.ahead = self.uncertain = 0
        self.described = self.name

    def command(self, *words):
        """Programs of the comparison are those in the host's folder."""
        there = [f"{self._folder}/{pathlib.PurePath(str(word)).name}"
                 if pathlib.PurePath(str(word)).name in PROGRAMS else str(word) for word in words]
        command = Command([*SSH, self.login, shlex.join(there)])
        command.ahead = self.ahead
        return command

    def receive(self, program):
        place = shlex.quote(f"{self._folder}/{program.name}")
        with open(program, "rb") as file:
            self._call(f"umask 077; mkdir -p {shlex.quote(self._folder)} && cat > {place} && chmod 700 {place}", file)

    def clear(self):
        self._call(f"rm -rf {shlex.quote(self._folder)}", subprocess.DEVNULL)

    def compare_clocks(self):
        """The answer that came back soonest says most."""
        clock = processes.Agent(self.command("python3", "-c", CLOCK))
        try:
            looks = []
            for _ in range(LOOKS):
                before = time.monotonic_ns()
                there = clock.ask("now", timeout=20)["now"]
                after = time.monotonic_ns()
                looks.append((after - before, there - (before + after) // 2))
        finally:
            clock.close()
        round_trip, self.ahead = min(looks)
        self.uncertain = round_trip // 2

    def describe(self):
        self.described = f"{self.name} ({self.address}): " + self._call("uname -sr; nproc", subprocess.DEVNULL).replace("\n", ", ")
        self.described = self.described.removesuffix(", ") + " cores"

    def _call(self, words, given):
        done = subprocess.run([*SSH, self.login, words], stdin=given, capture_output=True, text=True, timeout=120)
        if done.returncode != 0:
            raise processes.Failed(f"ssh {self.login}: {done.stderr.strip() or f'exit {done.returncode}'}")
        return done.stdout


class SshTestbed:
    """`with SshTestbed(["h1", "h2"], programs) as bed:`; the directory is on the first host."""

    def __init__(self, words, programs):
        folder = f"/tmp/hoplite-bench-{uuid.uuid4().hex}"
        self.hosts = [Host(word, folder) for word in words]
        self.control = self.hosts[0]
        self._programs = programs

    def __enter__(self):
        processes.LEAD = LEAD
        try:
            for host in self.hosts:
                for name in PROGRAMS:
                    host.receive(self._programs / name)
                host.describe()
            self._compare_clocks()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for host in self.hosts:
            try:
                host.clear()
            except (processes.Failed, subprocess.TimeoutExpired) as failure:
                print(f"not removed: {failure}")

    @contextlib.contextmanager
    def again(self):
        """The same hosts for another case."""
        self._compare_clocks()
        yield self

    def _compare_clocks(self):
        for host in self.hosts:
            host.compare_clocks()

    @property
    def uncertain(self):
        """Seconds by which a time between two hosts may be wrong."""
        return 2 * max(host.uncertain for host in self.hosts) / 1e9


def resolved(name):
    try:
        return socket.gethostbyname(name)
    except OSError as error:
        raise processes.Failed(f"{name}: {error}; HOST=ADDRESS names its address") from None
