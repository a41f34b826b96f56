"""Whose node the commands take at the default socket, which every user of the host can guess."""

import os
import subprocess
import sys
import tempfile
import unittest

from cluster import HOPLITE, PATIENCE, Cluster, CommandTest

STRANGER = 54321  # a user that nobody has
SQUAT = """
import os, socket, sys
os.setgroups([])
os.setgid(int(sys.argv[2]))
os.setuid(int(sys.argv[2]))
door = socket.create_server(sys.argv[1], family=socket.AF_UNIX)
print("listens", flush=True)
while True:
    with door.accept()[0] as visitor:
        print(len(visitor.recv(100)), flush=True)
"""


class DefaultSocket(CommandTest):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory(prefix="hoplite-test-", dir="/tmp"))
        self.path = os.path.join(self.folder, "hoplite.sock")

    def run_there(self, *arguments, **named):
        without = {name: value for name, value in os.environ.items() if name != "HOPLITE_SOCKET"}
        return subprocess.run([HOPLITE, *arguments], env={**without, "XDG_RUNTIME_DIR": self.folder, **named}, input=b"x",
                              capture_output=True, timeout=PATIENCE)

    def test_a_node_of_this_user_is_taken(self):
        with Cluster(0) as cluster:
            cluster.start(*cluster.node_command("n", self.path))
            done = self.run_there("put", "-", "--id", "name:x")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(self.run_there("get", "name:x").stdout, b"x")

    @unittest.skipUnless(os.geteuid() == 0, "only root can be another user")
    def test_a_node_of_another_user_is_refused_by_every_command(self):
        os.chmod(self.folder, 0o777)
        command = [sys.executable, "-c", SQUAT, self.path, str(STRANGER)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as squatter:
            self.addCleanup(squatter.kill)
            self.assertEqual(squatter.stdout.readline(), b"listens\n")
            os.chmod(self.path, 0o777)
            for words in (("put", "-"), ("get", "name:x"), ("info", "name:x"), ("why", "name:x"), ("delete", "name:x"),
                          ("status",), ("top", "--once"), ("reduce", "name:x", "--op", "sum", "--dtype", "int8")):
                with self.subTest(command=words[0]):
                    done = self.run_there(*words)
                    self.assertEqual((done.returncode, done.stdout), (1, b""), done.stderr)
                    self.assertRegex(done.stderr.decode(), f"^invalid_argument: no access to the node at {self.path}: it is of "
                                                           f"user {STRANGER}, and this process runs as root: ")
                    self.assertEqual(squatter.stdout.readline(), b"0\n", "nothing was said to it")
            for named in ({"HOPLITE_SOCKET": self.path}, {}):
                words = () if named else ("--socket", self.path)
                self.assertNotIn(b"no access", self.run_there("status", *words, **named).stderr)
                self.assertNotEqual(squatter.stdout.readline(), b"0\n", "somebody named it")
            squatter.kill()


if __name__ == "__main__":
    unittest.main()
