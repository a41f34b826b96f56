"""How a program with hosts of its own ends on a signal."""

import signal
import subprocess
import sys
import unittest

# Cleans up until its input ends, then tells.
PROGRAM = """
import contextlib, sys
import hosts

@contextlib.contextmanager
def bed():
    try:
        yield
    finally:
        print("cleans up", flush=True)
        sys.stdin.read()
        print("clean", flush=True)

hosts.end_on_signals()
with bed():
    print("runs", flush=True)
    sys.stdin.readline()
"""


class EndOnSignals(unittest.TestCase):
    def ends_after(self, *signals):
        """What it says after the first signal, when the others come while it cleans up; its status."""
        with subprocess.Popen([sys.executable, "-B", "-c", PROGRAM], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as program:
            self.assertEqual(program.stdout.readline(), "runs\n")
            program.send_signal(signals[0])
            self.assertEqual(program.stdout.readline(), "cleans up\n")
            for number in signals[1:]:
                program.send_signal(number)
            said, _ = program.communicate(timeout=20)
            return said, program.returncode

    def test_it_cleans_up(self):
        self.assertEqual(self.ends_after(signal.SIGTERM), ("clean\n", 128 + signal.SIGTERM))

    def test_it_cleans_up_though_it_is_told_again_meanwhile(self):
        for again in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            self.assertEqual(self.ends_after(signal.SIGTERM, again), ("clean\n", 128 + signal.SIGTERM), again)

    def test_it_cleans_up_after_ctrl_c_though_it_is_told_again_meanwhile(self):
        self.assertEqual(self.ends_after(signal.SIGINT, signal.SIGTERM, signal.SIGINT), ("clean\n", -signal.SIGINT))


if __name__ == "__main__":
    unittest.main()
