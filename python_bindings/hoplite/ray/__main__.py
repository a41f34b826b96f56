"""``python -m hoplite.ray PROGRAM``: a Ray program, unchanged, whose large arrays travel by
Hoplite."""

from __future__ import annotations

import argparse
import functools
import os
import runpy
import sys
from typing import Any

import ray

import hoplite.ray


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m hoplite.ray",
        description="Runs a program of Ray whose large arrays travel by Hoplite.",
        usage="%(prog)s [--transparent=SIZE] [--memory=SIZE] (PROGRAM | -m MODULE) [ARGUMENT ...]",
    )
    parser.add_argument(
        "--transparent", default="1MiB", metavar="SIZE", help="arrays from this size on (1MiB)"
    )
    parser.add_argument(
        "--memory", default="1GiB", metavar="SIZE", help="of each Hoplite node (1GiB)"
    )
    parser.add_argument("-m", dest="module", action="store_true", help="the program is a module")
    parser.add_argument("program", nargs=argparse.REMAINDER)
    said = parser.parse_args()
    if not said.program:
        parser.error("which program?")
    _extend_ray(said.transparent, said.memory)
    sys.argv = said.program
    if said.module:
        sys.path[0] = os.getcwd()
        runpy.run_module(said.program[0], run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = os.path.dirname(os.path.realpath(said.program[0]))
        runpy.run_path(said.program[0], run_name="__main__")


def _extend_ray(transparent: str, memory: str) -> None:
    """From now on ``ray.init`` also starts Hoplite."""
    plain = ray.init

    @functools.wraps(plain)
    def init(*arguments: Any, **named: Any) -> Any:
        begun = not ray.is_initialized()
        if begun:
            named["runtime_env"] = hoplite.ray.runtime_env(transparent, named.get("runtime_env"))
        context = plain(*arguments, **named)
        if begun:
            hoplite.ray.init(memory=memory)
        return context

    ray.init = init


if __name__ == "__main__":
    main()
