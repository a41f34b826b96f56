"""Where a lane's members run: in the namespaces of the benchmark's testbed, each with a link of its own, or, without
root, on this machine's loopback; then nodes limit their own rates and no link can be cut."""

import concurrent.futures
import contextlib
import os
import pathlib
import random
import sys
import threading

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "bench" / "cluster"))
import hosts  # noqa: E402


class Loopback:
    """Stands in for the testbed: one host for everybody."""

    address = "127.0.0.1"
    port = None  # no link of its own

    def command(self, *words):
        return [str(word) for word in words]


class Places:
    """The hosts of one lane: six for nodes, two for shards. A context manager."""

    def __init__(self, nodes, rate, loopback=False):
        self.rate = rate
        self._bed = None
        if os.geteuid() == 0 and not loopback:
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

    def on_loopback(self):
        """The same without namespaces."""
        places = Places(0, self.rate, loopback=True)
        places.why_loopback = "asked for"
        return places

    def part(self, one, other):
        """From now on these two nodes can't connect to each other: one is refused, the other gets no answer."""
        if self._bed:
            self.node(one).lose_route_to(self.node(other))

    def join(self, one, other):
        if self._bed:
            self.node(one).find_route_to(self.node(other))

    def reshape_shards(self, rate):
        """Sets the rate of these hosts' links from now on; does nothing where they have none of their own."""
        if not self._bed:
            return
        for host in (self._bed.control, self._bed.hosts[self._nodes]):
            self._bed.reshape(host, rate)

    @contextlib.contextmanager
    def changing_links(self, rates):
        """Each second the link of one node gets one of these rates, until the end; then all have the usual one."""
        if not self._bed or not rates:
            yield
            return
        nodes = self._bed.hosts[:self._nodes - 1]
        ended = threading.Event()

        def change():
            while not ended.wait(1.0):
                self._bed.reshape(random.choice(nodes), random.choice(rates))

        with concurrent.futures.ThreadPoolExecutor(1) as thread:
            changes = thread.submit(change)
            try:
                yield
            finally:
                ended.set()
                changes.result()
                for host in nodes:
                    self._bed.reshape(host, self.rate)

    def own_rate(self):
        return [] if self._bed else ["--rate", self.rate]
