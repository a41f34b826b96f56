"""Daemons under a service manager: what they tell it (sd_notify), and options from a file (`--config`)."""

import contextlib
import os
import pathlib
import re
import signal
import socket
import unittest
from unittest import mock

from cluster import PATIENCE, Cluster, ClusterTest, CommandTest, run

WATCHDOG_SECONDS = 0.9
PACKAGING = pathlib.Path(__file__).resolve().parents[3] / "packaging"


class Manager(contextlib.AbstractContextManager):
    """Stands in for systemd: a datagram socket that daemons are told of, by a path or an abstract name."""

    def __init__(self, address):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind("\0" + address[1:] if address.startswith("@") else address)
        self.socket.settimeout(PATIENCE)
        self.variables = {"NOTIFY_SOCKET": address, "WATCHDOG_USEC": str(int(WATCHDOG_SECONDS * 1e6))}

    def __exit__(self, *_):
        self.socket.close()

    def heard(self):
        return self.socket.recv(4096).decode()

    def heard_after(self, ignored):
        while (said := self.heard()) == ignored:
            pass
        return said


class Told(ClusterTest):
    def life_of(self, manager, start):
        """Ready first; then signs of life; stopping last."""
        with mock.patch.dict(os.environ, manager.variables):
            daemon = start()
        self.assertEqual(manager.heard(), "READY=1")
        self.assertEqual([manager.heard() for _ in range(3)], ["WATCHDOG=1"] * 3)
        self.assertEqual(daemon.end(), 0)
        self.assertEqual(manager.heard_after("WATCHDOG=1"), "STOPPING=1")

    def test_a_node(self):
        cluster = self.cluster(0)
        with Manager(cluster.path("manager.sock")) as manager:
            self.life_of(manager, cluster.add_node)

    def test_a_directory_at_an_abstract_name(self):
        cluster = self.cluster(0)
        with Manager(f"@hoplite-test-{os.getpid()}") as manager:
            self.life_of(manager, lambda: cluster.start("directory", "--listen", "127.0.0.1:0"))

    def test_the_watchdog_of_another_process_hears_nothing(self):
        cluster = self.cluster(0)
        with Manager(cluster.path("manager.sock")) as manager:
            manager.variables["WATCHDOG_PID"] = str(os.getpid())
            with mock.patch.dict(os.environ, manager.variables):
                daemon = cluster.add_node()
            self.assertEqual(manager.heard(), "READY=1")
            daemon.end()
            self.assertEqual(manager.heard(), "STOPPING=1")

    def test_a_node_that_stands_still_gives_no_sign(self):
        cluster = self.cluster(0)
        with Manager(cluster.path("manager.sock")) as manager:
            with mock.patch.dict(os.environ, manager.variables):
                cluster.nodes.append(cluster.add_node())
            self.assertEqual((manager.heard(), manager.heard()), ("READY=1", "WATCHDOG=1"))
            self.stop(cluster, 1)
            manager.socket.settimeout(WATCHDOG_SECONDS)
            with self.assertRaises(TimeoutError):
                manager.heard_after("WATCHDOG=1")
            cluster.nodes[0].process.send_signal(signal.SIGCONT)

    def test_nobody_listens_any_more(self):
        cluster = self.cluster(0)
        with mock.patch.dict(os.environ, NOTIFY_SOCKET=cluster.path("nobody.sock")):
            self.assertEqual(cluster.add_node().end(), 0)


class File(CommandTest):
    def setUp(self):
        self.cluster = Cluster(0)
        self.addCleanup(self.cluster.close)

    def file(self, text):
        path = self.cluster.path("node.toml")
        with open(path, "w") as file:
            file.write(text)
        return path

    def node_file(self, more=""):
        address, path = self.cluster.directory.ready["address"], self.cluster.path("n.sock")
        return self.file(f'# A node.\ndirectory = ["{address}"]\nlisten = "127.0.0.1:0"\nmemory = "16MiB"\n'
                         f'name = "filed"\nsocket = "{path}"\n{more}')

    def test_a_node(self):
        node = self.cluster.start("node", "--config", self.node_file("json = true\nkeepalive = '150ms'\n"))
        self.assertEqual(node.ready["name"], "filed")
        self.assertEqual(node.ready["socket"], self.cluster.path("n.sock"))

    def test_the_command_line_has_precedence(self):
        node = self.cluster.start("node", "--name", "typed", "--config", self.node_file())
        self.assertEqual(node.ready["name"], "typed")

    def test_a_directory(self):
        shard = self.cluster.start("directory", "--config", self.file('listen = "127.0.0.1:0"\nrecovery-window = 0\n'))
        self.assertRegex(shard.ready["address"], r"^127\.0\.0\.1:\d+$")

    def refused(self, path, *words):
        done = run("node", "--config", path)
        self.assertEqual(done.returncode, 2, done.stderr)
        for word in ("--config", path, *words):
            self.assertIn(word, done.stderr)

    def test_what_a_file_may_not_say(self):
        self.refused(self.cluster.path("absent.toml"), "can't be read")
        self.refused(self.node_file("memroy = 1\n"), "'memroy' is no setting of hoplite node")
        self.refused(self.node_file("[node]\nrate = '1mbit'\n"), "[node]")
        self.refused(self.node_file("config = 'other'\n"), "'config' is no setting")
        self.refused(self.node_file("insecure = 'perhaps'\n"), "'insecure' is true or false")

    def test_the_files_of_packages_name_options(self):
        files = list(PACKAGING.rglob("*.toml"))
        self.assertEqual({path.stem for path in files}, {"directory", "node"})
        for path in files:
            options = run(path.stem, "--help").stdout.decode()
            keys = re.findall(r"^(?:# )?([a-z-]+) = ", path.read_text(), re.MULTILINE)
            self.assertGreater(len(keys), 3)
            for key in keys:
                self.assertIn(f" --{key} ", options, path)

    def test_a_value_is_judged_as_on_the_command_line(self):
        done = run("node", "--config", self.node_file("stall = 'soon'\n"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("--stall: ", done.stderr)
        done = run("node", "--config", self.file('directory = "H1:7000"\n'))
        self.assertEqual(done.returncode, 2)
        self.assertIn("--memory is required", done.stderr)


if __name__ == "__main__":
    unittest.main()
