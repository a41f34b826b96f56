#!/usr/bin/env bash
# The main job on this machine: sets up, builds, then broadcasts FILE (without it some large file)
# over a cluster of processes, one of which is killed in the middle, and adds up arrays at all of
# them for all of them. Usage: scripts/demo.sh [FILE]
set -euo pipefail

if [[ $# -gt 1 || ${1:-} == -* ]]; then
  echo "usage: scripts/demo.sh [FILE]" >&2
  exit 2
fi
file=${1:+$(realpath -- "$1")}
cd "$(dirname "$0")/.."

echo "1/3 Installing what is missing"
./scripts/setup.sh
echo "2/3 Building (the first time takes some minutes)"
cmake --preset release >/dev/null
cmake --build --preset release --target hoplite_cli
echo "3/3 The demo"
exec build/release/bin/hoplite demo ${file:+"$file"}
