"""A way between two bridges on which packets take their time.

The kernel's own means (netem) is missing in some kernels. Here the way's ends are TAP devices, and a process carries frames from
one to the other: each direction has a rate, a queue, and a delay behind it. The process ends with the one that started it.
"""

import collections
import contextlib
import fcntl
import os
import select
import struct
import subprocess
import sys
import time

MTU = 9000  # bytes; few large frames, since a process carries each
FRAME = MTU + 18
QUEUE = 8_000_000  # bytes that wait at most, like the queue of a shaped link
AT_ONCE = 32  # frames that are taken from one end before the other's turn
LONGEST_WAIT = 0.2  # seconds
_SET_INTERFACE, _TAP, _PLAIN = 0x400454CA, 0x0002, 0x1000


class LongWay:
    """Both ends; `with`. rate: bytes per second in each direction; delay: seconds of each direction."""

    def __init__(self, names, rate, delay):
        self._names = names
        self._words = [repr(rate), repr(delay)]

    def __enter__(self):
        with contextlib.ExitStack() as ends:  # the carrier has descriptors of its own
            numbers = [ends.enter_context(_end(name)) for name in self._names]
            command = [sys.executable, __file__, *map(str, numbers), *self._words]
            self._carrier = subprocess.Popen(command, stdin=subprocess.PIPE, pass_fds=numbers,
                                             start_new_session=True)  # Ctrl-C is for its parent
        return self

    def __exit__(self, *_):
        self._carrier.stdin.close()
        try:
            self._carrier.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._carrier.kill()
            self._carrier.wait()


@contextlib.contextmanager
def _end(name):
    """A TAP device of this name, which is there until every descriptor of it is closed."""
    descriptor = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    try:
        fcntl.ioctl(descriptor, _SET_INTERFACE, struct.pack("16sH22x", name.encode(), _TAP | _PLAIN))
        yield descriptor
    finally:
        os.close(descriptor)


class Direction:
    """Frames from one end to the other, in their order."""

    def __init__(self, source, target, rate, delay):
        self.source = source
        self._target = target
        self._rate = rate
        self._delay = delay
        self._free = 0.0  # when the last frame that was taken has been sent
        self._under_way = collections.deque()  # (when it arrives, the frame)

    def take(self):
        for _ in range(AT_ONCE):
            try:
                frame = os.read(self.source, FRAME)
            except BlockingIOError:
                return
            now = time.monotonic()
            begin = max(now, self._free)
            if (begin - now) * self._rate > QUEUE:
                continue  # lost
            self._free = begin + len(frame) / self._rate
            self._under_way.append((self._free + self._delay, frame))

    def deliver(self):
        """What has arrived. Returns when the next frame does; none: LONGEST_WAIT."""
        now = time.monotonic()
        while self._under_way and self._under_way[0][0] <= now:
            try:
                os.write(self._target, self._under_way.popleft()[1])
            except OSError:
                pass  # that end is down or full: the frame is lost
        return self._under_way[0][0] - now if self._under_way else LONGEST_WAIT


def carry(one, other, rate, delay):
    """Until stdin ends."""
    directions = [Direction(one, other, rate, delay), Direction(other, one, rate, delay)]
    ready = select.poll()
    for descriptor in (one, other, sys.stdin.fileno()):
        ready.register(descriptor, select.POLLIN)
    while True:
        wait = min(direction.deliver() for direction in directions)
        at = {descriptor for descriptor, _ in ready.poll(max(1e3 * wait, 0.5))}
        if sys.stdin.fileno() in at:
            return
        for direction in directions:
            if direction.source in at:
                direction.take()


if __name__ == "__main__":
    carry(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4]))
