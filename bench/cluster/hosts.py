"""Several hosts on one machine: network namespaces on a bridge, each with a shaped link of its own.

Needs root. Everything that is made here is removed again when the block ends, also after a failure
or Ctrl-C: the processes inside the namespaces first, then the namespaces and the bridge.
"""

import contextlib
import os
import re
import signal
import subprocess
from pathlib import Path

import long_way

BURST = "128kb"  # the token bucket: so much passes each link unshaped
QUEUE = "8mb"  # long enough that no packet is dropped where two streams meet
CONGESTION_CONTROL = "cubic"


class Host:
    """One namespace: its address on the bridge, and how to start a program inside."""

    def __init__(self, name, address, port):
        self.name = name
        self.address = address
        self.port = port  # the bridge's end of its link

    def command(self, *words):
        return ["ip", "netns", "exec", self.name, *(str(word) for word in words)]

    def processes(self):
        """Numbers and names of those that run there."""
        listed = subprocess.run(["ip", "netns", "pids", self.name], capture_output=True, text=True)
        for pid in map(int, listed.stdout.split()):
            try:
                with open(f"/proc/{pid}/comm", encoding="ascii", errors="replace") as name:
                    yield pid, name.read().strip()
            except FileNotFoundError:
                pass  # it has ended

    def kill(self, program=""):
        """The processes whose name begins with this."""
        for pid, name in self.processes():
            if name.startswith(program):
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass

    def cut(self):
        ip("link", "set", self.port, "down")

    def connect(self):
        ip("link", "set", self.port, "up")

    def lose_route_to(self, other):
        """Nothing goes from here to the other host: calls there fail at once, and its calls get no answer."""
        ip("-n", self.name, "route", "add", "unreachable", f"{other.address}/32")

    def find_route_to(self, other):
        ip("-n", self.name, "route", "del", "unreachable", f"{other.address}/32")


class Loopback:
    """As a testbed, whose hosts are all this machine: no link is shaped, and no root is needed."""

    class Host:
        address = "127.0.0.1"

        def __init__(self, name):
            self.name = name

        @staticmethod
        def command(*words):
            return [str(word) for word in words]

    def __init__(self, hosts):
        self.hosts = [self.Host(f"host{number}") for number in range(1, hosts + 1)]
        self.control = self.Host("control")


