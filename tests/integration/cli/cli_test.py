"""The command line against real processes on this machine: what it prints, writes and answers."""

import array
import json
import os
import re
import signal
import struct
import subprocess
import sys
import time
import unittest

from cluster import HOPLITE, PATIENCE, UNKNOWN, Cluster, CommandTest, read, run, wait_until

VERSION = run("--version").stdout.decode().split()[1]

START_AND_SLEEP = """
import subprocess, sys, threading, time
threading.Thread(target=subprocess.Popen, args=[sys.argv[1:]]).start()
time.sleep(60)
"""


class ThreeNodes(CommandTest):
    """What a new user tries first."""

    @classmethod
    def setUpClass(cls):
        cls.cluster = cls.enterClassContext(Cluster(3))

    def at(self, node, command, *arguments, **options):
        return self.succeed(command, *arguments, "--socket", self.cluster.socket(node), **options)

    def put(self, size, *arguments):
        path, data = self.cluster.write("in", size)
        return self.at(1, "put", path, *arguments).decode().strip(), data

    def test_ready_lines(self):
        self.assertEqual(set(self.cluster.directory.ready), {"event", "role", "address"})
        self.assertEqual(set(self.cluster.nodes[0].ready),
                         {"event", "role", "name", "address", "socket", "away"})
        self.assertEqual(self.cluster.nodes[0].ready["away"], [])
        self.assertEqual(self.cluster.nodes[0].ready["role"], "node")
        self.assertRegex(self.cluster.nodes[0].ready["address"], r"^127\.0\.0\.1:[1-9]\d*$")

    def test_file_goes_from_node_to_node(self):
        for size in (0, 1, 1000, 64 * 1024 + 1, 5 * 1024 * 1024 + 7):
            with self.subTest(size=size):
                object_id, data = self.put(size)
                self.assertRegex(object_id, r"^[0-9a-f]{40}$")
                out = self.cluster.path("out")
                self.assertEqual(self.at(2, "get", object_id, "--output", out), b"")
                self.assertEqual(read(out), data)
                self.assertEqual(self.at(3, "get", object_id), data)
                self.assertEqual(self.at(1, "get", object_id), data)

    def test_a_file_larger_than_the_nodes_store(self):
        object_id, data = self.put(3_000_001)
        socket = self.cluster.path("small.sock")
        command = self.cluster.node_command("small", socket, memory="1MiB")
        small = self.cluster.start(*command, "--stall", "5s", "--keepalive", "100ms",
                                   "--data-threads", "1")
        self.addCleanup(small.end)
        out = self.cluster.path("out")
        self.succeed("get", object_id, "--output", out, "--socket", socket)
        self.assertEqual(read(out), data)
        self.refuse("resource_exhausted", "get", object_id, "--socket", socket)

    def test_standard_input_from_a_pipe_and_from_a_file(self):
        data = os.urandom(3_000_001)
        piped = self.at(1, "put", "-", stdin=data).decode().strip()
        self.assertEqual(self.at(2, "get", piped), data)
        path, data = self.cluster.write("redirected", 2_000_001)
        with open(path, "rb") as file:
            done = subprocess.run([HOPLITE, "put", "-", "--socket", self.cluster.socket(1)],
                                  stdin=file, capture_output=True, check=True)
        self.assertEqual(self.at(3, "get", done.stdout.decode().strip()), data)

    def test_socket_from_the_environment(self):
        environment = {**os.environ, "HOPLITE_SOCKET": self.cluster.socket(2)}
        done = subprocess.run([HOPLITE, "put", "-"], input=b"x", env=environment,
                              capture_output=True, check=True)
        self.assertEqual(self.at(1, "get", done.stdout.decode().strip()), b"x")

    def test_names_are_ids_and_exist_once(self):
        object_id, data = self.put(100_000, "--id", "name:weights")
        self.assertEqual(self.at(2, "get", "name:weights"), data)
        path, _ = self.cluster.write("other", 100_000)
        self.refuse("already_exists", "put", path, "--id", object_id, "--socket",
                  self.cluster.socket(3))
        self.assertEqual(self.at(3, "get", object_id), data)

    def test_json_of_put_get_delete(self):
        path, data = self.cluster.write("in", 200_000)
        put = json.loads(self.at(1, "put", path, "--json"))
        self.assertEqual(put["size"], len(data))
        out = self.cluster.path("out")
        got = json.loads(self.at(2, "get", put["id"], "--output", out, "--json"))
        self.assertEqual(got, {"id": put["id"], "size": len(data), "output": out})
        deleted = json.loads(self.at(3, "delete", put["id"], "--json"))
        self.assertEqual(deleted, {"deleted": [put["id"]]})

    def test_status_and_info(self):
        object_id, data = self.put(1_000_000)
        self.at(2, "get", object_id, "--output", "/dev/null")
        status = wait_until(lambda: self.complete_at(object_id, {"n1", "n2"}), "two copies listed")
        self.assertEqual({node["name"] for node in status["nodes"] if node["alive"]},
                         {"n1", "n2", "n3"})
        self.assertEqual(set(status["nodes"][0]),
                         {"name", "address", "alive", "memory_bytes", "used_bytes",
                          "bytes_per_second", "rate_age_us", "round_trip_us", "corrupt_blocks",
                          "disk_bytes", "disk_used_bytes", "process"})
        found = [one for one in status["objects"] if one["id"] == object_id]
        self.assertEqual(found[0]["size"], len(data))
        self.assertEqual(found[0]["holders"][0]["watermark"], len(data))
        info = json.loads(self.at(3, "info", object_id, "--json"))
        self.assertEqual((info["id"], info["size"], info["waiters"]), (object_id, len(data), []))
        self.assertIn(object_id.encode(), self.at(3, "info", object_id))

    def complete_at(self, object_id, nodes):
        status = self.cluster.status()
        for one in status["objects"]:
            if one["id"] == object_id:
                if {h["node"] for h in one["holders"] if h["complete"]} == nodes:
                    return status
        return None

    def test_status_from_the_directory_itself(self):
        object_id, _ = self.put(1_000_000)
        address = self.cluster.directory.ready["address"]
        status = json.loads(self.succeed("status", "--directory", address, "--json"))
        self.assertLessEqual({"n1", "n2", "n3"}, {node["name"] for node in status["nodes"]})
        self.assertIn(object_id, {one["id"] for one in status["objects"]})
        self.assertIn(b"n2", self.succeed("status", "--directory", address))

    def test_status_shows_the_limits_of_a_shard(self):
        small, _ = self.put(1_000)
        self.at(2, "get", small, "--output", "/dev/null")
        for where in ("--socket", self.cluster.socket(1)), ("--directory", self.cluster.directory.ready["address"]):
            shard = json.loads(self.succeed("status", *where, "--json"))["shards"][0]
            self.assertGreaterEqual(shard["inline_bytes"], 1_000)
            self.assertEqual(shard["inline_total_bytes"], 256 << 20)
            self.assertEqual(shard["session_queue_bytes"], 64 << 20)
            self.assertEqual((shard["most_queued_bytes"], shard["most_queued_node"]), (0, ""))
            self.assertEqual(shard["process"]["version"], VERSION)
            self.assertEqual(set(shard["moves"]), {"lost", "newcomer", "starved", "slow", "faster", "trial", "order"})
            self.assertIn(b"of 256.0 MiB for small objects and metadata; nothing of 64.0 MiB waits",
                          self.succeed("status", *where))

    def test_watch_ends_on_ctrl_c(self):
        watch = subprocess.Popen(
            [HOPLITE, "status", "--watch", "--json", "--socket", self.cluster.socket(1)],
            stdout=subprocess.PIPE)
        with watch:
            for _ in range(2):
                self.assertIn("nodes", json.loads(watch.stdout.readline()))
            watch.send_signal(signal.SIGINT)
            self.assertEqual(watch.wait(10), 0)

    def test_get_waits_for_a_later_put(self):
        with subprocess.Popen([HOPLITE, "get", "name:later", "--socket", self.cluster.socket(2)],
                              stdout=subprocess.PIPE) as get:
            wait_until(lambda: self.waiters("name:later") == ["n2"], "the waiter is listed")
            self.at(1, "put", "-", "--id", "name:later", stdin=b"z" * 100_000)
            self.assertEqual(get.stdout.read(), b"z" * 100_000)
            self.assertEqual(get.wait(10), 0)

    def waiters(self, object_id):
        done = run("info", object_id, "--json", "--socket", self.cluster.socket(1))
        return [w["node"] for w in json.loads(done.stdout).get("waiters", [])]

    def test_unknown_id_with_a_timeout(self):
        out = self.cluster.path("nothing")
        sentence = self.refuse("timeout", "get", UNKNOWN, "--timeout", "300ms", "--output", out,
                             "--socket", self.cluster.socket(1))
        self.assertIn(UNKNOWN[:8], sentence)
        self.assertFalse(os.path.exists(out))
        self.refuse("not_found", "info", UNKNOWN[:-1] + "2", "--socket", self.cluster.socket(1))

    def test_deleted_objects_say_so(self):
        object_id, _ = self.put(500_000)
        self.assertEqual(self.at(2, "delete", object_id).decode().strip(), object_id)
        for node in (1, 2, 3):
            self.refuse("deleted", "get", object_id, "--timeout", "5s", "--output", "/dev/null",
                      "--socket", self.cluster.socket(node))
            self.refuse("deleted", "info", object_id, "--socket", self.cluster.socket(node))

    def numbers(self, name, node, value, count=300_000):
        """A float32 array of equal numbers, put at one node under a name."""
        path = self.cluster.path(name)
        with open(path, "wb") as file:
            array.array("f", [value] * count).tofile(file)
        return self.at(node, "put", path, "--id", f"name:{name}").decode().strip()

    def sum_of(self, object_id, node):
        values = array.array("f", self.at(node, "get", object_id))
        self.assertEqual(len(set(values)), 1)
        return values[0]

    def test_reduce_prints_the_target(self):
        ids = [self.numbers(f"term{node}", node, 2.0 ** node) for node in (1, 2, 3)]
        words = ("reduce", "--op", "sum", "--dtype", "float32", *ids, "--timeout", "20s")
        target = self.at(2, *words).decode()
        self.assertRegex(target, r"^[0-9a-f]{40}\n$")
        self.assertEqual(self.sum_of(target.strip(), 3), 14.0)
        named = json.loads(self.at(1, *words, "--json", "--target", "name:total", "--degree", "1",
                                   "--root-here", "--fixed-order"))
        self.assertEqual(self.sum_of("name:total", 1), 14.0)
        self.assertEqual((named["used"], named["unused"]), (ids, []))
        self.assertEqual(named["target"], json.loads(self.at(1, "info", "name:total", "--json"))["id"])

    def test_reduce_takes_the_dtype_that_was_noted(self):
        ids = [self.at(node, "put", "-", "--dtype", "float64", stdin=struct.pack("<4d", *[node] * 4)).decode().strip()
               for node in (1, 2)]
        target = self.at(3, "reduce", "--op", "sum", *ids, "--timeout", "20s").decode().strip()
        self.assertEqual(struct.unpack("<4d", self.at(1, "get", target)), (3.0,) * 4)
        socket = ("--socket", self.cluster.socket(1))
        said = self.refuse("invalid_argument", "reduce", "--op", "sum", "--dtype", "float32", *ids, *socket)
        self.assertRegex(said, f"float32, but source ({ids[0]}|{ids[1]}) of float64")
        plain = self.at(1, "put", "-", stdin=bytes(32)).decode().strip()
        said = self.refuse("invalid_argument", "reduce", "--op", "sum", plain, *socket)
        self.assertIn(f"source {plain} does not say of what dtype it is", said)

    def test_reduce_for_everybody(self):
        ids = [self.numbers(f"everybody{node}", node, 2.0 ** node) for node in (1, 2, 3)]
        made = json.loads(self.at(1, "reduce", "--op", "sum", "--dtype", "float32", *ids, "--timeout", "20s",
                                  "--everyone-reads", "--json"))
        self.assertEqual((made["used"], made["unused"]), (ids, []))
        for node in (1, 2, 3):
            self.assertEqual(self.sum_of(made["target"], node), 14.0)

    def test_reduce_of_the_first_to_come(self):
        ids = [self.numbers(f"early{node}", node, 2.0 ** node) for node in (1, 2)]
        found = json.loads(self.at(3, "reduce", "--op", "max", "--dtype", "float32", "--num-objects",
                                   "2", UNKNOWN, *ids, "--timeout", "20s", "--json"))
        self.assertEqual((found["used"], found["unused"]), (ids, [UNKNOWN]))
        self.assertEqual(self.sum_of(found["target"], 2), 4.0)

    def test_a_reduction_that_waits_is_shown_and_ends_with_its_command(self):
        ids = [self.numbers(f"shown{node}", node, 1.0) for node in (1, 2)]
        reduce = subprocess.Popen([HOPLITE, "reduce", "--op", "sum", "--dtype", "float32", *ids,
                                   "name:never", "--target", "name:shown", "--socket",
                                   self.cluster.socket(1)])
        shown = wait_until(lambda: self.cluster.status()["reductions"], "the reduction is listed")[0]
        self.assertEqual(set(shown), {"target", "slots"})
        self.assertEqual(set(shown["slots"][0]), {"slot", "parent", "parents", "stripes", "node", "inputs", "watermark"})
        wait_until(lambda: self.own_sources() == set(ids), "both sources have a slot")
        self.assertIn(b"1 source", self.at(2, "info", "name:shown"))
        wait_until(lambda: b"\n  n1: 1 of 3 sources are missing" in
                   self.at(2, "info", "name:shown"), "its shard knows what it waits for")
        for words in (("get", "name:shown"), ("get", "name:shown", "--output", self.cluster.path("x"))):
            sentence = self.refuse("timeout", *words, "--timeout", "300ms", "--socket",
                                   self.cluster.socket(2))
            self.assertIn("a reduction makes it that n1 asked for: 1 of 3 sources are missing",
                          sentence)
        address = self.cluster.directory.ready["address"]
        self.assertIn(b"reduced in this tree", self.succeed("status", "--directory", address))
        reduce.send_signal(signal.SIGINT)
        self.assertNotEqual(reduce.wait(10), 0)
        wait_until(lambda: not self.cluster.status()["reductions"], "the reduction is gone")

    def own_sources(self):
        reductions = self.cluster.status()["reductions"]
        return {source for one in reductions for slot in one["slots"] for source in slot["inputs"]}

    def test_reduce_that_can_not_be(self):
        socket = self.cluster.socket(1)
        one = self.numbers("one", 1, 1.0)
        words = ("reduce", "--op", "sum", "--dtype", "float32", one, "--socket", socket)
        sentence = self.refuse("timeout", *words, "name:nobody", "--timeout", "300ms")
        self.assertIn("1 of 2 sources are missing: name:nobody", sentence)
        self.refuse("already_exists", *words, "--target", self.numbers("taken", 2, 1.0))
        short = self.numbers("short", 2, 1.0, count=100_000)
        sentence = self.refuse("invalid_argument", *words, short, "--timeout", "20s")
        self.assertIn("1200000", sentence)
        self.assertIn("400000", sentence)

    def test_a_file_larger_than_the_store(self):
        path = self.cluster.path("sparse")
        with open(path, "wb") as file:
            file.truncate(1 << 30)
        sentence = self.refuse("resource_exhausted", "put", path, "--socket", self.cluster.socket(1))
        self.assertEqual(len(re.findall(r"\d", sentence)) > 1, True, sentence)

    def test_files_that_are_not_there(self):
        socket = self.cluster.socket(1)
        self.assertIn("/no/such/file", self.refuse("not_found", "put", "/no/such/file", "--socket", socket))
        self.refuse("invalid_argument", "put", self.cluster.folder, "--socket", socket)
        self.refuse("invalid_argument", "get", UNKNOWN, "--output", "/no/such/folder/out", "--socket",
                  socket)


