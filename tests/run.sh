#!/usr/bin/env bash
# Installs what is missing, builds, and runs the tests.
#   bash tests/run.sh        the tests of the library: a few minutes on two cores
#   bash tests/run.sh --all  everything that CI runs: also warnings as errors, packaging and ABI
#                            tests, sanitizers, fuzzing, a build with clang
# Ends with "N passed, N failed" and a non-zero status when anything failed.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

all=false
case ${1:-} in
  "") ;;
  --all) all=true ;;
  *) echo "usage: bash tests/run.sh [--all]" >&2; exit 2 ;;
esac

cores=$(nproc)
started=$SECONDS
passed=0 failed=0 skipped=0
failures=()

say() {
  printf '\n== %s (%d min %02d s)\n' "$*" $(((SECONDS - started) / 60)) $(((SECONDS - started) % 60))
}

fail() {
  failures+=("$1")
  failed=$((failed + 1))
  echo "FAILED: $1"
}

finish() {
  say "Done"
  for name in ${failures[@]+"${failures[@]}"}; do echo "failed: $name"; done
  [ "$skipped" -eq 0 ] || echo "$skipped skipped: they need files that are not here"
  echo "$passed passed, $failed failed"
  [ "$failed" -eq 0 ]
  exit
}

# Runs a command that counts as one check; what it prints is shown.
check() {  # check NAME COMMAND...
  if "${@:2}"; then passed=$((passed + 1)); else fail "$1"; return 1; fi
}

build() {  # build PRESET [CMAKE_ARGUMENT...] [-- TARGET...]
  local preset=$1 log
  # Several files of a room at a time: a quarter of the time. A cache of compilers has nothing of a
  # fresh checkout, and would not let headers be precompiled.
  local arguments=(-DTENON_UNITY=ON -DTENON_CCACHE=OFF)
  shift
  while [ $# -gt 0 ] && [ "$1" != -- ]; do arguments+=("$1"); shift; done
  [ $# -gt 0 ] && shift
  log=$(mktemp)
  if ! cmake --preset "$preset" ${arguments[@]+"${arguments[@]}"} > "$log" 2>&1; then
    cat "$log"
    rm -f "$log"
    return 1
  fi
  sed -n -E 's/^-- (.*(left out|built without).*)/\1/p' "$log"
  rm -f "$log"
  # GoogleTest asks each program for its tests as part of the build.
  "${unrandomized[@]}" cmake --build "build-$preset" -j "$cores" ${1:+--target "$@"}
}

of_report() { sed -n "s/.*\b$2=\"\([0-9]*\)\".*/\1/p" "$1" 2> /dev/null | head -n 1; }

# Runs the tests of a build folder and adds them to the count.
run_ctest() {  # run_ctest PRESET CTEST_ARGUMENT...
  local directory=build-$1 report status count bad idle name
  report=$PWD/$directory/report.xml
  rm -f "$report"
  "${unrandomized[@]}" ctest --test-dir "$directory" -j "$cores" --output-on-failure --progress \
    --no-tests=error --timeout 600 --output-junit "$report" "${@:2}"
  status=$?
  count=$(of_report "$report" tests) bad=$(of_report "$report" failures)
  idle=$(of_report "$report" skipped)
  passed=$((passed + ${count:-0} - ${bad:-0} - ${idle:-0}))
  failed=$((failed + ${bad:-0}))
  skipped=$((skipped + ${idle:-0}))
  while IFS= read -r name; do failures+=("$name, $1 build"); done < <(
    sed -n 's/.*<testcase name="\([^"]*\)".* status="fail".*/\1/p' "$report" 2> /dev/null)
  if [ "$status" -ne 0 ] && [ "${bad:-0}" -eq 0 ]; then fail "ctest of the $1 build"; fi
}

# The same seed each time: what passed once passes again. Runs that look for more choose another.
fuzz() {  # fuzz NAME SECONDS
  local corpus log=build-asan/fuzz_$1.log
  corpus=$(mktemp -d)
  "${unrandomized[@]}" build-asan/bin/"fuzz_$1" -seed=1 -max_total_time="$2" -timeout=10 \
    -rss_limit_mb=2048 -artifact_prefix=build-asan/ -print_final_stats=1 \
    "$corpus" tests/fuzz/seeds/"$1" > "$log" 2>&1
  local status=$?
  rm -rf "$corpus"
  if [ "$status" -eq 0 ]; then grep number_of_executed_units "$log"; else tail -n 60 "$log"; fi
  return "$status"
}

# Sanitizers of this age do not know the widest address randomization of newer kernels.
unrandomized=(setarch --addr-no-randomize)
"${unrandomized[@]}" true 2> /dev/null || unrandomized=(env)

say "Packages"
packages=(g++ cmake ninja-build pkg-config libfmt-dev libeigen3-dev libutf8proc-dev libxxhash-dev
          libcli11-dev nlohmann-json3-dev libgtest-dev libgmock-dev libx11-dev xvfb libopenblas-dev)
if $all; then
  packages+=(abigail-tools binutils meson python3-cffi python3-numpy clang libclang-rt-14-dev
             libbenchmark-dev libboost-dev libssl-dev clang-format-14 clang-tidy-14 python3-dev python3-venv
             luajit ruby php-cli mono-mcs mono-runtime dpkg-dev lintian
             libvulkan-dev glslang-tools spirv-tools mesa-vulkan-drivers vulkan-validationlayers)
fi
check "installing packages" bash cmake/install_packages.sh "${packages[@]}" || finish

say "Build"
# Line numbers without types: a fifth of the time to compile, a quarter of the bytes to link.
lines_only="-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O2 -g1 -DNDEBUG"
if ! $all; then
  check "the dev build" build dev -DTENON_WERROR=OFF -DTENON_VULKAN=OFF "$lines_only" || finish
  say "Tests"
  # Excludes packages, simulated GPUs or second devices, and most of the conformance suite. Keeps
  # the suite for this machine's kernels and for results of a GPU.
  run_ctest dev -LE '^(consumer|abi)$' \
    -E '^(conformance_(cpu|plugin)_.*|CutInTwo/.*|vulkan\..*|.*(Vulkan|Cuda).*)$'
  finish
fi

check "the dev build, warnings as errors" build dev -DTENON_WERROR=ON -DTENON_BENCH=ON \
  "$lines_only" || finish
say "Tests"
# The suite runs for each set of kernels, so the chosen set is left out.
run_ctest dev -E '^conformance_cpu$'

# Packages of other languages, built, installed and tested; where a language is not there, that is said.
# Their tests wait for collectors, loops and threads of other runtimes: on a machine that others load, too, one may
# come too late. It is run once more, and that is said.
package() {  # package NAME SCRIPT
  local attempt
  say "$1"
  for attempt in 1 2; do
    bash "$2" build-dev
    case $? in
      0) passed=$((passed + 1)); return ;;
      77) skipped=$((skipped + 1)); return ;;
    esac
    [ "$attempt" -eq 2 ] || echo "FAILED once: $1; a second attempt"
  done
  fail "$1"
}
package "Python: the wheel" bindings/python/test.sh
package "Node, Bun and Deno: the package" bindings/node/test.sh
package "Rust: the crates" bindings/rust/test.sh
package "Go: the module" bindings/go/test.sh
package "Java: the jars" bindings/java/test.sh
package "LuaJIT, Ruby, PHP and C#" bindings/test_cheap.sh
package "The server's clients" tests/server/clients/run.sh

