"""Plans of the kinds of rounds that have calls and faults of their own. As pure as plan.py."""

import random

from plan import NODES, PATIENT, Call, Content, Fault, Plan

MANY = 10_000
BRIEF_MANY = 1_000
MANY_TIMEOUT = 60.0
LARGE = 300_001


def plan_of(shape, seed, round_number, brief):
    chance = random.Random(f"{shape.kind.name} {seed} {round_number} {brief}")
    maker = {"many": _many, "stopped": _stopped}[shape.kind.name]
    calls, faults = maker(chance, shape, f"{seed}-{round_number}", brief)
    return Plan(seed, round_number, shape, tuple(sorted(calls, key=lambda call: call.at)),
                tuple(sorted(faults, key=lambda fault: fault.at)))


def _many(chance, shape, name, brief):
    """Thousands of small objects are put, and got elsewhere, while a shard is killed and comes back."""
    count = BRIEF_MANY if brief else MANY
    size = chance.choice((16, 16, 1000))
    nodes = chance.sample(range(1, NODES + 1), 3)
    calls = [Call(0, 0.0, "put_many", nodes[0], name, MANY_TIMEOUT, count=count, size=size)]
    calls += [Call(number, chance.uniform(0.0, 1.0), "get_many", node, name, MANY_TIMEOUT, count=count, size=size)
              for number, node in enumerate(nodes[1:], 1)]
    faults = [Fault(chance.uniform(0.2, 2.0), "kill", shard=chance.randrange(shape.shards),
                    lasts=chance.uniform(0.1, 1.5))]
    return calls, faults


def _stopped(chance, _shape, name, _brief):
    """Workers of a node that is stopped have deadlines, some shorter than the stop; a put that lives elsewhere can be
    had by all others."""
    victim, other, third = chance.sample(range(1, NODES + 1), 3)
    begin, lasts = 0.5, chance.uniform(1.0, 4.0)
    calls = [Call(0, 0.0, "put", other, f"{name}-0", PATIENT, content=Content(f"{name}-0", LARGE))]
    for _ in range(chance.choice((3, 5, 8))):
        kind = chance.choice(("put", "get", "get", "delete"))
        number, at = len(calls), chance.uniform(0.3, begin + lasts)
        thing = f"{name}-{number}" if kind != "get" else f"{name}-0"
        content = Content(thing, chance.choice((1000, LARGE))) if kind == "put" else None
        calls.append(Call(number, at, kind, victim, thing, chance.choice((0.2, 0.5, 1.0)), content=content))
    calls.append(Call(len(calls), chance.uniform(0.6, 1.5), "get", third, f"{name}-0", PATIENT))
    return calls, [Fault(begin, "stop", node=victim, lasts=lasts)]
