"""Processes that fall silent without a closed socket (SIGSTOP), and wake up again.

Its tests mostly wait, so those of one class run at the same time, each with a cluster of its own.
"""

import concurrent.futures
import io
import json
import signal
import subprocess
import sys
import time
import unittest

from cluster import HOPLITE, Cluster, run, wait_until

SIZE = 7_000_000  # more than a second at the nodes' rate
FLOWING = SIZE // 10
# Seconds without new bytes. One by default; the rest is for a machine that does other things, too.
# Without being noticed the silence would last until the deadline.
FOUND = 4.0


class Broadcast(Cluster):
    """n1 has put an object; links are slow."""

    def __init__(self, nodes, rate="40mbit"):
        super().__init__(nodes, rate=rate)
        self.callback(self.wake_all)
        path, self.data = self.write("in", SIZE)
        self.object = self.succeed("put", path, 1).decode().strip()
        self.gets = {}

    def succeed(self, command, what, node):
        done = run(command, what, "--socket", self.socket(node))
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        return done.stdout

    def get(self, *nodes):
        """Begins a get at each of these nodes at once."""
        for node in nodes:
            command = [HOPLITE, "get", self.object, "--output", self.path(f"out{node}"),
                       "--timeout", "30s", "--socket", self.socket(node)]
            self.gets[node] = subprocess.Popen(command)
            self.callback(self.end_get, self.gets[node])

    @staticmethod
    def end_get(get):
        if get.poll() is None:
            get.kill()
            get.wait()

    def copy(self, node):
        """The file that the get wrote, after it has ended well."""
        if self.gets[node].wait(40) != 0:
            raise AssertionError(f"the get at n{node} failed")
        with open(self.path(f"out{node}"), "rb") as file:
            return file.read()

    def stop(self, node):
        self.nodes[node - 1].process.send_signal(signal.SIGSTOP)

    def wake(self, node):
        self.nodes[node - 1].process.send_signal(signal.SIGCONT)

    def wake_all(self):
        for node in self.nodes:
            if node.process.poll() is None:
                node.process.send_signal(signal.SIGCONT)

    # What the directory sees: nodes that are stopped do not answer.

    def status(self):
        done = run("status", "--directory", self.directory.ready["address"], "--json")
        return json.loads(done.stdout)

    def sources(self):
        """Number of a receiver -> number of the node that feeds it."""
        return sources_in(self.status())

    def relayed(self):
        """A receiver that has bytes, and another one that feeds it; None: there is none now."""
        status = self.status()
        flows = {number(one["to"]) for one in status["transfers"] if one["watermark"] > FLOWING}
        return next(((fed, source) for fed, source in sources_in(status).items() if source != 1 and fed in flows), None)

    def marks(self):
        """Number of a node -> how many bytes it has."""
        return {number(holder["node"]): holder["watermark"]
                for one in self.status()["objects"] for holder in one["holders"]}

    def wait_for_bytes(self, nodes):
        wait_until(lambda: all(self.marks().get(node, 0) > FLOWING for node in nodes),
                   f"bytes flow to {nodes}")

    def longest_silence(self, node):
        """The longest time in which that node got nothing, from now until it has all, or more."""
        had, since, longest = self.marks().get(node, 0), time.monotonic(), 0.0
        while had < SIZE and longest < 20:
            has, now = self.marks().get(node, had), time.monotonic()
            longest = max(longest, now - since)
            if has > had:
                had, since = has, now
        return longest

    def is_empty(self):
        status = self.status()
        return not status["objects"] and not any(node["used_bytes"] for node in status["nodes"])


def sources_in(status):
    return {number(one["to"]): number(one["from"]) for one in status["transfers"]}


def number(name):
    return int(name.removeprefix("n"))


class Silence(unittest.TestCase):
    def test_a_source_stops_and_rejoins(self):
        with Broadcast(3) as cluster:
            cluster.get(2)
            self.assertEqual(cluster.copy(2), cluster.data)
            cluster.get(3)
            cluster.wait_for_bytes([3])
            source = wait_until(lambda: cluster.sources().get(3), "it has a source")
            cluster.stop(source)
            self.assertLess(cluster.longest_silence(3), FOUND)
            self.assertEqual(cluster.copy(3), cluster.data)
            wait_until(lambda: source not in cluster.marks(), "it is given up")
            cluster.wake(source)
            wait_until(lambda: cluster.marks().get(source) == SIZE, "its copy is listed again")
            cluster.succeed("delete", cluster.object, source)
            wait_until(cluster.is_empty, "everything is gone")

    def test_a_relay_stops_and_goes_on(self):
        with Broadcast(4, rate="10mbit") as cluster:  # so slow that a busy machine sees it in time
            cluster.get(2, 3, 4)
            fed, relay = wait_until(cluster.relayed, "somebody is fed by a receiver")
            cluster.stop(relay)
            self.assertLess(cluster.longest_silence(fed), FOUND)
            self.assertEqual(cluster.copy(fed), cluster.data)
            cluster.wake(relay)
            for node in (2, 3, 4):
                self.assertEqual(cluster.copy(node), cluster.data)
            cluster.succeed("delete", cluster.object, relay)
            wait_until(cluster.is_empty, "everything is gone")

    def test_of_a_line_behind_a_dead_source_only_the_first_is_moved(self):
        with Broadcast(8) as cluster:
            receivers = range(3, 9)
            cluster.get(2)
            cluster.copy(2)
            cluster.get(*receivers)
            cluster.wait_for_bytes(receivers)
            before = cluster.sources()
            cluster.stop(1)
            orphans = {fed for fed, source in before.items() if source == 1}
            wait_until(lambda: all(cluster.sources().get(one) != 1 for one in orphans),
                       "moved, or done")
            self.stay(cluster, before, orphans)
            for node in receivers:
                self.assertEqual(cluster.copy(node), cluster.data)

    def test_a_line_behind_a_source_that_pauses_stays(self):
        """The source is stopped for longer than a node may be silent; its only receiver has no other to go to."""
        with Broadcast(7) as cluster:
            receivers = range(2, 8)
            cluster.get(*receivers)
            cluster.wait_for_bytes(receivers)
            before = cluster.sources()
            cluster.stop(1)
            wait_until(lambda: 1 not in cluster.marks(), "it is given up")
            self.stay(cluster, before, {fed for fed, source in before.items() if source == 1})
            cluster.wake(1)
            for node in receivers:
                self.assertEqual(cluster.copy(node), cluster.data)

    def stay(self, cluster, before, orphans):
        """All other receivers are still fed by the same node, unless they are done."""
        now = cluster.sources()
        moved = {fed: (source, now[fed]) for fed, source in before.items()
                 if fed not in orphans and now.get(fed, source) != source}
        self.assertEqual(moved, {})


