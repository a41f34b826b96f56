"""Clusters whose members recognize each other, real processes: the tour of docs/operations.md, objects and sums by TLS,
and who is kept out, with which words."""

import contextlib
import os
import pathlib
import re
import resource
import shlex
import socket
import ssl
import tempfile
import time
import unittest

import cluster
from cluster import Daemon, read, run, wait_until
from secure_cluster import CertifiedCluster, Impostor, SecretCluster

SETTINGS = 4  # of HTTP/2
TOUR = pathlib.Path(__file__).resolve().parents[3] / "docs" / "operations.md"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def commands_of(page, heading):
    """The commands of the first block of code behind that heading, as lists of words."""
    block = re.search(rf"^#+ {re.escape(heading)}\n.*?```sh\n(.*?)```", page, re.M | re.S).group(1)
    lines = block.replace("\\\n", " ").splitlines()
    return [words for line in lines if (words := shlex.split(line, comments=True))]


class Tour(cluster.CommandTest):
    def test_the_commands_of_the_page_make_a_secure_cluster(self):
        commands = commands_of(TOUR.read_text(), "A secure cluster of three nodes")
        self.assertLessEqual(len(commands), 10)
        port = free_port()
        before = os.getcwd()
        with contextlib.ExitStack() as ends:
            folder = ends.enter_context(tempfile.TemporaryDirectory(prefix="hoplite-test-"))
            ends.callback(os.chdir, before)
            os.chdir(folder)
            pathlib.Path("weights").write_bytes(os.urandom(5 << 20))
            for _, *words in commands:
                here = [re.sub(r"\bH[123]:7000\b", f"127.0.0.1:{port}", word) for word in words]
                here = [re.sub(r"\bH[123]:\d+", "127.0.0.1:0", word) for word in here]
                if here[0] in ("directory", "node"):
                    ends.callback(Daemon(*here).end)
                else:
                    said = self.succeed(*here)
            self.assertEqual(read("weights"), read("copy"))
            self.assertIn(b"3 nodes", said)


class Moves:
    """What a cluster is for; of each kind of cluster."""

    def test_objects_and_sums_move(self):
        members = self.cluster(3)
        for node in (1, 2, 3):
            with open(members.path(f"s{node}"), "wb") as file:
                file.write(node.to_bytes(4, "little") * (1 << 20))
            self.succeed("put", members.path(f"s{node}"), "--id", f"name:s{node}", "--socket", members.socket(node))
        self.succeed("reduce", "name:s1", "name:s2", "name:s3", "--target", "name:sum", "--dtype", "int32", "--op", "sum",
                     "--socket", members.socket(1))
        self.succeed("get", "name:sum", "--output", members.path("sum"), "--socket", members.socket(2))
        self.assertEqual(read(members.path("sum")), (6).to_bytes(4, "little") * (1 << 20))
        small = members.path("small")
        pathlib.Path(small).write_bytes(b"small")
        self.succeed("put", small, "--id", "name:small", "--socket", members.socket(1))
        self.assertEqual(self.succeed("get", "name:small", "--output", "-", "--socket", members.socket(3)), b"small")

    def test_commands_that_ask_the_directory_prove_who_they_are(self):
        members = self.cluster(2)
        address = members.directory.ready["address"]
        self.assertIn(b"2 nodes", self.succeed("status", "--directory", address, *members.of_node))
        self.succeed("trace", "--directory", address, *members.of_node, "--output", members.path("trace"))
        self.assertIn("n2", read(members.path("trace")).decode())

    def test_plain_text_is_told_that_this_is_tls(self):
        members = self.cluster(1)
        address = members.directory.ready["address"]
        said = self.refuse("unavailable", "status", "--directory", address, "--timeout", "5s")
        self.assertIn("it speaks TLS, and this member has no certificate and no secret", said)

    def test_tls_finds_plain_text(self):
        members = self.cluster(0)
        plain = Daemon("directory", "--listen", "127.0.0.1:0")
        self.addCleanup(plain.end)
        said = self.refuse("unavailable", "status", "--directory", plain.ready["address"], *members.of_node, "--timeout", "5s")
        self.assertIn("during the handshake of TLS: it may not speak it", said)

    def test_a_directory_that_starts_again_is_recognized(self):
        members = self.cluster(2)
        self.put(members, 1, 3 << 20, "kept")
        members.restart_directory()
        self.get(members, 2, "kept")


