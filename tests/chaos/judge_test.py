"""The judge of chaos must see what is planted, and let what is right pass."""

import dataclasses
import struct
import unittest

import model
from kinds import ALL, PLAIN, kind_of
from model import Ending, Judge
from plan import Call, Content, Fault, Plan, Shape, Sum, plan_of

LARGE = 100_000


def put(number, node=1, thing="x", **more):
    content = more.pop("content", Content(thing, LARGE))
    return Call(number, 0.0, "put", node, thing, 10.0, content=content, **more)


def get(number, node=2, thing="x", timeout=10.0):
    return Call(number, 0.0, "get", node, thing, timeout)


def ok(data=None, ended=1.0, **more):
    return Ending(0.0, ended, 0, data=data, **more)


def failed(error, ended=1.0):
    return Ending(0.0, ended, 1, error)


class Judging(unittest.TestCase):
    def complaints(self, calls, endings, *faults):
        plan = Plan(1, 0, Shape(1, 0), tuple(calls), faults)
        hits = [(fault, fault.at, fault.at + fault.lasts) for fault in faults]
        return Judge(plan, hits).complaints(dict(enumerate(endings)))

    def good(self, *arguments):
        self.assertEqual(self.complaints(*arguments), [])

    def bad(self, pattern, *arguments):
        self.assertRegex("\n".join(self.complaints(*arguments)), pattern)


