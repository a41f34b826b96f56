"""Synchronous data-parallel training between hosts: a step of PyTorch's DDP by Hoplite and by Gloo, and MPICH's allreduce of
as many bytes."""

import contextlib
import itertools
import os
import pathlib
import tempfile

from members import cluster
from operations import Operation
from processes import Agent, Failed
from rounds import Rounds, say
from rows import Goal, Row
from transfers import MIB

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]
OURS, GLOO = "hoplite", "gloo"
# Network of sync_sgd -> bytes of its gradients, and how much longer than by Gloo a step may take.
MODELS = {"vgg16": (17_294_692, 1.05), "alexnet": (7_637_604, 1.05), "resnet50": (3_194_628, 1.15)}
MEMORY = 256 * MIB  # of each node: the buckets of two steps, and what is made of them
JOINING = 180.0  # seconds; the ranks import PyTorch on the cores that they share
TRAINING = 600.0  # seconds of all steps of one turn
PORTS = itertools.count(29600)


class Ranks:
    """A Hoplite node and a rank on each host; starts once, whoever asks first. python: the interpreter with PyTorch;
    package: the folder that the package hoplite is in; program: `hoplite`."""

    def __init__(self, python, package, program):
        self._python = python
        self._package = package
        self._program = program
        self._ranks = []
        self._stack = None

    def start(self, bed):
        if self._ranks:
            return
        with contextlib.ExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="sg", dir="/tmp"))  # a socket's path has little room
            nodes = stack.enter_context(cluster(bed, self._program, MEMORY, folder))
            ranks = [stack.enter_context(contextlib.closing(self._rank(host, node))) for host, node in zip(bed.hosts, nodes)]
            port = next(PORTS)
            ask_all(ranks, JOINING, lambda number: ("join", number, len(ranks), bed.hosts[0].address, port))
            self._stack, self._ranks = stack.pop_all(), ranks

    def stop(self):
        if self._stack is not None:
            self._stack.close()
        self._stack, self._ranks = None, []

    def train(self, backend, model, steps):
        """The answers of all ranks."""
        return ask_all(self._ranks, TRAINING, lambda _: ("train", backend, model, steps))

    def _rank(self, host, node):
        path = os.pathsep.join(map(str, (self._package, ROOT / "examples" / "workloads")))
        environment = {**os.environ, "PYTHONPATH": path, "GLOO_SOCKET_IFNAME": "eth0", "HOPLITE_SOCKET": str(node.socket)}
        return Agent(host.command(self._python, HERE / "ddp_rank.py"), env=environment)


def ask_all(agents, timeout, words):
    """words: of an agent's number, what it is told. Their answers, when all have been told."""
    for number, agent in enumerate(agents):
        agent.tell(*words(number))
    return [agent.answer(timeout) for agent in agents]


class Ddp:
    """A peer of the rounds: DDP by that back end."""

    def __init__(self, backend, ranks):
        self.name = backend
        self._ranks = ranks
        self._bed = None

    def start(self, bed):
        self._bed = bed
        self._ranks.start(bed)

    def stop(self):
        self._ranks.stop()

    def train(self, model, steps):
        """(Seconds of each step, until its last rank has it; the part of the step that it computes; the loss.)"""
        self._ranks.start(self._bed)  # the other back end may have failed, and have ended them
        answers = self._ranks.train(self.name, model, steps)
        hashes = {found for answer in answers for found in answer["hashes"]}
        if len(hashes) != 1:
            raise Failed(f"{model}, {self.name}: the ranks have different weights: {' '.join(sorted(hashes))}")
        slowest = [max(several) for several in zip(*(answer["times"] for answer in answers))]
        return [nanoseconds / 1e9 for nanoseconds in slowest], answers[0]["computing"], answers[0]["loss"]


class Synchronous:
    """Runs the cases and has their rows. mpich: peers with ranks; ranks: Ranks; failures: sentences."""

    def __init__(self, mpich, ranks, links, with_goals, failures):
        self._mpich = mpich
        self._ways = [Ddp(GLOO, ranks), Ddp(OURS, ranks)]
        self._links = links
        self._with_goals = with_goals
        self._failures = failures
        self.rows = []

    def run(self, bed, models, repetitions, steps):
        cases = {model: self._rows(model) for model in models}
        self.rows += [row for rows in cases.values() for row in rows]
        with Rounds(bed, [*self._ways, *self._mpich], self._failures) as rounds:
            for number in range(1, repetitions + 1):
                for model, rows in cases.items():
                    say(f"  round {number} of {repetitions}: {model}")
                    self._round(rounds, model, steps, *rows)

    def _round(self, rounds, model, steps, step, computing, losses):
        found = {}
        for way in self._ways:
            seconds, part, found[way] = rounds.guarded(way, lambda: way.train(model, steps)) or (None, None, None)
            step.add_steps(way.name, seconds)
            computing.add(way.name, part and 100 * part)
        if None not in found.values():
            gloo, ours = found.values()
            losses.add(OURS, abs(ours - gloo))
        for peer in self._mpich:
            samples = rounds.guarded(peer, lambda: peer.run([Operation("allreduce", MODELS[model][0])]))
            step.add(f"{peer.name}, the allreduce alone", samples[0].seconds(False) if samples else None)

    def _rows(self, model):
        size, limit = MODELS[model]
        case = f"DDP, {model} / 32: gradients of {size / MIB:.1f} MiB, {self._links}"
        return (Row(f"{case}, a step", "s", reference=GLOO,
                    goals=self._goals(Goal(f"at most {limit} x gloo", OURS, limit, against=GLOO))),
                Row(f"{case}: the part of a step that it computes", "%"),
                Row(f"{case}: how far its loss is from Gloo's", "",
                    goals=self._goals(Goal("at most 1e-4", OURS, 1e-4))))

    def _goals(self, *goals):
        return list(goals) if self._with_goals else []
