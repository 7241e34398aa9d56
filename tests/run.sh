#!/usr/bin/env bash
# Installs what is missing, builds, and runs the tests.
#   bash tests/run.sh            the tests of the library: a few minutes on two cores
#   bash tests/run.sh --all      what CI runs: also warnings as errors, packaging and ABI tests,
#                                languages, sanitizers, fuzzing, a build with clang
#   bash tests/run.sh --release  everything, for a release: also whole conformance suites on GPUs
#                                that a processor plays, and all models under the sanitizers
# Ends with "N passed, N failed" and a non-zero status when anything failed.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

all=false release=false
case ${1:-} in
  "") ;;
  --all) all=true ;;
  --release) all=true release=true ;;
  *) echo "usage: bash tests/run.sh [--all | --release]" >&2; exit 2 ;;
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

# Runs a command that counts as one check, and shows its output.
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

# Builds presets in the background, on processors that nothing else wants: tests wait a lot.
builder=  # its process and process group
background=$(mktemp -d)
trap '[ -z "$builder" ] || kill -- "-$builder" 2> /dev/null; rm -rf "$background"' EXIT
begin_builds() {  # begin_builds PRESET...: one after the other, each by its function build_PRESET
  local preset
  set -m
  (
    chrt --idle --pid 0 "$BASHPID" || renice -n 19 -p "$BASHPID"
    for preset; do
      "build_$preset" > "$background/$preset" 2>&1
      echo $? > "$background/$preset.status"
    done
  ) < /dev/null > /dev/null 2>&1 &
  builder=$!
  set +m
}
end_build() {  # end_build PRESET: waits for it and shows its output
  while [ ! -e "$background/$1.status" ] && kill -0 "$builder" 2> /dev/null; do sleep 0.2; done
  cat "$background/$1"
  return "$(cat "$background/$1.status" 2> /dev/null || echo 1)"
}
# Counts what else runs in the background.
num_busy() { jobs -pr | grep -vcx "$builder"; }

# Uses one seed, so that a passing run passes again. Longer runs choose another.
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
          libcli11-dev nlohmann-json3-dev libgtest-dev libgmock-dev libx11-dev xvfb libopenblas-dev
          libspng0 libjpeg62-turbo libwebp7 libflac12 libmpg123-0)
if $all; then
  packages+=(abigail-tools binutils meson python3-cffi python3-numpy clang libclang-rt-14-dev
             libjpeg62-turbo-dev libbenchmark-dev libboost-dev libssl-dev clang-format-14 clang-tidy-14 python3-dev python3-venv
             luajit ruby php-cli mono-mcs mono-runtime dpkg-dev lintian
             libvulkan-dev glslang-tools spirv-tools mesa-vulkan-drivers vulkan-validationlayers)
fi
check "installing packages" bash cmake/install_packages.sh "${packages[@]}" || finish
# Without these, tests/windows.sh is left out.
packages_of_windows=(g++-mingw-w64-x86-64-posix wine wine64 googletest dpkg-dev)
if $all; then bash cmake/install_packages.sh "${packages_of_windows[@]}"; fi

say "Build"
# g++ frees memory while it compiles, which takes a sixth of its time: make it rare if there is
# enough memory.
gigabytes=$(awk '/^MemTotal/ {print int($2 / 1048576)}' /proc/meminfo)
spacious=
[ "${gigabytes:-0}" -lt $((4 * cores)) ] || spacious=-DCMAKE_CXX_FLAGS=--param=ggc-min-heapsize=1048576
# Line numbers without types: a fifth of the time to compile, a quarter of the bytes to link.
lines_only="-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O2 -g1 -DNDEBUG"
if ! $all; then
  check "the dev build" build dev -DTENON_WERROR=OFF -DTENON_VULKAN=OFF "$lines_only" \
    ${spacious:+"$spacious"} || finish
  say "Tests"
  # Excludes packages, simulated GPUs or second devices, and most of the conformance suite. Keeps
  # the suite for this machine's kernels and for results of a GPU.
  run_ctest dev -LE '^(consumer|abi|release)$' \
    -E '^(conformance_(cpu|plugin)_.*|CutInTwo/.*|vulkan\..*|.*(Vulkan|Cuda).*)$'
  finish
fi

# Programs that parse untrusted input, and programs that compute with it.
parts_of_asan=(base file text text_grammar program weights weights_foreign sampler kv backend engine media
               capi unload server hub mutation conformance)
asan_targets=("${parts_of_asan[@]/#/test_}" fuzzers)
if $release; then asan_targets=(all); fi
# Programs with several threads.
threaded=(base backend engine capi)
# Clang must compile everything without a warning, except the example programs: the library's own
# tests cover their calls.
build_asan() { build asan -DTENON_EXAMPLES=OFF -- "${asan_targets[@]}"; }
build_tsan() {
  build tsan -DTENON_EXAMPLES=OFF ${spacious:+"$spacious"} -- "${threaded[@]/#/test_}"
}