class Certificates(Moves, cluster.ClusterTest):
    Cluster = CertifiedCluster

    def test_others_are_kept_out_in_words(self):
        members = self.cluster(1)
        address = members.directory.ready["address"]
        ask = ("status", "--directory", address, "--timeout", "5s")
        foreign = members.words(members.certs("foreign"), "node")
        self.assertIn("its certificate is not of this cluster's authority", self.refuse("unavailable", *ask, *foreign))
        self.assertIn("is of hoplite:///directory, this is a node",
                      self.refuse("invalid_argument", *ask, *members.words(members.tls, "directory")))
        secret = SecretCluster.secret(members, "secret", "a secret of sixteen bytes")
        self.assertIn("it shows a certificate instead", self.refuse("unavailable", *ask, *secret))
        # By the same authority, for another cluster.
        os.mkdir(members.path("blue"), 0o700)
        for name in ("ca.pem", "ca.key"):
            pathlib.Path(members.path(f"blue/{name}")).write_bytes(read(f"{members.tls}/{name}"))
        os.chmod(members.path("blue/ca.key"), 0o600)
        blue = members.words(members.certs("blue", "--cluster", "blue"), "node")
        self.assertIn("is of hoplite:///directory, not of hoplite://blue/directory", self.refuse("unavailable", *ask, *blue))

    def test_new_certificates_of_the_same_authority_are_taken_while_members_run(self):
        members = self.cluster(2)
        self.put(members, 1, 3 << 20, "before")
        old = read(f"{members.tls}/node.pem")
        members.certs("tls")
        self.assertNotEqual(old, read(f"{members.tls}/node.pem"))
        self.get(members, 2, "before")
        members.nodes.append(members.add_node())
        self.get(members, 3, "before")

    def test_an_authority_whose_key_is_kept_elsewhere_is_not_replaced(self):
        members = self.cluster(0)
        os.unlink(f"{members.tls}/ca.key")
        before = read(f"{members.tls}/ca.pem")
        self.assertIn("the authority's key", self.refuse("invalid_argument", "certs", members.tls))
        self.assertEqual(before, read(f"{members.tls}/ca.pem"))


class Secrets(Moves, cluster.ClusterTest):
    Cluster = SecretCluster

    def test_others_are_kept_out_in_words(self):
        members = self.cluster(1)
        ask = ("status", "--directory", members.directory.ready["address"], "--timeout", "5s")
        wrong = members.secret("wrong", "another secret of theirs")
        self.assertIn("its secret is another one", self.refuse("unavailable", *ask, *wrong))
        for name, content, mode, words in (("empty", "", 0o600, "is empty"), ("short", "guess me", 0o600, "has 8 bytes"),
                                           ("open", "a secret of sixteen bytes", 0o644, "chmod 600")):
            self.assertIn(words, self.refuse("invalid_argument", *ask, *members.secret(name, content, mode)))
        self.assertIn("--secret-file: the name of the file is empty", run(*ask, "--secret-file", "").stderr)

    def test_of_very_many_strangers_the_oldest_leave(self):
        members = self.cluster(0)
        directory = members.start("directory", "--listen", "127.0.0.1:0", "--lease", "100s", "--tombstone", "200s")
        host, port = directory.ready["address"].rsplit(":", 1)
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        with contextlib.ExitStack() as open_:
            strangers = []
            for _ in range(1100):
                strangers.append(open_.enter_context(socket.create_connection((host, int(port)))))
                strangers[-1].sendall(b"\x16\x03\x01\x02\x00\x01")
            strangers[0].settimeout(cluster.PATIENCE)
            with contextlib.suppress(ConnectionResetError):
                self.assertEqual(strangers[0].recv(100), b"")

    def test_ten_thousand_handshakes_that_are_left_hold_up_nobody(self):
        members = self.cluster(2)
        places = [(host, int(port)) for host, port in
                  (member.ready["address"].rsplit(":", 1) for member in (members.directory, members.nodes[0]))]
        for round_ in range(20):
            with contextlib.ExitStack() as open_:
                for number in range(500):
                    stranger = open_.enter_context(socket.create_connection(places[number % 2]))
                    stranger.sendall(b"\x16\x03\x01\x02\x00\x01")  # a ClientHello that never ends
                if round_ % 5 == 0:
                    self.put(members, 1, 3 << 20, f"o{round_}")
                    self.get(members, 2, f"o{round_}")
        self.get(members, 2, "o0")

    def test_a_handshake_that_never_ends_is_sent_away_after_a_lease(self):
        members = self.cluster(0)
        host, port = members.directory.ready["address"].rsplit(":", 1)
        with socket.create_connection((host, int(port))) as slow:
            slow.settimeout(cluster.PATIENCE)
            slow.sendall(b"\x16\x03\x01\x02\x00\x01")
            begun = time.monotonic()
            self.assertEqual(slow.recv(100), b"")
            self.assertLess(time.monotonic() - begun, cluster.PATIENCE)


