"""What one process may hold at a real node, as commands and scrapes show it."""

import subprocess
import unittest
import urllib.request

import cluster
from cluster import wait_until


class Quota(cluster.ClusterTest):
    def test_bounds_what_a_process_puts_and_is_shown(self):
        members = self.cluster(0)
        node = members.start(*members.node_command("n1", members.path("n1.sock")), "--quota", "1MiB", "--quota-objects", "9",
                             "--metrics", "127.0.0.1:0")
        members.nodes = [node]
        path, _ = members.write("large", (1 << 20) + 1)
        said = self.refuse("resource_exhausted", "put", path, "--id", "name:large", "--socket", members.socket(1))
        self.assertRegex(said, r"process \d+ holds 0 B in 0 objects, and 1.0 MiB more are beyond its quota of 1.0 MiB")
        self.put(members, 1, 1 << 20, "fits")
        clients = members.status()["clients"]
        self.assertEqual((clients["quota_bytes"], clients["quota_objects"]), (1 << 20, 9))
        self.assertIn(b"of one process at most 0 B of 1.0 MiB in 0 of 9 objects held",
                      self.succeed("status", "--socket", members.socket(1)))
        with urllib.request.urlopen(f"http://{node.ready['metrics']}/metrics", timeout=20) as answer:
            scraped = answer.read().decode()
        self.assertIn("\nhoplite_client_quota_bytes 1048576\n", scraped)
        self.assertIn("\nhoplite_client_held_bytes 0\n", scraped)

    def test_counts_what_a_process_reads_while_it_reads(self):
        members = self.cluster(1)
        self.put(members, 1, 2 << 20, "read")

        def held():
            return members.status()["clients"]["most_held_bytes"]

        with subprocess.Popen([cluster.HOPLITE, "get", "name:read", "--socket", members.socket(1)],
                              stdout=subprocess.PIPE) as reader:
            wait_until(lambda: held() == 2 << 20, "it waits for its pipe, and holds the object")
            reader.stdout.read()
        wait_until(lambda: held() == 0, "nothing is held any more")


if __name__ == "__main__":
    unittest.main()
