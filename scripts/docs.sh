#!/usr/bin/env bash
# Builds the documentation site, build/docs/html: the pages of the repository, the public headers and the
# Python package. Installs what is missing, builds the Python extension, and is quick the second time.
# Warnings, names without a comment and links that lead nowhere are errors. Exit status 3: what makes
# the site is not there, and there is no network to get it from.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [[ $# -gt 0 ]]; then
  echo "usage: scripts/docs.sh" >&2
  exit 2
fi

say() { echo "docs.sh: $*" >&2; }

environment=$PWD/build/docs-env
wanted=docs/site/requirements.txt
python=$environment/bin/python
doxygen=build/docs/doxygen
html=build/docs/html
kept=build/docs/doctrees

install() {
  command -v doxygen >/dev/null || ./scripts/setup.sh doxygen || exit 3
  cmp -s "$wanted" "$environment/installed.txt" && return
  say "installing Sphinx and what belongs to it into build/docs-env"
  rm -rf "$environment"
  mkdir -p build
  python3 -m venv "$environment"
  "$environment/bin/pip" install --quiet --disable-pip-version-check --requirement "$wanted" >&2 || exit 3
  cp "$wanted" "$environment/installed.txt"
}

# The extension's stub: its signatures and docstrings.
make_stub() {
  local interpreter
  ./scripts/setup.sh >&2 || exit 3
  interpreter=$(./scripts/python_env.sh) || exit 3
  say "building the Python extension"
  cmake --preset release -DHOPLITE_PYTHON=ON -DPython_EXECUTABLE="$interpreter" >/dev/null
  cmake --build --preset release --target hoplite_python_stub >&2
}

# Only if a header, or what makes the site of it, has changed. Then all pages are made anew; else those
# whose sources are newer than they are.
read_headers() {
  local stamp=$doxygen/read
  [[ -e $stamp && -z $(find include docs/site -newer "$stamp" -type f -print -quit) ]] && return
  say "reading the headers"
  rm -rf "$doxygen" "$kept" "$html"
  mkdir -p "$doxygen"
  doxygen docs/site/Doxyfile
  "$python" -B docs/site/documented.py "$doxygen/xml"
  touch "$stamp"
}

# A page that was read keeps its warnings to itself the next time: after a failure all are read again.
make_pages() {
  say "making the pages"
  if ! "$python" -B -m sphinx --builder html --quiet --fail-on-warning --jobs auto \
    --conf-dir docs/site --doctree-dir "$kept" . "$html"; then
    rm -rf "$kept" "$html"
    return 1
  fi
}

install
make_stub
read_headers
make_pages
"$python" -B docs/site/links.py "$html"
echo "$html/index.html"
