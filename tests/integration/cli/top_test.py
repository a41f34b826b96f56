"""`hoplite top`: once, as lines; and on a terminal, with keys, which is afterwards as it was."""

import contextlib
import fcntl
import json
import os
import re
import signal
import struct
import subprocess
import termios
import unittest

from cluster import HOPLITE, PATIENCE, ClusterTest, wait_until
from terminal_test import Terminal

LARGE = 6_000_000
ENTER, LEAVE = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"


class TopTest(ClusterTest):
    def top(self, cluster, *words):
        return self.succeed("top", *words, "--directory", cluster.directory.ready["address"], timeout=PATIENCE)

    def once(self, cluster, *words):
        return self.top(cluster, "--once", *words).decode()

    def rows(self, cluster):
        return {row["name"]: row for row in json.loads(self.top(cluster, "--json"))["nodes"]}

    def transfer(self, cluster):
        """A transfer from n1 to n2 that goes on until the test ends."""
        self.put(cluster, 1, LARGE, "x")
        self.begin_get(cluster, 2, "x")
        wait_until(lambda: json.loads(self.top(cluster, "--json"))["objects"], "the transfer begins")


class Once(TopTest):
    def test_a_transfer(self):
        cluster = self.cluster(2, rate="2mbit")
        self.transfer(cluster)
        rows = wait_until(lambda: (rows := self.rows(cluster))["n2"]["in_bytes_per_second"] and rows, "bytes come")
        self.assertGreater(rows["n1"]["out_bytes_per_second"], 0)
        self.assertEqual(rows["n1"]["in_bytes_per_second"], 0)
        self.assertEqual((rows["n1"]["fetches"], rows["n2"]["fetches"]), (0, 1))
        self.assertGreaterEqual(rows["n1"]["used_bytes"], LARGE)
        self.assertEqual(rows["n1"]["memory_bytes"], 64 << 20)
        text = self.once(cluster)
        self.assertRegex(text, r"(?m)^2 nodes \| in .*/s, out .*/s \| 1 of 1 object under way$")
        self.assertRegex(text, r"(?m)^n2 +\S+ \S?i?B +0 B +\S+ MiB / 64.0 MiB +\d+ % +1 +0 +(\?|\d+ %)$")
        self.assertRegex(text, r"(?m)^ +n1 ─▶ n2 \d+ %$")
        self.assertNotIn("\x1b", text)
        followed = self.once(cluster, "name:x")
        self.assertRegex(followed, r"(?m)^object name:x  [0-9a-f]{40} +5.7 MiB  1 complete, 1 on the way: \d+ %")
        self.assertRegex(followed, r"(?m)^  complete at n1$")

    def test_a_put_that_waits_for_memory(self):
        cluster = self.cluster(2, memory="8MiB")
        self.put(cluster, 1, LARGE, "own")
        path, _ = cluster.write("second", LARGE)
        self.begin(cluster, 1, "put", path, "--id", "name:x")
        told, = wait_until(lambda: json.loads(self.top(cluster, "--json"))["objects"], "the put is under way")
        self.assertEqual(told["name"], "x")
        waiter, = told["waiters"]
        self.assertEqual(waiter["node"], "n1")
        self.assertIn(f"a put of it waits, since no memory is free for its {LARGE} bytes: ", waiter["why"])
        self.assertIn(f"; the largest of these: name:own with {LARGE} bytes", waiter["why"])
        self.assertEqual([row["waits"] for _, row in sorted(self.rows(cluster).items())], [1, 0])
        self.assertRegex(self.once(cluster), r"(?m)^  name:x +\?  0 complete, 1 waiting\n      n1: a put of it waits, since no ")

    def test_a_node_tells_where_the_directory_is(self):
        cluster = self.cluster(1)
        for words in (("--socket", cluster.socket(1)), ("--directory", cluster.directory.ready["address"])):
            told = json.loads(self.succeed("top", "--json", *words, timeout=PATIENCE))
            self.assertEqual([node["name"] for node in told["nodes"]], ["n1"], words)
        nowhere = cluster.path("nowhere.sock")
        self.assertIn(nowhere, self.refuse("unavailable", "top", "--once", "--socket", nowhere))

    def test_the_order_of_nodes(self):
        cluster = self.cluster(3)
        self.put(cluster, 2, LARGE, "x")
        wait_until(lambda: self.rows(cluster)["n2"]["used_bytes"] >= LARGE, "n2 tells how it is")
        names = re.findall(r"(?m)^n\d", self.once(cluster, "--sort", "memory"))
        self.assertEqual(names, ["n2", "n1", "n3"])
        self.assertEqual(re.findall(r"(?m)^n\d", self.once(cluster)), ["n1", "n2", "n3"])

    def test_a_node_that_is_stopped(self):
        cluster = self.cluster(2)
        self.stop(cluster, 2)
        row = wait_until(lambda: self.rows(cluster)["n2"]["trouble"], "the row says so")
        self.assertRegex(row, r"^(silent for \d+ s|no session|lost \d+ s ago)$")
        wait_until(lambda: re.search(r"(?m)^n2 +lost \d+ s ago", self.once(cluster)), "it is lost")
        self.assertEqual(self.rows(cluster)["n1"]["trouble"], "")

    def test_objects_that_nobody_has(self):
        cluster = self.cluster(1)
        self.assertIn("not known to its directory shard", self.once(cluster, "name:nobody"))
        self.assertEqual(json.loads(self.top(cluster, "name:nobody", "--json"))["followed"]["error"]["code"], "not_found")
        self.begin_get(cluster, 1, "nobody")
        wait_until(lambda: self.rows(cluster)["n1"]["waits"] == 1, "it waits")
        self.assertIn("n1: it does not exist", self.once(cluster, "name:nobody"))

    def test_a_directory_that_is_stopped(self):
        cluster = self.cluster(1)
        other = cluster.start("directory", "--listen", "127.0.0.1:0").ready["address"]
        both = f"{cluster.directory.ready['address']},{other}"
        cluster.directory.process.send_signal(signal.SIGSTOP)
        try:
            said = self.succeed("top", "--once", "--directory", both, "--timeout", "300ms").decode()
            self.assertIn(f"directory shard {cluster.directory.ready['address']} is away", said)
            self.assertIn("no shard answers: directory shard", self.refuse(
                "unavailable", "top", "--once", "--directory", cluster.directory.ready["address"], "--timeout", "300ms"))
        finally:
            cluster.directory.process.send_signal(signal.SIGCONT)

    def test_what_it_refuses(self):
        cluster = self.cluster(0)
        done = subprocess.run([HOPLITE, "top", "--directory", cluster.directory.ready["address"], "--sort", "size"],
                              capture_output=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"there is no column 'size'", done.stderr)