class Watchdog(unittest.TestCase):
    """Every command ends at its deadline when nobody answers."""

    TIMEOUT = 1.0
    # A client gives its node a second more, for the reason.
    BOUND = TIMEOUT + 1.0 + 3.0

    def commands(self, cluster):
        small, _ = cluster.write("small", 100)
        large, _ = cluster.write("large", 1_000_000)
        yield "put", small
        yield "put", large
        yield "get", "name:never"
        yield "get", "name:never", "--output", cluster.path("never")
        yield "delete", "name:never"
        yield "reduce", "--op", "sum", "--dtype", "int8", "name:never"
        yield "info", "name:never"
        yield "status",

    def all_end(self, cluster, *more):
        commands = [(*one, "--socket", cluster.socket(1)) for one in self.commands(cluster)]
        timeout = ("--timeout", f"{int(self.TIMEOUT * 1000)}ms")
        start = time.monotonic()
        running = [subprocess.Popen([HOPLITE, *one, *timeout], stdout=subprocess.DEVNULL,
                                    stderr=subprocess.PIPE) for one in (*commands, *more)]
        for process in running:
            with self.subTest(process.args[1:]):
                try:
                    _, error = process.communicate(timeout=20)
                except subprocess.TimeoutExpired:
                    process.kill()
                    raise
                self.assertLess(time.monotonic() - start, self.BOUND)
                self.assertEqual(process.returncode, 1)
                self.assertRegex(error.decode(), r"^(timeout|unavailable): \S")

    def test_the_node_is_stopped(self):
        with Cluster(1) as cluster:
            process = cluster.nodes[0].process
            process.send_signal(signal.SIGSTOP)
            cluster.callback(process.send_signal, signal.SIGCONT)
            self.all_end(cluster)

    def test_the_directory_is_stopped(self):
        with Cluster(1) as cluster:
            process = cluster.directory.process
            process.send_signal(signal.SIGSTOP)
            cluster.callback(process.send_signal, signal.SIGCONT)
            self.all_end(cluster, ("status", "--directory", cluster.directory.ready["address"]))

    def test_a_small_put_that_a_stopped_directory_did_not_answer_did_not_happen(self):
        with Cluster(2) as cluster:
            process = cluster.directory.process
            put = ["put", "-", "--id", "name:given-up", "--socket", cluster.socket(1)]
            for pause in (0, 2):  # the second is longer than the lease: the session ends, too
                process.send_signal(signal.SIGSTOP)
                cluster.callback(process.send_signal, signal.SIGCONT)
                first = run(*put, "--timeout", "300ms", stdin=b"first")
                self.assertRegex(first.stderr, "^timeout: ")
                time.sleep(pause)
                process.send_signal(signal.SIGCONT)
                second = run(*put, "--timeout", "20s", stdin=b"second")
                self.assertEqual(second.returncode, 0, second.stderr)
                got = run("get", put[3], "--timeout", "20s", "--socket", cluster.socket(2))
                self.assertEqual(got.stdout, b"second")
                put[3] = "name:another"

    def test_the_only_holder_is_stopped(self):
        with Cluster(2) as cluster:
            path, _ = cluster.write("in", 1_000_000)
            object_id = run("put", path, "--socket", cluster.socket(1)).stdout.decode().strip()
            process = cluster.nodes[0].process
            process.send_signal(signal.SIGSTOP)
            cluster.callback(process.send_signal, signal.SIGCONT)
            start = time.monotonic()
            done = run("get", object_id, "--timeout", "3s", "--socket", cluster.socket(2))
            self.assertLess(time.monotonic() - start, 6)
            self.assertRegex(done.stderr, r"^timeout: .*\bn1\b")


def run_alone(test):
    """Runs one test; what it had to say, and whether it passed."""
    told = io.StringIO()
    result = unittest.TextTestRunner(stream=told, verbosity=2).run(test)
    return told.getvalue(), result.wasSuccessful() and result.testsRun == 1


def main():
    passed = []
    for cases in (Silence, Watchdog):
        tests = list(unittest.defaultTestLoader.loadTestsFromTestCase(cases))
        with concurrent.futures.ThreadPoolExecutor(len(tests)) as pool:
            for told, good in pool.map(run_alone, tests):
                print(told)
                passed.append(good)
    print(f"{sum(passed)} of {len(passed)} passed")
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
