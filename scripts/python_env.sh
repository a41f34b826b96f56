#!/usr/bin/env bash
# Makes the Python environment that builds and tests the package, under build/python-env, in the
# exact versions of python_bindings/tests/requirements.txt; at once when it is there. Prints the
# path of its interpreter. Exit status 3: there is no network to get it from.
# Runtimes that the plug-ins are tested with come on top, from requirements-NAME.txt beside it; one
# that can't be had is named on standard error, and its tests skip themselves.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

environment=$PWD/build/python-env
wanted=python_bindings/tests/requirements.txt

install() { # FILE
  "$environment/bin/pip" install --quiet --disable-pip-version-check --requirement "$1" >&2
}

if ! cmp -s "$wanted" "$environment/installed.txt"; then
  rm -rf "$environment"
  mkdir -p build
  python3 -m venv "$environment"
  install "$wanted" || exit 3
  cp "$wanted" "$environment/installed.txt"
fi
for extra in python_bindings/tests/requirements-*.txt; do
  stamp=$environment/installed-$(basename "$extra")
  cmp -s "$extra" "$stamp" && continue
  if install "$extra"; then
    cp "$extra" "$stamp"
  else
    echo "could not be installed, what needs it is skipped: $(grep -v '^#' "$extra" | paste -sd ' ')" >&2
  fi
done
echo "$environment/bin/python"
