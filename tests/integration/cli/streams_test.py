"""The command line with inputs and outputs that are odd, closed or full, deadlines that are now, names that no member
can have, and too few descriptors."""

import json
import os
import socket
import subprocess
import unittest

from cluster import HOPLITE, UNKNOWN, Cluster, CommandTest, read, wait_until


class Streams(CommandTest):
    """One node, and lines of bash."""

    @classmethod
    def setUpClass(cls):
        cls.cluster = cls.enterClassContext(Cluster(1))

    def shell(self, line, **variables):
        """A line of bash in which H is the program."""
        environment = {**os.environ, "H": HOPLITE, "HOPLITE_SOCKET": self.cluster.socket(1), **variables}
        done = subprocess.run(["bash", "-c", line], env=environment, capture_output=True, timeout=60)
        done.stderr = done.stderr.decode()
        return done

    def fails(self, line, words, status=1):
        done = self.shell(line)
        self.assertEqual(done.returncode, status, f"{line}: {done.stdout} {done.stderr}")
        self.assertRegex(done.stderr, words, line)

    def stored(self, object_id):
        return self.succeed("get", object_id, "--socket", self.cluster.socket(1))

    def test_files_whose_size_is_unknown_are_read_to_their_end(self):
        for path in ("/proc/version", "/proc/filesystems", "/sys/kernel/mm/transparent_hugepage/enabled"):
            if not os.path.exists(path):
                continue
            with self.subTest(path=path):
                put = self.succeed("put", path, "--socket", self.cluster.socket(1)).decode().strip()
                self.assertEqual(self.stored(put), read(path))
        fifo, data = self.cluster.path("fifo"), os.urandom(200_000)
        os.mkfifo(fifo)
        put = subprocess.Popen([HOPLITE, "put", fifo, "--socket", self.cluster.socket(1)],
                               stdout=subprocess.PIPE)
        with put, open(fifo, "wb") as pipe:
            pipe.write(data)
            pipe.close()
            self.assertEqual(self.stored(put.stdout.read().decode().strip()), data)

    def test_an_input_without_an_end_is_read_no_further_than_the_node_has_memory(self):
        status, said, used = self.with_an_endless_input("put", "-", "--socket", self.cluster.socket(1))
        self.assertEqual(status, 1)
        self.assertRegex(said, "^resource_exhausted: standard input has more than the 67108864 bytes .*'n1'")
        _, _, by_itself = self.with_an_endless_input("--version")
        self.assertLess(used - by_itself, 90_000)  # KiB; the node has 64 MiB

    def with_an_endless_input(self, *arguments):
        """How it ended, what it said, and how much memory it took at most."""
        with open("/dev/zero", "rb") as endless:
            # A sanitizer keeps what was freed.
            run = subprocess.Popen([HOPLITE, *arguments], stdin=endless, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, env={**os.environ, "ASAN_OPTIONS": "quarantine_size_mb=8"})
        with run:
            said = run.stderr.read().decode()
            _, status, used = os.wait4(run.pid, 0)
            run.returncode = os.waitstatus_to_exitcode(status)
        return run.returncode, said, used.ru_maxrss

    def test_a_limit_of_the_size_of_files_is_an_error_and_no_death(self):
        self.succeed("put", "-", "--id", "name:long", "--socket", self.cluster.socket(1), stdin=b"x" * 70_000)
        directory, out = self.cluster.directory.ready["address"], self.cluster.path("out")
        node = f"$H node --directory {directory} --listen 127.0.0.1:0 --socket '' --memory 2MiB"
        self.fails(f"ulimit -f 1000; {node}", "resource_exhausted: .*1024000 bytes .*ulimit -f")
        self.fails(f"ulimit -f 10; $H get name:long --output {out}", "File too large")
        self.fails(f"ulimit -f 10; $H get name:long > {out}", "File too large")

    def test_a_full_device_is_an_error(self):
        full = "resource_exhausted: .*No space left"
        self.succeed("put", "-", "--id", "name:full", "--socket", self.cluster.socket(1), stdin=b"x" * 70_000)
        address = self.cluster.directory.ready["address"]
        for line in ("put /etc/hostname > /dev/full", "put /etc/hostname --json > /dev/full",
                     "status > /dev/full", "status --json > /dev/full", "info name:full > /dev/full",
                     "info name:full --json > /dev/full", "get name:full > /dev/full",
                     "get name:full --output /dev/full", "--help > /dev/full", "--version > /dev/full",
                     f"status --watch --directory {address} > /dev/full",
                     "delete name:full > /dev/full", "sim world > /dev/full",
                     "directory --listen 127.0.0.1:0 > /dev/full",
                     f"node --directory {address} --memory 1MiB --socket '' --json > /dev/full",
                     "up --nodes 1 --memory 1MiB > /dev/full"):
            with self.subTest(line=line):
                self.fails(f"timeout -k 1 20 $H {line}", full)

    def test_closed_streams_are_errors_in_words(self):
        self.fails("$H put - <&-", "^invalid_argument: can't read standard input: it is closed")
        self.fails("$H put /etc/hostname >&-", "^invalid_argument: can't write standard output: it is closed")
        self.fails("$H status >&-", "^invalid_argument: can't write standard output: it is closed")
        self.fails("$H get name:none --timeout 0s >&-", "^(invalid_argument|timeout): ")
        self.fails("$H --version >&-", "^invalid_argument: can't write standard output: it is closed")
        self.fails("timeout 20 $H directory --listen 127.0.0.1:0 >&-", "standard output: it is closed")
        self.assertEqual(self.shell("$H put /etc/hostname 0>&- 2>&-").returncode, 0)
        self.assertEqual(self.shell("$H get name:none --timeout 0s 2>&-").returncode, 1)

    def test_no_descriptor_of_a_daemon_is_a_standard_one(self):
        log = self.cluster.path("log")
        socket = self.cluster.path("closed.sock")
        words = " ".join(f"'{word}'" for word in self.cluster.node_command("closed", socket))
        node = subprocess.Popen(["bash", "-c", f'exec "$H" {words} --json 0<&- 2>&- > {log}'],
                                env={**os.environ, "H": HOPLITE})
        try:
            wait_until(lambda: os.path.exists(log) and b"ready" in read(log), "the node is ready")
            there = {fd: os.readlink(f"/proc/{node.pid}/fd/{fd}") for fd in (0, 1, 2)}
            self.assertEqual(there, {0: "/dev/null", 1: log, 2: "/dev/null"})
            self.assertEqual(self.succeed("put", "-", "--socket", socket, stdin=b"x" * 100_000)[:1].isalnum(), True)
        finally:
            node.terminate()
            self.assertEqual(node.wait(20), 0)

    def test_a_timeout_of_zero_is_now(self):
        self.succeed("put", "-", "--id", "name:now", "--socket", self.cluster.socket(1), stdin=b"x" * 100_000)
        for zero in ("0", "0s"):
            self.fails(f"timeout 20 $H get {UNKNOWN} --timeout {zero}", "^timeout: .*was not asked in time")
            self.fails(f"timeout 20 $H reduce --op sum --dtype int8 {UNKNOWN} --timeout {zero}", "^timeout: ")
            self.assertEqual(self.shell(f"$H get name:now --timeout {zero}").stdout, b"x" * 100_000)

    def test_names_and_settings_that_nobody_could_take(self):
        address = self.cluster.directory.ready["address"]
        node = f"timeout 20 $H node --directory {address} --socket '' "
        for words, complaint in (("--memory 1MiB --name $'\\xff'", "name: must be UTF-8"),
                                 ("--memory 1MiB --name $'a\\nb'", "name: must be UTF-8"),
                                 ("--memory 1MiB --name $'gpj.\\u202eexe'", "without control and format characters"),
                                 ("--memory 1MiB --cluster $'\\xfe'", "cluster: must be UTF-8"),
                                 ("--memory 1MiB --advertise h:7", "write HOST alone"),
                                 ("--memory 1023KiB", "below the least")):
            with self.subTest(words=words):
                self.fails(node + words, complaint, status=2)

    def test_an_advertised_name_that_nobody_can_resolve_is_an_error(self):
        node = f"timeout 20 $H node --directory {self.cluster.directory.ready['address']} --socket '' --memory 1MiB"
        self.fails(f"RES_OPTIONS='timeout:1 attempts:1' {node} --insecure --listen 0.0.0.0:0 --advertise no-such-host.invalid",
                   "^unavailable: advertise: cannot resolve no-such-host.invalid:[0-9]+: .*every host resolves")

    def test_a_loopback_address_beside_a_directory_elsewhere_is_warned_about(self):
        warning = "which no other host can, but the directory is at 192.0.2.1:7000: give --listen or --advertise"
        command = [HOPLITE, "node", "--directory", "192.0.2.1:7000", "--socket", "", "--memory", "1MiB", "--listen"]
        with subprocess.Popen([*command, "127.0.0.1:0"], stderr=subprocess.PIPE, text=True) as node:
            self.assertIn(warning, node.stderr.readline())
            node.kill()

    def test_too_few_descriptors_are_an_error_in_words(self):
        address = self.cluster.directory.ready["address"]
        commands = {"directory --listen 127.0.0.1:0": (6, 8, 10, 14, 18, 24, 30),
                    f"node --directory {address} --memory 1MiB --socket ''": (6, 8, 10, 14, 18, 20, 24, 30),
                    "up --nodes 2 --memory 1MiB": (6, 8, 10, 14, 18, 24, 30),
                    "put /etc/hostname": (6, 7, 8), "demo": (8, 30, 60)}
        for command, limits in commands.items():
            for limit in limits:
                with self.subTest(command=command, limit=limit):
                    self.fails(f"timeout -k 1 20 prlimit --nofile={limit}:{limit} $H {command}",
                               "^resource_exhausted: .* needs .* descriptors, .* are left")