class Endings(CommandTest):
    """What is left when something ends in the middle: nothing."""

    def test_directory_and_node_stop_cleanly(self):
        for how in (signal.SIGINT, signal.SIGTERM):
            with Cluster(1) as cluster:
                socket = cluster.socket(1)
                self.assertTrue(os.path.exists(socket))
                self.assertEqual(cluster.nodes[0].end(how), 0)
                self.assertFalse(os.path.exists(socket))
                self.assertEqual(cluster.directory.end(how), 0)
                self.refuse("unavailable", "status", "--socket", socket)

    def test_a_node_that_starts_after_kill_9_takes_its_socket(self):
        with Cluster(1) as cluster:
            socket = cluster.socket(1)
            cluster.nodes[0].end(signal.SIGKILL)
            cluster.start("node", "--directory", cluster.directory.ready["address"], "--listen",
                          "127.0.0.1:0", "--socket", socket, "--memory", "16MiB")
            self.succeed("status", "--socket", socket)

    def test_a_daemon_that_was_asked_to_ends_with_the_process_that_started_it(self):
        with Cluster(1) as cluster:
            socket = cluster.path("child.sock")
            directory = [HOPLITE, "directory", "--listen", "127.0.0.1:0", "--exit-with-parent"]
            node = [HOPLITE, *cluster.node_command("child", socket), "--exit-with-parent"]
            for command in (directory, node):
                # It starts the daemon in a thread that ends at once, and then sleeps.
                parent = subprocess.Popen([sys.executable, "-c", START_AND_SLEEP, *command, "--json"],
                                          stdout=subprocess.PIPE)
                self.assertIn("address", json.loads(parent.stdout.readline()))
                parent.send_signal(signal.SIGKILL)
                parent.wait()
                self.assertEqual(parent.stdout.read(), b"")  # the daemon has let go of it, too
                parent.stdout.close()
            self.assertFalse(os.path.exists(socket))

    def test_a_daemon_whose_named_process_has_ended_does_not_start(self):
        with subprocess.Popen(["true"]) as gone:
            pass
        directory = run("directory", "--listen", "127.0.0.1:0", f"--exit-with-parent={gone.pid}")
        self.assertEqual(directory.returncode, 1)
        self.assertIn(f"process {gone.pid} can't be watched: it has ended", directory.stderr)

    def test_a_node_that_was_asked_to_ends_when_nobody_is_attached(self):
        with Cluster(0) as cluster:
            socket = cluster.path("idle.sock")
            command = cluster.node_command("idle", socket)
            node = cluster.start(*command, "--exit-when-idle", "2s")
            # It waits for what nobody puts, for longer than the node would.
            get = subprocess.Popen([HOPLITE, "get", UNKNOWN, "--timeout", "4s", "--socket", socket],
                                   stderr=subprocess.DEVNULL)
            self.assertEqual(get.wait(PATIENCE), 1)
            left = time.monotonic()
            self.assertIsNone(node.process.poll(), "the node ended although a client was attached")
            node.process.wait(PATIENCE)
            self.assertEqual(node.end(), 0)
            self.assertGreater(time.monotonic() - left, 1.0)
            self.assertFalse(os.path.exists(socket))
            nobody = cluster.start(*command, "--exit-when-idle", "300ms")
            nobody.process.wait(PATIENCE)
            self.assertEqual(nobody.end(), 0)

    def test_ctrl_c_during_get_leaves_no_file(self):
        with Cluster(2, rate="20mbit") as cluster:
            path, _ = cluster.write("in", 8_000_000)
            object_id = self.succeed("put", path, "--socket", cluster.socket(1)).decode().strip()
            before = set(os.listdir(cluster.folder))
            get = subprocess.Popen([HOPLITE, "get", object_id, "--output", cluster.path("out"),
                                    "--socket", cluster.socket(2)])
            ask = ("info", object_id, "--json", "--socket", cluster.socket(1))
            wait_until(lambda: len(json.loads(self.succeed(*ask))["holders"]) > 1, "the second holder")
            get.send_signal(signal.SIGINT)
            self.assertNotEqual(get.wait(10), 0)
            self.assertEqual(set(os.listdir(cluster.folder)), before)
            self.assertEqual(self.succeed("get", object_id, "--socket", cluster.socket(2)),
                             read(path))

    def test_a_put_that_is_killed_gives_its_memory_back(self):
        with Cluster(1, memory="256MiB") as cluster:
            # The store has room for one such object only.
            big, data = cluster.write("big", 200_000_000)
            arguments = ["put", big, "--id", "name:x", "--socket", cluster.socket(1)]
            killed = 0
            for tenth in range(10):
                put = subprocess.Popen([HOPLITE, *arguments], stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
                time.sleep(0.02 * (tenth + 1))
                put.send_signal(signal.SIGKILL if tenth % 2 else signal.SIGINT)
                killed += put.wait(10) < 0
                if put.returncode == 0:  # it was quicker than the signal
                    break
            self.assertGreater(killed, 0)
            if put.returncode != 0:
                wait_until(lambda: self.stored(*arguments), "room for the object again")
            self.assertEqual(self.succeed("get", "name:x", "--socket", cluster.socket(1)), data)

    @staticmethod
    def stored(*put):
        done = run(*put)  # a killed put may have come through all the same
        return done.returncode == 0 or done.stderr.startswith("already_exists")


class Names(CommandTest):
    """Two nodes want one name."""

    def test_a_name_in_use_is_refused_at_the_start(self):
        with Cluster(1) as cluster:
            socket = cluster.path("second.sock")
            second = run(*cluster.node_command("n1", socket))
            self.assertEqual((second.returncode, second.stdout), (1, b""), second.stderr)
            waits, end = second.stderr.splitlines()
            self.assertRegex(waits, "the name 'n1' is in use .* asks again for 7 s")
            self.assertRegex(end, rf"^already_exists: .*in use.*{cluster.nodes[0].ready['address']}")
            self.assertFalse(os.path.exists(socket))
            self.succeed("status", "--socket", cluster.socket(1))

    def test_who_waits_for_a_name_says_so_and_can_be_stopped(self):
        with Cluster(1) as cluster:
            second = subprocess.Popen([HOPLITE, *cluster.node_command("n1", cluster.path("s.sock"))],
                                      stderr=subprocess.PIPE)
            with second:
                self.assertIn(b"in use", second.stderr.readline())
                self.assertIsNone(second.poll(), "it waits")
                second.send_signal(signal.SIGTERM)
                self.assertEqual(second.wait(4), 0)

    def test_a_node_whose_name_was_taken_while_it_was_away_ends(self):
        with Cluster(2) as cluster:
            old = cluster.nodes[0].process
            old.send_signal(signal.SIGSTOP)
            wait_until(lambda: not self.alive(cluster, "n1"), "its lease runs out")
            new = cluster.start(*cluster.node_command("n1", cluster.path("new.sock")))
            self.assertEqual(new.ready["name"], "n1")
            old.send_signal(signal.SIGCONT)
            wait_until(lambda: self.answer(cluster.socket(1)).startswith("unavailable: "),
                       "its clients are told")
            self.assertEqual(old.wait(20), 1)
            cluster.nodes[0].end()
            self.succeed("put", "-", "--socket", cluster.path("new.sock"), stdin=b"x")

    @staticmethod
    def answer(socket):
        return run("get", UNKNOWN, "--timeout", "100ms", "--socket", socket).stderr

    @staticmethod
    def alive(cluster, name):
        address = cluster.directory.ready["address"]
        status = json.loads(run("status", "--directory", address, "--json").stdout)
        return name in {node["name"] for node in status["nodes"] if node["alive"]}


class Losses(CommandTest):
    """Nodes that die in the middle of a broadcast."""

    def test_survivors_get_right_bytes_from_the_second_copy(self):
        with Cluster(5, rate="40mbit") as cluster:
            path, data = cluster.write("in", 12_000_000)
            object_id = self.succeed("put", path, "--socket", cluster.socket(1)).decode().strip()
            self.succeed("get", object_id, "--output", "/dev/null", "--socket", cluster.socket(2))
            outputs = {node: cluster.path(f"out{node}") for node in (3, 4, 5)}
            gets = {node: subprocess.Popen([HOPLITE, "get", object_id, "--output", out, "--socket",
                                            cluster.socket(node)])
                    for node, out in outputs.items()}
            wait_until(lambda: any(5_000_000 > t["watermark"] > 1_000_000
                                   for t in cluster.status()["transfers"]), "bytes are flowing")
            cluster.nodes[1].end(signal.SIGKILL)  # the second copy
            cluster.nodes[3].end(signal.SIGKILL)  # a receiver, which perhaps feeds others
            self.assertNotEqual(gets.pop(4).wait(20), 0)
            for node, get in gets.items():
                self.assertEqual(get.wait(30), 0)
                self.assertEqual(read(outputs[node]), data)
            self.assertFalse(os.path.exists(outputs[4]))


if __name__ == "__main__":
    unittest.main()
