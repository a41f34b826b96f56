"""`--metrics` of nodes and directories: what Prometheus scrapes is right, and what the page, the alerts and the
dashboard say exists."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import unittest
import urllib.request

from cluster import HOPLITE, Cluster, ClusterTest, CommandTest, Daemon, run, wait_until

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "observability.md"
MONITORING = ROOT / "examples" / "monitoring"
LARGE = 6_000_000
LINE = re.compile(r'([a-z_]+)(?:\{([a-z]+)="([^"]*)"\})? ([0-9.e+]+|\+Inf)')


def scrape(daemon):
    with urllib.request.urlopen(f"http://{daemon.ready['metrics']}/metrics", timeout=10) as answer:
        return answer.read().decode()


def values(daemon):
    """By name, with its label's value: `memory{free}`. Without the common beginning."""
    found = {}
    for line in scrape(daemon).splitlines():
        if not line.startswith("#"):
            name, _, label, value = LINE.fullmatch(line).groups()
            name = name.removeprefix("hoplite_")
            found[f"{name}{{{label}}}" if label is not None else name] = float(value)
    return found


def described(daemon):
    """(name, type, label, help) of each metric that it exports."""
    text = scrape(daemon)
    for name, about in re.findall(r"^# HELP (\S+) (.*)$", text, re.MULTILINE):
        (kind,) = re.findall(rf"^# TYPE {name} (\S+)$", text, re.MULTILINE)
        labels = set(re.findall(rf"^{name}\{{([a-z]+)=", text, re.MULTILINE))
        yield name, kind, "".join(labels), about


class ScrapedCluster(Cluster):
    """All of its members are scraped."""

    def _start_directory(self, address):
        return self.start("directory", "--listen", address, "--recovery-window", "0", "--metrics", "127.0.0.1:0")

    def node_command(self, *arguments, **options):
        return (*super().node_command(*arguments, **options), "--metrics", "127.0.0.1:0")


