"""What lies on a node's disk, as the system counts it: memory by smaps, room by df, also after kill -9."""

import os
import signal
import tempfile
import unittest

import cluster
from cluster import wait_until

MIB = 1 << 20
MEMORY = 32 * MIB
SIZE = 16 * MIB
COUNT = 14
SPILLED = COUNT * SIZE - MEMORY  # at least
# Buffers of what is served, the aligned memory of four threads, and what a heap grows by.
BESIDE = (32 + 4 * 2 + 24) * MIB


def resident(pid):
    """Bytes of the process in memory, and the files of its mappings."""
    with open(f"/proc/{pid}/smaps_rollup", encoding="utf-8") as rollup:
        kib = next(int(line.split()[1]) for line in rollup if line.startswith("Rss:"))
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        return kib * 1024, maps.read()


def blocks(pid, folder):
    """Bytes that the file without a name takes on the disk."""
    for fd in os.listdir(f"/proc/{pid}/fd"):
        path = f"/proc/{pid}/fd/{fd}"
        if os.readlink(path).startswith(folder):
            return os.stat(path).st_blocks * 512
    raise AssertionError(f"process {pid} has no file in {folder}")


def free(folder):
    """As df says."""
    disk = os.statvfs(folder)
    return disk.f_bfree * disk.f_frsize


class Spill(cluster.ClusterTest):
    def start(self, parent=None):
        self.folder = self.enterContext(tempfile.TemporaryDirectory(dir=parent))
        members = self.cluster(0)
        words = members.node_command("n1", members.path("n1.sock"), memory=str(MEMORY))
        members.nodes = [members.start(*words, "--spill", self.folder, "--spill-limit", "1GiB")]
        self.pid = members.nodes[0].process.pid
        return members

    def put_all(self, members):
        for i in range(COUNT):
            self.put(members, 1, SIZE, f"object {i}")

    def test_memory_does_not_grow_by_what_lies_on_the_disk(self):
        members = self.start()
        members.nodes.append(members.start(*members.node_command("n2", members.path("n2.sock"), memory="512MiB")))
        before, _ = resident(self.pid)
        self.put_all(members)
        for i in range(COUNT):
            self.get(members, 2, f"object {i}")
            self.get(members, 1, f"object {i}")
        after, mapped = resident(self.pid)
        self.assertLess(after - before, MEMORY + BESIDE)
        self.assertNotIn(self.folder, mapped)
        self.assertGreaterEqual(blocks(self.pid, self.folder), SPILLED)
        for i in range(COUNT):
            self.succeed("delete", f"name:object {i}", "--socket", members.socket(1))
        wait_until(lambda: blocks(self.pid, self.folder) < MIB, "what was deleted leaves the disk")

    def test_a_killed_node_leaves_the_disk_as_it_was(self):
        # The second is memory, where nobody else writes much.
        for parent in (None, "/dev/shm"):
            with self.subTest(parent):
                members = self.start(parent)
                before = free(self.folder)
                self.put_all(members)
                full = free(self.folder)
                self.assertLess(full, before - SPILLED // 2)
                self.assertEqual(os.listdir(self.folder), [])
                members.nodes[0].end(signal.SIGKILL)
                wait_until(lambda full=full: free(self.folder) > full + SPILLED * 3 // 4, "its room is free again")
                self.assertEqual(os.listdir(self.folder), [])


if __name__ == "__main__":
    unittest.main()
