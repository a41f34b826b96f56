#!/usr/bin/env bash
# Hunts with libFuzzer; see tests/fuzz/README.md.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

all=(text frames server lane messages directory reduction session local tls)
usage() {
  cat <<TEXT
usage: scripts/fuzz.sh [--target T]... [--inputs N] [--long] [--keep]
  --target T   one of ${all[*]}; may be repeated (default: all, one after the other)
  --inputs N   how many to run of each (default: 1000000)
  --long       hunts without sanitizers, several times as fast, then runs what that kept with them
  --keep       then chooses the kept corpus anew from what was found so far
What it finds lies in build/fuzz/found; run that file again with build/fuzz/bin/fuzz_T FILE.
TEXT
}

targets=()
inputs=1000000
hunter=fuzz
keep=no
while [[ $# -gt 0 ]]; do
  case $1 in
    --target) targets+=("${2:?--target needs a name}"); shift 2 ;;
    --inputs) inputs=${2:?--inputs needs a number}; shift 2 ;;
    --long) hunter=hunt; shift ;;
    --keep) keep=yes; shift ;;
    --help | -h) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
done
[[ ${#targets[@]} -gt 0 ]] || targets=("${all[@]}")

for preset in fuzz $([[ $hunter == fuzz ]] || echo "$hunter"); do
  cmake --preset "$preset" >/dev/null
  cmake --build --preset "$preset" --target "${targets[@]/#/fuzz_}"
done
mkdir -p build/fuzz/found
# Faster: few frames of each allocation are remembered, and freed memory is kept away for less long.
export ASAN_OPTIONS=quarantine_size_mb=8:malloc_context_size=3${ASAN_OPTIONS:+:$ASAN_OPTIONS}

# Inputs of a few hundred bytes say all that matters, and run ten times faster than longer ones:
# forty events, or requests, are 256 bytes.
longest() {
  case $1 in
    text) echo 128 ;;
    directory | reduction | local) echo 256 ;;
    *) echo 512 ;;
  esac
}

run() {
  local preset=$1 target=$2 inputs=$3 schedule=1
  # To weigh thousands of kept inputs anew costs more than to run the next.
  [[ $preset == fuzz ]] || schedule=0
  nice "build/$preset/bin/fuzz_$target" -runs="$inputs" -max_len="$(longest "$target")" -print_final_stats=1 \
    -len_control=0 -entropic=$schedule -timeout=20 -verbosity=0 -artifact_prefix="build/fuzz/found/$target-" \
    "build/fuzz/corpus/$target" "tests/fuzz/corpus/$target"
}

# The smallest of the inputs that together reach everything: enough to start from.
keep_corpus() {
  local target=$1 most=12 chosen
  chosen=$(mktemp -d)
  "build/fuzz/bin/fuzz_$target" -set_cover_merge=1 "$chosen" "build/fuzz/corpus/$target" "tests/fuzz/corpus/$target"
  find "tests/fuzz/corpus/$target" -name 'reaches-*' -delete
  find "$chosen" -type f -printf '%s %p\n' | sort -rn | head -n "$most" | cut -d ' ' -f 2 |
    while read -r file; do
      cp "$file" "tests/fuzz/corpus/$target/reaches-$(basename "$file" | cut -c 1-8)"
    done
  rm -r "$chosen"
}

for target in "${targets[@]}"; do
  echo "== $target"
  mkdir -p "build/fuzz/corpus/$target" "tests/fuzz/corpus/$target"
  run "$hunter" "$target" "$inputs"
  if [[ $hunter != fuzz ]]; then run fuzz "$target" 0; fi  # nothing but what lies there
  if [[ $keep == yes ]]; then keep_corpus "$target"; fi
done
