"""`hoplite trace`: what members decided lately, also when some of them are stopped, or an object is long gone."""

import json
import re
import signal
import time
import unittest

from cluster import ClusterTest, read, wait_until

LARGE = 6_000_000


class Trace(ClusterTest):
    def trace(self, cluster, *words):
        """What it prints, and (member, what was decided) in the order of their times, without metadata and bars."""
        said = self.succeed("trace", *words, "--directory", cluster.directory.ready["address"], "--timeout", "2s",
                            "--output", cluster.path("trace.json"))
        events = json.loads(read(cluster.path("trace.json")))["traceEvents"]
        names = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
        marks = sorted((event for event in events if event["ph"] == "i"), key=lambda event: event["ts"])
        return said.decode(), [(names[event["pid"]], event["name"]) for event in marks]

    def test_a_broadcast_and_a_reduction(self):
        cluster = self.cluster(2)
        self.put(cluster, 1, LARGE, "x")
        self.put(cluster, 2, LARGE, "y")
        self.get(cluster, 2, "x")
        self.succeed("reduce", "--op", "sum", "--dtype", "int32", "name:x", "name:y", "--target", "name:sum",
                     "--timeout", "20s", "--socket", cluster.socket(1))
        said, marks = self.trace(cluster)
        self.assertRegex(said, r"^shard 0: \d+ decisions\nn1: \d+ decisions\nn2: \d+ decisions\n$")
        fetch = [("n2", "asked"), ("shard 0", "grants n2 <- n1"), ("n2", "granted n1"), ("n2", "complete")]
        self.assertEqual([mark for mark in marks if mark in fetch], fetch)
        self.assertEqual([mark for mark in marks if mark[1] in ("reduces", "reduced")],
                         [("n1", "reduces"), ("n1", "reduced")])
        self.assertTrue([name for _, name in marks if re.fullmatch(r"slot 1, \d+ children, \d+ own sources", name)])

    def test_one_object_long_after(self):
        cluster = self.cluster(2)
        for name in ("x", "y"):
            self.put(cluster, 1, LARGE, name)
            self.get(cluster, 2, name)
        self.succeed("delete", "name:x", "--socket", cluster.socket(1))
        _, marks = self.trace(cluster, "name:x")
        self.assertEqual([name for _, name in marks].count("complete"), 1)
        self.assertIn(("n2", "session shard 0 joined"), marks)

    def test_objects_have_their_names(self):
        cluster = self.cluster(2)
        self.put(cluster, 1, LARGE, "x")
        self.get(cluster, 2, "x")
        _, marks = self.trace(cluster)
        self.assertIn(("n1", "named x"), marks)
        events = json.loads(read(cluster.path("trace.json")))["traceEvents"]
        threads = [event["args"]["name"] for event in events if event["name"] == "thread_name"]
        self.assertEqual(threads.count("name:x"), 3)

    def test_members_that_are_stopped_or_dead(self):
        cluster = self.cluster(3)
        self.put(cluster, 1, LARGE, "x")
        cluster.nodes[2].end(signal.SIGKILL)
        wait_until(lambda: ("shard 0", "node lost n3") in self.trace(cluster)[1], "the loss")
        self.stop(cluster, 1)
        said, marks = self.trace(cluster)
        self.assertRegex(said, r"^shard 0: \d+ decisions\nn1: .*handshake.*\nn2: \d+ decisions\n$")
        self.assertIn(("shard 0", "session ended closed n3"), marks)
        wait_until(lambda: ("shard 0", "session ended silent n1") in self.trace(cluster)[1], "the silence")

    def test_half_of_the_members_are_stopped(self):
        cluster = self.cluster(5)
        self.put(cluster, 1, LARGE, "x")
        self.get(cluster, 4, "x")
        for node in (1, 2, 3):
            self.stop(cluster, node)
        begun = time.monotonic()
        said, marks = self.trace(cluster)
        self.assertLess(time.monotonic() - begun, 5, "they are asked at once, with 2 s for each")
        unheard = "".join(rf"n{node}: .*did not finish the handshake within.*\n" for node in (1, 2, 3))
        self.assertRegex(said, rf"^shard 0: \d+ decisions\n{unheard}n4: \d+ decisions\nn5: \d+ decisions\n$")
        self.assertIn(("n4", "granted n1"), marks)

        def losses():
            return {name for _, name in self.trace(cluster)[1] if name.startswith("node lost")}
        wait_until(lambda: losses() == {"node lost n1", "node lost n2", "node lost n3"}, "the shard says whom it lost")

    def test_a_source_that_dies(self):
        cluster = self.cluster(2)
        self.put(cluster, 1, LARGE, "x")
        self.get(cluster, 2, "x")
        cluster.rate = "16mbit"
        cluster.nodes.append(cluster.add_node())
        slow = self.begin_get(cluster, 3, "x")

        def sources():
            return [name for member, name in self.trace(cluster)[1] if member == "n3" and name.startswith("granted")]
        first = wait_until(sources, "a grant")[0]
        cluster.nodes[int(first[-1]) - 1].end(signal.SIGKILL)
        self.assertEqual(slow.wait(20), 0)
        names = [name for member, name in self.trace(cluster)[1] if member == "n3"]
        self.assertTrue([name for name in names if name.startswith(f"failed {first[-2:]}: ")], names)
        self.assertEqual(len([name for name in names if name.startswith("granted")]), 2, names)
        self.assertTrue(names[-1].startswith("complete"), names)

    def test_what_it_refuses(self):
        cluster = self.cluster(1)
        address = cluster.directory.ready["address"]
        answer = self.succeed("trace", "--directory", address, "--output", "-")
        self.assertIn("traceEvents", json.loads(answer))
        said = json.loads(self.succeed("trace", "--directory", address, "--output", cluster.path("t"), "--json"))
        self.assertEqual([member["name"] for member in said["members"]], ["shard 0", "n1"])
        # Its nodes are of no such cluster.
        said = self.succeed("trace", "--directory", address, "--output", cluster.path("t"), "--cluster", "other")
        self.assertRegex(said.decode(), r"^shard 0: \d+ decisions\nn1: .*cluster.*\n$")
        cluster.directory.end(signal.SIGKILL)
        self.assertIn("no member answers: shard 0: ",
                      self.refuse("unavailable", "trace", "--directory", address, "--output", cluster.path("t2")))


if __name__ == "__main__":
    unittest.main()
