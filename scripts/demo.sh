#!/usr/bin/env bash
# The main job on this machine: sets up, builds, then broadcasts FILE (without it some large file)
# over a cluster of processes, one of which is killed in the middle, and adds up arrays at all of
# them for all of them. With --web a page shows it live, and stays for 10 minutes at most, until
# Enter or Ctrl-C. Usage: scripts/demo.sh [--web] [FILE]
set -euo pipefail

web=
if [[ ${1:-} == --web ]]; then
  web=--web
  shift
fi
if [[ $# -gt 1 || ${1:-} == -* ]]; then
  echo "usage: scripts/demo.sh [--web] [FILE]" >&2
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
exec build/release/bin/hoplite demo ${web:+"$web"} ${file:+"$file"}
