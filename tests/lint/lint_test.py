"""Plants violations: each lint rule must see what it is there for, and let its neighbour pass."""

import os
import pathlib
import shutil
import tempfile
import unittest
import unittest.mock
import xml.etree.ElementTree as xml

import compile_commands
import coroutines
import counts
import held
import layers
import links
import machine_text
import markdown
import measured
import named
import packaging
import prose
import repository
import words


class Pages(unittest.TestCase):
    def test_files_that_are_named_are_there(self):
        files = {"src/store/a.h": "x", "docs/b/c.md": "x"}
        self.assertFalse(named.findings_in_page("docs/p.md", "`src/store/a.h`, `store/a.h`, `b/c.md`, `a.h`", files.get))
        self.assertTrue(named.findings_in_page("docs/p.md", "`src/store/gone.h`", files.get))

    def test_what_is_not_so_names_what_it_is_held_against(self):
        there = ("| 12 | a feature | `A.B` |", "TEST(A, B) {}\n    def test_it(self):", "docs/a.md".__eq__)
        row = "| subject | limit | held against |\n|---|---|---|\n| one | x | {} |\n"
        for name in ("`#12`", "`A.B`", "`test_it`", "`docs/a.md`", "`#12`, `A.B`", "nothing: no machine"):
            self.assertFalse(held.findings_in("docs/limits.md", row.format(name), *there), name)
        for name in ("`#13`", "`A.C`", "`test_other`", "`docs/b.md`", "`#12`, `A.C`", ""):
            self.assertTrue(held.findings_in("docs/limits.md", row.format(name), *there), name)
        point = "## What it does not do\n\n- No rain\n  at all. {}\n- No snow. <!-- held: A.B -->\n\n## More\n\n- No sun.\n"
        self.assertFalse(held.findings_in("docs/p.md", point.format("<!-- held: #12 -->"), *there))
        self.assertEqual(len(held.findings_in("docs/p.md", point.format(""), *there)), 1)
        self.assertTrue(held.findings_in("docs/p.md", "There is no rain yet.\n", *there))
        self.assertFalse(held.findings_in("docs/p.md", "It is not yet wet. <!-- held: A.B -->\n", *there))

    def test_prose_leaves_code_tables_and_headings_out(self):
        page = "# A heading\n\n| a | table |\n\n```\ncode\n```\n\nOne short sentence. Another one here.\n\n- An item\n  of two lines.\n"
        self.assertEqual(prose.prose(page), ["One short sentence. Another one here.", "An item of two lines."])
        self.assertEqual(prose.figures([page]), (11, 3, 0, 0))

    def test_each_page_has_a_budget(self):
        most = prose.budgets("10 docs/a.md\n20 docs/b.md\n")
        self.assertFalse(prose.beyond_budgets({"docs/a.md": 10, "docs/b.md": 1}, most))
        self.assertEqual(len(prose.beyond_budgets({"docs/a.md": 11, "docs/c.md": 1}, most)), 3)

    def test_long_sentences_and_vague_beginnings_count(self):
        long = "A node " + "sends and " * 15 + "ends."
        self.assertEqual(prose.figures([f"{long} It is vague here."])[1:], (2, 1, 1))
        self.assertTrue(prose.findings_of((10, 1, 1, 0)))
        self.assertFalse(prose.findings_of((10, 1, 0, 0)))

    def test_a_sentence_that_nobody_reads_to_its_end(self):
        self.assertTrue(prose.long_sentences("a.md", "A node " + "sends and " * 20 + "ends."))
        self.assertFalse(prose.long_sentences("a.md", "A node sends. " * 20))

    def test_long_rules(self):
        self.assertTrue(prose.long_rules("### R1. A rule\n" + "word " * 200 + "\n## Next\n"))
        self.assertFalse(prose.long_rules("### R1. A rule\n" + "word " * 20 + "\n## Next\n"))


