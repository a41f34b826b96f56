"""Progress bars: on standard error, if that is a terminal, and not over bytes that go to it or come from it."""

import os
import pty
import re
import subprocess
import threading
import unittest

from cluster import HOPLITE, PATIENCE, Cluster, CommandTest, read, wait_until

SIZE = 3_000_000


class Terminal:
    """A pseudo terminal, read until nobody has its other end; text() is what was written to it."""

    def __init__(self):
        self._own, self.end = pty.openpty()
        self._parts = []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self):
        try:
            while part := os.read(self._own, 65536):
                self._parts.append(part)
        except OSError:  # Linux: the other end is closed
            pass

    def type(self, keys):
        os.write(self._own, keys.encode())

    def text(self):
        return b"".join(self._parts).decode()

    def close(self):
        os.close(self.end)
        self._reader.join(PATIENCE)
        os.close(self._own)
        return self.text()


class Bars(CommandTest):
    @classmethod
    def setUpClass(cls):
        cls.cluster = cls.enterClassContext(Cluster(1, rate="8mbit"))

    def on_terminal(self, *arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE):
        """What the command wrote to standard output, and to the terminal that is its standard error."""
        terminal = Terminal()
        command = subprocess.Popen([HOPLITE, *arguments, "--socket", self.cluster.socket(1)], stderr=terminal.end,
                                   stdin=subprocess.PIPE if isinstance(stdin, bytes) else stdin,
                                   stdout=terminal.end if stdout is None else stdout)
        with command:
            output, _ = command.communicate(stdin if isinstance(stdin, bytes) else None, PATIENCE)
        shown = terminal.close()
        self.assertEqual(command.returncode, 0, shown)
        return output, shown

    def put(self, name, size=SIZE):
        data = os.urandom(size)
        self.succeed("put", "-", "--id", name, "--socket", self.cluster.socket(1), stdin=data)
        return data

    def assert_bar(self, label, shown, total):
        self.assertRegex(shown, rf"\r\x1b\[K{label} \[[#.]{{40}}\] +\d+ % [0-9.]+ .?i?B of {re.escape(total)}")
        self.assertTrue(shown.endswith("\r\x1b[K"), repr(shown[-40:]))  # an empty line is left

    def test_of_a_put_from_a_file(self):
        path, _ = self.cluster.write("in", SIZE)
        _, shown = self.on_terminal("put", path)
        self.assert_bar("put", shown, "2.9 MiB")

    def test_of_a_put_from_a_pipe_whose_length_nobody_knows(self):
        output, shown = self.on_terminal("put", "-", stdin=os.urandom(SIZE))
        self.assertRegex(shown, r"\r\x1b\[Kput [0-9.]+ .?i?B(, [0-9.]+ .?i?B/s)?\r\x1b\[K$")
        self.assertRegex(output, rb"^[0-9a-f]{40}\n$")

    def test_of_a_get_to_a_file_and_to_standard_output(self):
        data, out = self.put("name:bar"), self.cluster.path("out")
        _, shown = self.on_terminal("get", "name:bar", "--output", out)
        self.assert_bar("get", shown, "2.9 MiB")
        self.assertEqual(read(out), data)
        output, shown = self.on_terminal("get", "name:bar")
        self.assert_bar("get", shown, "2.9 MiB")
        self.assertEqual(output, data)

    def test_of_a_get_that_is_larger_than_the_node(self):
        small, out = self.cluster.path("small.sock"), self.cluster.path("large")
        self.cluster.start(*self.cluster.node_command("small", small, memory="2MiB"))
        self.put("name:large", 7_000_000)  # takes 7 s, of which this needs the first
        terminal = Terminal()
        command = [HOPLITE, "get", "name:large", "--output", out, "--socket", small]
        with subprocess.Popen(command, stderr=terminal.end) as get:
            try:
                wait_until(lambda: re.search(r"get \[[#.]{40}\] +[1-9]\d* % ", terminal.text()), "the bar grows")
            finally:
                get.kill()
        self.assertIn(" of 6.7 MiB, ", terminal.close())

    def test_none_over_what_goes_to_the_terminal_itself(self):
        self.succeed("put", "-", "--id", "name:text", "--socket", self.cluster.socket(1), stdin=b"lines of text")
        _, shown = self.on_terminal("get", "name:text", stdout=None)
        self.assertEqual(shown, "lines of text")

    def test_none_without_a_terminal(self):
        path, _ = self.cluster.write("plain", SIZE)
        socket = self.cluster.socket(1)
        for arguments, stdin in ((("put", path), None), (("put", "-", "--id", "name:plain"), read(path)),
                                 (("get", "name:plain"), None)):
            done = subprocess.run([HOPLITE, *arguments, "--socket", socket], input=stdin, capture_output=True,
                                  timeout=PATIENCE)
            self.assertEqual((done.returncode, done.stderr), (0, b""), arguments)


if __name__ == "__main__":
    unittest.main()
