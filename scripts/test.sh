#!/usr/bin/env bash
# Builds and runs the tests, each where it means most: unit, conformance and cluster programs under sanitizers; long
# searches, the command line, Python and the checks of the sources in release.
# The last line is "N passed, N failed"; exit status 0 only if nothing failed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  cat <<'TEXT'
usage: scripts/test.sh [--only PART]... [--all] [--jobs N]
  --only PART   release, lint, python, asan, tsan or docs instead of release, asan, tsan and docs; may be repeated
                (lint is the part of release that reads the sources, python that of the Python package,
                docs builds the site: scripts/docs.sh); release then has also the tests that asan has
  --all         all of release; play all random histories and long searches, compile each source alone and
                show each to clang-tidy, otherwise an eighth of them, another one for each commit (--only lint: all sources),
                and every other one of the tests of Ray
  --jobs N      processes at a time for building, and twice as many tests, since most of them wait
                (default: one per core)
TEXT
}

parts=()
jobs=$(nproc)
all=no
while [[ $# -gt 0 ]]; do
  case $1 in
    --only) parts+=("${2:?--only needs a part}"); shift 2 ;;
    --all) all=yes; shift ;;
    --jobs) jobs=${2:?--jobs needs a number}; shift 2 ;;
    --help | -h) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
done
release_options=(-DHOPLITE_SANITIZED_ELSEWHERE=OFF)
if [[ ${#parts[@]} -eq 0 ]]; then
  parts=(release asan tsan docs)
  [[ $all == yes ]] || release_options=(-DHOPLITE_SANITIZED_ELSEWHERE=ON)
fi

passed=0
failed=0
finish() {
  echo "$passed passed, $failed failed"
  [[ $failed -eq 0 && $passed -gt 0 ]] || exit 1
  exit 0
}

# Runs a step quietly; shows the end of its output and gives up if it fails.
step() {
  local name=$1 log start=$SECONDS
  shift
  log=$(mktemp)
  echo "== $name"
  if ! "$@" >"$log" 2>&1; then
    tail -n 100 "$log"
    rm -f "$log"
    echo "$name failed"
    failed=$((failed + 1))
    finish
  fi
  rm -f "$log"
  [[ $((SECONDS - start)) -lt 10 ]] || echo "$name: $((SECONDS - start)) s"
}

# Where the time went: the ten tests of a JUnit report that took longest.
slowest() {
  sed -n 's/.*<testcase name="\([^"]*\)".* time="\([0-9.]*\)".*/\2 s \1/p' "$1" | sort -rn | sed -n '1,10p'
}

# PRESET TARGET [ctest options]
run_part() {
  local preset=$1 target=$2 start=$SECONDS status=0 report log good bad skipped
  shift 2
  local options=()
  [[ $preset != release ]] || options=("${release_options[@]}")
  step "$preset: configure" cmake --preset "$preset" "${options[@]}"
  step "$preset: build" cmake --build --preset "$preset" --target "$target" -j "$jobs"
  report=$PWD/build/$preset/test-report.xml
  log=$PWD/build/$preset/test.log
  rm -f "$report" "$log"
  echo "== $preset: test"
  HOPLITE_SHARDS=1 ctest --preset "$preset" -j "$((2 * jobs))" --output-junit "$report" --quiet \
    --test-output-size-passed 1000000 --output-log "$log" "$@" || status=$?
  good=0 bad=0 skipped=0
  [[ ! -s $report ]] || read -r good bad skipped < <(python3 tests/lint/counts.py "$report")
  if [[ $((good + bad + skipped)) -eq 0 ]]; then
    tail -n 20 "$log" 2>/dev/null || true
    echo "$preset: no tests ran"
    failed=$((failed + 1))
    return
  fi
  [[ $status -eq 0 || $bad -gt 0 ]] || bad=1
  if [[ $bad -gt 0 ]]; then
    awk '/\*\*\*|tests passed/ { show = 1 } / Passed +[0-9.]+ sec/ { show = 0 } show' "$log" | tail -n 300
  fi
  passed=$((passed + good))
  failed=$((failed + bad))
  slowest "$report"
  echo "$preset: $good passed, $bad failed, $skipped skipped in $((SECONDS - start)) s"
}

# The Python package is built and tested where its environment can be had.
add_python() {
  local interpreter log
  log=$(mktemp)
  echo "== python: environment"
  if interpreter=$(./scripts/python_env.sh 2>"$log"); then
    release_options+=(-DHOPLITE_PYTHON=ON "-DPython_EXECUTABLE=$interpreter")
    sed -n 's/^could not be installed/python: SKIPPED, &/p' "$log"
  else
    tail -n 3 "$log"
    echo "python: SKIPPED, its environment could not be made: neither the package nor its tests are built"
    release_options+=(-DHOPLITE_PYTHON=OFF)
  fi
  rm -f "$log"
}

# One test: every page is made, without a warning, and every link leads somewhere.
build_site() {
  local status=0 log start=$SECONDS result
  log=$(mktemp)
  echo "== docs: build"
  ./scripts/docs.sh >"$log" 2>&1 || status=$?
  [[ $status -eq 0 ]] || tail -n 100 "$log"
  rm -f "$log"
  case $status in
    0) result=passed passed=$((passed + 1)) ;;
    3) result="SKIPPED, what makes the site could not be had" ;;
    *) result=failed failed=$((failed + 1)) ;;
  esac
  echo "docs: $result in $((SECONDS - start)) s"
}

if [[ $all == no && ${parts[*]} != lint ]]; then
  HOPLITE_EIGHTH=$(($(git rev-list --count HEAD 2>/dev/null || echo 0) % 8))
  export HOPLITE_EIGHTH
  echo "histories, long searches and sources compiled alone or read by clang-tidy: eighth $HOPLITE_EIGHTH of 0 to 7 (--all: all)"
fi
step "setup" ./scripts/setup.sh
add_python
for part in "${parts[@]}"; do
  case $part in
    release) run_part release all ;;
    lint) run_part release lint_needs -L lint ;;
    python) run_part release all -L python ;;
    asan) run_part asan all_tests ;;
    tsan) run_part tsan tsan_tests ;;
    docs) build_site ;;
    *) usage >&2; exit 2 ;;
  esac
done
finish
