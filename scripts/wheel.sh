#!/usr/bin/env bash
# Builds wheels of the Python package and puts the libraries that they need into them: dist/*.whl, for
# machines that have none of them. Sets up, builds in a kept folder, repairs; quick the second time.
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  cat <<'TEXT'
usage: scripts/wheel.sh [--python PYTHON | --all] [--check]
  --python PYTHON   the interpreter that the wheel is for (python3); of 3.12 and newer it is for all later ones, too
  --all             a wheel for each of Python 3.10, 3.11 and 3.12 that this machine has
  --check           also installs each wheel for all interpreters from 3.10 to 3.14 that this machine has and the wheel is for,
                    and the package by `pip install .`, each into a new environment, and runs the examples of README.md
                    and docs/python.md there; the wheel also beside PyTorch and Ray, where the environment of the tests
                    (scripts/python_env.sh) has them
TEXT
}

pythons=(python3)
all=no
check=no
while [[ $# -gt 0 ]]; do
  case $1 in
    --python) pythons=("${2:?--python needs an interpreter}"); shift 2 ;;
    --all) all=yes; shift ;;
    --check) check=yes; shift ;;
    --help | -h) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
done
# Nothing of this shell is to be found in the wheel, nor by what checks it.
unset PYTHONPATH LD_LIBRARY_PATH

say() { echo "wheel.sh: $*" >&2; }

wanted=scripts/wheel_tools.txt
# glibc 2.34 and the libstdc++ of GCC 11: RHEL 9, Ubuntu 22.04, Debian 12.
oldest=manylinux_2_34_$(uname -m)

version_of() { # PYTHON
  "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])'
}

# Prints the interpreter of that version that makes environments; fails where there is none.
interpreter() { # VERSION
  local found
  for found in "$(command -v "python$1")" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*/bin/python3; do
    if [[ -x $found ]] && "$found" -c 'import ensurepip, venv' 2>/dev/null; then
      echo "$found"
      return
    fi
  done
  return 1
}

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

# Prints the path of the wheel that has them inside. auditwheel refuses what the oldest system lacks.
repair() { # WHEEL
  local folder=build/wheel/repaired-$version
  rm -rf "$folder"
  say "putting libraries into it"
  if ! PATH=$tools/bin:$PATH "$tools/bin/python" -m auditwheel repair --plat "$oldest" --wheel-dir "$folder" "$1" \
      >"$folder.log" 2>&1; then
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
bundled = [name for name in zipfile.ZipFile(wheel).namelist() if ".libs/" in name]
*_, python, abi, platform = wheel.stem.split("-")
print(f"{wheel}: {wheel.stat().st_size / 1e6:.1f} MB, for {python} ({abi}) on {platform}, {len(bundled)} libraries inside")
PYTHON
}

# Prints the versions of Python that a wheel is for.
served_by() { # WHEEL
  case $1 in
    *-cp312-abi3-*) echo 3.12 3.13 3.14 ;;
    *) echo "$version" ;;
  esac
}

new_environment() { # NAME PYTHON
  environment=build/wheel/$1
  rm -rf "$environment"
  "$2" -m venv "$environment"
}

install_into() { # ENVIRONMENT WHAT [OPTION]...
  local into=$1
  shift
  "$into/bin/pip" install --quiet --disable-pip-version-check "$@"
}

check_wheel() { # WHEEL VERSION
  local environment found
  local beside=() others=build/python-env/lib/python$2/site-packages
  if ! found=$(interpreter "$2"); then
    echo "SKIPPED: this machine has no Python $2 that makes environments"
    return
  fi
  say "$1 with $("$found" --version)"
  new_environment "check-$2" "$found"
  install_into "$environment" "$1"
  if [[ -d $others ]]; then
    beside=(--beside "$others")
  else
    echo "SKIPPED: no PyTorch and no Ray for Python $2 in build/python-env"
  fi
  "$environment/bin/python" scripts/wheel_check.py --bundled "${beside[@]}"
}

check_package() {
  local environment start=$SECONDS
  new_environment "pip-$version" "$python"
  install_into "$environment" .
  echo "pip install .: $((SECONDS - start)) s"
  start=$SECONDS
  install_into "$environment" --force-reinstall --no-deps .
  echo "pip install . again: $((SECONDS - start)) s"
  "$environment/bin/python" scripts/wheel_check.py
}

make_wheel() { # PYTHON
  local python=$1 version tools built wheel served
  version=$(version_of "$python")
  tools=$PWD/build/wheel/tools-$version
  install_tools
  built=$(build)
  wheel=$(repair "$built")
  tell "$wheel"
  [[ $check == yes ]] || return 0
  for served in $(served_by "$wheel"); do check_wheel "$wheel" "$served"; done
  check_package
}

./scripts/setup.sh
if [[ $all == yes ]]; then
  pythons=()
  for version in 3.10 3.11 3.12; do
    if found=$(interpreter "$version"); then pythons+=("$found"); else echo "SKIPPED: this machine has no Python $version"; fi
  done
fi
for python in "${pythons[@]}"; do make_wheel "$python"; done
