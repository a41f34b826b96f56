#!/usr/bin/env bash
# Rounds of calls on a cluster of real processes whose members are killed, stopped and cut off at
# random moments: no call may hang, no byte be wrong, nothing be left. Sets up, builds, runs; as
# root on network namespaces of its own, else on the loopback. --help lists the options.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case " $* " in *" --help "* | *" -h "*) exec python3 tests/chaos/chaos.py --help ;; esac
./scripts/setup.sh
cmake --preset release >/dev/null
cmake --build --preset release --target hoplite_cli chaos_bulk
exec python3 tests/chaos/chaos.py "$@"
