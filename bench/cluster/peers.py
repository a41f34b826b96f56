"""The peers, each in one place: how it is installed, made, named and drawn.

To add one: a class with `name`, `start`, `stop`, `run` and `killed` (as in gloo.py), and an entry in PEERS. All else, options,
tables, figures and the README's picture, takes its list from here. `peers.py VENV ARGUMENT...` installs those that the
arguments of bench.sh ask for.
"""

import collections.abc
import dataclasses
import pathlib
import shutil
import subprocess
import sys

import mpi
from gloo import Gloo

MPICH, TORCH = "5.0.2", "2.13.0"


@dataclasses.dataclass(frozen=True)
class Peer:
    title: str  # in the README's picture
    looks: dict[str, tuple[str, str]]  # of each of its series: colour, marker
    make: collections.abc.Callable[[pathlib.Path], list]  # of the peers' environment
    version: collections.abc.Callable[[pathlib.Path], tuple]  # the command that says it, in that environment
    install: tuple[str, ...]  # pip's or apt-get's packages
    by: str = "pip"
    is_there: collections.abc.Callable[[pathlib.Path], bool] = lambda _: False
    usual: bool = False  # measured unless --peers says otherwise; the others are large to install
    needs: str = ""  # in the list of versions


def imports_torch(venv):
    return subprocess.run([venv / "bin" / "python", "-c", "import torch"], capture_output=True).returncode == 0


PEERS = {
    "mpich": Peer(
        title="MPICH", looks={"mpich ofi": ("#e69f00", "s"), "mpich ucx": ("#d55e00", "D")},
        make=lambda venv: [mpi.Mpich(venv, module) for module in mpi.MODULES],
        version=lambda venv: (venv / "bin" / "mpichversion",),
        install=(f"mpich=={MPICH}",), is_there=lambda venv: (venv / "bin" / "mpichversion").exists(), usual=True),
    "gloo": Peer(
        title="Gloo", looks={"gloo": ("#009e73", "^")}, make=lambda venv: [Gloo(venv)],
        version=lambda venv: (venv / "bin" / "python", "-c", "import torch; print(torch.__version__)"),
        install=(f"torch=={TORCH}", "numpy"), is_there=imports_torch, needs="torch"),
    "openmpi": Peer(
        title="Open MPI", looks={"openmpi": ("#cc79a7", "v")}, make=lambda venv: [mpi.OpenMpi(venv.parent)],
        version=lambda _: ("mpirun.openmpi", "--version"),
        install=("openmpi-bin", "libopenmpi-dev"), by="apt-get", is_there=lambda _: bool(shutil.which("mpirun.openmpi"))),
}
SERIES = tuple(series for peer in PEERS.values() for series in peer.looks)
LOOKS = {series: look for peer in PEERS.values() for series, look in peer.looks.items()}


def made(names, venv):
    """Those of these names, in the order of PEERS."""
    return [one for name, peer in PEERS.items() if name in names for one in peer.make(venv)]


def versions(venv):
    """Name -> the command that says it."""
    return {f"{peer.needs} ({peer.title})" if peer.needs else peer.title: [str(word) for word in peer.version(venv)]
            for peer in PEERS.values()}


def asked_for(arguments):
    """Names, of the command line of bench.sh: what --peers lists; all for the curves; else the usual ones."""
    for option, value in zip(arguments, [*arguments[1:], ""]):
        if option == "--peers" or option.startswith("--peers="):
            chosen = option.partition("=")[2] or value
            return [name for name in PEERS if name in chosen.split(",")]
    every = any("curves" in argument.split(",") for argument in arguments)
    return [name for name, peer in PEERS.items() if every or peer.usual]


def install(venv, name):
    peer = PEERS[name]
    if peer.is_there(venv):
        return
    print(f"bench.sh: installing {' '.join(peer.install)}", file=sys.stderr)
    commands = {"pip": [venv / "bin" / "pip", "install", "--quiet"],
                "apt-get": ["apt-get", "install", "-y", "-qq", "--no-install-recommends"]}
    subprocess.run([*commands[peer.by], *peer.install], check=True, stdout=sys.stderr)


if __name__ == "__main__":
    for wanted in asked_for(sys.argv[2:]):
        install(pathlib.Path(sys.argv[1]), wanted)