class OnTerminal(TopTest):
    @contextlib.contextmanager
    def screen(self, cluster, *words, reads=True):
        """Gives (terminal, process), after the first picture."""
        terminal = Terminal() if reads else Unread()
        try:
            self.resize(terminal, 100, 30)
            before = termios.tcgetattr(terminal.end)
            command = [HOPLITE, "top", *words, "--directory", cluster.directory.ready["address"]]
            with subprocess.Popen(command, stdin=terminal.end, stdout=terminal.end, stderr=subprocess.PIPE) as process:
                try:
                    wait_until(lambda: not termios.tcgetattr(terminal.end)[3] & termios.ECHO, "it hears keys")
                    yield terminal, process
                finally:
                    process.kill()
            self.assertEqual(termios.tcgetattr(terminal.end), before, "the terminal is as it was")
            self.assertEqual(os.get_blocking(terminal.end), True)
        finally:
            text = terminal.close()
        if reads:
            self.assertTrue(text.startswith(ENTER), repr(text[:40]))
            self.assertTrue(text.endswith(LEAVE), repr(text[-40:]))

    @staticmethod
    def resize(terminal, columns, rows):
        fcntl.ioctl(terminal.end, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def see(self, terminal, pattern):
        """Waits for a picture that shows this; its lines."""
        return wait_until(lambda: (last := self.picture(terminal)) and re.search(pattern, last) and last, pattern)

    @staticmethod
    def picture(terminal):
        """The last whole one."""
        frames = terminal.text().split("\x1b[H")[1:]
        whole = [frame for frame in frames if frame.endswith("\x1b[J") or "\x1b[J" in frame]
        return re.sub(r"\x1b\[\d*[mKJ]", "", whole[-1]).replace("\r\n", "\n") if whole else ""

    def test_keys(self):
        cluster = self.cluster(2, rate="2mbit")
        self.transfer(cluster)
        with self.screen(cluster) as (terminal, process):
            self.assertEqual(self.see(terminal, r"n1 ─▶ n2 \d+ %").count("\n"), 29)
            terminal.type("m")
            self.see(terminal, "sorted by memory")
            terminal.type("\x1b[B\x1b[A\r")
            self.see(terminal, r"(?m)^object name:\S+  [0-9a-f]{40} ")
            terminal.type("\x1b")  # alone
            self.see(terminal, "sorted by memory")
            self.resize(terminal, 50, 12)
            process.send_signal(signal.SIGWINCH)
            wait_until(lambda: self.picture(terminal).count("\n") == 11, "a smaller picture")
            self.assertLessEqual(max(map(len, self.picture(terminal).splitlines())), 50)
            terminal.type("q")
            self.assertEqual(process.wait(PATIENCE), 0)

    def test_signals(self):
        cluster = self.cluster(1)
        for how in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            with self.subTest(how), self.screen(cluster, "name:x") as (terminal, process):
                self.see(terminal, "not known")
                process.send_signal(how)
                self.assertEqual(process.wait(PATIENCE), 0)

    def test_a_node_that_is_stopped_holds_up_nothing(self):
        cluster = self.cluster(2)
        with self.screen(cluster) as (terminal, process):
            self.see(terminal, r"(?m)^n2 ")
            self.stop(cluster, 2)
            self.see(terminal, r"(?m)^n2 +(no session|lost|silent)")
            terminal.type("w")
            self.see(terminal, "sorted by waits")
            cluster.directory.process.send_signal(signal.SIGSTOP)
            try:
                self.see(terminal, r"(?m)^directory shard .* is away")
                terminal.type("m")
                self.see(terminal, "sorted by memory")
                terminal.type("q")
                self.assertEqual(process.wait(PATIENCE), 0)
            finally:
                cluster.directory.process.send_signal(signal.SIGCONT)

    def test_a_terminal_that_takes_nothing(self):
        cluster = self.cluster(1)
        with self.screen(cluster, reads=False) as (terminal, process):
            for _ in range(200):  # far more pictures than a terminal keeps
                terminal.type("mn")
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(PATIENCE), 0)

    def test_the_terminal_goes_away(self):
        cluster = self.cluster(1)
        own, end = os.openpty()
        with subprocess.Popen([HOPLITE, "top", "--directory", cluster.directory.ready["address"]], stdin=end,
                              stdout=end) as process:
            wait_until(lambda: not termios.tcgetattr(end)[3] & termios.ECHO, "it hears keys")
            os.close(own)
            self.assertEqual(process.wait(PATIENCE), 0)
        os.close(end)


class Unread:
    """A pseudo terminal whose other end nobody reads."""

    def __init__(self):
        self._own, self.end = os.openpty()

    def type(self, keys):
        os.write(self._own, keys.encode())

    def close(self):
        os.close(self.end)
        os.close(self._own)


if __name__ == "__main__":
    unittest.main()
