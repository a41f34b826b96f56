"""A cluster for clients of this process: the directory at the testbed's control host, a node on each of the others."""

import contextlib
import json
import subprocess

import hoplite


def started(command):
    """A member that says when it is ready, and what it said."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    return process, json.loads(process.stdout.readline())


@contextlib.contextmanager
def cluster(bed, program, memory, folder, words=lambda number: ()):
    """One client of a node on each host; words: what else the node of that number is told."""
    processes, clients = [], []
    try:
        directory, ready = started(bed.control.command(program, "directory", "--insecure",
                                                       f"--listen={bed.control.address}:0", "--recovery-window=0",
                                                       "--json"))
        processes.append(directory)
        for number, host in enumerate(bed.hosts):
            socket = f"{folder}/{number}.sock"
            node, _ = started(host.command(program, "node", "--insecure", f"--listen={host.address}:0",
                                           f"--memory={memory}", f"--directory={ready['address']}", f"--socket={socket}", "--json",
                                           *words(number)))
            processes.append(node)
            clients.append(hoplite.connect(socket))
        yield clients
    finally:
        for client in clients:
            client.close()
        for process in reversed(processes):
            process.kill()
            process.wait()
