"""A node that has no descriptor left: it says so, and idle connections are given up for new ones."""

import os
import pathlib
import re
import resource
import socket
import time
import unittest

from cluster import Cluster, run, wait_until

SIZE = 200_000  # no small object: it comes over the data plane


SOURCES = pathlib.Path(__file__).parents[3] / "src"
VERSION = int(re.search(r"kLocalProtocolVersion = (\d+);", (SOURCES / "wire" / "local_protocol.h").read_text())[1])
# A Hello of the local protocol: the length, then id 1 and the version.
HELLO = bytes((6, 0, 0, 0)) + b"\x08\x01\x1a\x02\x08" + bytes((VERSION,))
WORDS = b"no descriptor is left"


class Scarcity(unittest.TestCase):
    def setUp(self):
        self.cluster = self.enterContext(Cluster(5))

    def put(self, node, name):
        path, data = self.cluster.write("in", SIZE)
        done = run("put", path, "--id", f"name:{name}", "--socket", self.cluster.socket(node))
        self.assertEqual(done.returncode, 0, done.stderr)
        return data

    def get(self, node, name):
        out = self.cluster.path("out")
        done = run("get", f"name:{name}", "--output", out, "--timeout", "10s", "--socket", self.cluster.socket(node))
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(out, "rb") as file:
            return file.read()

    def pid(self, node):
        return self.cluster.nodes[node - 1].process.pid

    def data_connections(self, node):
        """Of the node, as it is seen in the table of all."""
        with open(f"/proc/{self.pid(node)}/net/tcp", encoding="ascii") as file:
            rows = [line.split() for line in file][1:]
        port = ":%04X" % int(self.cluster.nodes[node - 1].ready["address"].rpartition(":")[2])
        return sum(row[3] == "01" and row[1].endswith(port) for row in rows)

    def worker(self, node):
        """Says Hello and stays."""
        client = self.enterContext(socket.socket(socket.AF_UNIX))
        client.settimeout(3)
        client.connect(self.cluster.socket(node))
        client.sendall(HELLO)
        return client

    def fill(self, node):
        """Workers come until the node has no descriptor left, whatever numbers were free; those that came in."""
        pid = self.pid(node)
        most = max(int(name) for name in os.listdir(f"/proc/{pid}/fd")) + 5
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (most, most))
        workers = []
        while True:
            workers.append(self.worker(node))
            if WORDS in workers[-1].recv(4096):
                return workers[:-1]

    def test_workers_that_find_no_descriptor_left_are_told_so(self):
        workers = self.fill(1)
        waiting = [self.worker(1) for _ in range(5)]
        for client in waiting:
            self.assertIn(WORDS, client.recv(4096))
        begin = time.monotonic()
        done = run("info", "name:x", "--socket", self.cluster.socket(1))
        self.assertLess(time.monotonic() - begin, 3)
        self.assertIn("resource_exhausted", done.stderr)
        self.assertIn(WORDS.decode(), done.stderr)
        for client in workers:
            client.close()
        wait_until(lambda: run("status", "--socket", self.cluster.socket(1)).returncode == 0, "workers come in again")

    def test_connections_that_rest_are_given_up_for_workers(self):
        data = self.put(2, "theirs")
        self.assertEqual(self.get(1, "theirs"), data)
        self.assertGreater(self.data_connections(2), 0)
        self.fill(1)
        wait_until(lambda: self.data_connections(2) == 0, "the connection is given up", seconds=5)

    def test_connections_that_rest_are_given_up_for_peers(self):
        """Idle connections that peers opened are given up, too: what one worker leaves is enough for two or three peers,
        but all four come."""
        wanted = {node: self.put(1, f"for{node}") for node in range(2, 6)}
        self.fill(1).pop().close()
        for node, data in wanted.items():
            time.sleep(1.2)  # a connection that was used just now counts as about to be used again
            self.assertEqual(self.get(node, f"for{node}"), data)


if __name__ == "__main__":
    unittest.main()
