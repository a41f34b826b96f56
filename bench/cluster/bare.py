"""The references: one bare TCP stream between two hosts, memcpy, and iperf3."""

import json
import subprocess
import time

import processes
from operations import Sample

IPERF_SECONDS = 2


class Bare:
    """One hop: its time for S bytes is the S/B that every other figure is compared with."""

    name = "bare stream"

    def __init__(self, program):
        self._program = program
        self._agents = []

    def start(self, bed):
        self._agents = [processes.Agent(host.command(self._program)) for host in bed.hosts[:2]]
        self._sender, self._receiver = self._agents
        address = bed.hosts[1].address
        port = self._receiver.ask("listen", address)["port"]
        self._receiver.tell("accept")
        self._sender.ask("connect", address, port)
        self._receiver.answer()
        self._hop(1 << 18)

    def stop(self):
        for agent in self._agents:
            agent.close()
        self._agents.clear()

    def run(self, operations):
        return [self._round_trip(operation) if operation.kind == "round_trip" else self._hop(operation.size)
                for operation in operations]

    def _round_trip(self, operation):
        return Sample([0], [sum(self.round_trips(operation.times, operation.size))])

    def _hop(self, size):
        self._receiver.tell("receive", size)
        begin = self._sender.ask("send", size, processes.soon())["begin"]
        return Sample([begin], [self._receiver.answer()["end"]])

    def round_trips(self, count, size):
        """Nanoseconds of blocking round trips, one after another."""
        self._receiver.tell("echo", count, size)
        times = self._sender.ask("ping", count, size)["times"]
        self._receiver.answer()
        return times

    def disk_seconds(self, folder, size):
        """Of writing so much to a file there, and of reading it."""
        nanoseconds = self._sender.ask("disk", folder, size)
        return nanoseconds["written"] / 1e9, nanoseconds["read"] / 1e9

    def memcpy_seconds(self, size, threads):
        moments = self._sender.ask("memcpy", size, threads)
        return (moments["end"] - moments["begin"]) / 1e9


class Iperf:
    """iperf3 with its defaults; its buffers stay in the processor's cache, so it is a ceiling."""

    name = "iperf3"

    def start(self, bed):
        self._hosts = bed.hosts[:2]
        self._server = subprocess.Popen(self._hosts[1].command("iperf3", "-s"), start_new_session=True,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        time.sleep(0.5)  # iperf3 does not say reliably that it listens

    def stop(self):
        processes.end(self._server)

    def run(self, operations):
        """The time that each size would take at the rate that iperf3 sees."""
        client = self._hosts[0].command("iperf3", "-c", self._hosts[1].address, "-t", IPERF_SECONDS, "-J")
        report = json.loads(processes.run(client))
        rate = report["end"]["sum_received"]["bits_per_second"] / 8
        return [Sample([0], [operation.size / rate * 1e9]) for operation in operations]
