#!/usr/bin/env bash
# Builds the image hoplite:VERSION of packaging/Dockerfile with buildah, from the wheels in dist/ (scripts/wheel.sh makes
# one if there is none). --base IMAGE: another base, as a mirror's, or one that has been made here.
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "${BASH_SOURCE[0]}")/.."

base=debian:12-slim
while [[ $# -gt 0 ]]; do
  case $1 in
    --base) base=${2:?--base needs an image}; shift 2 ;;
    *) echo "usage: packaging/image.sh [--base IMAGE]" >&2; exit 2 ;;
  esac
done
if ! command -v buildah >/dev/null; then
  echo "image.sh: needs buildah (apt-get install buildah); docker build -f packaging/Dockerfile . does the same" >&2
  exit 1
fi
compgen -G 'dist/hoplite_collectives-*.whl' >/dev/null || ./scripts/wheel.sh
version=$(sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
buildah build --format docker --ignorefile /dev/null --build-arg "BASE=$base" --file packaging/Dockerfile --tag "hoplite:$version" .
