"""`hoplite doctor`: a cluster that is well, and what it says of one that is not."""

import json
import os
import signal
import socket
import subprocess
import tempfile
import unittest

from cluster import HOPLITE, ClusterTest, CommandTest, run, wait_until


def closed_port():
    """An address where nobody listens."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{one.getsockname()[1]}"


class Doctor(ClusterTest):
    def examine(self, cluster, *words, status, directory=None):
        shards = directory or cluster.directory.ready["address"]
        done = run("doctor", "--directory", shards, "--json", *words)
        self.assertEqual(done.returncode, status, done.stdout.decode() + done.stderr)
        return json.loads(done.stdout)["findings"]

    def bad(self, findings):
        return {one["subject"]: one["what"] for one in findings if not one["ok"]}

    def test_a_cluster_that_is_well(self):
        cluster = self.cluster(3)
        wait_until(lambda: len(cluster.status()["nodes"]) == 3, "three nodes")
        findings = self.examine(cluster, status=0)
        said = {one["subject"]: [] for one in findings}
        for one in findings:
            said[one["subject"]].append(one["what"])
        self.assertRegex(said["nodes to each other"][0], r"^6 of 6 ways work, the slowest took [\d.]+ ms$")
        for name in ("n1", "n2", "n3"):
            told = "\n".join(said[name])
            self.assertRegex(told, r"answers in [\d.]+ ms, store 64.0 MiB")
            self.assertIn("version ", told)
            self.assertRegex(told, r"its clock is [\d.]+ ms (ahead of|behind) this host's")
            self.assertRegex(told, r"\d+ of \d+ descriptors are open")
            self.assertRegex(told, r"of memory are left, the limit is ")
            self.assertIn("the rate of its link is not measured yet", told)

    def test_in_words_each_line_is_ok_or_says_what_to_do(self):
        cluster = self.cluster(1)
        done = run("doctor", "--directory", f"{cluster.directory.ready['address']},{closed_port()}", "--timeout", "2s")
        self.assertEqual(done.returncode, 1, done.stderr)
        lines = done.stdout.decode().splitlines()
        advice = [number for number, line in enumerate(lines) if line.startswith("    ")]
        self.assertTrue(advice)
        self.assertTrue(all(lines[number - 1].startswith("!!  ") for number in advice))
        self.assertTrue(all(line.startswith(("ok  ", "!!  ", "    ")) for line in lines), lines)
        self.assertTrue(any(line.startswith("!!  directory shard 1 at ") for line in lines), lines)

    def test_a_node_that_stands_still(self):
        cluster = self.cluster(2)
        self.stop(cluster, 2)
        bad = self.bad(self.examine(cluster, "--timeout", "4s", status=1))
        self.assertIn("does not answer this host", bad["n2"])
        self.assertIn("n1 to n2", bad)
        self.assertNotIn("n1", bad)

    def test_no_shard_answers(self):
        cluster = self.cluster(0)
        bad = self.bad(self.examine(cluster, status=1, directory=closed_port()))
        self.assertEqual(len(bad), 1)

    def test_few_descriptors(self):
        cluster = self.cluster(0)
        words = cluster.node_command("n1", cluster.path("n1.sock"))
        cluster.start(*words, wrapper=("sh", "-c", 'ulimit -n 512; exec "$@"', "sh"))
        bad = self.bad(self.examine(cluster, status=1))
        self.assertRegex(bad["n1"], r"^\d+ of 512 descriptors are open$")


class Certificates(CommandTest):
    def test_ends_of_certificates_are_told(self):
        with tempfile.TemporaryDirectory() as folder:
            certs = os.path.join(folder, "tls")
            self.succeed("certs", certs, "--cluster", "blue", "--days", "5")
            up = subprocess.Popen([HOPLITE, "up", "--nodes", "2", "--memory", "16MiB", "--cluster", "blue", "--certs", certs,
                                   "--json"], stdout=subprocess.PIPE, text=True)
            self.addCleanup(up.stdout.close)
            self.addCleanup(up.wait)
            self.addCleanup(up.send_signal, signal.SIGTERM)
            own = [f"--tls-{name}={certs}/{file}" for name, file in (("ca", "ca.pem"), ("cert", "node.pem"), ("key", "node.key"))]
            address, *_ = [json.loads(up.stdout.readline())["address"] for _ in range(3)]  # all are ready
            status = ("status", "--directory", address, "--json", *own)
            wait_until(lambda: len(json.loads(self.succeed(*status))["nodes"]) == 2, "two nodes")
            done = run("doctor", "--directory", address, "--cluster", "blue", "--json", *own)
            self.assertEqual(done.returncode, 1, done.stdout.decode() + done.stderr)
            bad = [one for one in json.loads(done.stdout)["findings"] if not one["ok"]]
            self.assertEqual(len(bad), 2, bad)
            for one in bad:  # they end in five days, rounded up by a second or so
                self.assertRegex(one["what"], "^its certificate is good for [45] days$")
            self.assertIn("hoplite certs", bad[0]["advice"])
            for command in ("status", "top"):
                words = [command, "--directory", address, *own, *(["--once"] if command == "top" else [])]
                self.succeed(*words, "--cluster", "blue")
                self.assertIn("blue", self.refuse("invalid_argument", *words, "--cluster", "red"))


if __name__ == "__main__":
    unittest.main()
