#!/usr/bin/env bash
# From a fresh Debian 12 to streamed text. Installs what the build needs and builds what the README
# shows: the library, the program, the server, four examples, Python's package. Then the demo model
# answers. May be run again. `cmake --build build` builds the static library, plugins, tests and
# other examples. The kernels are those of this machine; for others, configure without
# TENON_KERNELS=NATIVE.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf '\n== %s (%d:%02d)\n' "$*" $((SECONDS / 60)) $((SECONDS % 60)); }

say "Packages"
bash cmake/install_packages.sh g++ cmake ninja-build pkg-config libfmt-dev libeigen3-dev libutf8proc-dev \
  libxxhash-dev libcli11-dev nlohmann-json3-dev
# Optional: the server, HTTPS, line editing in `tenon chat`, and Python's package. The build leaves
# out what is missing.
for package in libboost-dev libssl-dev libedit2 python3-dev; do
  bash cmake/install_packages.sh --quiet "$package" || echo "$package could not be installed; see below what is left out"
done

say "Configure"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# g++ frees memory while it compiles, which takes a tenth of its time: make it rare if there is
# enough memory.
spacious=()
gigabytes=$(awk '/^MemTotal/ {print int($2 / 1048576)}' /proc/meminfo 2> /dev/null || true)
if [ "${gigabytes:-0}" -ge $((4 * $(nproc))) ] &&
  "${CXX:-c++}" --version | grep 'Free Software Foundation' > /dev/null; then
  spacious=("-DCMAKE_CXX_FLAGS=${CXXFLAGS:-} --param=ggc-min-heapsize=1048576")
fi
cmake --preset release -DTENON_BLAS=OFF -DTENON_VULKAN=OFF -DTENON_KERNELS=NATIVE \
  ${spacious[@]+"${spacious[@]}"} > "$log" 2>&1 || { cat "$log"; exit 1; }
sed -n -E 's/^-- (.*(left out|built without).*)/\1/p' "$log" | grep -v '^Backend' || echo "Nothing is left out."

say "Build: a few minutes the first time"
cmake --build build -j "$(nproc)" --target quickstart
bash examples/python_package.sh build build/python || echo "Python's package is left out."

model=examples/models/demo-q8_0.gguf
question="Tell me a story about a fox named Lily."
say "$question"
build/bin/tenon run "$model" "$question" -n 200
say "What to try next"
cat <<TEXT
  build/bin/tenon chat $model          talk with it
  build/bin/tenon serve $model         answer over HTTP, with a page at http://127.0.0.1:8080
  build/bin/hello_cpp $model           the program of the README
  PYTHONPATH=build/python python3                  then: import tenon
  build/bin/tenon inspect $model       what is in a model file
  build/bin/tenon run OTHER.gguf "What is the capital of Norway?"
  build/bin/tenon --help
  examples/hello_cpp, examples/hello_c             the programs to start from
  docs/README.md                                   every question a user has, and how it works
TEXT
