"""Programs on the testbed: started, bounded in time, always ended; and those that take commands."""

import json
import os
import selectors
import signal
import subprocess
import time

TIMEOUT = 120.0
LEAD = 30_000_000  # nanoseconds from telling programs to the moment at which they act
MOMENTS = ("begin", "end", "begins", "ends", "moment")  # in answers


class Moment(int):
    """Nanoseconds of this machine's clock; a program on another host is told them by its own."""

    def __add__(self, later):
        return Moment(int(self) + later)

    __radd__ = __add__


def soon():
    """When programs are to act that are told now."""
    return Moment(time.monotonic_ns() + LEAD)


class Failed(Exception):
    """A program of the comparison answered wrongly, too late or not at all."""


def end(process):
    """Ends a process and its group at once."""
    if process.poll() is None:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    process.wait()


def run(command, timeout=TIMEOUT, **options):
    """Standard output of a program that ends by itself; it and its children are killed if it does not."""
    try:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, start_new_session=True, **options)
    except OSError as error:
        raise Failed(f"{command[0]}: {error.strerror}") from None
    try:
        output, errors = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        raise Failed(f"{' '.join(command)}: not done after {timeout:.0f} s") from None
    finally:
        end(process)
    if process.returncode != 0:
        raise Failed(f"{' '.join(command)}: exit {process.returncode}: {errors.strip()[-800:]}")
    return output


def processor_seconds(pid):
    """What all threads of a process have used so far."""
    used = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/schedstat", encoding="ascii") as file:
            used += int(file.read().split()[0])
    return used / 1e9


class Agent:
    """A program that takes commands (agent.h): one line in, one JSON line out."""

    def __init__(self, command, log=None, **options):
        self.command = command
        self._ahead = getattr(command, "ahead", 0)  # the clock of its host
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=log, bufsize=0, start_new_session=True, **options)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self.process.stdout, selectors.EVENT_READ)
        self._pending = b""

    def tell(self, *words):
        line = " ".join(str(word + self._ahead if isinstance(word, Moment) else word) for word in words)
        try:
            self.process.stdin.write(line.encode() + b"\n")
        except BrokenPipeError:
            raise Failed(f"{' '.join(self.command)}: ended before {line!r}") from None

    def answer(self, timeout=TIMEOUT):
        deadline = time.monotonic() + timeout
        while b"\n" not in self._pending:
            if not self._selector.select(max(0.0, deadline - time.monotonic())):
                raise Failed(f"{' '.join(self.command)}: no answer within {timeout:.0f} s")
            piece = os.read(self.process.stdout.fileno(), 1 << 16)
            if not piece:
                raise Failed(f"{' '.join(self.command)}: ended, exit {self.process.wait()}")
            self._pending += piece
        line, self._pending = self._pending.split(b"\n", 1)
        reply = json.loads(line)
        if "error" in reply:
            raise Failed(f"{' '.join(self.command)}: {reply['error']}")
        return {name: self._here(value) if name in MOMENTS else value for name, value in reply.items()}

    def _here(self, moments):
        """By this machine's clock."""
        return [one - self._ahead for one in moments] if isinstance(moments, list) else moments - self._ahead

    def ask(self, *words, timeout=TIMEOUT):
        self.tell(*words)
        return self.answer(timeout)

    def says_something(self):
        """Whether an answer has come, or the program has ended."""
        return bool(self._pending or self._selector.select(0))

    def signal(self, number):
        if self.process.poll() is None:
            self.process.send_signal(number)

    def close(self):
        """Lets the program end by itself for a moment, then ends it."""
        self.process.stdin.close()
        try:
            self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            pass
        end(self.process)
        self.process.stdout.close()
        self._selector.close()
