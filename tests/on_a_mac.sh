#!/usr/bin/env bash
# What a person with a Mac runs: nothing for macOS was ever run on one.
#   bash tests/on_a_mac.sh ARCHIVE [LINUX_LOGITS]   a release's archive: tenon-VERSION-universal-macos.tar.gz
#   bash tests/on_a_mac.sh --build [LINUX_LOGITS]   this checkout, built by Apple's clang, and its tests
# LINUX_LOGITS is what a build on Linux wrote, whose bits are expected:
#   tenon logits examples/models/demo-q8_0.gguf --tokens-file tests/data/mac_tokens.txt --threads 1 \
#     --isa avx2 --output LINUX_LOGITS
# Prints a line for each check, the machine and, last, how many failed: please send all of it.
# --build takes half an hour, Xcode's command line tools, and of Homebrew
#   cmake ninja pkg-config fmt eigen utf8proc xxhash nlohmann-json cli11 boost googletest
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
[ "$(uname -s)" = Darwin ] || { echo "This script is for macOS."; exit 77; }
[ $# -ge 1 ] || { sed -n '2,10s/^# \{0,1\}//p' "$0"; exit 2; }
what=$1 linux_logits=${2:-}
[ -z "$linux_logits" ] || linux_logits=$(cd "$(dirname "$linux_logits")" && pwd)/$(basename "$linux_logits")
work=$(mktemp -d)
server=
# shellcheck disable=SC2317
finish() { [ -z "$server" ] || kill "$server" 2> /dev/null; rm -rf "$work"; }
trap finish EXIT
model=$root/examples/models/demo-q8_0.gguf
failed=0
check() {  # check NAME COMMAND...
  local status=0
  "${@:2}" > "$work/log" 2>&1 || status=$?
  if [ $status -eq 0 ]; then
    echo "passed: $1"
  else
    tail -n 40 "$work/log"
    echo "FAILED: $1 (status $status)"
    failed=$((failed + 1))
  fi
}
skip() { echo "skipped: $1"; }

echo "macOS $(sw_vers -productVersion) on $(sysctl -n machdep.cpu.brand_string), $(uname -m)"
for name in hw.memsize hw.nperflevels hw.perflevel0.logicalcpu hw.perflevel1.logicalcpu hw.logicalcpu hw.pagesize \
            hw.optional.arm.FEAT_DotProd hw.optional.arm.FEAT_I8MM; do
  echo "$name: $(sysctl -n "$name" 2> /dev/null || echo unknown)"
done

if [ "$what" = --build ]; then
  brew=$(brew --prefix)
  configure() {
    cmake -S . -B build-mac -G Ninja -DCMAKE_BUILD_TYPE=Release -DTENON_UNITY=ON -DTENON_SERVER_TLS=OFF \
      -DCMAKE_PREFIX_PATH="$brew" -DTENON_FMT_INCLUDE_DIR="$brew/include" \
      -DTENON_XXHASH_INCLUDE_DIR="$brew/include" -DTENON_UTF8PROC_INCLUDE_DIR="$brew/include" \
      -DTENON_UTF8PROC_ARCHIVE="$brew/lib/libutf8proc.a" -DTENON_BOOST_INCLUDE_DIR="$brew/include"
  }
  check "configuring" configure
  check "building" cmake --build build-mac
  # Each room's tests, the C interface, and the conformance of every set of kernels.
  for program in build-mac/bin/test_*; do
    [ -x "$program" ] || continue
    case $program in
      */test_conformance)
        for isa in portable neon neon_i8mm avx2; do
          build-mac/bin/tenon logits "$model" --tokens-file tests/data/mac_tokens.txt --isa "$isa" \
            --output "$work/any.bin" > /dev/null 2>&1 || continue
          check "conformance by $isa" "$program" --backend cpu --isa "$isa" \
            --gtest_filter='-SameBitsOfALongSequence.*'
        done ;;
      *) check "$(basename "$program")" "$program" ;;
    esac
  done
  check "installing" cmake --install build-mac --prefix "$work/installed"
  prefix=$work/installed
else
  check "unpacking" tar -xzf "$what" -C "$work"
  prefix=$(echo "$work"/tenon-*)
fi

tenon=$prefix/bin/tenon
files() { find "$prefix" -type f \( -name '*.dylib' -o -path '*/bin/tenon' \); }

