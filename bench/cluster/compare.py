"""Runs the comparison and writes its tables, its JSON and its figures. See bench/README.md."""

import argparse
import contextlib
import dataclasses
import json
import pathlib
import sys
import time

import environment
import hosts
import peers
import processes
import report
import ssh_hosts
import staggered
import transfers
from bare import Bare, Iperf
from cases import Comparison
from costs import Costs
from course import median
from curves import Curves
from failures import Failures
from operations import Operation, parse_size
from ours import Hoplite, everyone_reads
from restarts import Restarts
from rows import loaded
from runtimes import PARTS as RUNTIME_PARTS
from runtimes import Runtimes
from simulations import simulated
from spilling import Spilling
from struck import Struck
from transfers import MIB, Transfers
from verdicts import OLDER, SLOWER

ROOT = pathlib.Path(__file__).resolve().parents[2]
DRAW = pathlib.Path(__file__).with_name("draw.py")  # a program of its own: only its Python has matplotlib
PARTS = sorted((ROOT / "bench" / "parts").glob("bench_*.cpp"))
GROUPS = ("broadcast", "staggered", "reduce", "allreduce", "gather", "degree", "fast", "latency", "operation", "put", "spill",
          "waiting", "sim", "parts", "apart", "failures", "restart", "curves", "runtimes")
SLOW_GROUPS = ("operation", "apart", "failures", "restart")  # a quick run has these only if they are named
NAMED_GROUPS = ("curves", "runtimes")  # every run: much time, or much to install
PEERS = ("hoplite", *peers.PEERS, "iperf3")
DEFAULT_PEERS = ("hoplite", *peers.asked_for(()), "iperf3")
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
        return self.together(self._memory(case), case.limits)

    def together(self, memory, operations):
        """memory: of each of our nodes' stores, in bytes."""
        return [self.bare(), *self._ways(memory, operations), *self.jobs()]

    def alone(self, case):
        return [self.bare(), *self._ways(self._memory(case), case.limits)]

    def _ways(self, memory, operations):
        """Ours: an allreduce is measured twice, by the same nodes."""
        if "hoplite" not in self._options.peers:
            return []
        ours = self.hoplite(memory)
        kinds = {operation.kind for operation in operations}
        if kinds == {"allreduce"}:
            return [ours, everyone_reads(ours)]
        return [ours, *self.beside(memory)] if kinds <= {"broadcast", "reduce"} else [ours]

    @property
    def python(self):
        """With Ray, where there is one."""
        return self._options.python

    def spilling(self, memory, folder, limit):
        return Hoplite(self._bin / "cluster_hoplite", memory, disk=(folder, limit))

    def beside(self, memory):
        """The older build, where it has the program."""
        program = self._options.beside / "cluster_hoplite" if self._options.beside else None
        return [Hoplite(program, memory, self._options.directory_with_source, OLDER)] if program and program.exists() else []

    def for_fast_link(self, size):
        iperf = [Iperf()] if "iperf3" in self._options.peers else []
        ours = [self.hoplite(2 * size + 16 * MIB)] if "hoplite" in self._options.peers else []
        return [*iperf, self.bare(), *ours, *self.mpich()]

    def ours(self, case):
        return self.hoplite(self._memory(case))

    @staticmethod
    def _memory(case):
        """Room for two rounds' objects: the memory of a deleted one returns a moment later."""
        needs = {"allgather": case.hosts, "gather": case.hosts, "broadcast": 1, "reductions": 3 * case.hosts}
        largest = max(operation.size * needs.get(operation.kind, 3) for operation in case.limits)
        return 2 * largest + 16 * MIB

    def struck(self, bed, memory):
        """A cluster of its own."""
        return Struck(self.hoplite(memory + 64 * MIB), bed)

    def jobs(self):
        """Peers with a fixed set of ranks."""
        return peers.made(self._options.peers, self._options.venv)

    def mpich(self):
        return peers.made({"mpich"} & set(self._options.peers), self._options.venv)


