"""``python -m hoplite``: the program of the package."""

import os
import sys

from hoplite import _program


def main() -> None:
    program = _program.path()
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
