#!/usr/bin/env bash
# Installs the library, builds a user's programs against it with a given compiler and standard, runs them.
# A standard that is too old has to be refused with a sentence.
# usage: check.sh BUILD_DIR SOURCE_DIR CXX STANDARD
set -euo pipefail
build=$1 source=$2 compiler=$3 standard=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/installed" >/dev/null
cmake -G Ninja -S "$source/tests/integration/consumer" -B "$work/build" \
  -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_C_COMPILER=gcc-12 -DSTANDARD="$standard" \
  -DCMAKE_PREFIX_PATH="$work/installed" -DBROADCAST_SOURCE="$source/examples/broadcast.cpp" >/dev/null
cmake --build "$work/build"
for program in broadcast user user_in_c; do "$work/build/$program"; done

# A build without CMake. (An old C++ compiler is no matter: this is C.)
if command -v pkg-config >/dev/null; then
  pc=$(find "$work/installed" -name hoplite.pc)
  read -ra flags <<<"$(PKG_CONFIG_PATH=$(dirname "$pc") pkg-config --cflags --libs hoplite)"
  gcc-12 "$source/tests/integration/consumer/user.c" -o "$work/by_pkg_config" "${flags[@]}"
  "$work/by_pkg_config"
fi

# What gRPC brings is the program's alone.
library=$(find "$work/installed" -name libhoplite.so)
if grep -q grpc "$library"; then
  echo "the library links gRPC" >&2
  exit 1
fi

include="$work/installed/include"
if too_old=$("$compiler" -std=c++17 -fsyntax-only "-I$include" "$source/tests/integration/consumer/user.cpp" 2>&1); then
  echo "C++17 was not refused" >&2
  exit 1
fi
grep -q 'Hoplite need C++20 or newer' <<<"$too_old"
"$compiler" -std=c++11 -Wall -Wextra -Werror -pedantic -fsyntax-only -x c++ "$include/hoplite/c.h"
