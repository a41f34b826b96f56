#!/usr/bin/env bash
# Rounds of calls on a cluster of real processes whose members are killed, stopped and cut off at
# random moments: no call may hang, no byte be wrong, nothing be left. Sets up, builds, runs; as
# root on network namespaces of its own, else on the loopback. --help lists the options.
# `chaos.sh channels` plays rounds of a channel instead, whose publishers are followed by others.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case " $* " in *" --help "* | *" -h "*) exec python3 tests/chaos/chaos.py --help ;; esac
./scripts/setup.sh
cmake --preset release >/dev/null
cmake --build --preset release --target hoplite_cli chaos_bulk
if [ "${1:-}" = channels ]; then
  shift
  python=$(./scripts/python_env.sh)
  cmake --preset release -DHOPLITE_PYTHON=ON "-DPython_EXECUTABLE=$python" >/dev/null
  cmake --build --preset release --target hoplite_python >/dev/null
  PYTHONPATH=build/release/python exec "$python" -B tests/chaos/channels.py "$@"
fi
exec python3 tests/chaos/chaos.py "$@"