class Impostors(cluster.ClusterTest):
    """Nobody who lacks the secret is taken for a member by those who have it."""

    Cluster = SecretCluster
    STRANGER = "whoever answers there does not know the secret: it shows a certificate instead"

    def impostor(self, members, **options):
        impostor = Impostor(members.path("certs"), **options)
        self.addCleanup(impostor.close)
        return impostor

    def test_commands_do_not_ask_who_does_not_know_the_secret(self):
        members = self.cluster(0)
        impostor = self.impostor(members)
        for words in (("status",), ("trace", "--output", members.path("trace")), ("top", "--once")):
            said = self.refuse("unavailable", *words, "--directory", impostor.address, *members.of_node, "--timeout", "5s")
            self.assertIn(f"{impostor.address} is away: {self.STRANGER}", said)
        self.assertEqual(impostor.heard, b"")

    def test_an_older_tls_is_refused(self):
        members = self.cluster(0)
        impostor = self.impostor(members, version=ssl.TLSVersion.TLSv1_2)
        said = self.refuse("unavailable", "status", "--directory", impostor.address, *members.of_node, "--timeout", "5s")
        self.assertIn("it refuses TLS 1.3", said)

    def test_a_node_does_not_join_who_does_not_know_the_secret(self):
        members = self.cluster(0)
        impostor = self.impostor(members)
        node = members.start(*members.node_command("n", members.path("n.sock"), directory=impostor.address))
        said = self.refuse("timeout", "get", "name:x", "--output", "-", "--timeout", "1s", "--socket", node.ready["socket"])
        self.assertIn(self.STRANGER, said)
        self.assertGreater(impostor.visits, 0)
        self.assertEqual(impostor.heard, b"")


