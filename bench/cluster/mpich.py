"""MPICH as a peer: its ranks in the testbed's namespaces, with one of its network modules."""

import json
import os
import pathlib

import processes
from operations import Sample

HERE = pathlib.Path(__file__).parent
MODULES = {
    "ofi": {"MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "tcp"},
    "ucx": {"MPIR_CVAR_CH4_NETMOD": "ucx", "UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "eth0"},
}


def build(venv, output):
    """Compiles the MPI program with the compiler wrapper of the environment that holds MPICH."""
    program = output / "mpi_bcast"
    source = HERE / "mpi_bcast.cpp"
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        processes.run([str(venv / "bin" / "mpicxx"), "-std=c++20", "-O2", "-o", str(program), str(source)])
    return program


class Mpich:
    """Ranks spin while they wait, so nothing of MPICH stays running between its turns."""

    def __init__(self, venv, program, module):
        self.name = f"mpich {module}"
        self._mpiexec = venv / "bin" / "mpiexec.hydra"
        self._program = program
        self._variables = {"MPIR_CVAR_NOLOCAL": "1", **MODULES[module]}

    def start(self, bed):
        self._bed = bed

    def stop(self):
        pass

    def run(self, operations):
        """One start of all ranks, in which each operation runs once; a sample for each."""
        lines = self._launch([argument(operation) for operation in operations]).splitlines()
        if len(lines) != len(operations):
            raise processes.Failed(f"{self.name}: {len(lines)} answers to {len(operations)} operations")
        return [sample(operation, json.loads(line)) for operation, line in zip(operations, lines)]

    def _launch(self, arguments):
        bed = self._bed
        command = [str(self._mpiexec), "-launcher", "ssh", "-launcher-exec", str(HERE / "netns_shell.sh"),
                   "-localhost", bed.gateway, "-iface", bed.bridge,
                   "-hosts", ",".join(host.address for host in bed.hosts)]
        for name, value in self._variables.items():
            command += ["-genv", name, value]
        pairs = " ".join(f"{host.address}={host.name}" for host in bed.hosts)
        return processes.run([*command, "-n", str(len(bed.hosts)), str(self._program), *arguments],
                             env={**os.environ, "HOPLITE_BENCH_HOSTS": pairs})


def argument(operation):
    step = f":{round(operation.step * 1e6)}" if operation.step else ""
    return f"{operation.kind}:{operation.size}{step}"


def sample(operation, line):
    """A point-to-point transfer begins when the sender sends; a broadcast when each rank joins it."""
    if operation.kind == "point_to_point":
        return Sample(line["begins"][:1], line["ends"][1:2])
    return Sample(line["begins"][1:], line["ends"][1:])
