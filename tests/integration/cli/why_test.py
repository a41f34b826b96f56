"""`hoplite why`: what a get, put or reduction waits for, told at the node where it waits and at others."""

import signal
import subprocess
import unittest

from cluster import HOPLITE, Cluster, CommandTest, run, wait_until

LARGE = 6_000_000  # two of them don't fit


class Why(CommandTest):
    def cluster(self, nodes, **options):
        cluster = Cluster(nodes, memory="8MiB", **options)
        self.addCleanup(cluster.close)
        return cluster

    def put(self, cluster, node, size, name):
        path, _ = cluster.write(name, size)
        self.succeed("put", path, "--id", f"name:{name}", "--socket", cluster.socket(node))

    def begin(self, cluster, node, *words):
        """A command that waits; it is ended with the test."""
        process = subprocess.Popen([HOPLITE, *words, "--socket", cluster.socket(node)],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        def end():
            process.kill()
            process.wait()
        self.addCleanup(end)

    def get(self, cluster, node, name):
        self.begin(cluster, node, "get", f"name:{name}", "--output", "/dev/null")

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
        self.assertEqual(self.why(cluster, 1, "x"), "object name:x is not complete at n1: it does not exist\n")
        self.get(cluster, 2, "x")
        self.says(cluster, 2, "x", "object name:x is not complete at n2: it does not exist")
        self.says(cluster, 1, "x", "not complete at n1: ", "\nn2 waits for it: it does not exist\n")

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
        self.get(cluster, 2, "x")
        self.says(cluster, 2, "x", f"not complete at n2: no memory is free for its {LARGE} bytes: ",
                  " bytes by objects that were put or reduced here")
        self.says(cluster, 1, "x", "complete at n1\nn2 waits for it: no memory is free for its ")

    def test_no_memory_for_a_put(self):
        cluster = self.cluster(2)
        self.put(cluster, 1, LARGE, "own")
        path, _ = cluster.write("second", LARGE)
        self.begin(cluster, 1, "put", path, "--id", "name:x")
        self.says(cluster, 1, "x", f"a put of it waits, since no memory is free for its {LARGE} bytes: ",
                  " bytes by objects that were put or reduced here")
        self.says(cluster, 2, "x", "not complete at n2: it does not exist\nn1 waits for it: a put of it waits, ")

    def test_the_directory_is_away(self):
        cluster = self.cluster(1)
        self.get(cluster, 1, "x")
        self.says(cluster, 1, "x", "it does not exist")
        cluster.directory.end(signal.SIGKILL)
        self.says(cluster, 1, "x", "not complete at n1: it is not at this node; directory shard 0 is away: ")
        path, _ = cluster.write("put", 1_000_000)
        self.begin(cluster, 1, "put", path, "--id", "name:put")
        self.says(cluster, 1, "put", "it is put here, and its directory shard has not accepted it yet; "
                                     "directory shard 0 is away: ")

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

    def test_other_fetches_come_first(self):
        cluster = self.cluster(1, rate="8mbit")
        one = cluster.start(*cluster.node_command("one", cluster.path("one.sock")), "--max-fetches", "1")
        cluster.nodes.append(one)
        self.put(cluster, 1, 3_000_000, "first")
        self.put(cluster, 1, 3_000_000, "x")
        self.get(cluster, 2, "first")
        self.says(cluster, 2, "first", " bytes from n1, ", " a second")
        self.get(cluster, 2, "x")
        self.says(cluster, 2, "x", "1 other fetches of this node are under way, 1 wait")
        self.says(cluster, 1, "x", "\none waits for it: 1 other fetches of this node are under way, 1 wait")

    def test_how_fast_it_comes_and_how_fast_it_could(self):
        cluster = self.cluster(2, rate="8mbit")
        self.put(cluster, 1, LARGE, "x")
        self.get(cluster, 2, "x")
        self.says(cluster, 2, "x", f" of {LARGE} bytes from n1, ", " KiB a second (this node's link carries ")

    def test_its_holder_is_stopped_or_dead(self):
        cluster = self.cluster(3, rate="8mbit")
        self.put(cluster, 1, LARGE, "x")
        self.get(cluster, 2, "x")
        self.says(cluster, 2, "x", " bytes from n1, ")
        cluster.nodes[0].process.send_signal(signal.SIGSTOP)
        self.says(cluster, 2, "x", "no holder serves it: n1, which has it, does not answer")
        self.says(cluster, 3, "x", "\nn2 waits for it: n1, which has it, does not answer")
        cluster.nodes[0].end(signal.SIGKILL)
        self.says(cluster, 2, "x", "its last copy, on n1, was lost")

    def test_a_reduction_lacks_a_source(self):
        cluster = self.cluster(2)
        self.put(cluster, 1, 1_000_000, "a")
        self.begin(cluster, 1, "reduce", "name:a", "name:b", "--op", "sum", "--dtype", "float32",
                   "--target", "name:x")
        self.says(cluster, 1, "x", "a reduction into it is under way: 1 of 2 sources are missing")
        self.says(cluster, 2, "x", "\nn1 waits for it: 1 of 2 sources are missing")

    def test_a_reduction_lacks_memory(self):
        cluster = self.cluster(2)
        self.put(cluster, 1, LARGE, "a")
        self.put(cluster, 2, LARGE, "b")
        self.begin(cluster, 1, "reduce", "name:a", "name:b", "--op", "sum", "--dtype", "float32",
                   "--target", "name:x")
        self.says(cluster, 2, "x", f"a part of it waits, since no memory is free for its {LARGE} bytes: ",
                  " bytes by objects that were put or reduced here")

    def test_as_json(self):
        cluster = self.cluster(1)
        done = run("why", "name:x", "--json", "--socket", cluster.socket(1))
        self.assertRegex(done.stdout.decode(), r'^\{"id":"[0-9a-f]{40}","why":"object .* it does not exist"\}\n$')


if __name__ == "__main__":
    unittest.main()
