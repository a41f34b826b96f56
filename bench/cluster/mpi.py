"""MPICH and Open MPI as peers: their ranks in the testbed's namespaces.

Ranks spin while they wait, so nothing of them stays running between their turns.
"""

import json
import os
import pathlib
import shutil

import processes
from operations import of_ranks

HERE = pathlib.Path(__file__).parent
# MPICH's network modules, each a peer.
MODULES = {
    "ofi": {"MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "tcp"},
    "ucx": {"MPIR_CVAR_CH4_NETMOD": "ucx", "UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "eth0"},
}


def build(compiler, program):
    """Compiles the MPI program with the compiler wrapper of one MPI."""
    source = HERE / "mpi_driver.cpp"
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
        lines = self._launch([argument(operation) for operation in operations]).splitlines()
        if len(lines) != len(operations):
            raise processes.Failed(f"{self.name}: {len(lines)} answers to {len(operations)} operations")
        moments = [json.loads(line) for line in lines]
        return [of_ranks(operation, one["begins"], one["ends"]) for operation, one in zip(operations, moments)]

    def _launch(self, arguments):
        pairs = " ".join(f"{host.address}={host.name}" for host in self._bed.hosts)
        return processes.run([*self.launcher(self._bed), *arguments],
                             env={**os.environ, "HOPLITE_BENCH_HOSTS": pairs})


class Mpich(Ranks):
    def __init__(self, venv, module):
        self.name = f"mpich {module}"
        self._mpiexec = venv / "bin" / "mpiexec.hydra"
        self._program = build(venv / "bin" / "mpicxx", venv.parent / "mpi_driver.mpich")
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
        self._program = build(shutil.which(self.COMPILER), output / "mpi_driver.openmpi")

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
    delay = operation.step or operation.late
    return f"{operation.kind}:{operation.size}" + (f":{round(delay * 1e6)}" if delay else "")