def parse_options():
    parser = argparse.ArgumentParser(prog="scripts/bench.sh", description="Compares this project with its peers.")
    parser.add_argument("--quick", action="store_true", help="fewer cases and repetitions: about six minutes")
    parser.add_argument("cases", type=names(GROUPS), nargs="?",
                        help=f"of {','.join(GROUPS)}; without it all but {','.join(NAMED_GROUPS)}")
    parser.add_argument("--cases", type=names(GROUPS), dest="named", help="the same")
    parser.add_argument("--peers", type=names(PEERS),
                        help=f"of {','.join(PEERS)}; without it {','.join(DEFAULT_PEERS)}, and for curves all")
    parser.add_argument("--reps", type=int, help="repetitions of each case (5; quick: 3)")
    parser.add_argument("--hosts", type=int,
                        help="one operation between so many hosts instead of the cases; runtimes: hosts of its workloads")
    parser.add_argument("--ssh", type=lambda text: text.split(","), metavar="HOST,...",
                        help="between these hosts instead of namespaces of this machine; HOST=ADDRESS: data go there. Each needs "
                             f"ssh without a password and python3; {','.join(transfers.GROUPS)}, by hoplite and a bare stream")
    parser.add_argument("--operation", choices=KINDS, default="broadcast", help="which one")
    parser.add_argument("--rate", default="100mbit", help="of each host's link in it, or `none`")
    parser.add_argument("--sizes", type=sizes, default=[MIB, 16 * MIB], help="of its objects: 1MiB,16MiB")
    parser.add_argument("--directory-with-source", action="store_true",
                        help="the directory shares the source's host and link instead of having its own")
    parser.add_argument("--minutes", type=float, help="curves: after so many no new one is begun")
    parser.add_argument("--largest", type=parse_size, default=64 * MIB, help="curves: no larger objects")
    parser.add_argument("--resume", action="store_true", help="curves: leave out those that NAME-curves.json has")
    parser.add_argument("--only", type=names(RUNTIME_PARTS), default=list(RUNTIME_PARTS),
                        help=f"runtimes: of {','.join(RUNTIME_PARTS)}")
    parser.add_argument("--beside", type=pathlib.Path, metavar="FOLDER",
                        help="build/release/bin of an older build: gets, broadcasts and reductions also by it, round by round; "
                             f"a round over {SLOWER} x its worst fails the run")
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "bench" / "results")
    parser.add_argument("--name", default=time.strftime("%Y%m%d-%H%M%S"), help="of the files written there")
    parser.add_argument("--programs", type=pathlib.Path, default=ROOT / "build" / "release" / "bin")
    parser.add_argument("--venv", type=pathlib.Path, default=ROOT / "build" / "bench-venv")
    parser.add_argument("--python", type=pathlib.Path, default=ROOT / "build" / "python-env" / "bin" / "python",
                        help="runtimes: the interpreter that the package is built for, with Ray")
    options = parser.parse_args()
    if options.beside and not (options.beside / "hoplite").exists():
        parser.error(f"--beside {options.beside}: there is no program hoplite")
    if options.ssh:
        allow_on_hosts(parser, options)
    options.reps = options.reps or (3 if options.quick else 5)
    options.cases = options.cases or options.named or [
        group for group in GROUPS if group not in NAMED_GROUPS and not (options.quick and group in SLOW_GROUPS)]
    options.peers = options.peers or (list(PEERS) if "curves" in options.cases else list(DEFAULT_PEERS))
    return options


def allow_on_hosts(parser, options):
    """The peers would have to be installed there, and most cases shape or cut links."""
    options.cases = options.cases or options.named or list(transfers.GROUPS)
    options.peers = options.peers or ["hoplite"]
    for chosen, allowed in ((options.cases, transfers.GROUPS), (options.peers, ("hoplite",))):
        for name in chosen:
            if name not in allowed:
                parser.error(f"--ssh: {name} is none of {', '.join(allowed)}")
    if len(options.ssh) < 2:
        parser.error("--ssh: two hosts at least")


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


