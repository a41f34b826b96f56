"""The course of a job with a fixed set of ranks of which one is killed: how the other peers end."""

import time

from course import Course
from links import Links

VICTIM = 2  # the host whose rank is killed
PATIENCE = 20_000_000_000  # nanoseconds after the blow: how long a job may take to end


def watch(bed, operation, begin, delay, kill, over):
    """Calls kill(number of a host) so many seconds after the beginning; the job has ended when over() is true."""
    links = Links(receivers(bed.hosts, operation))
    links.look_until_moment(begin + int(delay * 1e9))
    struck = time.monotonic_ns()
    kill(VICTIM)
    links.look_until(lambda: over() or time.monotonic_ns() > struck + PATIENCE)
    return Course(begin, time.monotonic_ns(), links.flows, struck, finished=False, ended=over())


def receivers(hosts, operation):
    """The hosts that are watched: those that live on, or the one that asked for the sum."""
    if operation.kind == "reduce":
        return hosts[:1]
    return [host for number, host in enumerate(hosts) if number not in (0, VICTIM)]
