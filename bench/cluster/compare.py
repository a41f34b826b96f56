"""Runs the comparison and writes its table, its JSON and its figure. See bench/README.md."""

import argparse
import pathlib
import sys
import time

import environment
import failures_figure
import figure
import hosts
import mpi
import report
import transfers
from bare import Bare, Iperf
from cases import Comparison
from failures import Failures
from gloo import Gloo
from operations import Operation, parse_size
from ours import Hoplite
from restarts import Restarts
from struck import Struck
from transfers import MIB, Transfers

ROOT = pathlib.Path(__file__).resolve().parents[2]
PARTS = sorted((ROOT / "bench" / "parts").glob("bench_*.cpp"))
GROUPS = ("broadcast", "reduce", "gather", "degree", "fast", "latency", "put", "waiting", "sim", "parts", "failures",
          "restart")
SLOW_GROUPS = ("failures", "restart")  # a quick run has these only if they are named
PEERS = ("hoplite", "mpich", "gloo", "openmpi", "iperf3")
DEFAULT_PEERS = ("hoplite", "mpich", "iperf3")  # the others are large to install
KINDS = ("broadcast", "reduce", "allreduce", "gather", "allgather")


class Peers:
    """Makes the peers that were asked for; the bare stream is always there, since it is the unit."""

    def __init__(self, options):
        self._options = options
        self._bin = options.programs

    def bare(self):
        return Bare(self._bin / "cluster_bare")

    def hoplite(self, memory):
        return Hoplite(self._bin / "cluster_hoplite", memory, self._options.directory_with_source)

    def for_transfers(self, case):
        ours = [self.ours(case)] if "hoplite" in self._options.peers else []
        return [self.bare(), *ours, *self.jobs()]

    def for_fast_link(self, size):
        iperf = [Iperf()] if "iperf3" in self._options.peers else []
        ours = [self.hoplite(2 * size + 16 * MIB)] if "hoplite" in self._options.peers else []
        return [*iperf, self.bare(), *ours, *self._mpich()]

    def ours(self, case):
        """Room for two rounds' objects: the memory of a deleted one returns a moment later."""
        needs = {"allgather": case.hosts, "gather": case.hosts, "broadcast": 1}
        largest = max(operation.size * needs.get(operation.kind, 3) for operation in case.limits)
        return self.hoplite(2 * largest + 16 * MIB)

    def struck(self, bed, memory):
        """A cluster of its own."""
        return Struck(self.hoplite(memory + 64 * MIB), bed)

    def jobs(self):
        """Peers with a fixed set of ranks."""
        gloo = [Gloo(self._options.venv)] if "gloo" in self._options.peers else []
        openmpi = [mpi.OpenMpi(self._options.venv.parent)] if "openmpi" in self._options.peers else []
        return [*self._mpich(), *gloo, *openmpi]

    def _mpich(self):
        if "mpich" not in self._options.peers:
            return []
        return [mpi.Mpich(self._options.venv, module) for module in mpi.MODULES]


def parse_options():
    parser = argparse.ArgumentParser(prog="scripts/bench.sh", description="Compares this project with its peers.")
    parser.add_argument("--quick", action="store_true", help="fewer cases and repetitions: about six minutes")
    parser.add_argument("cases", type=names(GROUPS), nargs="?", help=f"of {','.join(GROUPS)}; without it all")
    parser.add_argument("--cases", type=names(GROUPS), dest="named", help="the same")
    parser.add_argument("--peers", type=names(PEERS), default=list(DEFAULT_PEERS),
                        help=f"of {','.join(PEERS)}; without it {','.join(DEFAULT_PEERS)}")
    parser.add_argument("--reps", type=int, help="repetitions of each case (5; quick: 3)")
    parser.add_argument("--hosts", type=int, help="one operation between so many hosts instead of the cases")
    parser.add_argument("--operation", choices=KINDS, default="broadcast", help="which one")
    parser.add_argument("--rate", default="100mbit", help="of each host's link in it, or `none`")
    parser.add_argument("--sizes", type=sizes, default=[MIB, 16 * MIB], help="of its objects: 1MiB,16MiB")
    parser.add_argument("--directory-with-source", action="store_true",
                        help="the directory shares the source's host and link instead of having its own")
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "bench" / "results")
    parser.add_argument("--name", default=time.strftime("%Y%m%d-%H%M%S"), help="of the files written there")
    parser.add_argument("--programs", type=pathlib.Path, default=ROOT / "build" / "release" / "bin")
    parser.add_argument("--venv", type=pathlib.Path, default=ROOT / "build" / "bench-venv")
    options = parser.parse_args()
    options.reps = options.reps or (3 if options.quick else 5)
    options.cases = options.cases or options.named or [
        group for group in GROUPS if not (options.quick and group in SLOW_GROUPS)]
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


def run(options, comparison, failures, restarts):
    if options.hosts:
        rate = None if options.rate == "none" else options.rate
        limits = {Operation(options.operation, size): None for size in options.sizes}
        comparison.transfers(Transfers(options.hosts, rate, limits))
        return
    groups = {
        "broadcast": lambda: each(comparison.transfers, transfers.broadcasts(options.quick)),
        "reduce": lambda: each(comparison.transfers, transfers.reductions(options.quick)),
        "gather": lambda: each(comparison.transfers, transfers.gathers(options.quick)),
        "degree": lambda: each(comparison.degrees, transfers.degrees(options.quick)),
        "fast": lambda: (comparison.fast_link(), comparison.fast_reduce()),
        "latency": comparison.latency,
        "put": comparison.put,
        "waiting": comparison.waiting,
        "sim": lambda: comparison.simulation(str(options.programs / "hoplite")),
        "failures": failures.run,
        "restart": restarts.run,
        "parts": lambda: comparison.parts([options.programs / source.stem for source in PARTS],
                                          seconds=0.05 if options.quick else 0.3),
    }
    for group in options.cases:
        groups[group]()


def each(run_case, cases):
    for case in cases:
        run_case(case)


def write(options, described, comparison, failures, restarts):
    options.output.mkdir(parents=True, exist_ok=True)
    rows = comparison.rows + failures.rows + restarts.rows
    tables = report.comparison(rows)
    if comparison.part_rows:
        tables += "\n" + report.parts(comparison.part_rows)
    (options.output / f"{options.name}.md").write_text(tables)
    (options.output / f"{options.name}.json").write_text(
        report.as_json(described, rows, comparison.part_rows, comparison.failures))
    drawn = [row for row in comparison.rows if "hosts x" in row.case and row.reference == Bare.name]
    if drawn:
        (options.output / f"{options.name}.svg").write_text(figure.draw(drawn))
    if failures.courses:
        (options.output / f"{options.name}-failures.svg").write_text(failures_figure.draw(failures.courses))
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
    failures = Failures(Peers(options), options.reps, comparison.failures)
    restarts = Restarts(options.programs, options.reps, comparison.failures)
    try:
        run(options, comparison, failures, restarts)
    except PermissionError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit("interrupted; the testbed is removed")
    finally:
        if comparison.rows or comparison.part_rows or failures.rows or restarts.rows:
            write(options, described, comparison, failures, restarts)


if __name__ == "__main__":
    main()