check "the dev build, warnings as errors" build dev -DTENON_WERROR=ON -DTENON_BENCH=ON \
  "$lines_only" ${spacious:+"$spacious"} || finish
begin_builds asan tsan
say "Tests"
# Models whose mixers and caches others have: gemma4, falcon_h1, mamba, kimi_k3, rwkv6, rwkv7.
repeated='gemma3|gpt_oss|nemotron_h|plamo2|kimi_linear|rwkv6qwen2|arwkv7'
# The suite runs for each set of kernels, so the chosen set is left out; the suite of CUDA contains
# the quick gate's results of a GPU. One model of each kind is cut in two.
without_dev=(-E '^conformance_cpu$')
$release || without_dev=(-LE '^release$'
                         -E "^(conformance_(cpu|gpu_results)|CutInTwo/Kinds\..*/($repeated))\$")
run_ctest dev "${without_dev[@]}"

# Builds, installs and tests the packages of other languages, as many at a time as there are cores;
# reports missing languages. Their tests wait for collectors, loops and threads of other runtimes
# and may be late on a busy machine: a failed one runs once more, alone.
languages=("Python: the wheel=bindings/python/test.sh"
           "Java: the jars=bindings/java/test.sh"
           "Rust: the crates=bindings/rust/test.sh"
           "Go: the module=bindings/go/test.sh"
           "Node, Bun and Deno: the package=bindings/node/test.sh"
           "LuaJIT, Ruby, PHP and C#=bindings/test_cheap.sh"
           "The server's clients=tests/server/clients/run.sh")
package() {  # package SCRIPT LOG
  bash "$1" build-dev > "$2" 2>&1
  echo $? > "$2.status"
}
say "Languages and clients"
$release || export TENON_ORDERS=${TENON_ORDERS:-200}  # random orders of calls, in each language
logs=$(mktemp -d)
running=()  # [languages] process ids
for i in "${!languages[@]}"; do
  while [ "$(num_busy)" -ge "$cores" ]; do sleep 0.2; done
  package "${languages[i]#*=}" "$logs/$i" &
  running+=($!)
done
wait "${running[@]}"
for i in "${!languages[@]}"; do
  name=${languages[i]%%=*}
  say "$name"
  cat "$logs/$i"
  status=$(cat "$logs/$i.status")
  if [ "$status" -ne 0 ] && [ "$status" -ne 77 ]; then
    echo "FAILED once: $name; a second attempt"
    package "${languages[i]#*=}" "$logs/$i"
    cat "$logs/$i"
    status=$(cat "$logs/$i.status")
  fi
  case $status in
    0) passed=$((passed + 1)) ;;
    77) skipped=$((skipped + 1)) ;;
    *) fail "$name" ;;
  esac
done
rm -rf "$logs"

# Cross-built library, program and tests; kept apart from the sanitizers' time.
say "Windows, by mingw-w64 and wine"
bash tests/windows.sh
case $? in
  0) passed=$((passed + 1)) ;;
  77) skipped=$((skipped + 1)) ;;
  *) fail "Windows" ;;
esac

# True if there is time for a part of that many minutes; a release takes the time it needs.
has_time() {  # has_time MINUTES PART
  $release || [ $((SECONDS - started)) -lt $(($1 * 60)) ] && return
  say "$2: left out, $1 minutes have passed"
  return 1
}
# A filter of GoogleTest that leaves these out.
all_but() { (IFS=:; echo "-$*"); }

# Leaves out tests that judge times, and repetitions of values on paths that other tests take:
# conformance runs the kernels of each format.
without_asan=('LinearTime.*' 'TokenizerTime.*' 'TokenizerMemory.*' 'TemplateWork.EveryOperation*'
              'GuessControl.AUselessDrafter*'
              'RandomModel.ThereIsATinyOne*' 'RandomModel.RunsInEveryFormat*' 'Architectures/TinyFiles.*'
              '*/Golden.HasTheSameBits*' '*/Further.HasTheSameBits*' '*/OfArchitecture.*'
              '*/ParityOf.*' 'QuantEncode.*' 'Isa/LinearKernel.RowsDoNot*' 'CutInTwo/Kinds.*'
              '*/Invariance.Slices*' '*/Invariance.Neighbours*'
              'Models/RowsOnDemand.*_reference'
              # The sanitizer takes them beyond the server's ten seconds.
              'HeavyGrammars.Tools*'
              # Constructors of nlohmann's JSON leak if an allocation is refused in them.
              'Routes/FullMemory.*' 'FullMemoryOfParts.RequestsAreMadeOrNot'
              # A forked child: the sanitizer's allocator may be locked in it for ever.
              'Fork.TheChildCompilesWhileThreadsOfTheParentDo')
