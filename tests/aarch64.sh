#!/usr/bin/env bash
# Cross-compiles the CPU backend for aarch64 and runs its tests and the conformance suite under
# qemu-user: some minutes, most of them compiling. Not part of tests/run.sh.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bash cmake/install_packages.sh g++-aarch64-linux-gnu qemu-user cmake ninja-build googletest \
  libfmt-dev libeigen3-dev libxxhash-dev nlohmann-json3-dev
cmake -S . -B build-aarch64 -G Ninja -DCMAKE_TOOLCHAIN_FILE=cmake/toolchains/aarch64-linux-gnu.cmake \
  -DCMAKE_BUILD_TYPE=Release -DTENON_TESTS=ON -DTENON_EXAMPLES=OFF -DTENON_INSTALL=OFF \
  -DTENON_UNITY=ON
cmake --build build-aarch64 -j "$(nproc)" --target test_backends_cpu test_conformance

run() { qemu-aarch64 -L /usr/aarch64-linux-gnu "$@"; }
run build-aarch64/bin/test_backends_cpu
for isa in neon neon_i8mm; do
  run build-aarch64/bin/test_conformance --backend cpu --isa "$isa"
done
# A processor without the dot product instructions takes the portable kernels.
run -cpu cortex-a53 build-aarch64/bin/test_backends_cpu --gtest_filter='*IsNear*'
