"""`bench.sh --ssh`: hosts that are reached by ssh, here by a program of that name that runs everything on this machine."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import processes
import ssh_hosts

COMPARE = pathlib.Path(ssh_hosts.__file__).with_name("compare.py")
AHEAD = 5_000_000_000  # of the clock that the host "far" has
# Options and the host go; python3 of the host "far" has another clock.
FAKE_SSH = f"""#!/bin/sh
while [ "${{1#-}}" != "$1" ]; do shift 2; done
host=$1
shift
echo "$host $*" >> "$FAKE_SSH_LOG"
[ "$host" = gone ] && {{ echo "no route to host" >&2; exit 255; }}
[ "$host" = far ] && export PYTHONPATH="$FAKE_SSH_CLOCK"
exec sh -c "$*"
"""
FAR_CLOCK = f"import time\nnow = time.monotonic_ns\ntime.monotonic_ns = lambda: now() + {AHEAD}\n"
ECHO = """import json, sys
for line in sys.stdin:
    numbers = [int(word) for word in line.split()[1:]]
    print(json.dumps({"begins": numbers[:1], "end": numbers[0], "bytes": numbers}), flush=True)
"""


class Ssh(unittest.TestCase):
    def setUp(self):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="hoplite-ssh-")))
        for name, text in (("bin/ssh", FAKE_SSH), ("clock/sitecustomize.py", FAR_CLOCK), ("programs/cluster_bare", "#!/bin/sh\n"),
                           ("programs/cluster_hoplite", "#!/bin/sh\necho it runs\n")):
            path = folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
            path.chmod(0o755)
        self.log, self.programs = folder / "log", folder / "programs"
        self.log.write_text("")
        self.enterContext(mock.patch.dict(os.environ, {
            "PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "FAKE_SSH_LOG": str(self.log), "FAKE_SSH_CLOCK": str(folder / "clock")}))
        self.enterContext(mock.patch.object(processes, "LEAD", processes.LEAD))

    def test_programs_are_there_meanwhile(self):
        with ssh_hosts.SshTestbed(["one=127.0.0.1", "me@two=127.0.0.1"], self.programs) as bed:
            self.assertEqual([(host.login, host.name, host.address) for host in bed.hosts],
                             [("one", "one", "127.0.0.1"), ("me@two", "two", "127.0.0.1")])
            command = bed.hosts[1].command(self.programs / "cluster_hoplite")
            self.assertEqual(processes.run(command), "it runs\n")
            self.assertRegex(bed.hosts[0].described, r"^one \(127\.0\.0\.1\): Linux \S+, \d+ cores$")
            there = pathlib.Path(command[-1]).parent
            self.assertNotEqual(there, self.programs)
        self.assertFalse(there.exists())
        self.assertRegex(self.log.read_text(), r"(?m)^me@two rm -rf /tmp/hoplite-bench-\w+$")

    def test_a_host_that_does_not_answer_is_named(self):
        with self.assertRaisesRegex(processes.Failed, "ssh gone: no route to host"), \
                ssh_hosts.SshTestbed(["one=127.0.0.1", "gone=127.0.0.1"], self.programs):
            self.fail("it has no programs")
        self.assertIn("one rm -rf", self.log.read_text())

    def test_a_name_without_an_address_is_named(self):
        with self.assertRaisesRegex(processes.Failed, "no-such-host.invalid: .*HOST=ADDRESS"):
            ssh_hosts.SshTestbed(["one=127.0.0.1", "no-such-host.invalid"], self.programs)

    def test_moments_are_told_and_heard_by_the_clock_of_the_host(self):
        with ssh_hosts.SshTestbed(["one=127.0.0.1", "far=127.0.0.1"], self.programs) as bed:
            near, far = bed.hosts
            self.assertLess(abs(far.ahead - AHEAD), 1_000_000_000)
            self.assertLess(abs(near.ahead), 1_000_000_000)
            self.assertLess(bed.uncertain, 1)
            agent = processes.Agent(far.command(sys.executable, "-c", ECHO))
            self.addCleanup(agent.close)
            moment = processes.soon()
            told = agent.ask("act", moment, 7)
        self.assertEqual((told["begins"], told["end"]), ([moment], moment))
        self.assertEqual(told["bytes"], [moment + far.ahead, 7])

    def test_what_hosts_can_not_do_is_refused_before(self):
        for words in (["--cases", "failures"], ["--peers", "hoplite,gloo"], []):
            done = subprocess.run([sys.executable, "-B", COMPARE, "--ssh", "one,two" if words else "one", *words],
                                  capture_output=True, text=True)
            self.assertEqual(done.returncode, 2)
            self.assertIn("--ssh: ", done.stderr)
        self.assertEqual(self.log.read_text(), "")

    @unittest.skipUnless(os.environ.get("PROGRAMS"), "PROGRAMS names no folder of the comparison's programs")
    def test_it_measures(self):
        output = self.log.parent / "results"
        done = subprocess.run([sys.executable, "-B", COMPARE, "--ssh", "one=127.0.0.1,two=127.0.0.1,three=127.0.0.1", "--quick",
                               "--reps", "1", "--cases", "broadcast,reduce", "--programs", os.environ["PROGRAMS"],
                               "--output", output, "--name", "ssh"], capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        document = json.loads((output / "ssh.json").read_text())
        self.assertIn("three (127.0.0.1): Linux", document["environment"]["hosts"])
        self.assertEqual(document["failures"], [])
        self.assertTrue({row["case"] for row in document["rows"]} > {
            "broadcast 16 MiB, 3 hosts x own link", "reduce 1 MiB, 3 hosts x own link"})
        for row in document["rows"]:
            self.assertTrue(all(0 < one < 10 for series in ("hoplite", "bare stream") for one in row["series"][series]), row)


if __name__ == "__main__":
    unittest.main()