# The dynamic loader's and the signature's opinion of each file.
while IFS= read -r file; do
  name=${file#"$prefix"/}
  check "signature of $name" codesign --verify --strict "$file"
  check "libraries of $name" otool -L "$file"
  if command -v dyld_info > /dev/null; then check "validity of $name" dyld_info -validate_only "$file"; fi
done < <(files)
exports_the_interface() {
  diff <(sort tests/abi/symbols.txt) \
       <(nm -gUj "$prefix"/lib/libtenon.dylib | sed -n 's/^_\(tenon_.*\)/\1/p' | sort -u)
}
check "libtenon.dylib exports the interface" exports_the_interface

answers() { "$tenon" run "$model" "What is the capital of Norway?" --seed 7 --max-tokens 24 | grep -q Oslo; }
check "tenon --version" "$tenon" --version
check "the program answers" answers
check "threads of all cores" "$tenon" run "$model" "Once upon a time" --max-tokens 64 --threads "$(sysctl -n hw.logicalcpu)"

# Bits: of each set of kernels that the processor has, beside those of Linux.
[ -e tests/data/mac_tokens.txt ] || { echo "tests/data/mac_tokens.txt is missing"; exit 1; }
logits() {
  "$tenon" logits "$model" --tokens-file tests/data/mac_tokens.txt --threads "$1" --isa "$2" --output "$3"
}
for isa in avx2 neon neon_i8mm; do
  if ! logits 1 "$isa" "$work/$isa.bin" > /dev/null 2>&1; then skip "kernels $isa, which this processor lacks"; continue; fi
  echo "logits by $isa: $(shasum -a 256 < "$work/$isa.bin")"
  check "logits by $isa and 4 threads" logits 4 "$isa" "$work/$isa.4.bin"
  check "their bits" cmp "$work/$isa.bin" "$work/$isa.4.bin"
  if [ -n "$linux_logits" ]; then check "the bits of Linux by $isa" cmp "$linux_logits" "$work/$isa.bin"; fi
done

# Files: other letters, another case of letters, saved twice over itself, refused ones.
mkdir -p "$work/ünï-日本"
cp "$model" "$work/ünï-日本/mödel.gguf"
check "a path with other letters" "$tenon" inspect "$work/ünï-日本/mödel.gguf"
check "a path in another case, as the file system takes it" "$tenon" inspect "$work/ünï-日本/MÖDEL.GGUF"
is_refused() { { "$tenon" inspect "$1" 2>&1 || true; } | grep "$2"; }  # is_refused MODEL WORDS
head -c 5000 "$model" > "$work/broken.gguf"
mkfifo "$work/fifo.gguf"
check "a truncated model is refused" is_refused "$work/broken.gguf" 'cut short'
check "a FIFO is refused, without waiting" is_refused "$work/fifo.gguf" 'not a regular file'
check "memory and speed of a plan" "$tenon" plan "$model"
"$tenon" plan "$model"
memory_pressure 2> /dev/null | tail -n 1  # beside the memory that plan calls free

# Plugin: found beside the library; MoltenVK's devices are listed where it is installed.
"$tenon" backends
lists_vulkan() { "$tenon" backends | grep vulkan; }
check "the plugin vulkan is found" lists_vulkan

# Server: a request, and an orderly end.
if "$tenon" serve --help > /dev/null 2>&1; then
  "$tenon" serve "$model" --port 18765 > "$work/server.log" 2>&1 &
  server=$!
  asks() { curl -sf --retry 40 --retry-connrefused --retry-delay 1 "http://127.0.0.1:18765/v1/models"; }
  completes() {
    curl -sf "http://127.0.0.1:18765/v1/chat/completions" -H 'Content-Type: application/json' \
      -d '{"messages": [{"role": "user", "content": "What is the capital of Norway?"}], "max_tokens": 24}' | grep Oslo
  }
  check "the server lists models" asks
  check "the server answers" completes
  ends() { kill -TERM "$server" && wait "$server"; local status=$?; [ $status -eq 0 ] || [ $status -eq 143 ]; }
  check "the server ends by SIGTERM" ends
  server=
fi

# The hardened runtime, as in a program that is notarised: no memory that is written is executed.
cat > "$work/entitlements.plist" <<'PLIST'
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0"><dict><key>com.apple.security.cs.disable-library-validation</key><true/></dict></plist>
PLIST
harden() {
  cp -R "$prefix" "$work/hardened" &&
    find "$work/hardened" -type f \( -name '*.dylib' -o -path '*/bin/tenon' \) \
      -exec codesign --force --sign - --options runtime --entitlements "$work/entitlements.plist" {} +
}
check "signing for the hardened runtime" harden
tenon=$work/hardened/bin/tenon
check "the program answers in the hardened runtime" answers

# Programs of others, by Apple's compiler: shared, and found by CMake and pkg-config.
links_c() {
  clang -std=c11 tests/consumer/c/main.c -o "$work/c_shared" -I"$prefix/include" -L"$prefix/lib" -ltenon \
    -Wl,-rpath,"$prefix/lib" && "$work/c_shared" "$model" | grep Oslo
}
links_cpp() {
  clang++ -std=c++20 tests/consumer/cpp/main.cpp -o "$work/cpp_shared" -I"$prefix/include" -L"$prefix/lib" -ltenon \
    -Wl,-rpath,"$prefix/lib" && "$work/cpp_shared" "$model" | grep Oslo
}
check "a C program" links_c
check "a C++ program" links_cpp
# Each processor's image of universal files; Rosetta runs the other one on Apple's processors.
for processor in arm64 x86_64; do
  if arch -"$processor" "$prefix/bin/tenon" --version > /dev/null 2>&1; then
    check "the image for $processor" arch -"$processor" "$prefix/bin/tenon" run "$model" "Hello" --max-tokens 8
  else
    skip "an image for $processor"
  fi
done
echo "$failed checks failed"
[ "$failed" -eq 0 ]
