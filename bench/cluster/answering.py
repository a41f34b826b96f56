"""What the agents in Python have in common: see agent.h."""

import json
import sys


def answer_all(program, file=None):
    """A line is the name of a method of `program` and its words; each is answered by a line of JSON, to `file` or standard
    output."""
    for line in sys.stdin:
        name, *words = line.split()
        try:
            answer = getattr(program, name)(*words)
        except Exception as error:  # noqa: BLE001 - whoever started this one tells of it
            answer = {"error": f"{line.strip()}: {type(error).__name__}: {error}"}
        print(json.dumps(answer), file=file, flush=True)
