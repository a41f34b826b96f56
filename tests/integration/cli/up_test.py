"""`hoplite up`: a cluster of processes, what it shows, and its end."""

import contextlib
import ctypes
import errno
import json
import os
import signal
import socket
import struct
import subprocess
import tempfile
import unittest
import urllib.request

from cluster import HOPLITE, CommandTest, Daemon, run, wait_until


def fetch(url):
    with urllib.request.urlopen(url, timeout=20) as answer:
        return answer.read().decode()


def refuse_pidfds(with_errno):
    """This process, and what it starts, gets no pidfd any more, as in older sandboxes (a filter of seccomp)."""
    def step(code, value, yes=0, no=0):
        return struct.pack("HBBI", code, yes, no, value)

    load, equal, answer = 0x20, 0x15, 0x06
    pidfd_open, allow, refuse = 434, 0x7FFF0000, 0x00050000
    program = ctypes.create_string_buffer(
        step(load, 0) + step(equal, pidfd_open, 0, 1) + step(answer, refuse | with_errno) + step(answer, allow))
    described = struct.pack("HxxxxxxQ", 4, ctypes.addressof(program))
    libc = ctypes.CDLL(None, use_errno=True)
    no_new_privileges, set_seccomp, filter_mode = 38, 22, 2
    if libc.prctl(no_new_privileges, 1, 0, 0, 0) or libc.prctl(set_seccomp, filter_mode, described, 0, 0):
        raise OSError(ctypes.get_errno(), "no filter of seccomp")


def ports_in_a_row(count):
    """The first of so many ports that follow each other and are free now."""
    for first in range(29000, 32000, count):
        with contextlib.ExitStack() as probes, contextlib.suppress(OSError):
            for port in range(first, first + count):
                probes.enter_context(socket.socket()).bind(("127.0.0.1", port))
            return first
    raise AssertionError("no free ports")


class Up(CommandTest):
    def test_up_ends_all_on_ctrl_c(self):
        up = subprocess.Popen([HOPLITE, "up", "--nodes", "2", "--memory", "16MiB", "--admin", "127.0.0.1:0", "--json"],
                              stdout=subprocess.PIPE)
        with up:
            events = [json.loads(up.stdout.readline()) for _ in range(3)]
            self.assertEqual([event["role"] for event in events], ["directory", "node", "node"])
            self.refuse("unavailable", "directory", "--listen", "127.0.0.1:0", "--admin", events[0]["admin"])
            sockets = [event["socket"] for event in events[1:]]
            self.succeed("put", "-", "--id", "name:x", "--socket", sockets[0], stdin=b"abc")
            self.assertEqual(self.succeed("get", "name:x", "--socket", sockets[1]), b"abc")
            up.send_signal(signal.SIGINT)
            self.assertEqual(up.wait(10), 0)
        self.assertFalse(os.path.exists(os.path.dirname(sockets[0])))

    def test_up_shows_its_members_in_a_browser_and_to_prometheus(self):
        words = ("up", "--nodes", "2", "--memory", "16MiB", "--web", "0", "--metrics")
        up = Daemon(*words, "127.0.0.1:0")
        self.addCleanup(up.end)
        nodes = [json.loads(up.process.stdout.readline()) for _ in range(2)]
        self.assertIn("<title>Hoplite</title>", fetch(f"http://{up.ready['web']}/"))
        self.assertIn("hoplite_directory_objects", fetch(f"http://{up.ready['metrics']}/metrics"))
        for node in nodes:
            self.assertIn("hoplite_copies", fetch(f"http://{node['metrics']}/metrics"))
        for option, in_use in (("web", up.ready["web"]), ("metrics", nodes[0]["metrics"])):
            said = self.refuse("unavailable", *words[:5], f"--{option}", in_use)
            self.assertRegex(said, rf"the directory did not become ready: unavailable: --{option}: .*{in_use}.*in use")

    def test_up_holds_the_limits_of_its_nodes_together_against_their_disk(self):
        with tempfile.TemporaryDirectory() as folder:
            disk = os.statvfs(folder)
            limit = str(disk.f_blocks * disk.f_frsize * 2 // 3)
            words = ("up", "--memory", "16MiB", "--spill", folder, "--spill-limit", limit, "--nodes")
            done = run(*words, "2")
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, "node n1 did not become ready: invalid_argument: objects can't be written to "
                                          f"{folder}: the limit of its nodes, ")
            Daemon(*words, "1").end()

    def test_up_gives_its_nodes_the_ports_behind_the_directory_s(self):
        first = ports_in_a_row(3)
        words = ("up", "--nodes", "2", "--memory", "16MiB", "--metrics")
        up = Daemon(*words, f"127.0.0.1:{first}")
        self.addCleanup(up.end)
        members = [up.ready, *(json.loads(up.process.stdout.readline()) for _ in range(2))]
        self.assertEqual([member["metrics"] for member in members], [f"127.0.0.1:{first + i}" for i in range(3)])
        self.assertIn("--metrics: node 2 would have port 65536", self.refuse("invalid_argument", *words, "127.0.0.1:65534"))

    def test_up_that_is_killed_takes_its_children_along(self):
        up = subprocess.Popen([HOPLITE, "up", "--nodes", "1", "--memory", "16MiB", "--json"],
                              stdout=subprocess.PIPE)
        with up:
            address = json.loads(up.stdout.readline())["address"]
            socket = json.loads(up.stdout.readline())["socket"]
            up.kill()
        wait_until(lambda: not os.path.exists(socket), "the node ended and removed its socket")
        wait_until(lambda: run("status", "--directory", address).returncode == 1, "no directory")
        up = subprocess.Popen([HOPLITE, "up", "--nodes", "1", "--memory", "16MiB"], stdout=subprocess.PIPE)
        with up:
            up.stdout.readline()
            self.assertFalse(os.path.exists(os.path.dirname(socket)))
            up.send_signal(signal.SIGINT)

    def test_up_without_pidfd(self):
        for refused_with in (errno.EPERM, errno.ENOSYS):
            with self.subTest(refused_with=refused_with):
                self.goes_on_without_pidfd(refused_with)

    def goes_on_without_pidfd(self, refused_with):
        up = subprocess.Popen([HOPLITE, "up", "--nodes", "1", "--memory", "16MiB", "--json"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              preexec_fn=lambda: refuse_pidfds(refused_with))
        with up:
            directory, node = (json.loads(up.stdout.readline()) for _ in range(2))
            os.kill(node["pid"], signal.SIGKILL)
            self.assertIn(b"node n1 was killed by signal 9", up.stderr.readline())
            up.kill()
        wait_until(lambda: run("status", "--directory", directory["address"]).returncode == 1, "no directory")


if __name__ == "__main__":
    unittest.main()
