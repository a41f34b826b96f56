"""MPICH and Open MPI as peers: their ranks in the testbed's namespaces.

Ranks spin while they wait, so nothing of them stays running between their turns.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess

import jobs
import processes
from operations import of_ranks

HERE = pathlib.Path(__file__).parent
PROGRAM = "mpi_driver"
# MPICH's network modules, each a peer.
MODULES = {
    "ofi": {"MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "tcp"},
    "ucx": {"MPIR_CVAR_CH4_NETMOD": "ucx", "UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "eth0"},
}


def build(compiler, program):
    """Compiles the MPI program with the compiler wrapper of one MPI."""
    source = HERE / f"{PROGRAM}.cpp"
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        processes.run([str(compiler), "-std=c++20", "-O2", "-o", str(program), str(source)])
    return program


class Ranks:
    """One start of all ranks for each round."""

    def start(self, bed):
        self._bed = bed

    def stop(self):
        pass

    def run(self, operations):
        """Each operation runs once; a sample for each."""
        command, environment = self._job(self._bed, operations)
        lines = [json.loads(line) for line in processes.run(command, env=environment).splitlines()]
        moments = [line for line in lines if "ends" in line]
        if len(moments) != len(operations):
            raise processes.Failed(f"{self.name}: {len(moments)} answers to {len(operations)} operations")
        return [of_ranks(operation, one["begins"], one["ends"]) for operation, one in zip(operations, moments)]

    def killed(self, bed, operation, delay):
        """The course of an operation of which one rank is killed that much later than it began."""
        command, environment = self._job(bed, [operation])
        job = processes.Agent(command, subprocess.DEVNULL, env=environment)
        try:
            begin = job.answer()["moment"]
            return jobs.watch(bed, operation, begin, delay, lambda number: bed.hosts[number].kill(PROGRAM),
                              lambda: job.process.poll() is not None)
        finally:
            job.signal(signal.SIGKILL)
            job.close()
            for host in bed.hosts:
                host.kill()  # ends ranks that go on nevertheless

    def _job(self, bed, operations):
        """The command line and environment of a job that runs them one after another."""
        pairs = " ".join(f"{host.address}={host.name}" for host in bed.hosts)
        return ([*self.launcher(bed), *map(argument, operations)],
                {**os.environ, "HOPLITE_BENCH_HOSTS": pairs})


class Mpich(Ranks):
    def __init__(self, venv, module):
        self.name = f"mpich {module}"
        self._mpiexec = venv / "bin" / "mpiexec.hydra"
        self._program = build(venv / "bin" / "mpicxx", venv.parent / f"{PROGRAM}.mpich")
        self._variables = {"MPIR_CVAR_NOLOCAL": "1", **MODULES[module]}

    def launcher(self, bed):
        command = [str(self._mpiexec), "-launcher", "ssh", "-launcher-exec", str(HERE / "netns_shell.sh"),
                   "-localhost", bed.gateway, "-iface", bed.bridge,
                   "-hosts", ",".join(host.address for host in bed.hosts)]
        for name, value in self._variables.items():
            command += ["-genv", name, value]
        return [*command, "-n", str(len(bed.hosts)), str(self._program)]


class OpenMpi(Ranks):
    name = "openmpi"
    MPIRUN, COMPILER = "mpirun.openmpi", "mpicxx.openmpi"

    def __init__(self, output):
        self._program = build(shutil.which(self.COMPILER), output / f"{PROGRAM}.openmpi")

    def launcher(self, bed):
        network = bed.gateway.rsplit(".", 1)[0] + ".0/24"
        settings = {"plm": "rsh", "plm_rsh_agent": str(HERE / "netns_shell.sh"), "plm_rsh_no_tree_spawn": "1",
                    "pml": "ob1", "btl": "tcp,self", "btl_tcp_if_include": network,
                    "oob_tcp_if_include": network, "orte_keep_fqdn_hostnames": "1"}
        command = [self.MPIRUN, "--allow-run-as-root", "--bind-to", "none",
                   "--host", ",".join(f"{host.address}:1" for host in bed.hosts)]
        for name, value in settings.items():
            command += ["--mca", name, value]
        return [*command, "-np", str(len(bed.hosts)), str(self._program)]


def argument(operation):
    if operation.kind == "round_trip":
        return f"{operation.kind}:{operation.size}:{operation.times}"
    delay = operation.step or operation.late
    return f"{operation.kind}:{operation.size}" + (f":{round(delay * 1e6)}" if delay else "")
