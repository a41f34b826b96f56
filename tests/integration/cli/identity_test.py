"""Who belongs to a cluster when its directory was started again: real processes, stopped and let go on, so that they come in
the order that a test wants."""

import os
import signal
import socket
import subprocess
import tempfile
import unittest

from cli_test import CommandTest
from cluster import HOPLITE, Cluster, Daemon, run, wait_until


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

    def two_that_never_met(self, cluster):
        """Two nodes with objects, put in different lives of the directory, come to a third one; the first comes first."""
        old = cluster.nodes[0]
        ids = [self.put(cluster.socket(1), b"old" * 100_000)]
        self.pause(old)
        cluster.restart_directory()
        third = self.newcomer(cluster, "third")
        ids.append(self.put(third.ready["socket"], b"new" * 100_000))
        self.pause(third)
        cluster.restart_directory()
        self.go_on(old)
        wait_until(lambda: self.sees(cluster.socket(1), "n1"), "the old node is back")
        self.go_on(third)
        return third, ids

    @staticmethod
    def sees(socket, name):
        return name in run("status", "--socket", socket).stdout.decode()

    def test_of_two_clusters_with_objects_one_waits_and_says_so(self):
        with Cluster(1) as cluster:
            third, (object_id, other) = self.two_that_never_met(cluster)
            socket = third.ready["socket"]
            said = wait_until(lambda: (lambda err: "another cluster" in err and err)(
                run("status", "--socket", socket).stderr), "who waits says so")
            self.assertIn("waits for directory shard 0", said)
            self.assertIn("'third'", said)
            self.assertIn("'n1'", said)
            self.expect(socket, other, b"new" * 100_000)
            self.expect(cluster.socket(1), object_id, b"old" * 100_000)
            cluster.nodes[0].end(signal.SIGKILL)
            cluster.restart_directory()
            wait_until(lambda: self.sees(socket, "third"), "the next life of the directory takes it")
            self.expect(socket, other, b"new" * 100_000)
            self.assertIsNone(third.process.poll())

    def test_with_a_state_file_neither_of_them_waits(self):
        with Cluster(1, state=True) as cluster:
            third, (object_id, other) = self.two_that_never_met(cluster)
            socket = third.ready["socket"]
            wait_until(lambda: self.sees(socket, "third"), "it is back, too")
            self.expect(socket, object_id, b"old" * 100_000)
            self.expect(cluster.socket(1), other, b"new" * 100_000)

    def test_a_directory_gets_its_first_state_file_while_nodes_hold_objects(self):
        with Cluster(2) as cluster:
            object_id = self.put(cluster.socket(1), b"kept" * 100_000)
            cluster.state = ("--state", cluster.path("state"))
            for _ in range(2):
                cluster.restart_directory()
                self.expect(cluster.socket(2), object_id, b"kept" * 100_000)


class StateFile(CommandTest):
    """What a directory's --state file says, and every way in which it may be unusable."""

    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory(prefix="hoplite-test-"))
        self.path = os.path.join(self.folder, "state")

    def directory(self, *arguments):
        return Daemon("directory", "--listen", "127.0.0.1:0", "--state", self.path, *arguments)

    def refused(self, code, words, *arguments, listen="127.0.0.1:0"):
        said = self.refuse(code, "directory", "--listen", listen, "--state", self.path, *arguments)
        self.assertIn(f"state file '{self.path}'", said)
        self.assertIn(words, said)

    def kept(self):
        """The id and the incarnation."""
        with open(self.path, encoding="utf-8") as file:
            words = dict(line.split(maxsplit=1) for line in file)
        return words["id"], int(words["incarnation"])

    def test_id_and_growing_incarnation_are_there_before_a_directory_is_ready(self):
        kept = []
        for _ in range(5):
            self.directory().end(signal.SIGKILL)
            kept.append(self.kept())
        self.assertEqual(len({shard_id for shard_id, _ in kept}), 1)
        incarnations = [incarnation for _, incarnation in kept]
        self.assertEqual(incarnations, sorted(set(incarnations)))
        self.assertEqual(os.listdir(self.folder), ["state"])

    def test_a_damaged_one_is_refused(self):
        self.directory().end()
        with open(self.path, "r+b") as file:
            file.truncate(60)
        self.refused("invalid_argument", "is damaged")

    def test_of_another_version_is_refused(self):
        with open(self.path, "w", encoding="utf-8") as file:
            file.write("hoplite directory state 7\n")
        self.refused("invalid_argument", "is of version '7', this program knows 1")

    def test_in_use_is_refused(self):
        first = self.directory()
        self.refused("unavailable", "in use by another directory")
        first.end()
        self.directory().end()

    def test_of_another_cluster_or_shard_is_refused(self):
        with socket.socket() as one, socket.socket() as two:
            for each in (one, two):
                each.bind(("127.0.0.1", 0))
            listen, other = (f"127.0.0.1:{each.getsockname()[1]}" for each in (one, two))
        shards = ("--shards", f"{listen},{other}", "--cluster", "blue")
        Daemon("directory", "--listen", listen, "--state", self.path, *shards).end()
        self.refused("invalid_argument", "shard 0 of 2, this directory is of cluster \"blue\", shard 1 of 2", *shards, listen=other)
        self.refused("invalid_argument", 'is of cluster "blue", shard 0 of 2, this directory is of cluster "red"', *shards[:2],
                     "--cluster", "red", listen=listen)

    def test_a_folder_that_cannot_be_written_to(self):
        self.path = os.path.join(self.folder, "missing", "state")
        self.refused("invalid_argument", "No such file or directory")
        if os.geteuid() == 0:
            self.path = "/sys/hoplite-state"  # not even by root
        else:
            os.chmod(self.folder, 0o555)
            self.path = os.path.join(self.folder, "state")
        self.refused("invalid_argument", "Permission denied")

    def test_a_full_disk(self):
        command = f"ulimit -f 0; exec {HOPLITE} directory --listen 127.0.0.1:0 --state {self.path}"
        done = subprocess.run(["bash", "-c", command], capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr.decode(), "resource_exhausted: state file '.*' can't be written: File too large")
        self.assertEqual(os.listdir(self.folder), [])


if __name__ == "__main__":
    unittest.main()
