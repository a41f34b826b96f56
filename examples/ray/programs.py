"""The frame of the six programs: their switch, their sizes, and the lines that they print."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence

from actors import start
from transports import TRANSPORTS, Transport

Options = argparse.Namespace


class Clock:
    """Counts the seconds inside `with clock:`, where the processes of a program have started."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __enter__(self) -> None:
        self._begin = time.perf_counter()

    def __exit__(self, *error: object) -> None:
        self.seconds += time.perf_counter() - self._begin


def main(
    run: Callable[[Transport, Clock, Options], str],
    about: str | None,
    arguments: Sequence[str] | None = None,
    **sizes: int,
) -> None:
    """Runs a program as often as `--repeat` says. `sizes`: its options and what they are if they
    are not given. `run` returns what both transports must agree on."""
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--transport", choices=TRANSPORTS, default="hoplite")
    for name, size in {**sizes, "repeat": 1}.items():
        option = "--" + name.replace("_", "-")
        parser.add_argument(option, type=int, default=size, help=f"default: {size}")
    options = parser.parse_args(arguments)
    transport = start(options.transport)
    for _ in range(options.repeat):
        clock = Clock()
        result = run(transport, clock, options)
        print(f"{options.transport}: {clock.seconds:.3f} s")
    print(f"result: {result}")
