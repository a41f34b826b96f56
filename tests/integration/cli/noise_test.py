"""Listening ports under noise: scanners that connect and close, send garbage, dribble or do nothing."""

import contextlib
import os
import resource
import socket
import threading
import time
import unittest

from cluster import Cluster, run, wait_until

IDLE = 1000  # connections to each port that say nothing
RATE, SIZE = "40mbit", 8_000_000  # a transfer of 1.6 s, whatever the machine does meanwhile
MORE = 1.10  # the noise may cost so much
ATTEMPTS = 3  # the machine may be busy with other things


def connect(address):
    """To "HOST:PORT" or the path of a socket."""
    if address.startswith("/"):
        stream = socket.socket(socket.AF_UNIX)
        stream.connect(address)
        return stream
    host, port = address.rsplit(":", 1)
    return socket.create_connection((host, int(port)))


def closes(stream):
    """Whether the other side closes it soon."""
    with contextlib.suppress(ConnectionResetError):
        stream.settimeout(10)
        try:
            while stream.recv(4096):
                pass
        except TimeoutError:
            return False
    return True


class Noise(contextlib.ExitStack):
    """Makes noise at all the addresses until it is closed."""

    def __init__(self, addresses):
        super().__init__()
        self.addresses = addresses
        self.stop = threading.Event()
        self.told = dict.fromkeys((self.connect_and_close, self.garbage, self.dribble), 0)
        for address in addresses:
            for _ in range(IDLE):
                with contextlib.suppress(OSError):  # a full queue of a Unix socket
                    self.enter_context(connect(address))
        threads = [threading.Thread(target=self.repeat, args=(kind,)) for kind in self.told]
        self.callback(lambda: [thread.join() for thread in threads])
        self.callback(self.stop.set)
        for thread in threads:
            thread.start()

    def repeat(self, kind):
        while not self.stop.wait(0.005):
            address = self.addresses[self.told[kind] % len(self.addresses)]
            with contextlib.suppress(OSError):  # connections that are thrown out come again
                kind(address)
            self.told[kind] += 1

    def connect_and_close(self, address):
        connect(address).close()

    def garbage(self, address):
        with connect(address) as stream:
            stream.sendall(os.urandom(2000))

    def dribble(self, address):
        with connect(address) as stream:
            for byte in b"PRI * HTTP/2.0":
                stream.sendall(bytes([byte]))
                if self.stop.wait(0.02):
                    return


class PortNoise(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

    def broadcast(self, cluster):
        """Broadcasts a new object to all other nodes; seconds until the last has it."""
        path, data = cluster.write("in", SIZE)
        object_id = run("put", path, "--socket", cluster.socket(1)).stdout.decode().strip()
        got = {}

        def get(node):
            got[node] = run("get", object_id, "--timeout", "30s", "--socket", cluster.socket(node))

        start = time.monotonic()
        readers = [threading.Thread(target=get, args=(node,)) for node in (2, 3, 4)]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()
        took = time.monotonic() - start
        for node, done in got.items():
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(done.stdout == data, f"node {node} got other bytes")
        return took

    def test_a_broadcast_is_not_delayed(self):
        with Cluster(4, memory="256MiB", rate=RATE) as cluster:
            ports = [cluster.directory.ready["address"]]
            for node in cluster.nodes:
                ports += [node.ready["address"], node.ready["socket"]]
            silent = [cluster.enter_context(connect(port)) for port in ports[:3]]
            for attempt in range(ATTEMPTS):
                quiet = self.broadcast(cluster)
                with Noise(ports) as noise:
                    noisy = self.broadcast(cluster)
                self.assertTrue(all(count > 10 for count in noise.told.values()), noise.told)
                if noisy <= MORE * quiet:
                    break
            self.assertLessEqual(noisy, MORE * quiet, f"after {attempt + 1} attempts")
            for daemon in (cluster.directory, *cluster.nodes):
                self.assertIsNone(daemon.process.poll())
            for stream in silent:
                self.assertTrue(closes(stream), "who says nothing is sent away in time")

    def test_ports_accept_again_after_descriptors_ran_out(self):
        with Cluster(0) as cluster, contextlib.ExitStack() as strangers:
            few = ("prlimit", "--nofile=100")
            directory = cluster.start("directory", "--listen", "127.0.0.1:0", "--recovery-window",
                                      "0", wrapper=few)
            cluster.directory = directory
            node = cluster.start(*cluster.node_command("n1", cluster.path("n1.sock")), wrapper=few)
            for address in (directory.ready["address"], node.ready["address"], node.ready["socket"]):
                for _ in range(150):
                    strangers.enter_context(connect(address))
            for daemon in (directory, node):
                wait_until(lambda pid=daemon.process.pid: len(os.listdir(f"/proc/{pid}/fd")) > 95,
                           "descriptors run out")
            strangers.close()
            object_id = run("put", "-", "--socket", node.ready["socket"], stdin=b"x" * 100_000)
            self.assertEqual(object_id.returncode, 0, object_id.stderr)
            other = cluster.start(*cluster.node_command("n2", cluster.path("n2.sock")))
            got = run("get", object_id.stdout.decode().strip(), "--timeout", "20s",
                      "--socket", other.ready["socket"])
            self.assertEqual(got.returncode, 0, got.stderr)
            self.assertEqual(got.stdout, b"x" * 100_000)


if __name__ == "__main__":
    unittest.main()
