"""A cluster on a testbed: the directory on the control host or another one, a node on each of the others."""

import contextlib
import dataclasses
import pathlib
import signal

from processes import Agent, run

# Role -> what a member of it is told of its security.
PLAIN = {"directory": ["--insecure"], "node": ["--insecure"]}


def plain(program):
    """The same for members of that build: older ones have no such option."""
    return PLAIN if "--insecure" in run([str(program), "node", "--help"]) else dict.fromkeys(PLAIN, ())


@dataclasses.dataclass(frozen=True)
class Node:
    pid: int
    socket: pathlib.Path  # where its clients connect


class Nodes(list):
    """In the order of the hosts."""

    def __init__(self, directory):
        super().__init__()
        self.directory = directory  # the number of its process


@contextlib.contextmanager
def cluster(bed, program, memory, folder, words=lambda number: (), security=PLAIN, place=None):
    """The nodes, in the order of the hosts; processes.Failed if a member does not start.

    program: `hoplite`; memory: bytes of each node; folder: of the sockets; words: what else the node of that number is told;
    place: the host of the directory, if it is another one than the control host."""
    with contextlib.ExitStack() as stack:
        def start(host, role, *options):
            command = host.command(program, role, f"--listen={host.address}:0", "--json", *security[role], *options)
            return stack.enter_context(started(command))

        pid, ready = start(place or bed.control, "directory", "--recovery-window=0")
        nodes = Nodes(pid)
        for number, host in enumerate(bed.hosts):
            socket = pathlib.Path(folder, f"{number}.sock")
            pid, _ = start(host, "node", f"--directory={ready['address']}", f"--name={host.name}", f"--memory={memory}",
                           f"--socket={socket}", *words(number))
            nodes.append(Node(pid, socket))
        yield nodes


@contextlib.contextmanager
def started(command):
    """The number of a member's process, and what it said when it was ready."""
    member = Agent(command)
    try:
        ready = member.answer()
        yield member.process.pid, ready  # `ip netns exec` has become the member
    finally:
        member.signal(signal.SIGKILL)
        member.close()


@contextlib.contextmanager
def connected(nodes):
    """A client of each node, in this process."""
    import hoplite  # noqa: PLC0415 - clusters whose clients are other programs need no package

    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(hoplite.connect(str(node.socket))) for node in nodes]