class Packaging(unittest.TestCase):
    def test_what_manifests_say_fits_together(self):
        self.assertFalse(packaging.version_findings("a.yaml", "image: hoplite:0.1.0\n", "0.1.0"))
        self.assertTrue(packaging.version_findings("a.yaml", "image: hoplite:0.1.0\n", "0.2.0"))
        node = "- --memory=4GiB\n limits: {{memory: {}Gi}}\n"
        self.assertFalse(packaging.memory_findings("a.yaml", node.format(5)))
        self.assertTrue(packaging.memory_findings("a.yaml", node.format(4)))
        mount = "secret: {{secretName: hoplite, defaultMode: {}}}"
        self.assertFalse(packaging.secret_findings("a.yaml", mount.format("0444")))
        self.assertTrue(packaging.secret_findings("a.yaml", mount.format("0400")))

    def test_a_unit_that_systemd_does_not_take(self):
        program = shutil.which("systemd-analyze")
        if not program:
            self.skipTest("no systemd-analyze")
        with tempfile.TemporaryDirectory() as folder:
            unit = pathlib.Path(folder) / "one.service"
            for kind, wrong in (("notify", False), ("perhaps", True)):
                unit.write_text(f"[Service]\nType={kind}\nExecStart={packaging.PROGRAM} node\n")
                self.assertEqual(bool(packaging.units_findings(program, [unit])), wrong, kind)


class Alone(unittest.TestCase):
    def test_each_source_is_in_one_eighth(self):
        units = [f"{number}.cpp" for number in range(21)]
        parts = []
        for eighth in range(8):
            with unittest.mock.patch.dict(os.environ, HOPLITE_EIGHTH=str(eighth)):
                parts += repository.an_eighth(units)
        self.assertEqual(sorted(units), sorted(parts))
        with unittest.mock.patch.dict(os.environ):
            os.environ.pop("HOPLITE_EIGHTH", None)
            self.assertEqual(repository.an_eighth(units), units)

    def test_sources_that_are_compiled_as_one_are_found_with_its_flags(self):
        with tempfile.TemporaryDirectory() as root:
            folder = pathlib.Path(root) / "Unity"
            folder.mkdir()
            together = folder / "unity_0_cxx.cxx"
            together.write_text('/* by CMake */\n\n#include "/a/one.cpp"\n\n#include "/a/two.cpp"\n', encoding="utf-8")
            self.assertEqual([str(s) for s in compile_commands.sources(together)], ["/a/one.cpp", "/a/two.cpp"])
        entry = {"directory": "/b", "file": str(together),
                 "command": f"ccache clang++-19 -O3 -Winvalid-pch -Xclang -include-pch -Xclang x.pch -o two.o -c {together}"}
        unit = compile_commands.Unit(entry, pathlib.Path("/a/two.cpp"))
        self.assertEqual(unit.flags(), ["-O3"])
        self.assertEqual(unit.flags(precompiled=True), ["-O3", "-Winvalid-pch", "-Xclang", "-include-pch", "-Xclang", "x.pch"])


class Links(unittest.TestCase):
    PAGES = {"docs/a.md": "# One thing\n## `Code` & more\n## One thing\n", "README.md": "# Top\n", "docs": "", "x.svg": ""}

    def seen(self, text):
        return links.check("docs/b.md", text, self.PAGES.get)

    def test_files_and_headings(self):
        self.assertFalse(self.seen("[a](a.md), [b](../README.md#top), [c](../x.svg), [d](https://nowhere#x), [e](../docs)"))
        self.assertFalse(self.seen("[a](a.md#one-thing), [b](a.md#one-thing-1), [c](a.md#code--more)"))
        self.assertTrue(self.seen("[a](b/a.md)"))
        self.assertTrue(self.seen("[a](a.md#other-thing)"))
        self.assertTrue(self.seen("[a](a.md#one-thing-2)"))
        self.assertTrue(self.seen('<img src="../y.svg">'))

    def test_code_is_no_link(self):
        self.assertFalse(self.seen("`[x](y)`\n```\n[x](y)\n```\n"))


