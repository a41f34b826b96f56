"""What the logs of nodes tell of an allgather: who got which object from whom, and who left the ring."""

import unittest

from rings import Ring, Stream, streams

LOG = """\
04:00:01.500000 I n2: serves at 10.0.0.2:7000
04:00:01.600000 D object aaaa version 1.1: stripes 1 from n1
04:00:01.610000 D n2 object bbbb version 1.2: stripes 1 from n1
04:00:01.700000 D object aaaa version 1.1: n1: is not ahead
04:00:01.710000 W object aaaa version 1.1: block 7 from n1 failed its checksum
"""


def came(at, to, name, source):
    return Stream(at, to, name, source, "")


class Rings(unittest.TestCase):
    def test_logs_tell_of_streams_and_of_what_ended_them(self):
        begin = 4 * 3600
        self.assertEqual(list(streams("n2", LOG)), [
            came(begin + 1.6, "n2", "aaaa", "n1"),
            came(begin + 1.61, "n2", "bbbb", "n1"),
            Stream(begin + 1.7, "n2", "aaaa", "", "n1: is not ahead")])

    def test_in_a_ring_everybody_has_one_source(self):
        ring = Ring(["1", "2", "3"], [came(0, "2", "a", "1"), came(0, "3", "a", "2"), came(0, "3", "b", "2"),
                                      came(0, "1", "b", "3"), came(0, "1", "c", "3"), came(0, "2", "c", "1")])
        self.assertEqual(ring.before, {"1": "3", "2": "1", "3": "2"})
        self.assertEqual(ring.outside(), [])
        self.assertEqual(ring.text().splitlines(), [
            "ring  3>1  1>2  2>3", "1's  1>2@0ms  2>3@0ms", "2's  2>3@0ms  3>1@0ms", "3's  3>1@0ms  1>2@0ms"])

    def test_who_gets_an_object_from_somebody_else_is_outside(self):
        stray = came(0.02, "3", "c", "1")
        ring = Ring(["1", "2", "3", "4"], [came(0, "3", "a", "2"), came(0.01, "3", "b", "2"), stray,
                                           Stream(0.03, "3", "c", "", "1: is not ahead")])
        self.assertEqual(ring.outside(), [stray])
        self.assertIn("1>3!@20ms  (3 1: is not ahead @30ms)", ring.text())

    def test_without_streams_there_is_no_ring(self):
        self.assertEqual(Ring(["1"], []).text(), "no streams")


if __name__ == "__main__":
    unittest.main()