class Run:
    """All groups of cases with what they measured."""

    def __init__(self, options, described, bed=None):
        """bed: makes the hosts; without it these are namespaces of this machine."""
        self._options = options
        self._described = described
        self.failures = []  # sentences
        peers = Peers(options)
        self._comparison = Comparison(peers, options.reps, self.failures, bed or hosts.Testbed)
        self._staggered = staggered.Staggered(options.programs, options.beside, options.reps, self.failures)
        self._costs = Costs(peers, options.reps, self.failures)
        self._spilling = Spilling(peers, options.reps, self.failures)
        self._members = Failures(peers, options.reps, self.failures)
        self._restarts = Restarts(options.programs, options.reps, self.failures)
        self._runtimes = Runtimes(peers, options.python, options.programs, options.reps, self.failures, options.quick,
                                  options.only, options.hosts)
        self._curves = Curves(peers, options.reps, self.failures, self._earlier_curves(), options.minutes,
                              options.quick, options.largest)

    def go(self):
        options, comparison = self._options, self._comparison
        if options.ssh:
            each(comparison.transfers, transfers.of_hosts(len(options.ssh), options.cases, options.quick))
            return
        if options.hosts and options.cases != ["runtimes"]:
            rate = None if options.rate == "none" else options.rate
            limits = {Operation(options.operation, size): None for size in options.sizes}
            comparison.transfers(Transfers(options.hosts, rate, limits))
            return
        groups = {
            "broadcast": lambda: each(comparison.transfers, transfers.broadcasts(options.quick)),
            "staggered": lambda: each(self._staggered.run, staggered.cases(options.quick)),
            "reduce": lambda: (each(comparison.transfers, transfers.reductions(options.quick)),
                               each(comparison.alone, transfers.reductions_at_once())),
            "allreduce": lambda: (each(comparison.transfers, transfers.allreduces(options.quick)),
                                  each(comparison.alone, transfers.allreduces_apart(options.quick))),
            "gather": lambda: each(comparison.transfers, transfers.gathers(options.quick)),
            "degree": lambda: each(comparison.degrees, transfers.degrees(options.quick)),
            "fast": lambda: (comparison.fast_link(), comparison.fast_reduce()),
            "latency": comparison.latency,
            "operation": lambda: (self._costs.run(), comparison.transfers(transfers.medium_round_trips())),
            "put": comparison.put,
            "spill": self._spilling.run,
            "waiting": comparison.waiting,
            "sim": lambda: each(lambda case: comparison.simulation(str(options.programs / "hoplite"), case),
                                simulated(options.quick)),
            "apart": lambda: each(comparison.around_a_pair, transfers.reductions_around_a_pair(options.quick)),
            "failures": self._members.run,
            "restart": self._restarts.run,
            "curves": self._curves.run,
            "runtimes": self._runtimes.run,
            "parts": lambda: comparison.parts([options.programs / source.stem for source in PARTS],
                                              seconds=0.05 if options.quick else 0.3),
        }
        for group in options.cases:
            groups[group]()

    def write(self):
        """What there is, also after an interruption."""
        groups = (self._comparison, self._costs, self._spilling, self._members, self._restarts, self._runtimes)
        rows = [row for group in groups for row in group.rows]
        parts, one_by_one = self._comparison.part_rows, self._staggered.results
        tables = [of(shown) for of, shown in ((report.comparison, rows), (report.staggered, one_by_one), (report.parts, parts))
                  if shown]
        if tables:
            self._save(self._options.name, "\n".join(tables), rows=rows, parts=parts, courses=curve_of_each(self._members.courses),
                       staggered={"results": [dataclasses.asdict(one) for one in one_by_one]},
                       timelines={"runs": [dataclasses.asdict(one) for one in self._runtimes.timelines]},
                       learning={"runs": [dataclasses.asdict(one) for one in self._runtimes.courses]})
        if self._curves.rows:
            self._save(curves_name(self._options), report.curves(self._curves.rows), curves=self._curves.rows)
        for failure in self.failures:
            print(f"failed: {failure}")

    def _save(self, name, tables, **members):
        folder = self._options.output
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.md").write_text(tables)
        document = folder / f"{name}.json"
        failures = [failure.replace(f"{ROOT}/", "") for failure in self.failures]
        document.write_text(report.as_json(self._described, failures, **members))
        print(tables)
        print(f"written to {folder}/{name}.*")
        try:
            print(processes.run([str(self._options.venv / "bin" / "python"), str(DRAW), str(document)]), end="")
        except processes.Failed as failure:
            print(f"not drawn: {failure}")

    def _earlier_curves(self):
        """Rows that an earlier run of this name has measured, if it is to be continued; what failed in it is kept."""
        path = self._options.output / f"{curves_name(self._options)}.json"
        if not self._options.resume or not path.exists():
            return []
        document = json.loads(path.read_text())
        was, now = document["environment"]["revision"], self._described["revision"]
        if was != now:
            sys.exit(f"{path} was measured with revision {was}, this is {now}: give another --name")
        self.failures += document["failures"]
        return [loaded(entry) for entry in document["curves"]]


def curves_name(options):
    return f"{options.name}-curves"


def curve_of_each(courses):
    """Of each kind and peer the course of median length, as JSON."""
    return {kind: {who: dataclasses.asdict(median(several).curve())
                   for who, several in of_peers.items() if any(several)}
            for kind, of_peers in courses.items()}


def each(run_case, cases):
    for case in cases:
        run_case(case)


@contextlib.contextmanager
def beds(options, described):
    """What makes the hosts of each case."""
    if not options.ssh:
        yield hosts.Testbed
        return
    with ssh_hosts.SshTestbed(options.ssh, options.programs) as bed:
        described["hosts"] = "; ".join(host.described for host in bed.hosts)
        described["clocks of hosts"] = f"compared before each case; times are good to {1e3 * bed.uncertain:.2f} ms"
        described["links"] = "those of the hosts; TCP as they have it"
        for name in ("hosts", "clocks of hosts"):
            print(f"{name}: {described[name]}", flush=True)
        yield lambda count, rate: bed.again()


def main():
    options = parse_options()
    hosts.end_on_signals()
    described = environment.describe(ROOT, options.venv, options.python)
    for name, value in described.items():
        print(f"{name}: {value}", flush=True)
    print()
    try:
        with beds(options, described) as bed:
            run = Run(options, described, bed)
            try:
                run.go()
            finally:
                run.write()
    except processes.Failed as failure:
        sys.exit(str(failure))
    except PermissionError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit("interrupted; the testbed is removed")
    if run.failures:
        sys.exit(1)


if __name__ == "__main__":
    main()