class Measured(unittest.TestCase):
    def test_a_table_names_its_revision_in_its_head(self):
        self.assertFalse(measured.check("| a, revision 0123abc | b |\n| --- | --- |\n| 1 | 2 |\n"))
        self.assertEqual(len(measured.check("Of revision 0123abc.\n\n| a | b |\n|---|:-:|\n| 1 | 2 |\n")), 1)
        self.assertFalse(measured.check("| no | table |\n"))

    def test_without_a_history_nothing_is_counted(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertIn("can't be counted", measured.age(pathlib.Path(folder), "0123abc"))

    def test_commits_of_the_sources_are_counted(self):
        said = [("false\n", 0), ("3\n", 0)]
        runs = [unittest.mock.Mock(stdout=text, returncode=status) for text, status in said]
        with unittest.mock.patch("repository.run", side_effect=runs):
            self.assertEqual(measured.age(pathlib.Path("."), "0123abc"), "3 commits of src/planner and src/node/streams behind")

    def test_a_shallow_clone_says_so(self):
        shallow = unittest.mock.Mock(stdout="true\n", returncode=0)
        with unittest.mock.patch("repository.run", return_value=shallow):
            self.assertIn("can't be counted", measured.age(pathlib.Path("."), "0123abc"))


class Layers(unittest.TestCase):
    def seen(self, path, include):
        return layers.check(path, f"#include {include}\n")

    def test_upward_and_sideways_arrows(self):
        self.assertTrue(self.seen("src/planner/shard/a.cpp", '"store/copy.h"'))
        self.assertTrue(self.seen("src/store/a.h", '"net/stream.h"'))
        self.assertTrue(self.seen("src/wire/a.h", '"net/stream.h"'))
        self.assertTrue(self.seen("src/node/a.h", '"client/client.h"'))
        self.assertTrue(self.seen("src/wire/a.h", '"planner/words/words.h"'))
        self.assertFalse(self.seen("src/wire/a.h", '"protocol/node_event.h"'))
        self.assertFalse(self.seen("src/net/a.h", '"wire/frame.h"'))
        self.assertFalse(self.seen("src/node/a.h", '"directory/directory_client.h"'))
        self.assertFalse(self.seen("src/planner/shard/a.h", '"base/ids.h"'))

    def test_rooms_of_the_node_look_one_way(self):
        self.assertTrue(self.seen("src/node/streams/a.h", '"node/pull/flight.h"'))
        self.assertTrue(self.seen("src/node/core/a.h", '"node/assembly.h"'))
        self.assertFalse(self.seen("src/node/pull/a.h", '"node/streams/lanes.h"'))
        self.assertFalse(self.seen("src/node/pull/a.h", '"node/pull/flight.h"'))
        self.assertFalse(self.seen("src/node/node.h", '"node/clients/client_calls.h"'))
        self.assertTrue(self.seen("src/node/cellar/a.h", '"base/ids.h"'))

    def test_rooms_of_the_planner_look_one_way(self):
        self.assertTrue(self.seen("src/planner/copies/a.h", '"planner/serving/rates.h"'))
        self.assertTrue(self.seen("src/planner/reduce/a.h", '"planner/serving/rates.h"'))
        self.assertTrue(self.seen("src/planner/shard/a.h", '"planner/node/flight_state.h"'))
        self.assertTrue(self.seen("src/planner/a.h", '"base/ids.h"'))
        self.assertTrue(self.seen("src/planner/cellar/a.h", '"base/ids.h"'))
        self.assertFalse(self.seen("src/planner/serving/a.h", '"planner/copies/copy.h"'))
        self.assertFalse(self.seen("src/planner/shard/a.h", '"planner/books/books.h"'))

    def test_public_headers(self):
        self.assertTrue(self.seen("include/hoplite/a.h", '"base/ids.h"'))
        self.assertTrue(self.seen("include/hoplite/a.h", "<fmt/format.h>"))
        self.assertTrue(self.seen("include/hoplite/a.h", "<unistd.h>"))
        self.assertFalse(self.seen("include/hoplite/a.h", "<hoplite/result.h>"))
        self.assertFalse(self.seen("include/hoplite/a.h", "<vector>"))

    def test_the_public_api_is_above_all_layers_but_its_own(self):
        self.assertTrue(self.seen("src/node/a.h", "<hoplite/client.h>"))
        self.assertFalse(self.seen("src/node/a.h", "<hoplite/config.h>"))
        self.assertFalse(self.seen("src/client/a.h", "<hoplite/client.h>"))
        self.assertTrue(self.seen("examples/a.cpp", '"base/units.h"'))

    def test_libraries_stay_at_home(self):
        self.assertTrue(self.seen("src/node/a.cpp", "<grpcpp/grpcpp.h>"))
        self.assertTrue(self.seen("src/net/a.cpp", '"hoplite/v1/directory.pb.h"'))
        self.assertTrue(self.seen("src/wire/a.cpp", '"hoplite/v1/directory.grpc.pb.h"'))
        self.assertFalse(self.seen("src/wire/a.cpp", '"hoplite/v1/directory.pb.h"'))
        self.assertFalse(self.seen("src/node/local/local_channel.cpp", '"hoplite/v1/local.pb.h"'))
        self.assertTrue(self.seen("src/directory/a.cpp", "<grpcpp/grpcpp.h>"))
        self.assertTrue(self.seen("src/client/a.cpp", '"admin/admin_server.h"'))
        self.assertFalse(self.seen("src/admin/a.cpp", "<grpcpp/grpcpp.h>"))

    def test_planners_are_pure(self):
        for impure in ("<thread>", "<random>", "<unordered_map>", '"base/log.h"', "<asio/post.hpp>"):
            self.assertTrue(self.seen("src/planner/shard/a.cpp", impure), impure)
        self.assertFalse(self.seen("src/planner/shard/a.cpp", "<map>"))

    def test_simulation_stands_beside(self):
        self.assertTrue(self.seen("src/node/a.cpp", '"sim/seams/sim_transport.h"'))
        self.assertTrue(self.seen("sim/planner_world/a.cpp", '"node/node.h"'))
        self.assertTrue(self.seen("sim/planner_world/a.cpp", "<thread>"))
        self.assertTrue(self.seen("sim/kit/a.h", '"sim/node_world/world.h"'))
        self.assertTrue(self.seen("sim/planner_world/a.h", "<asio/post.hpp>"))
        self.assertFalse(self.seen("src/cli/main.cpp", '"sim/commands/sim_commands.h"'))
        self.assertFalse(self.seen("sim/planner_world/a.cpp", '"sim/kit/random.h"'))
        self.assertFalse(self.seen("sim/small_world/a.h", '"sim/small_world/search.h"'))
        self.assertFalse(self.seen("sim/node_world/a.cpp", '"node/node.h"'))

    def test_one_clock(self):
        line = "const Time now = std::chrono::steady_clock::now();\n"
        self.assertTrue(layers.check("src/node/a.cpp", line))
        self.assertTrue(layers.check("sim/node_world/a.cpp", line))
        self.assertFalse(layers.check("src/base/virtual_time.cpp", line))
        self.assertFalse(layers.check("src/node/a.cpp", "const Time now = Now();\n"))
        self.assertTrue(self.seen("src/planner/shard/a.cpp", '"base/clock.h"'))

    def test_locks_are_annotated(self):
        self.assertTrue(layers.check("src/node/a.h", "  std::mutex mutex_;\n"))
        self.assertTrue(layers.check("sim/seams/a.cpp", "#include <condition_variable>\n"))
        self.assertFalse(layers.check("src/node/a.h", "  Mutex mutex_;\n"))
        self.assertFalse(layers.check("src/base/mutex.h", "  std::mutex mutex_;\n"))

    def test_length(self):
        self.assertTrue(layers.check("src/base/a.cpp", "\n" * 501))
        self.assertFalse(layers.check("src/base/a.cpp", "\n" * 500))


class Words(unittest.TestCase):
    def test_one_word_per_thing(self):
        self.assertTrue(words.check("src/node/a.h", "// It keeps its position.\n"))
        self.assertTrue(words.check("tests/sim/a.cpp", "TEST(NodeTwins, AreCaught) {}\n"))
        self.assertTrue(words.check("src/node/a.h", "class Fetch {\n"))
        self.assertTrue(words.check("sim/node_world/a.h", "node::Parts parts_;\n"))
        self.assertFalse(words.check("src/cli/a.cpp", "const off_t position = 0;\n"))
        self.assertFalse(words.check("src/node/a.cpp", "co_await Send(wire::Fetch(object));\n"))


class Named(unittest.TestCase):
    def seen(self, text):
        return named.findings_in(text, {"src/a.cpp": "void A::Go() {}", "src/b.cpp": "void B::Stop() {}"}.get)

    def test_names_that_are_not_there(self):
        self.assertFalse(self.seen("`src/a.cpp`: `A::Go`, then `B::Stop` (`src/b.cpp`)"))
        self.assertTrue(self.seen("`src/c.cpp`"))
        self.assertTrue(self.seen("`src/a.cpp`: `A::Stop`"))
        self.assertTrue(self.seen("`src/a.cpp`: `A::Go` (`src/b.cpp`)"))

    def test_rows_of_decisions_and_rooms(self):
        read = {"src/x/a.cpp": "int Go();", "src/x/b.h": "int Stop();"}.get
        table = "## 5. Decisions\n| decision | file | where |\n| one | `src/x/a`, `b` | {} |\n"
        self.assertFalse(named.findings_in_decisions(table.format("`Go`, `Stop`"), read))
        self.assertTrue(named.findings_in_decisions(table.format("`Run`"), read))
        self.assertTrue(named.findings_in_decisions(table.replace("`b`", "`c`").format(""), read))
        self.assertFalse(named.findings_in_room("src/x", "| `a`, `b` | two |", read))
        self.assertTrue(named.findings_in_room("src/x", "| `fetch` | gone |", read))


class Coroutines(unittest.TestCase):
    def test_traps(self):
        for trap in ("co_await F(Options{.a = 1});",
                     "co_await F({.a = 1});",
                     "co_await F({1, 2, 3});",
                     "auto x = co_await\n    F(a, Options{b, c});",
                     "co_await asio::co_spawn(ex, [s]() -> Task<void> { co_return; }, token);",
                     "CO_TRY(co_await F([this] { G(); }));",
                     "co_await G(Options{.n = co_await H()});"):
            self.assertTrue(coroutines.check("a.cpp", trap), trap)

    def test_sound_patterns(self):
        for sound in ("co_await F(std::move(options));",
                      "Options options{.a = 1};\nco_await F(options);",
                      "co_await F(Duration{}, ids[3]);",
                      "co_await F([] { G(); });",
                      "while (!co_await signal.Wait(deadline)) { x = Y{1}; }",
                      "// co_await F(Options{.a = 1});",
                      'Log("co_await F({1})");'):
            self.assertFalse(coroutines.check("a.cpp", sound), sound)

    def test_locks(self):
        self.assertTrue(coroutines.check(
            "a.cpp", "{\n  const std::lock_guard lock(m_);\n  co_await F();\n}"))
        self.assertTrue(coroutines.check("a.cpp", "{\n  const MutexLock lock(m_);\n  co_await F();\n}"))
        self.assertFalse(coroutines.check(
            "a.cpp", "{\n  {\n    const std::lock_guard lock(m_);\n  }\n  co_await F();\n}"))


class Markdown(unittest.TestCase):
    def test_width_of_prose(self):
        long = "word " * 30
        self.assertTrue(markdown.check("a.md", f"- {long}\n"))
        self.assertTrue(markdown.check("a.md", f"```sh\nls\n```\n{long}\n"))
        self.assertFalse(markdown.check("a.md", f"```sh\n{long}\n```\n"))
        self.assertFalse(markdown.check("a.md", f"| {long} |\n"))
        self.assertFalse(markdown.check("a.md", "- " + "x" * 140 + "\n"))
        self.assertFalse(markdown.check("a.md", "x" * 130 + "\n"))


class MachineText(unittest.TestCase):
    def test_paths(self):
        self.assertTrue(machine_text.check("a", "see /" + "home/somebody/project"))
        self.assertTrue(machine_text.check("a", "see /" + "work/project"))
        self.assertFalse(machine_text.check("a", "see /tmp, /proc/self/fd and docs/work/list"))


class Counts(unittest.TestCase):
    def count(self, name, status, inside):
        return counts.count(xml.fromstring(f'<testcase name="{name}" status="{status}">{inside}</testcase>'))

    def test_a_shard_counts_as_its_cases(self):
        said = "<system-out>[==========] 50 tests from 3 test suites ran. (9 ms total)\n[  PASSED  ] {} tests.\n{}</system-out>"
        self.assertEqual(self.count("a_tests.1", "run", said.format(50, "")), (50, 0, 0))
        self.assertEqual(self.count("a_tests.1", "run", said.format(49, "[  SKIPPED ] 1 test.")), (49, 0, 1))
        self.assertEqual(self.count("a_tests.12", "fail", said.format(47, "")), (47, 3, 0))
        self.assertEqual(self.count("a_tests.12", "fail", said.format(50, "")), (50, 1, 0))  # it died after its last case
        inner = said.format(50, "").replace("<system-out>", "<system-out>[==========] 0 tests ran.\n[  PASSED  ] 0 tests.\n")
        self.assertEqual(self.count("a_tests.1", "run", inner), (50, 0, 0))
        self.assertEqual(self.count("a_tests.2", "fail", "<system-out>[ RUN ] A.B\n</system-out>"), (0, 1, 0))

    def test_any_other_test_is_one(self):
        skipped = '<skipped message="{}"/>'
        self.assertEqual(self.count("Suite.Case", "run", ""), (1, 0, 0))
        self.assertEqual(self.count("Suite.Case", "fail", "<failure/>"), (0, 1, 0))
        self.assertEqual(self.count("Suite.Case", "notrun", skipped.format("SKIP_RETURN_CODE=77")), (0, 0, 1))
        self.assertEqual(self.count("Suite.Case", "notrun", skipped.format("no such program")), (0, 1, 0))


if __name__ == "__main__":
    unittest.main()
