"""A shard with three members: one holds it, two stand by, and whoever is given the list finds the holder."""

import json
import signal
import time
import unittest
import urllib.request

from away_test import free_addresses
from cluster import PATIENCE, Cluster, CommandTest, read, run, wait_until


class Lists(CommandTest):
    def setUp(self):
        self.cluster = self.enterContext(Cluster(0))
        self.addresses = free_addresses(3)
        self.list = "/".join(self.addresses)
        self.members = [self.start(one) for one in self.addresses]

    def start(self, address, shards=None, *words):
        return self.cluster.start("directory", "--listen", address, "--shards", shards or self.list,
                                  "--recovery-window", "0", *words)

    def node(self, name, directory):
        at = self.cluster.path(f"{name}.sock")
        return at, self.cluster.start(*self.cluster.node_command(name, at, directory=directory))

    def put_and_get(self, name, *sockets):
        self.succeed("put", "-", "--id", f"name:{name}", "--socket", sockets[0], "--timeout", "10s", stdin=name.encode())
        for at in sockets:
            self.assertEqual(self.succeed("get", f"name:{name}", "--socket", at, "--timeout", "10s"), name.encode())

    def test_whoever_has_the_list_finds_the_holder(self):
        first, second, third = self.addresses
        there, _ = self.node("n1", f"{third}/{second}/{first}")
        here, node = self.node("n2", self.list)
        self.assertEqual(node.ready["away"], [])
        self.put_and_get("listed", here, there)
        held = f"shard 0: held by {first}; {second}, {third} stand by"
        for where in (("--socket", here), ("--directory", self.list), ("--directory", third)):
            self.assertIn(held, self.succeed("status", *where).decode())
            shard = json.loads(self.succeed("status", *where, "--json"))["shards"][0]
            self.assertEqual((shard["held_by"], shard["stand_by"]), (first, [second, third]))
        picture = json.loads(self.succeed("top", "--directory", self.list, "--once", "--json"))
        self.assertIn(held, picture["remarks"])
        self.succeed("trace", "--directory", self.list, "--output", self.cluster.path("trace"))
        self.assertIn(b'"shard 0"', read(self.cluster.path("trace")))
        self.assertIn(f"held by {first}; {second}, {third} stand by",
                      run("doctor", "--directory", self.list).stdout.decode())
        self.assertIn("its directory shard has it", self.succeed("why", "name:listed", "--socket", there).decode())

    def test_a_node_is_away_when_no_member_holds_the_shard(self):
        first, second, third = self.addresses
        here, _ = self.node("n", self.list)
        self.members[0].end(signal.SIGKILL)
        self.members[2].end(signal.SIGKILL)
        away = f"1 of 3 members answers (the holder {first}, {third}: Connection refused)"
        wait_until(lambda: f"directory shard 0 is away: {away}" in self.put_in_vain(here), "the node says so")
        self.assertIn(away, self.refuse("unavailable", "status", "--directory", self.list))
        self.members[0] = self.start(first)
        self.put_and_get("again", here)

    def put_in_vain(self, at):
        return self.refuse("timeout", "put", "-", "--socket", at, "--timeout", "300ms", stdin=b"x")

    def test_a_node_with_an_old_list_takes_the_members_own(self):
        """All members are started again with another list, of which the node has one address."""
        first, second, third = self.addresses
        here, _ = self.node("n", first)
        self.put_and_get("before", here)
        new = f"{second}/{first}/{third}"
        for member in self.members:
            member.end()
        self.members = [self.start(one, new) for one in self.addresses]
        self.put_and_get("after", here)
        self.assertIn(f"held by {second}; {first}, {third} stand by", self.succeed("status", "--socket", here).decode())
        self.members[0].end()
        self.put_and_get("without-the-first", here)

    def stop(self, member):
        process = self.members[member].process
        process.send_signal(signal.SIGSTOP)
        self.addCleanup(process.send_signal, signal.SIGCONT)

    def test_a_silent_member_is_passed(self):
        """Its host answers, or the kernel of a process that was stopped."""
        first, second, third = self.addresses
        self.stop(1)
        begin = time.monotonic()
        held = f"held by {first}; "
        self.assertIn(held, self.succeed("status", "--directory", f"{second}/{third}/{first}").decode())
        here, _ = self.node("n", f"{second}/{first}/{third}")
        self.put_and_get("passed", here)
        self.assertLess(time.monotonic() - begin, PATIENCE / 2)

    def test_a_silent_holder_is_named(self):
        first, _, _ = self.addresses
        self.stop(0)
        sentence = self.refuse("timeout", "status", "--directory", self.list, "--timeout", "2s")
        self.assertIn(f"2 of 3 members answer (the holder {first}: it did not answer in time)", sentence)

    def test_who_stands_by_says_for_whom(self):
        first, second, _ = self.addresses
        self.members[1].end()
        words = ("--metrics", "127.0.0.1:0", "--web", "0")
        member = self.start(second, self.list, *words)
        with urllib.request.urlopen(f"http://{member.ready['metrics']}/metrics", timeout=10) as answer:
            self.assertIn(f'hoplite_directory_holds{{holder="{first}"}} 0\n', answer.read().decode())
        with urllib.request.urlopen(f"http://{member.ready['web']}/events", timeout=10) as answer:
            self.assertIn(f"held by {first}; ", answer.readline().decode())

    def test_what_is_wrong_with_a_list_is_named(self):
        one, two, three = self.addresses
        for shards, wrong in ((f"{one}/{two}", f"shard 0, '{one}/{two}', has 2 members: 1, 3 or 5 are possible"),
                              (f"{one}/{two}/{one}", f"'{one}' is there twice: as member 0 of shard 0 and as member 2 of shard 0"),
                              (f"{two}/{three}/127.0.0.2:1", f"'{one}' of --listen is none of them")):
            done = run("directory", "--listen", one, "--shards", shards)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(wrong, done.stderr)
        done = run("status", "--directory", f"{one}/{two}")
        self.assertIn("has 2 members", done.stderr)


if __name__ == "__main__":
    unittest.main()