if has_time 55 "Address and undefined-behaviour sanitizers"; then
  say "Address and undefined-behaviour sanitizers, with clang: build"
  if check "the asan build" end_build asan &&
    has_time 70 "Address and undefined-behaviour sanitizers: tests"; then
    say "Address and undefined-behaviour sanitizers: tests"
    # Conformance runs the instruction set of most machines. Mutations run every architecture.
    labels=(-L "^($(IFS='|'; echo "${parts_of_asan[*]}"))\$")
    if $release; then labels=(); fi
    if ! $release; then
      for kind in ${repeated//|/ }; do without_asan+=("Of/Kinds.*/$kind"); done
    fi
    # More at a time than there are cores: many wait, for the server above all.
    GTEST_FILTER=$(all_but "${without_asan[@]}") TENON_MUTATIONS=15 \
      run_ctest asan -j $((cores + 1)) ${labels[@]+"${labels[@]}"} \
      -E '^conformance_(plugin_|cpu$|gpu_)'

    say "Fuzzing: 5 seconds for each target, as many at a time as there are cores"
    running=()  # [targets] process id and name
    for source in tests/fuzz/*_fuzz.cpp; do
      while [ "$(num_busy)" -ge "$cores" ]; do sleep 0.2; done
      name=$(basename "$source" _fuzz.cpp)
      fuzz "$name" 5 > build-asan/"$name".result &
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
fi

# A release's archive for another processor, by another compiler with another C++ library: its
# symbols, its answers and bits beside this build's, and its users' programs, under qemu.
if has_time 62 "The archive of a release"; then
  say "The archive of a release, cross-compiled"
  bash tests/release/cross.sh aarch64-linux-gnu.2.28 build-dev/bin/tenon
  case $? in
    0) passed=$((passed + 1)) ;;
    77) skipped=$((skipped + 1)) ;;
    *) fail "the archive of a release" ;;
  esac
fi

# Single-threaded tests, in rooms whose other tests have many threads. Kinds run in slices on a team;
# models on two devices are `Placed`, and rows beside text `EmbedAlsoOf`.
without_tsan=('LinearTime.*' '*/Kinds.Rewinds*' '*/Kinds.Forks*' '*/Kinds.Snapshots*' '*/Kinds.Shared*'
              '*/Kinds.Idle*' '*/Kinds.Take*' '*/Kinds.Scores*' '*/BatchInvarianceOf.*'
              '*/Invariance.Slices*' '*/Invariance.Neighbours*' '*/Invariance.StepsFilled*'
              '*/Invariance.TokenByToken*' '*/Invariance.Rewind*' '*/Invariance.Fork*'
              '*/OfArchitecture.*' 'Snapshots.*' 'SnapshotFiles.*' 'Sources.AreRestored*' 'Sequences.*'
              'Scheduler.*' 'SliceTuner.*' 'Windows.*' 'DeviceSizes.*' 'AnswerTexts.*'
              'BannedTextsInAnswers.*' 'Banned.*' 'RefusedMemory.*' 'TokenPath.*'
              'Fork.TheChildCompiles*' '*/Starved.*' 'CutInTwo/Kinds.*' 'Models/RowsOnDemand.*_reference'
              '*/EmbedAlso.Gives*' '*/ExpertsOnCpu.GoBeside*' '*/PlacedAs.*/gemma3'
              '*/PlacedAs.*/deepseek2' '*/PlacedAs.*/qwen3*' '*/PlacedAs.*/gpt_oss'
              'CGrammar.CompilingAsksWhetherToStop'
              # Answers with and without guesses, one session or a batch at a time.
              'Models/Drafts.ChangeNoAnswer*' 'Models/Guesses.ChangeNoAnswer*'
              'Models/Guesses.OfTheTextItself*' 'DraftModels.PerfectOnes*' 'DraftModels.OfStates*'
              'DraftModels.RefusedMemory*' 'DraftModels.WithoutMemory*' 'Models/StoreOfKind.*'
              'Store.DamagedFiles*'
              # What a row costs beside a step is another matter under sanitizers.
              'GuessControl.AUselessDrafter*'
              # Threads that start in a child of fork() end the sanitizer.
              'Store.SurvivesKills' 'Store.IsReadByAnotherProcess'
              # A thread that ends its own engine is joined by nobody.
              'Store.MayEndTheEngineInACall')
if has_time 66 "Thread sanitizer"; then
  say "Thread sanitizer: build"
  if check "the tsan build" end_build tsan; then
    say "Thread sanitizer: tests"
    GTEST_FILTER=$(all_but "${without_tsan[@]}") \
      run_ctest tsan -j $((cores + 1)) -L "^($(IFS='|'; echo "${threaded[*]}"))\$"
  fi
fi
finish
