"""Which peers are installed and measured, and that a peer is told of in one place."""

import pathlib
import re
import unittest
import unittest.mock

import headline
import peers
import verdicts

BENCH = pathlib.Path(peers.__file__).parent


class Peers(unittest.TestCase):
    def test_those_that_the_command_line_asks_for(self):
        for arguments, wanted in (((), ["mpich"]), (("--quick",), ["mpich"]), (("curves",), list(peers.PEERS)),
                                  (("--cases", "reduce,curves"), list(peers.PEERS)), (("--peers", "hoplite"), []),
                                  (("--peers=gloo,iperf3", "curves"), ["gloo"]), (("--peers", "openmpi,mpich"), ["mpich", "openmpi"])):
            self.assertEqual(peers.asked_for(arguments), wanted, arguments)

    def test_only_those_that_are_missing_are_installed(self):
        for name in peers.PEERS:
            there = peers.dataclasses.replace(peers.PEERS[name], is_there=lambda _: True, install=("nothing",))
            with unittest.mock.patch.dict(peers.PEERS, {name: there}), unittest.mock.patch("subprocess.run") as ran:
                peers.install(pathlib.Path("venv"), name)
            ran.assert_not_called()

    def test_tables_and_pictures_have_all_of_them(self):
        self.assertEqual(verdicts.PEERS, peers.SERIES)
        self.assertEqual(sum(map(len, headline.PEERS.values())), len(peers.SERIES))

    def test_nothing_else_names_a_series(self):
        """But the goals that single one out."""
        series = re.compile("|".join(f'"{re.escape(name)}"' for name in peers.SERIES if name != "gloo"))
        found = [path.name for path in BENCH.glob("*.py") if series.search(path.read_text())]
        self.assertEqual(sorted(found), ["mpi.py", "peers.py"])


if __name__ == "__main__":
    unittest.main()
