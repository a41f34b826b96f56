"""What `hoplite status`, `info` and `why` call objects and members by."""

import json
import os
import resource
import unittest

from cluster import Cluster, CommandTest, read, run, wait_until

VERSION = run("--version").stdout.decode().split()[1]


class Status(CommandTest):
    @classmethod
    def setUpClass(cls):
        cls.cluster = cls.enterClassContext(Cluster(3))

    def at(self, node, command, *arguments):
        return self.succeed(command, *arguments, "--socket", self.cluster.socket(node))

    def put(self, size, *arguments):
        path, _ = self.cluster.write("in", size)
        return self.at(1, "put", path, *arguments).decode().strip()

    def test_status_says_what_processes_take(self):
        def told():
            status = self.cluster.status()
            return all(node["process"]["version"] for node in status["nodes"]) and status

        status = wait_until(told, "every node tells of its process")
        pids = [self.cluster.directory.process.pid, *(node.process.pid for node in self.cluster.nodes)]
        nodes = sorted(status["nodes"], key=lambda node: node["name"])
        for pid, member in zip(pids, [status["shards"][0], *nodes], strict=True):
            process = member["process"]
            self.assertEqual(process["version"], VERSION)
            limit, _ = resource.prlimit(pid, resource.RLIMIT_NOFILE)
            self.assertEqual(process["descriptor_limit"], limit)
            open_now = len(os.listdir(f"/proc/{pid}/fd"))
            self.assertLess(abs(process["descriptors"] - open_now), 16)
            resident = int(read(f"/proc/{pid}/statm").split()[1]) * resource.getpagesize()
            self.assertLess(abs(process["resident_bytes"] - resident), resident / 2)
            self.assertGreater(process["processor_us"], 0)

    def test_a_name_is_shown_wherever_the_object_is(self):
        large = self.put(1_000_000, "--id", "name:shown/large")
        small = self.put(100, "--id", "name:shown/small")
        nameless = self.put(100)
        places = (("--socket", self.cluster.socket(3)),
                  ("--directory", self.cluster.directory.ready["address"]))
        for where in places:
            names = {one["id"]: one["name"] for one in json.loads(self.succeed("status", *where, "--json"))["objects"]}
            self.assertEqual((names[large], names[small], names[nameless]), ("shown/large", "shown/small", ""))
            text = self.succeed("status", *where, "--all").decode()
            self.assertIn("\n  name:shown/large  ", text)
            self.assertNotIn(large, text)
        self.assertEqual(json.loads(self.at(3, "info", large, "--json"))["name"], "shown/large")
        self.assertIn("name      name:shown/large\n", self.at(3, "info", large).decode())
        self.assertEqual(self.at(1, "why", large).decode(), "object name:shown/large is complete at n1\n")


if __name__ == "__main__":
    unittest.main()