class UnreadLog(CommandTest):
    """Members whose standard error is a pipe that nobody reads."""

    def member(self, cluster, *arguments):
        member = subprocess.Popen([HOPLITE, *arguments, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  env={**os.environ, "HOPLITE_LOG": "debug"})
        cluster.callback(member.communicate)
        cluster.callback(member.terminate)
        return json.loads(member.stdout.readline())

    def test_members_go_on(self):
        with Cluster(0) as cluster:
            directory = self.member(cluster, "directory", "--listen", "127.0.0.1:0", "--recovery-window", "0")
            sockets = [self.member(cluster, *cluster.node_command(f"n{i}", cluster.path(f"n{i}.sock"),
                                                                  directory=directory["address"]))["socket"]
                       for i in (1, 2)]
            self.go_on(*sockets)

    def go_on(self, one, other):
        for _ in range(2000):  # each is a line of the log, and a pipe takes a thousand
            with socket.socket(socket.AF_UNIX) as stranger:
                stranger.connect(one)
                stranger.sendall(b"no request")
        self.succeed("put", "-", "--id", "name:x", "--socket", one, stdin=b"abc")
        self.assertEqual(self.succeed("get", "name:x", "--timeout", "20s", "--socket", other), b"abc")

    def test_the_members_of_up_go_on(self):
        up = subprocess.Popen([HOPLITE, "up", "--nodes", "2", "--memory", "16MiB", "--json"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env={**os.environ, "HOPLITE_LOG": "debug"})
        with up:
            try:
                _, one, other = (json.loads(up.stdout.readline()) for _ in range(3))
                self.go_on(one["socket"], other["socket"])
                up.terminate()
                self.assertEqual(up.wait(30), 0)
            finally:
                up.kill()


if __name__ == "__main__":
    unittest.main()
