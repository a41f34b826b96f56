#!/usr/bin/env bash
# Makes the Python environment that builds and tests the package, under build/python-env, in the
# exact versions of python_bindings/tests/requirements.txt; at once when it is there. Prints the
# path of its interpreter. Exit status 3: there is no network to get it from.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

environment=$PWD/build/python-env
wanted=python_bindings/tests/requirements.txt
if ! cmp -s "$wanted" "$environment/installed.txt"; then
  rm -rf "$environment"
  mkdir -p build
  python3 -m venv "$environment"
  "$environment/bin/pip" install --quiet --disable-pip-version-check --requirement "$wanted" >&2 || exit 3
  cp "$wanted" "$environment/installed.txt"
fi
echo "$environment/bin/python"
