"""Who belongs to a cluster when its directory was started again: real processes, stopped and let go on, so that they come in
the order that a test wants."""

import os
import signal
import unittest

from cli_test import CommandTest
from cluster import Cluster, run, wait_until


class Identity(CommandTest):
    """Who belongs to a cluster: neither the spelling of an address nor who came first decides."""

    @staticmethod
    def pause(*nodes):
        for node in nodes:
            node.process.send_signal(signal.SIGSTOP)

    @staticmethod
    def go_on(*nodes):
        for node in nodes:
            node.process.send_signal(signal.SIGCONT)

    @staticmethod
    def newcomer(cluster, name):
        """Calls the directory by another name of its host."""
        address = cluster.directory.ready["address"].replace("127.0.0.1", "localhost")
        return cluster.start(*cluster.node_command(name, cluster.path(f"{name}.sock"),
                                                   directory=address))

    def put(self, socket, data):
        return self.succeed("put", "-", "--socket", socket, stdin=data).decode().strip()

    def expect(self, socket, object_id, data):
        self.assertEqual(self.succeed("get", object_id, "--timeout", "20s", "--socket", socket),
                         data)

    def test_an_address_may_be_written_in_any_way(self):
        with Cluster(2) as cluster:
            large, small = os.urandom(1_000_000), b"small"
            ids = [self.put(cluster.socket(1), data) for data in (large, small)]
            third = self.newcomer(cluster, "third").ready["socket"]
            for object_id, data in zip(ids, (large, small)):
                self.expect(third, object_id, data)
            self.expect(cluster.socket(2), self.put(third, large[::-1]), large[::-1])

    def test_a_newcomer_that_meets_a_restarted_directory_first_ends_nobody(self):
        with Cluster(2) as cluster:
            data = os.urandom(1_000_000)
            object_id = self.put(cluster.socket(1), data)
            self.pause(*cluster.nodes)
            cluster.restart_directory()
            third = self.newcomer(cluster, "third")
            other = self.put(third.ready["socket"], data[::-1])
            self.go_on(*cluster.nodes)
            self.expect(third.ready["socket"], object_id, data)
            self.expect(cluster.socket(2), other, data[::-1])
            for node in (*cluster.nodes, third):
                self.assertIsNone(node.process.poll())

    def test_of_two_clusters_with_objects_one_waits_and_says_so(self):
        with Cluster(1) as cluster:
            old = cluster.nodes[0]
            object_id = self.put(cluster.socket(1), b"old" * 100_000)
            self.pause(old)
            cluster.restart_directory()
            third = self.newcomer(cluster, "third")
            other = self.put(third.ready["socket"], b"new" * 100_000)
            self.pause(third)
            cluster.restart_directory()
            self.go_on(old)
            wait_until(lambda: "n1" in run("status", "--socket", cluster.socket(1)).stdout.decode(),
                       "the old node is back")
            self.go_on(third)
            socket = third.ready["socket"]
            said = wait_until(lambda: (lambda err: "another cluster" in err and err)(
                run("status", "--socket", socket).stderr), "who waits says so")
            self.assertIn("waits for directory shard 0", said)
            self.assertIn("'third'", said)
            self.assertIn("'n1'", said)
            self.expect(socket, other, b"new" * 100_000)
            self.expect(cluster.socket(1), object_id, b"old" * 100_000)
            old.end(signal.SIGKILL)
            wait_until(lambda: "third" in run("status", "--socket", socket).stdout.decode(),
                       "it is taken when nobody of the other cluster is left")
            self.expect(socket, other, b"new" * 100_000)
            self.assertIsNone(third.process.poll())


if __name__ == "__main__":
    unittest.main()
