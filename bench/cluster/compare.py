"""Runs the comparison and writes its table, its JSON and its figure. See bench/README.md."""

import argparse
import pathlib
import sys
import time

import environment
import figure
import hosts
import mpich
import report
from bare import Bare, Iperf
from cases import MIB, Broadcasts, Comparison, standard_broadcasts
from operations import Operation, parse_size
from ours import Hoplite

ROOT = pathlib.Path(__file__).resolve().parents[2]
PARTS = sorted((ROOT / "bench" / "parts").glob("bench_*.cpp"))
GROUPS = ("broadcast", "fast", "latency", "put", "waiting", "sim", "parts")
PEERS = ("hoplite", "mpich", "iperf3")


class Peers:
    """Makes the peers that were asked for; the bare stream is always there, since it is the unit."""

    def __init__(self, options):
        self._options = options
        self._bin = options.programs
        self._mpi = None

    def bare(self):
        return Bare(self._bin / "cluster_bare")

    def hoplite(self, memory):
        return Hoplite(self._bin / "cluster_hoplite", memory, self._options.directory_with_source)

    def for_broadcast(self, largest):
        return [self.bare(), *self._hoplite(largest), *self._mpich()]

    def for_fast_link(self, size):
        iperf = [Iperf()] if "iperf3" in self._options.peers else []
        return [*iperf, self.bare(), *self._hoplite(size), *self._mpich()]

    def _hoplite(self, largest):
        # Room for two objects: the memory of a deleted one returns a moment later.
        return [self.hoplite(2 * largest + 16 * MIB)] if "hoplite" in self._options.peers else []

    def _mpich(self):
        if "mpich" not in self._options.peers:
            return []
        if self._mpi is None:
            self._mpi = mpich.build(self._options.venv, self._options.venv.parent)
        return [mpich.Mpich(self._options.venv, self._mpi, module) for module in mpich.MODULES]


def parse_options():
    parser = argparse.ArgumentParser(prog="scripts/bench.sh", description="Compares this project with its peers.")
    parser.add_argument("--quick", action="store_true", help="fewer cases and repetitions: under five minutes")
    parser.add_argument("--cases", type=names(GROUPS), default=list(GROUPS), help=f"of {','.join(GROUPS)}")
    parser.add_argument("--peers", type=names(PEERS), default=list(PEERS), help=f"of {','.join(PEERS)}")
    parser.add_argument("--reps", type=int, help="repetitions of each case (5; quick: 3)")
    parser.add_argument("--hosts", type=int, help="a broadcast between so many hosts instead of the cases")
    parser.add_argument("--rate", default="100mbit", help="of each host's link in that broadcast, or `none`")
    parser.add_argument("--sizes", type=sizes, default=[MIB, 16 * MIB], help="of its objects: 1MiB,16MiB")
    parser.add_argument("--directory-with-source", action="store_true",
                        help="the directory shares the source's host and link instead of having its own")
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "bench" / "results")
    parser.add_argument("--name", default=time.strftime("%Y%m%d-%H%M%S"), help="of the files written there")
    parser.add_argument("--programs", type=pathlib.Path, default=ROOT / "build" / "release" / "bin")
    parser.add_argument("--venv", type=pathlib.Path, default=ROOT / "build" / "bench-venv")
    options = parser.parse_args()
    options.reps = options.reps or (3 if options.quick else 5)
    return options


def names(allowed):
    def parse(text):
        chosen = text.split(",")
        for name in chosen:
            if name not in allowed:
                raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(allowed)}")
        return chosen
    return parse


def sizes(text):
    return [parse_size(size) for size in text.split(",")]


def run(options, comparison):
    if options.hosts:
        rate = None if options.rate == "none" else options.rate
        limits = {Operation("broadcast", size): None for size in options.sizes}
        comparison.broadcasts(Broadcasts(options.hosts, rate, limits))
        return
    groups = {
        "broadcast": lambda: [comparison.broadcasts(case) for case in standard_broadcasts(options.quick)],
        "fast": comparison.fast_link,
        "latency": comparison.latency,
        "put": comparison.put,
        "waiting": comparison.waiting,
        "sim": lambda: comparison.simulation(str(options.programs / "hoplite")),
        "parts": lambda: comparison.parts([options.programs / source.stem for source in PARTS]),
    }
    for group in options.cases:
        groups[group]()


def write(options, described, comparison):
    options.output.mkdir(parents=True, exist_ok=True)
    tables = report.comparison(comparison.rows)
    if comparison.part_rows:
        tables += "\n" + report.parts(comparison.part_rows)
    (options.output / f"{options.name}.md").write_text(tables)
    (options.output / f"{options.name}.json").write_text(
        report.as_json(described, comparison.rows, comparison.part_rows, comparison.failures))
    broadcasts = [row for row in comparison.rows if "hosts x" in row.case]
    if broadcasts:
        (options.output / f"{options.name}.svg").write_text(figure.draw(broadcasts))
    print(tables)
    for failure in comparison.failures:
        print(f"failed: {failure}")
    print(f"written to {options.output}/{options.name}.*")


def main():
    options = parse_options()
    hosts.end_on_signals()
    described = environment.describe(ROOT, options.venv)
    for name, value in described.items():
        print(f"{name}: {value}", flush=True)
    print()
    comparison = Comparison(Peers(options), options.reps)
    try:
        run(options, comparison)
    except PermissionError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit("interrupted; the testbed is removed")
    finally:
        if comparison.rows or comparison.part_rows:
            write(options, described, comparison)


if __name__ == "__main__":
    main()
