"""`hoplite why`: what a get, put or reduction waits for, told at the node where it waits and at others."""

import json
import signal
import unittest

from cluster import ClusterTest, run, wait_until

LARGE = 6_000_000  # two of them don't fit
NOWHERE = "it does not exist: a put of it, or a reduction into it, would help"


class Why(ClusterTest):
    def cluster(self, nodes, **options):
        return super().cluster(nodes, memory="8MiB", **options)

    def patient_cluster(self, nodes, **options):
        """Its directory waits for a stopped node longer than a test takes."""
        cluster = self.cluster(0, **options)
        cluster.directory.end()
        cluster.directory = cluster.start("directory", "--listen", "127.0.0.1:0", "--recovery-window", "0",
                                          "--grace", "60s", "--tombstone", "300s")
        cluster.nodes = [cluster.add_node() for _ in range(nodes)]
        return cluster

    def why(self, cluster, node, name):
        return self.succeed("why", f"name:{name}", "--socket", cluster.socket(node)).decode()

    def says(self, cluster, node, name, *parts):
        """Waits until `why` says all of these."""
        last = ""

        def said():
            nonlocal last
            last = self.why(cluster, node, name)
            return all(part in last for part in parts)
        try:
            wait_until(said, parts)
        except AssertionError as error:
            raise AssertionError(f"{error}; it says: {last}") from None
        return last

    def test_nobody_put_it(self):
        cluster = self.cluster(2)
        self.assertEqual(self.why(cluster, 1, "x"), f"object name:x is not complete at n1: {NOWHERE}\n")
        self.begin_get(cluster, 2, "x")
        self.says(cluster, 2, "x", f"object name:x is not complete at n2: {NOWHERE}")
        self.says(cluster, 1, "x", "not complete at n1: ", f"\nn2 waits for it: {NOWHERE}\n")

    def test_an_id_that_is_none(self):
        socket = self.cluster(1).socket(1)
        for bad in ("nonsense", "12zz"):
            done = run("why", bad, "--socket", socket)
            self.assertEqual((done.returncode, done.stdout), (2, b""))
            self.assertIn(bad, done.stderr)
        self.assertIn("the all-zero id names no object", self.refuse("invalid_argument", "why", "0" * 40, "--socket", socket))

    def test_where_it_is(self):
        cluster = self.cluster(2)
        self.put(cluster, 1, LARGE, "x")
        self.assertEqual(self.why(cluster, 1, "x"), "object name:x is complete at n1\n")
        self.assertIn("nobody at this node waits for it; n1 has it", self.why(cluster, 2, "x"))
        self.put(cluster, 1, 10, "small")
        self.assertIn("nobody at this node waits for it; its directory shard has it", self.why(cluster, 2, "small"))
        self.succeed("delete", "name:x", "--socket", cluster.socket(2))
        self.assertIn("was deleted", self.why(cluster, 2, "x"))

    def test_no_memory_for_a_get(self):
        cluster = self.cluster(2)
        self.put(cluster, 2, LARGE, "own")
        self.put(cluster, 1, LARGE, "x")
        self.begin_get(cluster, 2, "x")
        self.says(cluster, 2, "x", f"not complete at n2: no memory is free for its {LARGE} bytes: ",
                  " bytes by objects that were put or reduced here")
        self.says(cluster, 1, "x", "complete at n1\nn2 waits for it: no memory is free for its ")

    def test_everybody_waits_for_memory(self):
        cluster = self.cluster(3)
        for node in (1, 2, 3):
            self.put(cluster, node, LARGE, f"x{node}")
        for node in (1, 2, 3):
            self.begin_get(cluster, node, f"x{node % 3 + 1}")
        self.says(cluster, 1, "x2", "no memory is free for its ",
                  "; n2, n3 wait for memory, too: deleting objects there or here would help")

    def test_no_memory_for_a_put(self):
        cluster = self.cluster(2)
        self.put(cluster, 1, LARGE, "own")
        path, _ = cluster.write("second", LARGE)
        self.begin(cluster, 1, "put", path, "--id", "name:x")
        self.says(cluster, 1, "x", f"a put of it waits, since no memory is free for its {LARGE} bytes: ",
                  " bytes by objects that were put or reduced here",
                  f"; the largest of these: name:own with {LARGE} bytes")
        self.says(cluster, 2, "x", "not complete at n2: it does not exist yet\nn1 waits for it: a put of it waits, ")

    def test_the_directory_is_away(self):
        cluster = self.cluster(1)
        self.begin_get(cluster, 1, "x")
        self.says(cluster, 1, "x", NOWHERE)
        cluster.directory.end(signal.SIGKILL)
        self.says(cluster, 1, "x", "not complete at n1: it is not at this node; directory shard 0 is away: ",
                  " s so far\n")
        refused = self.refuse("timeout", "get", "name:x", "--timeout", "1s", "--socket", cluster.socket(1))
        self.assertRegex(refused, r"directory shard 0 is away: .*, for [0-9.]+ s so far")
        path, _ = cluster.write("put", 1_000_000)
        self.begin(cluster, 1, "put", path, "--id", "name:put")
        self.says(cluster, 1, "put", "it is put here, and its directory shard has not accepted it yet; "
                                     "directory shard 0 is away: ", " s so far\n")
        sentence = self.refuse("timeout", "put", cluster.write("late", 10)[0], "--id", "name:late", "--timeout", "300ms",
                               "--socket", cluster.socket(1))
        self.assertIn("it is put here, and its directory shard has not accepted it yet; directory shard 0 is away: ",
                      sentence)

    def test_the_directory_has_just_started(self):
        cluster = self.cluster(1)
        address = cluster.directory.ready["address"]
        cluster.directory.end(signal.SIGKILL)
        cluster.directory = cluster.start("directory", "--listen", address, "--recovery-window", "60s")
        collects = "the directory shard was just started: it still collects what its nodes hold, for "
        self.says(cluster, 1, "x", "not complete at n1: ", collects)
        sentence = self.refuse("timeout", "get", "name:x", "--timeout", "1s", "--socket", cluster.socket(1))
        self.assertIn(collects, sentence)
        self.assertNotIn("exist", sentence)
        path, _ = cluster.write("put", 1_000_000)
        sentence = self.refuse("timeout", "put", path, "--id", "name:put", "--timeout", "1s",
                               "--socket", cluster.socket(1))
        self.assertIn("its directory shard has not accepted it yet: ", sentence)
        self.assertIn(collects, sentence)

    def test_other_fetches_come_first(self):
        cluster = self.cluster(1, rate="8mbit")
        one = cluster.start(*cluster.node_command("one", cluster.path("one.sock")), "--max-fetches", "1")
        cluster.nodes.append(one)
        self.put(cluster, 1, 3_000_000, "first")
        self.put(cluster, 1, 3_000_000, "x")
        self.begin_get(cluster, 2, "first")
        self.says(cluster, 2, "first", " bytes from n1, ", " a second")
        self.begin_get(cluster, 2, "x")
        turn = ("it waits for its turn: 1 other fetches of this node are under way, 1 may be at a time (--max-fetches), "
                "1 wait")
        self.says(cluster, 2, "x", f"not complete at one: {turn}")
        self.says(cluster, 1, "x", f"\none waits for it: {turn}")
        sentence = self.refuse("timeout", "get", "name:x", "--output", "/dev/null", "--timeout", "200ms",
                               "--socket", cluster.socket(2))
        self.assertIn(f"is not complete at the deadline: {turn}", sentence)

    def test_fetches_hold_the_memory(self):
        cluster = self.cluster(2, rate="4mbit")
        small = cluster.start(*cluster.node_command("small", cluster.path("small.sock"), memory="7MiB"))
        cluster.nodes.append(small)
        for node, name in ((1, "first"), (2, "x")):
            self.put(cluster, node, LARGE, name)
        self.begin_get(cluster, 3, "first")
        self.says(cluster, 3, "first", " bytes from n1, ")
        self.begin_get(cluster, 3, "x")
        self.says(cluster, 3, "x", f"no memory is free for its {LARGE} bytes: {LARGE} of 7340032 bytes are in use: ",
                  f"{LARGE} bytes by objects on their way here")

    def test_how_fast_it_comes_and_how_fast_it_could(self):
        cluster = self.cluster(2, rate="8mbit")
        self.put(cluster, 1, LARGE, "x")
        self.begin_get(cluster, 2, "x")
        self.says(cluster, 2, "x", f" of {LARGE} bytes from n1, ", " KiB a second (this node's link carries ")

    def reader_of(self, *rates):
        """A cluster of nodes n1, n2 and so on with such links, and of a reader that has had n1's measured."""
        cluster = self.cluster(0)
        for name, rate in [*((f"n{i}", rate) for i, rate in enumerate(rates, 1)), ("reader", "800mbit")]:
            command = cluster.node_command(name, cluster.path(f"{name}.sock"), memory="64MiB")
            cluster.nodes.append(cluster.start(*command, "--rate", rate))
        self.put(cluster, 1, LARGE, "measured")  # over half a second: the reader's link has a rate then
        self.succeed("get", "name:measured", "--output", "/dev/null", "--socket", cluster.socket(len(rates) + 1))
        return cluster

    def test_its_source_is_slower_than_the_links(self):
        cluster = self.reader_of("80mbit", "4mbit", "12mbit")
        self.put(cluster, 2, LARGE, "x")
        self.begin_get(cluster, 4, "x")
        self.says(cluster, 4, "x", " bytes from n2, ", " (this node's link carrie",
                  "; n2, its link or this node's link by now, is slower than that")
        self.put(cluster, 3, 4 * LARGE, "beside")  # shows what the reader's link carries
        self.begin_get(cluster, 4, "beside")
        self.says(cluster, 4, "x", " bytes from n2, ", "; n2 or its link is slower than this node's link")

    def test_all_that_comes_is_slower_than_it_was(self):
        """As when this node's own link was cut."""
        cluster = self.reader_of("80mbit", "4mbit", "4mbit")
        for node, name in ((2, "x"), (3, "y")):
            self.put(cluster, node, LARGE, name)
            self.begin_get(cluster, 4, name)
        self.says(cluster, 4, "x", " bytes from n2, ",
                  "; all that comes to this node is slower than that: its own link may be slower now")

    def test_a_source_that_waits_itself(self):
        cluster = self.patient_cluster(3, rate="4mbit")
        self.put(cluster, 1, LARGE, "x")
        self.begin_get(cluster, 2, "x")
        self.says(cluster, 2, "x", " bytes from n1, ")
        self.begin_get(cluster, 3, "x")
        self.says(cluster, 3, "x", " bytes from n2, ", "; n2 itself has ", f" of {LARGE} bytes and gets the rest from n1")
        self.stop(cluster, 1)
        self.says(cluster, 3, "x", " bytes from n2, which has sent nothing for ", "; n2 itself has ",
                  f" of {LARGE} bytes and waits: n1, which has it, does not answer")

    def test_its_holder_is_stopped_or_dead(self):
        cluster = self.cluster(3, rate="8mbit")
        self.put(cluster, 1, LARGE, "x")
        self.begin_get(cluster, 2, "x")
        self.says(cluster, 2, "x", " bytes from n1, ")
        cluster.nodes[0].process.send_signal(signal.SIGSTOP)
        stopped = "no holder serves it: n1, which has it, does not answer"
        self.says(cluster, 2, "x", stopped)
        self.says(cluster, 3, "x", "\nn2 waits for it: n1, which has it, does not answer")
        cluster.nodes[0].end(signal.SIGKILL)
        self.says(cluster, 2, "x", "its last copy, on n1, was lost: a new put of it would help")

    def test_a_put_waits_for_a_holder_that_is_away(self):
        cluster = self.patient_cluster(2)
        self.put(cluster, 1, 1_000_000, "x")
        self.stop(cluster, 1)
        self.begin_get(cluster, 2, "x")
        stopped = "n1, which has it, does not answer"
        self.says(cluster, 2, "x", f"no holder serves it: {stopped}")
        sentence = self.refuse("timeout", "get", "name:x", "--output", "/dev/null", "--timeout", "300ms",
                               "--socket", cluster.socket(2))
        self.assertIn(f"no holder serves it: {stopped}", sentence)
        cluster.nodes.append(cluster.add_node())
        path, _ = cluster.write("x", 1_000_000)
        self.begin(cluster, 3, "put", path, "--id", "name:x")
        waits = f"a put of it waits, since {stopped}: until that node is back, or the directory gives it up"
        self.says(cluster, 3, "x", f"its directory shard has not accepted it yet: {waits}")
        self.says(cluster, 2, "x", f"\nn3 waits for it: {waits}")
        self.refuse("timeout", "put", path, "--id", "name:x", "--timeout", "1s", "--socket", cluster.socket(2))

    def test_a_reduction_lacks_a_source(self):
        cluster = self.cluster(2)
        self.put(cluster, 1, 1_000_000, "a")
        self.begin(cluster, 1, "reduce", "name:a", "name:b", "--op", "sum", "--dtype", "float32",
                   "--target", "name:x")
        source = json.loads(self.succeed("why", "name:b", "--json", "--socket", cluster.socket(1)))["id"]
        self.says(cluster, 1, "x", f"a reduction into it is under way: 1 of 2 sources are missing: {source}\n")
        sentence = self.refuse("timeout", "reduce", "name:a", "name:b", "--op", "sum", "--dtype", "float32",
                               "--target", "name:y", "--timeout", "300ms", "--socket", cluster.socket(2))
        self.assertIn("is not complete at the deadline: a reduction into it is under way: 1 of 2 sources are missing: "
                      "name:b", sentence)
        self.says(cluster, 2, "x", "not complete at n2: it does not exist yet\nn1 waits for it: 1 of 2 sources are missing")

    def test_a_reduction_lacks_memory(self):
        cluster = self.cluster(2)
        self.put(cluster, 1, LARGE, "a")
        self.put(cluster, 2, LARGE, "b")
        self.begin(cluster, 1, "reduce", "name:a", "name:b", "--op", "sum", "--dtype", "float32",
                   "--target", "name:x")
        self.says(cluster, 2, "x", f"a part of it waits, since no memory is free for its {LARGE} bytes: ",
                  " bytes by objects that were put or reduced here")
        sentence = self.refuse("timeout", "reduce", "name:a", "name:b", "--op", "sum", "--dtype", "float32",
                               "--target", "name:y", "--timeout", "4s", "--socket", cluster.socket(1))
        # Between two plans nobody waits for memory.
        self.assertRegex(sentence, f"n2: a part of it waits, since no memory is free for its {LARGE} bytes: |"
                                   f"the last loss: n[12] has no memory for a partial result of {LARGE} bytes")

    def test_as_json(self):
        cluster = self.cluster(1)
        done = run("why", "name:x", "--json", "--socket", cluster.socket(1))
        self.assertRegex(done.stdout.decode(), r'^\{"id":"[0-9a-f]{40}","why":"object .* it does not exist: .*"\}\n$')


if __name__ == "__main__":
    unittest.main()
