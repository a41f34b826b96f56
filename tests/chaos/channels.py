"""Rounds of a channel on real processes whose publisher, nodes and directory are killed and stopped.

Three nodes and a directory; readers on two nodes follow a channel, a publisher on the first is followed by a successor on
the second. Complaints: a value of two versions; a reader that steps back; a publish that is acknowledged after the successor
heard that it is the publisher; somebody who never ends. Each round draws one fault. Needs the Python package.

  channels.py --rounds 300 --seed 1
"""

import argparse
import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

PATIENCE = 60.0  # seconds for anything that takes one on an idle machine
LAST = 40  # versions of the successor
ELEMENTS = 20_000  # of each layer: beyond what the directory keeps
FAULTS = ("none", "kill", "kill in publish", "stop", "stop, restart", "kill node", "restart", "restart at take-over",
          "stop directory", "stop reader", "two restarts")


class Trouble(Exception):
    """What must not happen."""


# --- the programs of the round, each a process of its own

def say(**words):
    print(json.dumps({"at": time.monotonic(), **words}), flush=True)


def layers(publisher, version):
    import numpy as np
    value = float(publisher * 1_000_000 + version)
    sparse = np.zeros(2 * ELEMENTS)  # little of it changes, so patches are sent
    sparse[version % 10::ELEMENTS] = value
    return {"w": np.full(ELEMENTS, value), "b": np.full(3, value), "s": sparse}


def publish(socket, name, publisher, first, last):
    """Claims the channel, and publishes until it is told to end, or has published the last version."""
    import hoplite
    channel = hoplite.connect(socket).channel(name, take_over=True, timeout=PATIENCE, deltas=True)
    say(publisher=publisher)
    try:
        for version in range(first, last + 1):
            channel.publish(layers(publisher, version), version=version, timeout=PATIENCE)
            say(published=version)
    except hoplite.ConflictError:
        return say(fenced=True)
    except hoplite.UnavailableError as error:
        return say(cut_off=str(error))
    sys.stdin.readline()


def follow(socket, name, last):
    """Reads until it has the successor's last version."""
    import hoplite

    async def read():
        channel = hoplite.connect(socket).channel(name, timeout=PATIENCE)
        async for weights in channel.updates(wait_for_successor=True):
            values = set(weights["w"]) | set(weights["b"]) | set(weights["s"][weights["s"] > 0])
            say(read=weights.version, values=sorted(map(int, values)))
            if int(weights["b"][0]) == 2_000_000 + last:
                return

    asyncio.run(read())


# --- the round

class Program:
    """A process of this program, and what it has said."""

    def __init__(self, role, *arguments):
        self._process = subprocess.Popen([sys.executable, "-B", __file__, "--role", role, *map(str, arguments)],
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.said = []
        self._silent = False  # it has closed its output
        self._news = threading.Condition()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        for line in self._process.stdout:
            with self._news:
                self.said.append(json.loads(line))
                self._news.notify_all()
        with self._news:
            self._silent = True
            self._news.notify_all()

    def until(self, what, says):
        with self._news:
            came = lambda: any(says(words) for words in self.said)
            self._news.wait_for(lambda: came() or self._silent, PATIENCE)
            if not came():
                raise Trouble(f"{what} never came; it said last: {self.said[-3:]}")

    def ends_well(self, what):
        try:
            code = self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise Trouble(f"{what} never ends; it said last: {self.said[-3:]}") from None
        if code != 0:
            raise Trouble(f"{what} ended with {code}; it said last: {self.said[-3:]}")

    def send(self, number):
        self._process.send_signal(number)

    def close(self):
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGCONT)
            self._process.kill()
        self._process.wait()


class Member:
    """A directory or a node."""

    def __init__(self, program, *arguments):
        self._command = [program, *arguments, "--json", "--exit-with-parent"]
        self.start()

    def start(self):
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.ready = json.loads(self._process.stdout.readline())

    def listen_there(self):
        """Its next life listens where this one does."""
        self._command = [f"--listen={self.ready['address']}" if word.startswith("--listen") else word
                         for word in self._command]

    def send(self, number):
        self._process.send_signal(number)

    def kill(self):
        self._process.kill()
        self._process.wait()
        self._process.stdout.close()


class Cluster:
    def __init__(self, program, folder):
        self.directory = Member(program, "directory", "--listen=127.0.0.1:0")
        self.directory.listen_there()
        self._program, self._folder = program, folder
        self.nodes = [self.node(index) for index in range(3)]

    def socket(self, index):
        return os.path.join(self._folder, f"n{index}.sock")

    def node(self, index):
        return Member(self._program, "node", "--listen=127.0.0.1:0", f"--directory={self.directory.ready['address']}",
                      f"--socket={self.socket(index)}", "--memory=64MiB", f"--name=n{index}")

    def restart_directory(self):
        self.directory.kill()
        self.directory.start()

    def revive(self, index):
        self.nodes[index].kill()
        self.nodes[index] = self.node(index)

    def close(self):
        for member in (*self.nodes, self.directory):
            member.kill()


