"""Bytes that come into hosts, by the counters of their links: the same measure for every peer."""

import pathlib
import time

LOOK = 0.02  # seconds from one look to the next


class Links:
    def __init__(self, hosts):
        self._counters = {host.name: pathlib.Path(f"/sys/class/net/{host.port}/statistics/tx_bytes")
                          for host in hosts}
        self.flows = {name: [] for name in self._counters}  # pairs of a moment in nanoseconds and the bytes by then
        self._look()

    def look_until(self, over):
        while not over():
            time.sleep(LOOK)
            self._look()

    def look_until_moment(self, moment):
        self.look_until(lambda: time.monotonic_ns() >= moment - LOOK * 1e9)
        time.sleep(max(0.0, (moment - time.monotonic_ns()) / 1e9))

    def _look(self):
        now = time.monotonic_ns()
        for name, counter in self._counters.items():
            self.flows[name].append((now, int(counter.read_text(encoding="ascii"))))
