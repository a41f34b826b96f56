#!/usr/bin/env bash
# Builds the wheel of the Python package and puts the libraries that it needs into it: dist/*.whl, for
# machines that have none of them. Sets up, builds in a kept folder, repairs; quick the second time.
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  cat <<'TEXT'
usage: scripts/wheel.sh [--python PYTHON] [--check]
  --python PYTHON   the interpreter that the wheel is for (python3); of 3.12 and newer it is for all later ones, too
  --check           also installs the wheel, and the package by `pip install .`, each into a new environment,
                    and runs the examples of README.md and docs/python.md there; the wheel also beside PyTorch and
                    Ray, where the environment of the tests (scripts/python_env.sh) has them
TEXT
}

python=python3
check=no
while [[ $# -gt 0 ]]; do
  case $1 in
    --python) python=${2:?--python needs an interpreter}; shift 2 ;;
    --check) check=yes; shift ;;
    --help | -h) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
done
# Nothing of this shell is to be found in the wheel, nor by what checks it.
unset PYTHONPATH LD_LIBRARY_PATH

say() { echo "wheel.sh: $*" >&2; }

version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
tools=$PWD/build/wheel/tools-$version
wanted=scripts/wheel_tools.txt

install_tools() {
  cmp -s "$wanted" "$tools/installed.txt" && return
  say "installing what builds wheels into $tools"
  rm -rf "$tools"
  mkdir -p build/wheel
  "$python" -m venv "$tools"
  "$tools/bin/pip" install --quiet --disable-pip-version-check --requirement "$wanted"
  cp "$wanted" "$tools/installed.txt"
}

# Prints the path of the wheel as it is built, which needs the libraries of this machine.
build() {
  local folder=build/wheel/built-$version
  rm -rf "$folder"
  say "building (the first time takes some minutes)"
  "$tools/bin/pip" wheel . --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir "$folder" >&2
  echo "$folder"/*.whl
}

# Prints the path of the wheel that has them inside.
repair() { # WHEEL
  local folder=build/wheel/repaired-$version
  rm -rf "$folder"
  say "putting libraries into it"
  if ! PATH=$tools/bin:$PATH "$tools/bin/python" -m auditwheel repair --wheel-dir "$folder" "$1" >"$folder.log" 2>&1; then
    tail -n 20 "$folder.log" >&2
    return 1
  fi
  local wheel
  wheel=$(basename "$folder"/*.whl)
  mkdir -p dist
  mv "$folder/$wheel" dist/
  echo "dist/$wheel"
}

tell() { # WHEEL
  "$tools/bin/python" - "$1" <<'PYTHON'
import pathlib, sys, zipfile

wheel = pathlib.Path(sys.argv[1])
bundled = [name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("hoplite.libs/")]
*_, python, abi, platform = wheel.stem.split("-")
print(f"{wheel}: {wheel.stat().st_size / 1e6:.1f} MB, for {python} ({abi}) on {platform}, {len(bundled)} libraries inside")
PYTHON
}

new_environment() { # NAME
  environment=build/wheel/$1-$version
  rm -rf "$environment"
  "$python" -m venv "$environment"
}

install_into() { # ENVIRONMENT WHAT [OPTION]...
  local into=$1
  shift
  "$into/bin/pip" install --quiet --disable-pip-version-check "$@"
}

check_all() { # WHEEL
  local environment start
  local beside=() others=build/python-env/lib/python$version/site-packages
  new_environment check
  install_into "$environment" "$1"
  if [[ -d $others ]]; then
    beside=(--beside "$others")
  else
    echo "SKIPPED: no PyTorch and no Ray for Python $version in build/python-env"
  fi
  "$environment/bin/python" scripts/wheel_check.py --bundled "${beside[@]}"
  new_environment pip
  start=$SECONDS
  install_into "$environment" .
  echo "pip install .: $((SECONDS - start)) s"
  start=$SECONDS
  install_into "$environment" --force-reinstall --no-deps .
  echo "pip install . again: $((SECONDS - start)) s"
  "$environment/bin/python" scripts/wheel_check.py
}

./scripts/setup.sh
install_tools
built=$(build)
wheel=$(repair "$built")
tell "$wheel"
if [[ $check == yes ]]; then check_all "$wheel"; fi
