#!/usr/bin/env bash
# Makes the Python environment that builds and tests the package, under build/python-env, in the
# exact versions of python_bindings/tests/requirements.txt; at once when it is there. Prints the
# path of its interpreter. Exit status 3: there is no network to get it from.
# What is tested with and not needed otherwise (Ray, PyTorch) comes on top, from requirements-NAME.txt
# beside it; one that can't be had is named on standard error, and its tests skip themselves.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

environment=$PWD/build/python-env
wanted=python_bindings/tests/requirements.txt

install() { # FILE [OPTION]...
  "$environment/bin/pip" install --quiet --disable-pip-version-check --requirement "$@" >&2
}

# A file may say with which options ("# options: --no-deps").
options_of() { # FILE
  sed -n 's/^# options: //p' "$1"
}

# From the index that the file names ("# index: URL"), where pip's own have no such version.
install_from_its_index() { # FILE
  local index
  index=$(sed -n 's/^# index: //p' "$1")
  [[ -n $index ]] && install "$1" --extra-index-url "$index"
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
  read -ra options <<< "$(options_of "$extra")"
  if install "$extra" "${options[@]}" || install_from_its_index "$extra"; then
    cp "$extra" "$stamp"
  else
    echo "could not be installed, what needs it is skipped: $(grep -v '^#' "$extra" | paste -sd ' ')" >&2
  fi
done
echo "$environment/bin/python"
