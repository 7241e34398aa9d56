#!/usr/bin/env bash
# From a fresh Debian 12 to streamed text: installs what the build needs, builds, and lets the demo
# model answer. Can be run again.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

echo "== Packages"
bash cmake/install_packages.sh g++ cmake ninja-build pkg-config libfmt-dev libeigen3-dev \
  libutf8proc-dev libxxhash-dev libcli11-dev nlohmann-json3-dev

echo "== Build (a few minutes the first time)"
cmake --preset release -DTENON_UNITY=ON  # several files of a room at a time
cmake --build build -j "$(nproc)"

model=examples/models/demo-q8_0.gguf
question="Tell me a story about a fox named Lily."
echo
echo "== $question"
build/bin/tenon chat "$model" -n 200 --message "$question"
echo
cat <<TEXT

== What to try next
  build/bin/tenon chat $model          talk with it
  build/bin/hello_cpp $model           the program of the README
  build/bin/tenon inspect $model       what is in a model file
  build/bin/tenon run OTHER.gguf "Once upon a time" -n 100
  build/bin/tenon --help
  examples/hello_cpp, examples/hello_c             the programs to start from
  docs/architecture.md                             how it works
TEXT