class CallsTest(Judging):
    def test_bytes(self):
        calls = (put(0), get(1))
        right = model.bytes_of(calls[0].content)
        self.good(calls, (ok(), ok(right)))
        self.bad("wrong bytes", calls, (ok(), ok(right[:-1])))
        self.bad("wrong bytes", calls, (ok(), ok(right[:-1] + b"?")))
        self.bad("nobody made", (get(0),), (ok(b""),))

    def test_of_two_puts_either_but_no_mixture(self):
        calls = (put(0), put(1, node=3, content=Content("other", LARGE)), get(2))
        first, second = (model.bytes_of(call.content) for call in calls[:2])
        for data in (first, second):
            self.good(calls, (ok(), failed("already_exists: x"), ok(data)))
        mixture = first[:LARGE // 2] + second[LARGE // 2:]
        self.bad("wrong bytes", calls, (ok(), ok(), ok(mixture)))

    def test_time(self):
        calls = (put(0), get(1, timeout=3.0))
        right = model.bytes_of(calls[0].content)
        self.bad("deadline", calls, (ok(), ok(right, ended=6.0)))
        kill = Fault(0.5, "kill", node=2, lasts=1.0)
        self.good(calls, (ok(), failed("unavailable: gone", ended=0.6)), kill)
        late = failed("unavailable: gone", ended=3.0)
        self.bad("after its node was killed", calls, (ok(), late), kill)

    def test_only_a_fault_in_the_way_excuses(self):
        calls = (put(0), get(1))
        self.bad("only", calls, (ok(), failed("timeout: it has no holder")))
        self.bad("only", calls, (ok(), failed("timeout: n3 was lost")), Fault(0.5, "kill", node=3))
        self.bad("only", calls, (failed("unavailable: x"), ok(model.bytes_of(calls[0].content))))
        self.bad("only", calls, (ok(), Ending(0, 1, -6, "")))

    def test_a_deadline_before_the_recovery_excuses(self):
        calls = (put(0), get(1, timeout=5.0))
        endings = (ok(), failed("timeout: the directory is away", 5.0))
        self.good(calls, endings, Fault(0.5, "kill", shard=0, lasts=2.0))
        self.bad("only", calls, endings, Fault(0.5, "kill", shard=0, lasts=1.0))

    def test_who_was_lost_is_named(self):
        calls, kill = (put(0), get(1)), Fault(2.0, "kill", node=1)
        self.good(calls, (ok(), failed("timeout: n1 held it and was lost", 9.9)), kill)
        self.bad("names none", calls, (ok(), failed("timeout: it has no holder", 9.9)), kill)

    def test_deleted(self):
        calls = (put(0), get(1), Call(2, 0.0, "delete", 3, "x", 10.0))
        self.good(calls, (ok(), failed("deleted: x"), ok()))
        self.bad("only", calls[:2], (ok(), failed("deleted: x")))


class KindsTest(Judging):
    """Each kind permits what it is about, and nothing else."""

    def complaints_of(self, kind, calls, endings, *faults):
        plan = Plan(1, 0, Shape(1, 0, ALL[kind]), tuple(calls), faults)
        hits = [(fault, fault.at, fault.at + fault.lasts) for fault in faults]
        return "\n".join(Judge(plan, hits).complaints(dict(enumerate(endings))))

    def test_what_a_shortage_excuses(self):
        calls = (put(0), get(1))
        right = model.bytes_of(calls[0].content)
        for kind in ("descriptors", "memory"):
            refused = failed("resource_exhausted: 4 of 4 are in use")
            self.assertEqual(self.complaints_of(kind, calls, (refused, failed("timeout: it does not exist"))), "")
            self.assertIn("wrong bytes", self.complaints_of(kind, calls, (ok(), ok(right[1:]))))
            self.assertIn("deadline", self.complaints_of(kind, calls, (ok(), failed("timeout: x", ended=12.5))))
            for code in ("internal", "protocol", "data_loss", "peer_lost"):
                self.assertIn("only", self.complaints_of(kind, calls, (ok(), failed(f"{code}: x"))))
            self.assertIn("only", self.complaints_of(kind, calls, (ok(), Ending(0, 1, -6, ""))))
        self.assertIn("only", self.complaints_of("memory", calls, (ok(), failed("unavailable: x"))))

    def test_other_spellings_and_slow_links_excuse_nothing(self):
        calls = (put(0), get(1))
        for kind in ("plain", "slow", "spelling", "links"):
            for error in ("resource_exhausted: x", "unavailable: x", "timeout: x", "invalid_argument: x"):
                self.assertIn("only", self.complaints_of(kind, calls, (ok(), failed(error))))

    def test_many(self):
        calls = [Call(number, 0.0, kind, number + 1, "x", 60.0, count=1000, size=16)
                 for number, kind in enumerate(("put_many", "get_many"))]
        kill = Fault(1.0, "kill", shard=0, lasts=1.0)
        self.assertEqual(self.complaints_of("many", calls, (ok(), ok()), kill), "")
        for error in ("timeout: x", "unavailable: x", "data_loss: wrong bytes"):
            self.assertIn("only", self.complaints_of("many", calls, (ok(), failed(error)), kill))
            self.assertIn("only", self.complaints_of("many", calls, (failed(error), ok()), kill))
        self.assertIn("nobody put", self.complaints_of("many", [dataclasses.replace(calls[1], number=0)], (ok(),)))

    def test_a_stopped_node_excuses_its_workers_but_holds_no_deadline_up(self):
        calls = (put(0), get(1, timeout=0.5))
        stop = Fault(0.0, "stop", node=2, lasts=3.0)
        self.assertEqual(self.complaints_of("stopped", calls, (ok(), failed("timeout: x", ended=0.9)), stop), "")
        self.assertEqual(self.complaints_of("stopped", calls, (ok(), failed("unavailable: x", ended=0.9)), stop), "")
        self.assertIn("deadline", self.complaints_of("stopped", calls, (ok(), failed("timeout: x", ended=1.5)), stop))
        others = (put(0), get(1, node=3))
        self.assertIn("only", self.complaints_of("stopped", others, (ok(), failed("timeout: x")), stop))


class SumsTest(Judging):
    def setUp(self):
        self.contents = [Content(f"s{number}", 800, source=number) for number in range(3)]
        self.names = tuple(content.key for content in self.contents)
        self.calls = [put(number, thing=content.key, content=content)
                      for number, content in enumerate(self.contents)]
        self.calls.append(Call(3, 0.0, "reduce", 1, "sum", 10.0,
                               sum=Sum("sum", "uint32", self.names, 2)))
        self.calls += [get(4, thing="sum"), get(5, node=3, thing="sum")]

    def endings(self, used, *results):
        unused = [name for name in self.names if name not in used]
        return (ok(), ok(), ok(), ok(used=list(used), unused=unused), *map(ok, results))

    def total(self, *numbers):
        return model.total_of("sum", [self.contents[number] for number in numbers])

    def test_the_total_is_the_elements_sum(self):
        arrays = [struct.unpack("<200I", model.bytes_of(content)) for content in self.contents]
        self.assertEqual(struct.unpack("<200I", self.total(0, 1, 2)),
                         tuple(map(sum, zip(*arrays, strict=True))))
        self.assertEqual(model.sources_in(self.total(0, 2)), {0, 2})

    def test_results(self):
        both = self.total(0, 2)
        self.good(self.calls, self.endings(("s0", "s2"), both, both))
        self.bad("the reduction said", self.calls, self.endings(("s0", "s1"), both, both))
        all_three = self.total(0, 1, 2)
        self.bad("not of 2", self.calls, self.endings(self.names, all_three, all_three))
        other = self.total(0, 1)
        self.bad("different results", self.calls, self.endings(("s0", "s2"), both, other))
        spoilt = both[:400] + self.total(0, 1)[400:]
        self.bad("wrong sum", self.calls, self.endings(("s0", "s2"), spoilt, spoilt))

    def test_used_and_unused(self):
        both = self.total(0, 2)
        endings = list(self.endings(("s0", "s2"), both, both))
        endings[3] = ok(used=["s0", "s2"], unused=[])
        self.bad("used", self.calls, endings)
        endings[3] = ok(used=["s0"], unused=["s1", "s2"])
        self.bad("not 2 sources", self.calls, endings)


def is_ready(plan, reduce):
    """Whether every source is put before the reduction is asked for, if nothing takes its time."""
    return all(put.at < reduce.at for name in reduce.sum.sources for put in plan.calls_of(name, "put"))


class PlanTest(unittest.TestCase):
    def test_a_round_is_the_same_whatever_ran_before(self):
        self.assertEqual(plan_of(7, 31), plan_of(7, 31))
        self.assertNotEqual(plan_of(7, 31), plan_of(8, 31))
        self.assertNotEqual(plan_of(7, 31), dataclasses.replace(plan_of(7, 32), round=31))

    def test_rings_have_a_source_at_each_of_their_nodes(self):
        plans = [plan_of(7, number) for number in range(100)]
        rings = [(plan, call) for plan in plans for call in plan.calls if call.sum and call.sum.everyone_reads]
        self.assertGreater(len(rings), 20)
        for plan, ring in rings:
            puts = [put for name in ring.sum.sources for put in plan.calls_of(name, "put")]
            self.assertEqual(len({put.node for put in puts}), len(ring.sum.sources))
            self.assertIn(ring.sum.count, (len(puts), len(puts) - 1))
            self.assertLessEqual({get.node for get in plan.calls_of(ring.thing, "get")}, {put.node for put in puts})
        # Many of them are there when the reduction is asked for.
        self.assertTrue(0.3 < sum(is_ready(plan, ring) for plan, ring in rings) / len(rings) < 0.9)
        # What the ring has to divide has more stripes than one.
        self.assertLessEqual(256 * 1024, min(plan.calls_of(ring.sum.sources[0], "put")[0].content.size
                                             for plan, ring in rings))

    def test_kinds(self):
        kinds = [kind_of(3, stretch) for stretch in range(200)]
        self.assertEqual(kinds, [kind_of(3, stretch) for stretch in range(200)])
        self.assertEqual(set(kinds), set(ALL.values()))
        self.assertTrue(70 < kinds.count(PLAIN) < 130)
        self.assertEqual({kind_of(3, stretch, ["many", "slow"]).name for stretch in range(20)}, {"many", "slow"})
        for kind in ALL.values():
            plan = plan_of(7, 31, kind=kind)
            self.assertEqual(plan, plan_of(7, 31, kind=kind))
            if not kind.own_plan and not kind.largest:
                self.assertEqual((plan.calls, plan.faults), (plan_of(7, 31).calls, plan_of(7, 31).faults))
        small, plain = plan_of(7, 31, kind=ALL["small"]), plan_of(7, 31)
        contents = [(one.content.size, other.content.size) for one, other in zip(small.calls, plain.calls) if one.content]
        self.assertTrue(contents and all(one == min(other, 16 * 1024) for one, other in contents))
        many = plan_of(7, 31, kind=ALL["many"])
        self.assertEqual({call.count for call in many.calls}, {10_000})
        self.assertEqual([(fault.kind, fault.node) for fault in many.faults], [("kill", None)])
        stopped = plan_of(7, 31, kind=ALL["stopped"])
        victim = stopped.faults[0].node
        self.assertTrue(any(call.node == victim and call.timeout < 1.5 for call in stopped.calls))

    def test_everything_happens(self):
        plans = [plan_of(1, number, brief=True) for number in range(60)]
        kinds = {call.kind for plan in plans for call in plan.calls}
        self.assertEqual(kinds, {"put", "get", "reduce", "delete"})
        faults = {(fault.kind, fault.victim[:1]) for plan in plans for fault in plan.faults}
        self.assertEqual(faults, {("kill", "n"), ("stop", "n"), ("cut", "n"), ("kill", "s"),
                                  ("stop", "s"), ("client", "c")})


if __name__ == "__main__":
    unittest.main()