class Metrics(ClusterTest):
    Cluster = ScrapedCluster

    def counts(self, daemon, **expected):
        """Waits until it exports these values; an answer may be a second old. `{a}` stands for `_in_a`."""
        wanted = {re.sub(r"_in_(\w+)$", r"{\1}", name): value for name, value in expected.items()}
        last = {}

        def as_wanted():
            last.update(values(daemon))
            return all(last.get(name) == value for name, value in wanted.items())
        try:
            wait_until(as_wanted, wanted)
        except AssertionError as error:
            raise AssertionError(f"{error}; it exports {({name: last.get(name) for name in wanted})}") from None
        return last

    def test_a_transfer(self):
        cluster = self.cluster(2)
        first, second = cluster.nodes
        self.put(cluster, 1, LARGE, "x")
        self.get(cluster, 2, "x")
        at_second = self.counts(second, received_bytes_total=LARGE, sent_bytes_total=0, grants_total=1, moves_total=0,
                                fetches_total=1, fetches_resumed_total=0, fetch_seconds_count=1, copies=1,
                                corrupt_blocks_total=0, fetches_under_way=0)
        self.assertGreaterEqual(at_second["memory_bytes{evictable}"], LARGE)
        self.assertGreater(at_second["fetch_seconds_sum"], 0)
        self.assertEqual(at_second["fetch_seconds_bucket{+Inf}"], 1)
        at_first = self.counts(first, received_bytes_total=0, sent_bytes_total=LARGE, grants_total=0, copies=1)
        self.assertGreaterEqual(at_first["memory_bytes{made_here}"], LARGE)
        kinds = [value for name, value in at_first.items() if name.startswith("memory_bytes{")]
        self.assertEqual(sum(kinds), at_first["memory_capacity_bytes"])
        self.counts(cluster.directory, directory_grants_total=1, directory_moves_total_in_faster=0,
                    directory_moves_total_in_lost=0, directory_objects=1, directory_nodes_in_alive=2,
                    directory_nodes_in_away=0, directory_inline_bytes=8,
                    directory_collecting=0)

    def test_a_small_object(self):
        cluster = self.cluster(2)
        self.put(cluster, 1, 10, "x")
        self.get(cluster, 2, "x")
        self.counts(cluster.nodes[1], inline_fetches_total=1, grants_total=0, fetch_seconds_count=0)
        self.assertGreaterEqual(values(cluster.directory)["directory_inline_bytes"], 10)

    def test_a_source_that_dies(self):
        cluster = self.cluster(2)
        size = 2 * LARGE
        self.put(cluster, 1, size, "x")
        self.get(cluster, 2, "x")
        cluster.rate = "16mbit"  # six seconds
        slow = cluster.add_node()
        cluster.nodes.append(slow)
        self.begin(cluster, 3, "get", "name:x", "--output", "/dev/null")
        wait_until(lambda: values(slow)["received_bytes_total"] > 0, "bytes")
        serves = 1 if values(cluster.nodes[0])["sent_bytes_total"] > size else 2
        cluster.nodes[serves - 1].end(signal.SIGKILL)
        at_slow = self.counts(slow, fetch_seconds_count=1, grants_total=2, fetches_total=2, fetches_resumed_total=1)
        self.assertLess(at_slow["received_bytes_total"], 2 * size)

    def test_a_reduction(self):
        cluster = self.cluster(2)
        for node in (1, 2):
            self.put(cluster, node, LARGE, f"s{node}")
        self.succeed("reduce", "--op", "sum", "--dtype", "int32", "name:s1", "name:s2", "--target", "name:sum",
                     "--timeout", "20s", "--socket", cluster.socket(1))
        at_first = self.counts(cluster.nodes[0], reduce_seconds_count=1, slot_resets_total=0)
        self.assertGreater(at_first["reduce_seconds_sum"], 0)
        self.counts(cluster.nodes[1], reduce_seconds_count=0)
        moved = sum(values(node)["received_bytes_total"] for node in cluster.nodes)
        self.assertEqual(moved, LARGE)
        self.counts(cluster.directory, directory_slots_lost_total=0)

    def test_an_error(self):
        cluster = self.cluster(1)
        self.refuse("timeout", "get", "name:x", "--timeout", "100ms", "--output", "/dev/null",
                    "--socket", cluster.socket(1))
        self.refuse("not_found", "info", "name:x", "--socket", cluster.socket(1))
        self.counts(cluster.nodes[0], failed_calls_total_in_timeout=1, waiting_calls_in_absent=0, clients=0)

    def test_what_calls_wait_for(self):
        cluster = self.cluster(2, memory="8MiB")
        self.begin(cluster, 1, "get", "name:x", "--output", "/dev/null")
        self.counts(cluster.nodes[0], waiting_calls_in_absent=1, waiting_calls_in_memory=0, clients=1)
        self.put(cluster, 1, LARGE, "own")
        self.put(cluster, 2, LARGE, "y")
        self.begin(cluster, 1, "get", "name:y", "--output", "/dev/null")
        self.begin(cluster, 1, "put", cluster.write("z", LARGE)[0])
        self.counts(cluster.nodes[0], waiting_calls_in_absent=1, waiting_calls_in_memory=2, clients=3)
        self.begin(cluster, 2, "reduce", "--op", "sum", "--dtype", "int32", "name:y", "name:never")
        self.counts(cluster.nodes[1], waiting_calls_in_sources=1, waiting_calls_in_absent=0)
        cluster.directory.end(signal.SIGKILL)
        self.counts(cluster.nodes[0], shards_away=1, sessions_ended_total=1, waiting_calls_in_shard=1)

    def test_ends_of_sessions(self):
        cluster = self.cluster(3)
        cluster.nodes[2].end(signal.SIGKILL)
        self.counts(cluster.directory, directory_sessions_ended_total_in_closed=1, directory_nodes_lost_total=1,
                    directory_nodes_in_alive=2)
        self.stop(cluster, 2)
        self.counts(cluster.directory, directory_sessions_ended_total_in_silent=1, directory_nodes_lost_total=2,
                    directory_nodes_in_alive=1, directory_nodes_in_away=0)
        namesake = run(*cluster.node_command("n1", cluster.path("namesake.sock")))
        self.assertIn("already_exists", namesake.stderr)
        self.assertGreaterEqual(self.counts(cluster.directory)["directory_sessions_refused_total"], 1)

    def test_a_port_in_use(self):
        cluster = self.cluster(1)
        used = cluster.directory.ready["metrics"]
        node = cluster.node_command("n2", cluster.path("n2.sock"))[:-1]
        for command in ((*node, used), ("directory", "--listen", "127.0.0.1:0", "--metrics", used)):
            self.assertRegex(self.refuse("unavailable", *command),
                             rf"^unavailable: --metrics: .*{used}.*in use")
        for bad in ("", "7000", "nowhere:x"):
            self.assertEqual(run("directory", "--listen", "127.0.0.1:0", "--metrics", bad).returncode, 2, bad)

    def test_the_ready_line_says_where(self):
        with Cluster(0) as cluster:
            plain = [HOPLITE, *cluster.node_command("n9", cluster.path("n9.sock")), "--metrics", "127.0.0.1:0"]
            process = subprocess.Popen(plain, stdout=subprocess.PIPE, text=True)
            self.assertRegex(process.stdout.readline(), r", its metrics are at http://127\.0\.0\.1:\d+/metrics\n$")
            process.terminate()
            process.communicate()
            self.assertEqual(process.returncode, 0)
            self.assertNotIn("metrics", cluster.directory.ready)


