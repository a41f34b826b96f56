#!/usr/bin/env bash
# Installs what is missing to build, test and measure Hoplite on Debian 12; at once when nothing is.
# With names of packages: what is missing of these instead.
set -euo pipefail

packages=(
  clang-19 clang-tidy-19 clang-format-19 libclang-rt-19-dev lld-19 llvm-19  # compiler, lint, sanitizers
  cmake ninja-build ccache git
  libasio-dev libboost-dev libcli11-dev libfmt-dev libspdlog-dev libhwy-dev libxxhash-dev
  nlohmann-json3-dev libgrpc++-dev libprotobuf-dev protobuf-compiler protobuf-compiler-grpc prometheus-cpp-dev libssl-dev
  libgtest-dev libgmock-dev libbenchmark-dev                                # tests, benchmarks
  g++-12 g++-11 clang-14 shellcheck                                         # consumer tests, lint
  python3 python3-dev python3-venv                                          # Python package, lint, benchmark driver
  iproute2 iperf3 strace                                                    # benchmarks of links and costs
)
[[ $# -eq 0 ]] || packages=("$@")

installed() { dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null | grep -qx installed; }

if ! command -v dpkg-query >/dev/null; then
  echo "setup: this is no Debian system: install the equivalents of: ${packages[*]}" >&2
  exit 1
fi

missing=()
# One call answers for all in the usual case that nothing is missing.
if [[ $(dpkg-query -W -f '${db:Status-Status}\n' "${packages[@]}" 2>/dev/null | grep -cx installed) \
      -lt ${#packages[@]} ]]; then
  for package in "${packages[@]}"; do
    installed "$package" || missing+=("$package")
  done
fi
[[ ${#missing[@]} -gt 0 ]] || exit 0

as_root=()
if [[ $(id -u) -ne 0 ]]; then
  if ! command -v sudo >/dev/null; then
    echo "setup: needs root (there is no sudo) to run: apt-get install ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi
echo "setup: installing ${missing[*]}"
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -qq --no-install-recommends "${missing[@]}"
echo "setup: done"
