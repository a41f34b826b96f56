"""Commands while the directory is away: what they say."""

import subprocess
import unittest

from cluster import HOPLITE, PATIENCE, Cluster, CommandTest


class NoDirectory(CommandTest):
    """The address of the directory is wrong, or it has not started."""

    def test_a_node_says_what_it_has_not_reached_and_why_nothing_goes_on(self):
        with Cluster(0) as cluster:
            directory = cluster.start("directory", "--listen", "127.0.0.1:0")
            address = directory.ready["address"]
            directory.end()
            socket = cluster.path("alone.sock")
            command = cluster.node_command("alone", socket, directory=address)
            node = cluster.start(*command)
            self.assertEqual(node.ready["away"], [address])
            for words in (("get", "name:x"), ("put", cluster.write("in", 10)[0]), ("delete", "name:x")):
                sentence = self.refuse("timeout", *words, "--timeout", "300ms", "--socket", socket)
                self.assertIn("directory shard 0 is away", sentence)
                self.assertNotIn("does not exist", sentence)
                if "name:x" in words:
                    self.assertIn("name:x", sentence)
            node.end()
            with subprocess.Popen([HOPLITE, *command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                  text=True) as plain:
                self.assertIn(f"it has not reached the directory at {address} and goes on trying",
                              plain.stdout.readline())
                cluster.start("directory", "--listen", address, "--recovery-window", "0")
                self.succeed("put", "-", "--socket", socket, stdin=b"it came later")
                plain.terminate()
                self.assertEqual(plain.wait(PATIENCE), 0)


if __name__ == "__main__":
    unittest.main()