class SpillingCluster(ScrapedCluster):
    """A node without a disk exports nothing of one."""

    def node_command(self, *arguments, **options):
        return (*super().node_command(*arguments, **options), "--spill", self.folder, "--spill-limit", "64MiB")


class Page(CommandTest):
    """docs/observability.md and examples/monitoring, against what members export."""

    @classmethod
    def setUpClass(cls):
        with SpillingCluster(1) as cluster:
            members = [cluster.nodes[0], cluster.directory]
            cls.texts = [scrape(member) for member in members]
            cls.exported = [row for member in members for row in described(member)]

    def test_its_table_is_what_members_export(self):
        rows = re.findall(r"^\| `((?:hoplite|process)_\w+)` \| (\w+) \| (?:`(\w+)`)? ?\| (.*) \|$", PAGE.read_text(), re.MULTILINE)
        self.assertEqual(rows, self.exported)

    def test_it_explains_every_value_of_a_label(self):
        rows = re.findall(r"^\| `(\w+)` \| `(\w+)` \| .+ \|$", PAGE.read_text(), re.MULTILINE)
        exported = {found for text in self.texts for found in re.findall(r'\{(\w+)="(\w+)"\}', text)}
        self.assertEqual(len(rows), len(set(rows)))
        self.assertEqual(set(rows), {(label, value) for label, value in exported if label not in ("code", "le")})

    def test_alerts_and_dashboard_use_what_is_exported(self):
        names = {name for name, *_ in self.exported}
        for file in ("alerts.yml", "grafana.json"):
            used = {re.sub(r"_(bucket|sum|count)$", "", name)
                    for name in re.findall(r"\bhoplite_\w+", (MONITORING / file).read_text())}
            self.assertTrue(used, file)
            self.assertLessEqual(used, names, file)

    def test_the_dashboard_is_whole(self):
        dashboard = json.loads((MONITORING / "grafana.json").read_text())
        for panel in dashboard["panels"]:
            self.assertTrue(panel["title"])
            self.assertTrue(all(target["expr"] for target in panel["targets"]), panel["title"])

    def test_the_format(self):
        for text in self.texts:
            self.assertTrue(text.endswith("\n"))
            lines = [line for line in text.splitlines() if not line.startswith("#")]
            for line in lines:
                self.assertRegex(line, LINE)
            self.assertEqual(len(lines), len({line.rsplit(" ", 1)[0] for line in lines}), "a sample comes twice")
        for name, kind, _, about in self.exported:
            self.assertEqual(name.endswith("_total"), kind == "counter", name)
            self.assertTrue(about[0].isupper() or about[0].isdigit(), name)

    def test_promtool_agrees(self):
        promtool = os.environ.get("PROMTOOL") or shutil.which("promtool")
        if not promtool:
            print("SKIPPED: no promtool (of Debian's package prometheus) is installed, nor named by $PROMTOOL: the "
                  "format is checked by this test alone", file=sys.stderr)
            self.skipTest("no promtool")
        for text in self.texts:
            done = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))
        for what, file in (("rules", "alerts.yml"), ("config", "prometheus.yml")):
            done = subprocess.run([promtool, "check", what, MONITORING / file], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
