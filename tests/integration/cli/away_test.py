"""Commands while the directory is away: what they say."""

import json
import signal
import socket
import subprocess
import time
import unittest

from cluster import HOPLITE, PATIENCE, Cluster, CommandTest, wait_until


def free_addresses(count):
    """Of ports that nobody had a moment ago."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    addresses = [f"127.0.0.1:{one.getsockname()[1]}" for one in sockets]
    for one in sockets:
        one.close()
    return addresses


class NoDirectory(CommandTest):
    """The address of the directory is wrong, or it has not started."""

    def test_a_node_says_what_it_has_not_reached_and_why_nothing_goes_on(self):
        with Cluster(0) as cluster:
            directory = cluster.start("directory", "--listen", "127.0.0.1:0")
            address = directory.ready["address"]
            directory.end()
            at = cluster.path("alone.sock")
            command = cluster.node_command("alone", at, directory=address)
            node = cluster.start(*command)
            self.assertEqual(node.ready["away"], [address])
            for words in (("get", "name:x"), ("put", cluster.write("in", 10)[0]), ("delete", "name:x")):
                sentence = self.refuse("timeout", *words, "--timeout", "300ms", "--socket", at)
                self.assertIn(f"directory shard 0 is away: cannot connect to {address}: ", sentence)
                self.assertNotIn("does not exist", sentence)
                if "name:x" in words:
                    self.assertIn("name:x", sentence)
            node.end()
            with subprocess.Popen([HOPLITE, *command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                  text=True) as plain:
                self.assertIn(f"it has not reached the directory at {address} and goes on trying",
                              plain.stdout.readline())
                cluster.start("directory", "--listen", address, "--recovery-window", "0")
                self.succeed("put", "-", "--socket", at, stdin=b"it came later")
                plain.terminate()
                self.assertEqual(plain.wait(PATIENCE), 0)


class OneOfTwoShards(CommandTest):
    """A part of the directory is away."""

    def objects(self, socket):
        """How many objects each shard knows; 0 while it is away."""
        document = json.loads(self.succeed("status", "--json", "--socket", socket))
        return [shard.get("objects", 0) for shard in document["shards"]]

    def test_status_shows_the_rest_and_says_what_is_missing(self):
        with Cluster(0) as cluster:
            addresses = free_addresses(2)
            both = ",".join(addresses)
            shards = [cluster.start("directory", "--listen", one, "--shards", both) for one in addresses]
            at = cluster.path("n.sock")
            cluster.start(*cluster.node_command("n", at, directory=both))
            for number in range(20):
                self.succeed("put", "-", "--id", f"name:{number}", "--socket", at, stdin=b"x")
            for away in (0, 1):
                shards[away].end()
                for asked in (("--socket", at), ("--directory", both)):
                    with self.subTest(away=away, asked=asked):
                        text = self.succeed("status", *asked, "--timeout", "20s").decode()
                        self.assertRegex(text, rf"shard {away}: its objects are missing here: .*away")
                        self.assertRegex(text, r"(?m)^  name:\d+  1 B")
                        self.assertIn("  n ", text)
                        document = json.loads(self.succeed("status", "--json", *asked, "--timeout", "20s"))
                        self.assertIn("away", document["shards"][away])
                        self.assertGreater(document["shards"][1 - away]["objects"], 0)
                shards[away] = cluster.start("directory", "--listen", addresses[away], "--shards", both)
                wait_until(lambda away=away: self.objects(at)[away], "the shard is back, and the node told its objects")
            for shard in shards:
                shard.end()
            self.refuse("unavailable", "status", "--directory", both, "--timeout", "20s")

    def test_status_does_not_wait_long_for_one_that_hangs(self):
        with Cluster(0) as cluster:
            addresses = free_addresses(2)
            both = ",".join(addresses)
            shards = [cluster.start("directory", "--listen", one, "--shards", both) for one in addresses]
            at = cluster.path("n.sock")
            cluster.start(*cluster.node_command("n", at, directory=both))
            shards[0].process.send_signal(signal.SIGSTOP)
            try:
                for asked in (("--socket", at), ("--directory", both)):
                    with self.subTest(asked=asked):
                        begun = time.monotonic()
                        document = json.loads(self.succeed("status", "--json", *asked))
                        self.assertIn("away", document["shards"][0])
                        self.assertNotIn("away", document["shards"][1])
                        self.assertLess(time.monotonic() - begun, 10)
            finally:
                shards[0].process.send_signal(signal.SIGCONT)


if __name__ == "__main__":
    unittest.main()