class Doors(cluster.CommandTest):
    def test_who_recognizes_nobody_listens_where_no_other_host_comes(self):
        ways = r"--tls-ca, --tls-cert and --tls-key .*--secret-file, or --insecure"
        self.assertRegex(self.refuse("invalid_argument", "directory", "--listen", "0.0.0.0:0"), ways)
        self.assertRegex(self.refuse("invalid_argument", "node", "--directory", "127.0.0.1:1", "--memory", "1MiB", "--listen",
                                     "0.0.0.0:0", "--advertise", "127.0.0.1", "--socket", ""), ways)

    def test_insecure_opens_the_door(self):
        Daemon("directory", "--listen", "0.0.0.0:0", "--insecure").end()

    def test_ports_of_plain_text_are_not_opened_beside_tls(self):
        members = SecretCluster(0)
        self.addCleanup(members.close)
        begin = ("directory", "--listen", "127.0.0.1:0", *members.of_directory)
        said = self.refuse("invalid_argument", *begin, "--admin", "0.0.0.0:0")
        self.assertRegex(said, "0.0.0.0:0 of --admin, which is plain text .* give --tls-ca, .*no secret")
        self.assertIn("0.0.0.0:0 of --web, which is plain text", self.refuse("invalid_argument", *begin, "--web", "0.0.0.0:0"))

    def test_a_cluster_of_one_machine_may_have_a_secret(self):
        with tempfile.TemporaryDirectory(prefix="hoplite-test-") as folder:
            secret = SecretCluster.secret(type("In", (), {"path": lambda _, name: f"{folder}/{name}"})(), "s",
                                          "a secret of sixteen bytes")
            daemon = Daemon("up", "--nodes", "1", "--memory", "16MiB", *secret)
            self.addCleanup(daemon.end)
            address = daemon.ready["address"]
            wait_until(lambda: b"1 node" in run("status", "--directory", address, *secret).stdout, "the node joins")

    def test_a_cluster_of_one_machine_takes_a_secret_that_others_may_read_only_when_told(self):
        with tempfile.TemporaryDirectory(prefix="hoplite-test-") as folder:
            secret = pathlib.Path(folder, "secret")
            secret.write_text("a secret of sixteen bytes")
            secret.chmod(0o444)
            begin = ["up", "--nodes", "1", "--memory", "16MiB", "--secret-file", str(secret)]
            self.assertIn("--readable-secrets", run(*begin).stderr)
            up = Daemon(*begin, "--readable-secrets")
            self.addCleanup(up.end)
            self.assertEqual(up.ready["event"], "ready")

    def test_a_cluster_of_one_machine_may_have_certificates(self):
        with tempfile.TemporaryDirectory(prefix="hoplite-test-") as folder:
            self.succeed("certs", f"{folder}/tls", "--cluster", "blue")
            up = Daemon("up", "--nodes", "1", "--memory", "16MiB", "--certs", f"{folder}/tls", "--cluster", "blue")
            self.addCleanup(up.end)
            address, words = up.ready["address"], CertifiedCluster.words(f"{folder}/tls", "node")
            wait_until(lambda: b"1 node" in run("status", "--directory", address, *words).stdout,
                       "the node joins")
            self.refuse("unavailable", "status", "--directory", address, "--timeout", "1s")
            failed = run("up", "--nodes", "1", "--memory", "16MiB", "--certs", f"{folder}/none")
            self.assertEqual(failed.returncode, 1)
            self.assertIn(f"the directory did not become ready: invalid_argument: authority {folder}/none/ca.pem",
                          failed.stderr)


@unittest.skipUnless(os.environ["HOPLITE_ADMIN"] == "ON", "this build has no admin service")
class AdminDoor(cluster.CommandTest):
    def test_programs_of_grpc_come_in_with_a_node_s_certificate(self):
        members = CertifiedCluster(0)
        self.addCleanup(members.close)
        directory = members.start("directory", "--listen", "127.0.0.1:0", "--admin", "0.0.0.0:0")
        port = int(directory.ready["admin"].rsplit(":", 1)[1])
        self.assertEqual(self.first_frame(port, members.tls, "node"), SETTINGS)
        for name in (None, "directory"):
            self.assertIsNone(self.first_frame(port, members.tls, name))

    @staticmethod
    def first_frame(port, tls, name):
        """The kind of the first frame of HTTP/2 that the service sends; None: it sends none."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(f"{tls}/ca.pem")
        context.set_alpn_protocols(["h2"])
        if name:
            context.load_cert_chain(f"{tls}/{name}.pem", f"{tls}/{name}.key")
        with socket.create_connection(("127.0.0.1", port)) as plain, contextlib.suppress(ssl.SSLError, ConnectionError):
            plain.settimeout(cluster.PATIENCE)
            with context.wrap_socket(plain, server_hostname="directory.hoplite") as stream:
                assert stream.selected_alpn_protocol() == "h2"
                stream.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, SETTINGS, 0, 0, 0, 0, 0)))
                return stream.recv(9)[3]
        return None


if __name__ == "__main__":
    unittest.main()
