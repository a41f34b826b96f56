#!/usr/bin/env bash
# Installs the library, builds the README's example against it with a given compiler, runs it.
# usage: check.sh BUILD_DIR SOURCE_DIR CXX
set -euo pipefail
build=$1 source=$2 compiler=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/installed" >/dev/null
cmake -G Ninja -S "$source/tests/integration/consumer" -B "$work/build" \
  -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_PREFIX_PATH="$work/installed" -DBROADCAST_SOURCE="$source/examples/broadcast.cpp" >/dev/null
cmake --build "$work/build"
"$work/build/consumer"
