#!/usr/bin/env bash
# run.sh SECONDS CASES: the mutation fuzzer of bundles over CASES cases, then the three libFuzzer harnesses, SECONDS in all.
# libFuzzer needs clang: it is installed where apt-get can do so; else this says so and, where HMOR_CI is set, fails.
set -euo pipefail
cd "$(dirname "$0")/../.."
each=$(( ($1 + 2) / 3 )) cases=$2
python=.venv/bin/python found=build/fuzz/found
mkdir -p "$found"/{datagram,plan,bundle,artifacts}

if [ "$cases" -gt 0 ]; then "$python" tests/fuzz/fuzz_bundles.py --cases "$cases"; fi

if ! command -v clang++ > /dev/null && [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null; then
  echo "Installing clang for libFuzzer:"
  { apt-get update -qq && apt-get install -qq -y clang; } > build/fuzz/apt.log 2>&1 || tail -3 build/fuzz/apt.log
fi
if ! command -v clang++ > /dev/null; then
  echo "libFuzzer needs clang++, found none and could not install it; on Debian: apt-get install clang. The harnesses did not run." >&2
  [ -z "${HMOR_CI:-}" ] || exit 1
  exit 0
fi

cmake=.venv/bin/cmake
CXX=clang++ "$cmake" -S rt_runtime -B build/fuzz -G Ninja -DCMAKE_MAKE_PROGRAM="$PWD/.venv/bin/ninja" \
  -DCMAKE_BUILD_TYPE=RelWithDebInfo -DHMOR_PYTHON=OFF -DHMOR_FUZZ=ON -DHMOR_SANITIZE=address,undefined > /dev/null
"$cmake" --build build/fuzz --target fuzz_datagram fuzz_plan > build/fuzz/build.log || { tail -20 build/fuzz/build.log; exit 1; }

harness() { # NAME LENGTH COMMAND...: what is found goes to build/fuzz/found/NAME, an input that fails to artifacts
  local name=$1 length=$2; shift 2
  echo "fuzz $name: $each s"
  "$@" -max_total_time="$each" -max_len="$length" -timeout=5 -rss_limit_mb=1000 -print_final_stats=1 -verbosity=0 \
    -artifact_prefix="$found/artifacts/$name-" "$found/$name" "tests/fuzz/corpus/$name" > "$found/$name.log" 2>&1 \
    || { tail -40 "$found/$name.log"; echo "fuzz $name: an input fails, see $found/artifacts"; exit 1; }
  grep number_of_executed_units "$found/$name.log" || true
}
harness datagram 4000 build/fuzz/fuzz_datagram
harness plan 4000 build/fuzz/fuzz_plan
harness bundle 8000 "$python" tests/fuzz/fuzz_bundle_files.py
