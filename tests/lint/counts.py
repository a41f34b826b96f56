"""What came of a run of ctest: how many tests passed, failed and were skipped, by its JUnit report.

    python3 tests/lint/counts.py build/release/test-report.xml

A process of many GoogleTest cases (HOPLITE_SHARDS) counts as its cases. Of one that ended before its last line, all count as
one that failed.
"""

import re
import sys
import xml.etree.ElementTree as xml

CASES = re.compile(r"^\[==========\] (\d+) tests? .*ran", re.MULTILINE)
PASSED = re.compile(r"^\[  PASSED  \] (\d+) test", re.MULTILINE)
SKIPPED = re.compile(r"^\[  SKIPPED \] (\d+) test", re.MULTILINE)
SHARD = re.compile(r".*\.\d+")


def cases(output):
    """Passed, failed and skipped; None: the process did not come to its last lines. A case may print such lines, too."""
    ran = list(CASES.finditer(output))
    if not ran:
        return None
    last = output[ran[-1].start():]
    passed, skipped = (int(found[1]) if (found := line.search(last)) else 0 for line in (PASSED, SKIPPED))
    return passed, int(ran[-1][1]) - passed - skipped, skipped


def count(test):
    """ctest counts a test that could not even start as skipped: only those that chose to skip are."""
    failed = test.get("status") == "fail"
    reason = test.find("skipped")
    if reason is not None and reason.get("message", "").startswith("SKIP_"):
        return 0, 0, 1
    if SHARD.fullmatch(test.get("name")) and (found := cases(test.findtext("system-out", ""))):
        passed, bad, skipped = found
        return passed, max(bad, 1) if failed else bad, skipped
    return (0, 1, 0) if failed or reason is not None else (1, 0, 0)


def main():
    counts = [count(test) for test in xml.parse(sys.argv[1]).iter("testcase")]
    print(*(sum(column) for column in zip(*counts)) if counts else (0, 0, 0))


if __name__ == "__main__":
    main()
