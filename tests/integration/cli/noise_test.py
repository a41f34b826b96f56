"""Listening ports under noise: scanners that connect and close, send garbage, dribble or do nothing; with TLS also
strangers that break off handshakes, and a holder of a certificate that talks nonsense."""

import contextlib
import os
import resource
import socket
import ssl
import threading
import time
import unittest

import cluster
from cluster import run, wait_until
from secure_cluster import CertifiedCluster

IDLE = 1000  # connections to each port that say nothing
RATE, SIZE = "40mbit", 8_000_000  # a transfer of 1.6 s, whatever the machine does meanwhile
MORE = 1.10  # the noise may cost so much
OF_DIRECTORY = ("--web", "--admin") if os.environ.get("HOPLITE_ADMIN") == "ON" else ("--web",)
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
        self.told = dict.fromkeys(self.kinds(), 0)
        for address in addresses:
            for _ in range(IDLE):
                with contextlib.suppress(OSError):  # a full queue of a Unix socket
                    self.enter_context(connect(address))
        threads = [threading.Thread(target=self.repeat, args=(kind,)) for kind in self.told]
        self.callback(lambda: [thread.join() for thread in threads])
        self.callback(self.stop.set)
        for thread in threads:
            thread.start()

    def kinds(self):
        return self.connect_and_close, self.garbage, self.dribble

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

    def dribble(self, address, words=b"PRI * HTTP/2.0"):
        piece = len(words) // 14
        with connect(address) as stream:
            for at in range(0, len(words), piece):
                stream.sendall(words[at:at + piece])
                if self.stop.wait(0.02):
                    return


class TlsNoise(Noise):
    """`tls`: the folder of the members' certificates."""

    def __init__(self, addresses, tls):
        self.member, self.chained = self.context(f"{tls}/node.pem", tls), self.context(self.long_chain(tls), tls)
        super().__init__(addresses)

    def kinds(self):
        return (*super().kinds(), self.dribbled_hello, self.broken_off, self.lie, self.nonsense, self.absurd_chain)

    @staticmethod
    def context(certificate, tls):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.load_verify_locations(f"{tls}/ca.pem")
        context.load_cert_chain(certificate, f"{tls}/node.key")
        return context

    @staticmethod
    def long_chain(tls):
        """A certificate followed by a hundred others."""
        path = f"{tls}/chain.pem"
        with open(path, "wb") as chain:
            for name in ("node", *["directory"] * 100):
                with open(f"{tls}/{name}.pem", "rb") as one:
                    chain.write(one.read())
        return path

    def hello(self):
        """What a client says first."""
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        with contextlib.suppress(ssl.SSLWantReadError):
            self.member.wrap_bio(incoming, outgoing).do_handshake()
        return outgoing.read()

    def dribbled_hello(self, address):
        self.dribble(address, self.hello())

    def broken_off(self, address):
        """Goes once the member has said its part."""
        with connect(address) as stream:
            stream.sendall(self.hello())
            stream.settimeout(1)
            stream.recv(100)

    def lie(self, address):
        """A record that is longer than any may be."""
        with connect(address) as stream:
            stream.sendall(b"\x16\x03\x03\xff\xff" + bytes(20_000))

    def nonsense(self, address):
        """From somebody who proves to be a member."""
        with self.member.wrap_socket(connect(address)) as stream:
            stream.sendall(os.urandom(20_000))

    def absurd_chain(self, address):
        with self.chained.wrap_socket(connect(address)) as stream:
            stream.settimeout(1)
            stream.recv(100)


class AllPorts:
    """Members that have every port that they can have."""

    def start(self, *arguments, **options):
        ports = ["--metrics", *(OF_DIRECTORY if arguments[0] == "directory" else ())]
        return super().start(*arguments, *(f"{port}=127.0.0.1:0" for port in ports), **options)

    def ports(self, *kinds):
        members = (self.directory, *self.nodes)
        return [member.ready[kind] for kind in kinds for member in members if member.ready.get(kind)]


class PlainCluster(AllPorts, cluster.Cluster):
    pass


class TlsCluster(AllPorts, CertifiedCluster):
    pass


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

    def bear(self, cluster, ports, make_noise):
        """Noise at these ports delays no broadcast and ends no member."""
        for attempt in range(ATTEMPTS):
            quiet = self.broadcast(cluster)
            with make_noise(ports) as noise:
                noisy = self.broadcast(cluster)
            self.assertTrue(all(count > 3 for count in noise.told.values()), noise.told)
            if noisy <= MORE * quiet:
                break
        self.assertLessEqual(noisy, MORE * quiet, f"after {attempt + 1} attempts")
        for daemon in (cluster.directory, *cluster.nodes):
            self.assertIsNone(daemon.process.poll())

    def test_a_broadcast_is_not_delayed(self):
        with PlainCluster(4, memory="256MiB", rate=RATE) as cluster:
            ports = cluster.ports("address", "socket", "metrics", "web", "admin")
            silent = [cluster.enter_context(connect(port)) for port in ports]
            self.bear(cluster, ports, Noise)
            for stream in silent:
                self.assertTrue(closes(stream), "who says nothing is sent away in time")

    def test_nor_one_by_tls(self):
        with TlsCluster(4, memory="256MiB", rate=RATE) as cluster:
            ports = cluster.ports("address", "admin")
            member = TlsNoise.context(f"{cluster.tls}/node.pem", cluster.tls)
            silent = [cluster.enter_context(connect(port)) for port in ports]
            silent += [cluster.enter_context(member.wrap_socket(connect(port))) for port in ports]
            self.bear(cluster, ports, lambda ports: TlsNoise(ports, cluster.tls))
            for stream in silent:
                self.assertTrue(closes(stream), "who says nothing is sent away in time")

    def test_ports_accept_again_after_descriptors_ran_out(self):
        with cluster.Cluster(0) as members, contextlib.ExitStack() as strangers:
            few = ("prlimit", "--nofile=100")
            directory = members.start("directory", "--listen", "127.0.0.1:0", "--recovery-window",
                                      "0", wrapper=few)
            members.directory = directory
            node = members.start(*members.node_command("n1", members.path("n1.sock")), wrapper=few)
            for address in (directory.ready["address"], node.ready["address"], node.ready["socket"]):
                for _ in range(150):
                    strangers.enter_context(connect(address))
            for daemon in (directory, node):
                wait_until(lambda pid=daemon.process.pid: len(os.listdir(f"/proc/{pid}/fd")) > 95,
                           "descriptors run out")
            strangers.close()
            object_id = run("put", "-", "--socket", node.ready["socket"], stdin=b"x" * 100_000)
            self.assertEqual(object_id.returncode, 0, object_id.stderr)
            other = members.start(*members.node_command("n2", members.path("n2.sock")))
            got = run("get", object_id.stdout.decode().strip(), "--timeout", "20s",
                      "--socket", other.ready["socket"])
            self.assertEqual(got.returncode, 0, got.stderr)
            self.assertEqual(got.stdout, b"x" * 100_000)


if __name__ == "__main__":
    unittest.main()