class Testbed:
    """`with Testbed(4, "100mbit") as bed:` gives bed.hosts; rate None leaves the links unshaped.

    between: the rate of the way between two sites, in each direction. Hosts stand in them in turn; bed.control is in the first.
    delay: seconds that each direction of that way takes.
    One more host, bed.control, has a link like the others and takes what belongs to no peer (a
    directory). Reachable from here as bed.gateway on bed.bridge, for launchers.
    """

    def __init__(self, hosts, rate=None, between=None, delay=0.0):
        if os.geteuid() != 0:
            raise PermissionError("network namespaces need root: run this with sudo")
        if not 1 <= hosts <= 200:
            raise ValueError(f"{hosts} hosts: between 1 and 200 fit into the testbed's network")
        if delay and not between:
            raise ValueError("a delay needs the rate of the way between two sites")
        self.rate = rate
        self.between = between
        self.delay = delay
        self._mtu = ("mtu", long_way.MTU) if delay else ()
        self._held = contextlib.ExitStack()  # what ends with the block
        self._tag = f"hb{os.getpid() % 100000}"
        self._network = f"10.{200 + os.getpid() % 50}.{os.getpid() // 50 % 250}"
        self.bridge = f"{self._tag}br"
        self._far = f"{self._tag}far"  # the bridge of the second site
        self._way = (f"{self._tag}wa", f"{self._tag}wb")  # its ends at the two bridges
        self.gateway = f"{self._network}.254"
        everybody = [self._host(number) for number in range(1, hosts + 2)]
        self.hosts, self.control = everybody[:-1], everybody[-1]

    def _host(self, number):
        return Host(f"{self._tag}-{number}", f"{self._network}.{number}", f"{self._tag}v{number}")

    def __enter__(self):
        try:
            self._make()
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(self, *_):
        self._remove()

    def _make(self):
        allow_congestion_control(CONGESTION_CONTROL)
        ip("link", "add", self.bridge, "type", "bridge")
        ip("address", "add", f"{self.gateway}/24", "dev", self.bridge)
        ip("link", "set", self.bridge, "up")
        if self.between:
            self._make_way()
        for number, host in enumerate(self.hosts):
            self._connect(host, self._far if self.between and number % 2 == 1 else self.bridge)
        self._connect(self.control, self.bridge)

    def _make_way(self):
        ip("link", "add", self._far, "type", "bridge")
        ip("link", "set", self._far, "up")
        if self.delay:
            self._held.enter_context(long_way.LongWay(self._way, bytes_per_second(self.between), self.delay))
        else:
            ip("link", "add", self._way[0], "type", "veth", "peer", "name", self._way[1])
        for end, bridge in zip(self._way, (self.bridge, self._far)):
            ip("link", "set", end, *self._mtu, "master", bridge, "up")
            if not self.delay:
                shape(("tc",), end, self.between)

    def crossed(self):
        """Bytes that went from the first site to the second, and back, so far."""
        if not self.between:
            return 0, 0
        return tuple(int(Path(f"/sys/class/net/{end}/statistics/tx_bytes").read_text(encoding="ascii")) for end in self._way)

    def _connect(self, host, bridge):
        ip("netns", "add", host.name)
        ip("link", "add", host.port, "type", "veth", "peer", "name", "eth0", "netns", host.name)
        ip("link", "set", host.port, *self._mtu, "master", bridge, "up")
        inside = ("-n", host.name)
        ip(*inside, "address", "add", f"{host.address}/24", "dev", "eth0")
        ip(*inside, "link", "set", "lo", "up")
        ip(*inside, "link", "set", "eth0", *self._mtu, "up")
        call(*host.command("sysctl", "-qw", f"net.ipv4.tcp_congestion_control={CONGESTION_CONTROL}"))
        if self.rate:
            self.reshape(host, self.rate)

    @staticmethod
    def reshape(host, rate):
        """From now on the host's link has this rate."""
        shape(("tc", "-n", host.name), "eth0", rate)  # what it sends
        shape(("tc",), host.port, rate)  # what it receives

    def _remove(self):
        for host in [*self.hosts, self.control]:
            host.kill()
            for words in (("link", "delete", host.port), ("netns", "delete", host.name)):
                subprocess.run(["ip", *words], stderr=subprocess.DEVNULL)
        self._held.close()
        for device in (self._way[0], self._far, self.bridge):
            subprocess.run(["ip", "link", "delete", device], stderr=subprocess.DEVNULL)


def call(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        raise OSError(f"{' '.join(words)}: {done.stderr.strip()}")


def ip(*words):
    call("ip", *map(str, words))


def bytes_per_second(rate):
    """Of words like "100mbit"."""
    found = re.fullmatch(r"([\d.]+)([kmg])bit", rate)
    if not found:
        raise ValueError(f"{rate} is no rate like 100mbit")
    number, unit = found.groups()
    return float(number) * {"k": 125, "m": 125_000, "g": 125_000_000}[unit]


def shape(tc, device, rate):
    call(*tc, "qdisc", "replace", "dev", device, "root", "tbf", "rate", rate, "burst", BURST, "limit", QUEUE)


def allow_congestion_control(name):
    """Namespaces may choose among the allowed ones only; the machine's own choice stays."""
    path = "/proc/sys/net/ipv4/tcp_allowed_congestion_control"
    with open(path, encoding="ascii") as file:
        allowed = file.read().split()
    if name not in allowed:
        with open(path, "w", encoding="ascii") as file:
            file.write(" ".join([*allowed, name]))


def end_on_signals():
    """SIGTERM and SIGHUP unwind like Ctrl-C, so that every `with` block cleans up. The first of them: who ends a group
    of processes, and then each of them, or presses Ctrl-C once more, does not interrupt what cleans up."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def unwind(number, _):
        for each in numbers:
            signal.signal(each, lambda *_: None)
        raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)

    for number in numbers:
        signal.signal(number, unwind)
