"""Arrays of a Dask program by hoplite:// and by Dask's TCP: workers on hosts with links of their own.

    sudo python3 bench/cluster/dask_arrays.py --python build/python-env/bin/python

S/B is one bare stream of the same bytes. Each round runs both, in turn; the scheduler and the program are on a host of their own. The last line is the
longest step of the event loops of a sender and a reader of 256 MiB, in time of their threads: other programs do not count.
"""

import argparse
import contextlib
import os
import pathlib
import statistics
import tempfile

import hosts
from bare import Bare
from operations import Operation, format_rate, format_size, parse_size
from processes import Agent, Failed, end
from transfers import MIB

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).parent
PORT = 9786  # and the next one
ENTRY_POINT = "[distributed.comm.backends]\nhoplite = hoplite.dask._comm:Backend\n"
STARTING = 120.0  # seconds until all workers are there
WAYS = ("tcp", "hoplite")


@contextlib.contextmanager
def program(bed, way, python, package, folder):
    """An agent (dask_driver.py) with a worker on each host, by that scheme."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(package), str(folder)])}
    address = f"{way}://{bed.control.address}:{PORT + WAYS.index(way)}"
    shared = ["--protocol", way, "--no-dashboard"]
    agent = Agent(bed.control.command(python, HERE / "dask_driver.py", address, len(bed.hosts)), env=environment)
    started = []
    with (folder / f"{way}.log").open("w") as log:
        def start(host, module, *words):
            command = host.command(python, "-m", f"distributed.cli.{module}", *words, "--host", host.address, *shared)
            started.append(Agent(command, log=log, env=environment).process)
        try:
            start(bed.control, "dask_scheduler", "--port", PORT + WAYS.index(way))
            for number, host in enumerate(bed.hosts):
                start(host, "dask_worker", address, "--nthreads", 1, "--no-nanny", "--name", number,
                      "--local-directory", folder / f"{way}-{number}")
            agent.ask("join", timeout=STARTING)
            yield agent
        except Failed:
            print((folder / f"{way}.log").read_text(errors="replace")[-2000:])
            raise
        finally:
            agent.close()
            for process in started:
                end(process)


def bare_seconds(bed, programs, size):
    bare = Bare(programs / "cluster_bare")
    try:
        bare.start(bed)
        return statistics.median(bare.run([Operation("broadcast", size)])[0].seconds(False) for _ in range(3))
    finally:
        bare.stop()


def parse_options():
    parser = argparse.ArgumentParser(prog="dask_arrays.py", description=__doc__.splitlines()[0])
    parser.add_argument("--hosts", type=int, default=4)
    parser.add_argument("--rate", default="100mbit", help="of each host's link")
    parser.add_argument("--size", type=parse_size, default=16 * MIB, help="of an array")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--python", type=pathlib.Path, default=ROOT / "build/python-env/bin/python", help="has Dask")
    parser.add_argument("--programs", type=pathlib.Path, default=ROOT / "build" / "release" / "bin")
    return parser.parse_args()


def main():
    options = parse_options()
    hosts.end_on_signals()
    with tempfile.TemporaryDirectory() as name, hosts.Testbed(options.hosts, options.rate) as bed, contextlib.ExitStack() as stack:
        folder = pathlib.Path(name)
        info = folder / "hoplite-0.dist-info"  # else workers do not find the scheme
        info.mkdir()
        (info / "entry_points.txt").write_text(ENTRY_POINT)
        once = bare_seconds(bed, options.programs, options.size)
        print(f"{format_size(options.size)}, {options.hosts} hosts x {format_rate(options.rate)}: S/B {once:.3f} s")
        package = options.programs.absolute().parent / "python"
        agents = {way: stack.enter_context(program(bed, way, options.python.absolute(), package, folder)) for way in WAYS}
        for case in ("broadcast", "reduce"):
            times = {way: [] for way in WAYS}
            for _ in range(options.rounds):
                for way, agent in agents.items():
                    times[way].append(agent.ask(case, options.size)["seconds"])
            for way, values in times.items():
                middle = statistics.median(values)
                print(f"{case}, {way}: {middle:.3f} s, {middle / once:.3f} x S/B; {min(values):.3f} to {max(values):.3f} s", flush=True)
        for way, agent in agents.items():
            print(f"longest step of an event loop, {way}: {1e3 * agent.ask('steps', 256 * MIB)['seconds']:.0f} ms", flush=True)


if __name__ == "__main__":
    main()
