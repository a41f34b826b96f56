#!/bin/sh
# Compares this project with its peers on one machine: builds, makes the hosts (network namespaces,
# so it needs root), measures, writes tables, JSON and figures to bench/results/. `bench.sh draw
# FILE.json` draws results that lie there, and needs no root. `bench.sh links` measures unequal links
# and two sites (bench/cluster/unequal.py has its options). `bench.sh --ssh h1,h2` measures real hosts.
# See bench/README.md; --help lists the options.
set -eu
cd "$(dirname "$0")/.."

VENV=build/bench-venv # peers and matplotlib, apart from everything that the project itself uses
MATPLOTLIB=3.11.2

say() { echo "bench.sh: $*" >&2; }

make_venv() {
  [ -x "$VENV/bin/pip" ] || python3 -m venv "$VENV"
  if ! "$VENV/bin/python" -c 'import matplotlib' 2>/dev/null; then
    say "installing matplotlib $MATPLOTLIB into $VENV"
    "$VENV/bin/pip" install --quiet "matplotlib==$MATPLOTLIB"
  fi
}

if [ "${1:-}" = draw ]; then
  shift
  make_venv
  exec "$VENV/bin/python" bench/cluster/draw.py "$@"
fi
links=''
if [ "${1:-}" = links ]; then
  links=yes
  shift
fi
case "$links| $* " in
  "|"*" --help "* | "|"*" -h "*) exec python3 bench/cluster/compare.py --help ;;
esac
case " $* " in
  *" --ssh "* | *" --ssh="*)
    make_venv
    say "building"
    cmake --preset release >/dev/null
    cmake --build --preset release --target benchmarks >/dev/null
    exec python3 bench/cluster/compare.py "$@"
    ;;
esac
if [ "$(id -u)" -ne 0 ]; then
  say "making hosts needs root: run it as root or with sudo"
  exit 1
fi

if [ -x scripts/setup.sh ]; then ./scripts/setup.sh; fi
for tool in iperf3 ip tc python3; do
  command -v "$tool" >/dev/null || { say "$tool is missing: apt-get install iperf3 iproute2 python3"; exit 1; }
done
make_venv
"$VENV/bin/python" bench/cluster/peers.py "$VENV" "$@"

# Calls from Python and arrays of Ray programs: the package, in the environment of its tests.
case "$links| $* " in
  yes*)
    python=$(./scripts/python_env.sh) || { say "links needs the package's Python environment"; exit 1; }
    package="hoplite_python hoplite_cli"
    ;;
  *runtimes*)
    if ! python=$(./scripts/python_env.sh) || ! "$python" -c 'import gymnasium, ray, sklearn, torch'; then
      say "runtimes needs Ray, scikit-learn, gymnasium and torch: python_bindings/tests/requirements-*.txt"
      exit 1
    fi
    set -- "$@" --python "$python"
    package="hoplite_python hoplite_cli"
    ;;
  *) package="" ;;
esac

say "building"
if [ -n "$package" ]; then
  cmake --preset release -DHOPLITE_PYTHON=ON "-DPython_EXECUTABLE=$python" >/dev/null
else
  cmake --preset release >/dev/null
fi
# shellcheck disable=SC2086 # several targets
cmake --build --preset release --target benchmarks $package >/dev/null
if [ -n "$links" ]; then
  PYTHONPATH=build/release/python exec "$python" bench/cluster/unequal.py --mpich "$VENV" "$@"
fi
exec python3 bench/cluster/compare.py "$@"
