"""Runs tests of torch's own for process groups with the back end hoplite.

torch_own.py FOLDER NAME...

Each at three ranks, which are forked: torch is imported once. HOPLITE_SOCKET names their node. Exit
status 1: one failed, or was skipped.
"""

from __future__ import annotations

import os
import sys
import unittest
from pathlib import Path

os.environ |= {
    **{"BACKEND": "hoplite", "WORLD_SIZE": "3", "TEMP_DIR": sys.argv[1]},
    **{"MASTER_ADDR": "127.0.0.1", "INIT_METHOD": f"file://{sys.argv[1]}/shared_init_file"},
}
import hoplite.torch  # noqa: F401 - registers the back end
import torch
from torch.testing._internal.distributed import distributed_test


class OfHoplite(distributed_test.TestDistBackend, distributed_test.DistributedTest._DistTestBase):
    def setUp(self) -> None:
        super().setUp()  # type: ignore[no-untyped-call]
        self._start_processes(torch.multiprocessing.get_context("fork").Process)


if __name__ == "__main__":
    for folder in ("barrier", "test_dir", "init_dir"):
        (Path(sys.argv[1]) / folder).mkdir()
    suite = unittest.TestSuite(OfHoplite(name) for name in sys.argv[2:])
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    sys.exit(not result.wasSuccessful() or bool(result.skipped))