def before_take_over(fault, drawn, cluster, first, readers):
    """What befalls the first publisher. Whether its process goes on."""
    if fault == "kill in publish":
        time.sleep(drawn.uniform(0, 0.05))
    if fault.startswith("kill") and fault != "kill node":
        first.send(signal.SIGKILL)
    if fault.startswith("stop") and fault not in ("stop directory", "stop reader"):
        first.send(signal.SIGSTOP)
    if fault == "kill node":
        cluster.nodes[0].kill()
    if fault == "stop reader":
        readers[0].send(signal.SIGSTOP)
    if fault in ("restart", "two restarts"):
        cluster.restart_directory()
    if fault == "two restarts":
        time.sleep(drawn.uniform(0, 3))
        cluster.restart_directory()
    if fault == "stop directory":
        cluster.directory.send(signal.SIGSTOP)
        threading.Timer(drawn.uniform(0.1, 2.5), lambda: cluster.directory.send(signal.SIGCONT)).start()


def after_take_over(fault, cluster, first, readers):
    if fault == "stop, restart":
        cluster.restart_directory()
    if fault in ("stop", "stop, restart"):
        first.send(signal.SIGCONT)
        first.until("the end of the first publisher", lambda words: "fenced" in words or "cut_off" in words)
    if fault == "stop reader":
        readers[0].send(signal.SIGCONT)


def play(cluster, number, fault, drawn):
    name = f"channel {number}"
    readers = [Program("follow", cluster.socket(index), name, LAST) for index in (1, 2)]
    first = Program("publish", cluster.socket(0), name, 1, 1, 1_000_000)
    programs = [*readers, first]
    try:
        begun = drawn.randint(1, 5)
        first.until("the first version", lambda words: words.get("published", 0) >= begun)
        before_take_over(fault, drawn, cluster, first, readers)
        second = Program("publish", cluster.socket(1), name, 2, 1, LAST)
        programs.append(second)
        if fault == "restart at take-over":
            time.sleep(drawn.uniform(0, 0.3))
            cluster.restart_directory()
        second.until("the take-over", lambda words: "publisher" in words)
        after_take_over(fault, cluster, first, readers)
        second.until("the last version", lambda words: words.get("published") == LAST)
        for reader in readers:
            reader.ends_well("a reader")
        judge(first, second, readers)
    finally:
        for program in programs:
            program.close()
        if fault == "kill node":
            cluster.revive(0)


def judge(first, second, readers):
    """Raises what is wrong with what they said."""
    took_over = next(words["at"] for words in second.said if "publisher" in words)
    # The moment is that at which the program wrote it: a little after the answer came.
    late = [words for words in first.said if "published" in words and words["at"] > took_over + 0.2]
    if late:
        raise Trouble(f"a publish was acknowledged {late[0]['at'] - took_over:.3f} s after the take-over")
    for reader in readers:
        seen = [words for words in reader.said if "read" in words]
        for words in seen:
            if len(words["values"]) != 1 or words["values"][0] % 1_000_000 != words["read"]:
                raise Trouble(f"version {words['read']} has the elements {words['values']}")
        values = [words["values"][0] for words in seen]
        if values != sorted(set(values)):
            raise Trouble(f"a reader stepped back: {values}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=len(FAULTS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--hoplite", default="build/release/bin/hoplite", help="the program")
    options = parser.parse_args()
    complaints = 0
    with tempfile.TemporaryDirectory() as folder:
        cluster = Cluster(options.hoplite, folder)
        try:
            for number in range(options.rounds):
                drawn = random.Random(f"{options.seed} {number}")
                fault = FAULTS[number % len(FAULTS)]
                begin = time.monotonic()
                try:
                    play(cluster, number, fault, drawn)
                except Trouble as trouble:
                    complaints += 1
                    print(f"round {number}, {fault}: {trouble}", flush=True)
                print(f"round {number}: {fault}, {time.monotonic() - begin:.1f} s", flush=True)
        finally:
            cluster.close()
    print(f"{options.rounds} rounds, {complaints} complaints")
    return 1 if complaints else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--role"]:
        role, *arguments = sys.argv[2:]
        if role == "publish":
            publish(*arguments[:2], *map(int, arguments[2:]))
        else:
            follow(*arguments[:2], int(arguments[2]))
    else:
        sys.exit(main())
