"""`hoplite demo`: a broadcast that loses a node, an allreduce, a reduction of the first to come."""

import json
import os
import re
import signal
import subprocess
import tempfile
import unittest
import urllib.request

from cluster import HOPLITE, CommandTest, read, wait_until


def make_browser(folder):
    """An xdg-open in this folder. The file that it makes when it is started has what it was to show."""
    opened, browser = os.path.join(folder, "opened"), os.path.join(folder, "xdg-open")
    with open(browser, "w") as script:
        script.write(f'#!/bin/sh\necho "$1" >{opened}.new; mv {opened}.new {opened}\n')
    os.chmod(browser, 0o755)
    return opened


class Demo(CommandTest):
    """It succeeds only if it held what it shows; here: that it shows it, and leaves nothing."""

    def test_a_relay_dies_and_everybody_else_has_the_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "file")
            with open(path, "wb") as file:
                file.write(os.urandom(6_000_000))
            report = json.loads(self.succeed("demo", path, "--json", timeout=100))
        killed = report["killed"]
        self.assertIn(killed, {"n2", "n3", "n4", "n5", "n6"})
        for receiver in report["receivers"]:
            if receiver["node"] != killed:
                self.assertEqual(receiver["hash"], report["hash"])
        self.assertEqual(report["receivers"][-1]["node"], report["latecomer"])
        orphans = [one for one in report["rerouted"] if one["before"] == killed]
        self.assertTrue(orphans and all(one["now"] != killed for one in orphans), report)
        everybody, first_four = report["reductions"]
        self.assertEqual((len(everybody["used"]), everybody["unused"]), (6, []))
        self.assertEqual((len(first_four["used"]), len(first_four["unused"])), (4, 2))
        self.assertEqual([one["everyone_reads"] for one in report["reductions"]], [True, False])
        for one in report["reductions"]:
            self.assertTrue(one["equal"], report)
            self.assertNotIn(killed, one["used"])
            self.assertLessEqual({slot["node"] for slot in one["tree"]} - {""}, set(everybody["used"]))
            roots = [slot for slot in one["tree"] if slot["parents"] == []]
            stripes = [stripe for root in roots for stripe in root["stripes"]]
            self.assertEqual(sorted(stripes), list(range(len(stripes))), report)  # each is made once
            self.assertGreater(len(stripes), 0, report)
        self.assertEqual([len(roots_of(one)) for one in (everybody, first_four)], [6, 1], report)

    def test_its_page_stays_until_enter_and_is_opened_where_there_is_a_display(self):
        with tempfile.TemporaryDirectory() as folder:
            opened = make_browser(folder)
            file = os.path.join(folder, "file")
            with open(file, "wb") as content:
                content.write(os.urandom(6_000_000))
            environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "DISPLAY": ":99"}
            with subprocess.Popen([HOPLITE, "demo", "--web", file], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  env=environment, text=True) as demo:
                lines = iter(demo.stdout.readline, "")
                page = next(line for line in lines if line.startswith("The page of the cluster: ")).split()[-1]
                wait_until(lambda: os.path.exists(opened), "the browser is started")
                self.assertEqual(read(opened).decode().strip(), page)
                next(line for line in lines if line.startswith("The page stays for 10 minutes."))
                with urllib.request.urlopen(page, timeout=20) as answer:
                    self.assertIn(b"<html", answer.read())
                self.assertIsNone(demo.poll())
                demo.stdin.write("\n")
                demo.stdin.flush()
                self.assertEqual(demo.wait(20), 0)

    def test_without_a_display_no_browser_is_started(self):
        with tempfile.TemporaryDirectory() as folder:
            opened = make_browser(folder)
            environment = {name: value for name, value in os.environ.items() if not name.endswith("DISPLAY")}
            environment["PATH"] = f"{folder}:{environment['PATH']}"
            with subprocess.Popen([HOPLITE, "demo", "--web"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, env=environment, text=True) as demo:
                line = ""
                while not line.startswith("Put it at"):  # long after the page was named
                    line = demo.stdout.readline()
                    self.assertTrue(line, demo.poll())
                demo.send_signal(signal.SIGINT)
            self.assertFalse(os.path.exists(opened))

    def test_ctrl_c_leaves_no_process_and_no_file(self):
        with subprocess.Popen([HOPLITE, "demo"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as demo:
            pids, line = [], ""
            while not line.startswith("Put it at"):
                line = demo.stdout.readline()
                self.assertTrue(line, demo.poll())
                pids += [int(pid) for pid in re.findall(r"pid (\d+)", line)]
            self.assertEqual(len(pids), 7)
            folders = {os.path.dirname(open_socket) for open_socket in sockets_of(pids[1])}
            demo.send_signal(signal.SIGINT)
            _, complaint = demo.communicate(timeout=20)
            self.assertEqual(demo.returncode, 1)
            self.assertRegex(complaint, "^cancelled: ")
        self.assertEqual([pid for pid in pids if os.path.exists(f"/proc/{pid}")], [])
        self.assertEqual([folder for folder in folders if os.path.exists(folder)], [])


def roots_of(reduction):
    return {slot["slot"] for slot in reduction["tree"] if slot["parents"] == []}


def sockets_of(pid):
    """Paths of the Unix sockets that a node was told to open."""
    arguments = read(f"/proc/{pid}/cmdline").decode().split("\0")
    return [arguments[i + 1] for i, word in enumerate(arguments) if word == "--socket"]


if __name__ == "__main__":
    unittest.main()
