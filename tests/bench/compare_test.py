"""What a whole run of the comparison ends with."""

import contextlib
import io
import unittest
from unittest import mock

import compare


def exit_status(failures):
    """Of a run in which these sentences were said; and whether what there is was written."""
    run = mock.Mock(failures=failures)
    with contextlib.ExitStack() as stack:
        for name, value in (("parse_options", mock.Mock(return_value=mock.Mock(ssh=None))), ("Run", mock.Mock(return_value=run)),
                            ("environment.describe", mock.Mock(return_value={})), ("hosts.end_on_signals", mock.Mock())):
            stack.enter_context(mock.patch(f"compare.{name}", value))
        stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
        try:
            compare.main()
            status = 0
        except SystemExit as end:
            status = end.code
    return status, run.write.called


class End(unittest.TestCase):
    def test_a_run_in_which_a_peer_failed_is_written_and_fails(self):
        self.assertEqual(exit_status(["hoplite: broken"]), (1, True))

    def test_a_run_without_failures_ends_well(self):
        self.assertEqual(exit_status([]), (0, True))
