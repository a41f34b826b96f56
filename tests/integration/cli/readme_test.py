"""The C++ example of README.md, beside the directory that its first lines name."""

import os
import re
import socket
import subprocess
import unittest

from cluster import Daemon

README = os.path.join(os.path.dirname(__file__), "../../../README.md")


def is_free(host, port):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


class Readme(unittest.TestCase):
    def test_the_example_does_what_it_says(self):
        with open(README, encoding="utf-8") as file:
            host, port = re.search(r'directory = \{"([\d.]+):(\d+)"\}', file.read()).groups()
        if not is_free(host, int(port)):
            self.skipTest(f"{host}:{port} is in use on this machine")
        directory = Daemon("directory", "--listen", f"{host}:{port}", "--recovery-window", "0")
        try:
            done = subprocess.run([os.environ["README_EXAMPLE"]], timeout=60, capture_output=True,
                                  check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
        finally:
            directory.end()


if __name__ == "__main__":
    unittest.main()