# With clang, which must compile everything without a warning. Without the example programs: what they
# call is tested through the library's own tests.
# Left out is what judges times, and what computes values once more on paths that other tests take.
left_out=('LinearTime\.' 'TokenizerTime\.' 'TokenizerMemory\.' 'TemplateWork\.EveryOperation'
          'RandomModel\.(ThereIsATinyOne|RunsInEveryFormat)' 'Architectures/TinyFiles\.'
          '.*/(Golden|Further)\.HasTheSameBits' '.*/OfArchitecture\.' '.*/ParityOf\.' 'QuantEncode\.'
          'Isa/LinearKernel\.RowsDoNot' 'conformance_(plugin_|cpu$|gpu_)' 'CutInTwo/Kinds\.'
          'Models/RowsOnDemand\..*_reference'
          # Constructors of nlohmann's JSON lose their memory where they are refused more.
          'Routes/FullMemory\.' 'FullMemoryOfParts\.RequestsAreMadeOrNot'
          # A child of fork: the allocator of the sanitizer may be locked in it for ever.
          'Fork\.TheChildCompilesWhileThreadsOfTheParentDo')
say "Address and undefined-behaviour sanitizers, with clang: build"
if check "the asan build" build asan -DTENON_EXAMPLES=OFF; then
  say "Address and undefined-behaviour sanitizers: tests"
  # Of conformance the instruction set of most machines, the reference beside it. Mutations run every
  # architecture.
  TENON_MUTATIONS=40 run_ctest asan -E "^($(IFS='|'; echo "${left_out[*]}"))"

  say "Fuzzing: 10 seconds for each target, as many at a time as there are cores"
  running=()  # [targets] process id and name
  for source in tests/fuzz/*_fuzz.cpp; do
    while [ "$(jobs -pr | wc -l)" -ge "$cores" ]; do sleep 0.2; done
    name=$(basename "$source" _fuzz.cpp)
    fuzz "$name" 10 > build-asan/"$name".result &
    running+=("$! $name")
  done
  for target in "${running[@]}"; do
    name=${target#* }
    wait "${target% *}"
    status=$?
    echo "$name: $(cat build-asan/"$name".result)"
    check "fuzzing $name" [ "$status" -eq 0 ]
  done
fi

say "Thread sanitizer: build"
threaded=(base backend engine capi)
if check "the tsan build" build tsan -DTENON_EXAMPLES=OFF -- "${threaded[@]/#/test_}"; then
  say "Thread sanitizer: tests"
  # Without what one thread does, in rooms where others have many. Kinds run in slices on a team; models on two
  # devices are `Placed`.
  alone=('LinearTime\.' '.*/Kinds\.(Rewinds|Forks|Snapshots|Shared|Idle|Take|Scores)' '.*/BatchInvarianceOf\.'
         '.*/Invariance\.(Slices|Neighbours|StepsFilled|TokenByToken|Rewind|Fork)' '.*/OfArchitecture\.'
         'Snapshots\.' 'SnapshotFiles\.' 'Sources\.AreRestored' 'Sequences\.' 'Scheduler\.' 'SliceTuner\.' 'Windows\.'
         'DeviceSizes\.' 'AnswerTexts\.' 'BannedTextsInAnswers\.' 'Banned\.' 'RefusedMemory\.'
         'TokenPath\.' 'Fork\.TheChildCompiles' '.*/Starved\.' 'CutInTwo/Kinds\.' 'Models/RowsOnDemand\..*_reference')
  run_ctest tsan -L "^($(IFS='|'; echo "${threaded[*]}"))\$" -E "^($(IFS='|'; echo "${alone[*]}"))"
fi
finish
