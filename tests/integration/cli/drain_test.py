"""A node that is told to stop hands on what only it has."""

import json
import os
import signal
import subprocess
import unittest

from cluster import HOPLITE, PATIENCE, Cluster, CommandTest, run, wait_until


class Leaving:
    """A node that is started with --drain."""

    def __init__(self, cluster, drain):
        self.socket = cluster.path("leaving.sock")
        command = cluster.node_command("leaving", self.socket, memory="64MiB")
        self.process = subprocess.Popen([HOPLITE, *command, "--drain", drain, "--json"],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        cluster.callback(self.kill)
        assert json.loads(self.process.stdout.readline())["event"] == "ready"

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def stop(self):
        """Sends SIGTERM and waits: the exit status, what it printed, its log."""
        self.process.send_signal(signal.SIGTERM)
        printed, log = self.process.communicate(timeout=2 * PATIENCE)
        return self.process.returncode, [json.loads(line) for line in printed.splitlines()], log.decode()


class Drain(CommandTest):

    def put(self, node, size):
        data = os.urandom(size)
        return self.succeed("put", "-", "--socket", node.socket, stdin=data).decode().strip(), data

    def test_what_only_it_has_is_elsewhere_when_it_has_ended(self):
        with Cluster(2) as cluster:
            node = Leaving(cluster, "30s")
            shared, _ = self.put(node, 300_000)
            self.succeed("get", shared, "--output", "/dev/null", "--socket", cluster.socket(1))
            only = [self.put(node, size) for size in (100, 20_000, 3_000_000)]
            status, printed, _ = node.stop()
            # The smallest one is in the directory, and the shared one at n1.
            self.assertEqual((status, printed),
                             (0, [{"event": "drained", "name": "leaving", "handed_on": 2, "left": 0}]))
            for object_id, data in only:
                got = self.succeed("get", object_id, "--timeout", "20s", "--socket", cluster.socket(2))
                self.assertEqual(got, data)

    def test_what_nobody_has_room_for_is_said(self):
        with Cluster(1, memory="1MiB") as cluster:
            node = Leaving(cluster, "1s")
            object_id, _ = self.put(node, 3_000_000)
            status, printed, log = node.stop()
            self.assertEqual((status, printed[0]["handed_on"], printed[0]["left"]), (3, 0, 1))
            self.assertRegex(log, f"{object_id} was not handed on: no other node has room for its 3000000 bytes: n1 has")

    def test_a_second_signal_ends_it_at_once(self):
        with Cluster(0) as cluster:
            node = Leaving(cluster, "10m")
            self.put(node, 3_000_000)
            node.process.send_signal(signal.SIGTERM)

            def refuses():
                return "is drained" in run("put", "-", "--socket", node.socket, stdin=b"late").stderr

            wait_until(refuses, "it takes no new object")
            status, printed, _ = node.stop()
            self.assertEqual((status, printed), (3, []))
            self.assertFalse(os.path.exists(node.socket))


if __name__ == "__main__":
    unittest.main()
