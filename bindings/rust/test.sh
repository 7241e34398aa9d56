#!/usr/bin/env bash
# Tests the Rust binding with the library of a build folder: format, clippy, cargo test (scenarios,
# random orders, programs that must not compile, README and examples among them), and each way to
# the library.
#   bindings/rust/test.sh [BUILD_FOLDER] [CARGO_TEST_ARGUMENT...]   default: build-dev
# Ends with status 77 and a message if cargo or its crates are missing. TENON_TEST_ORDERS=10000 sets
# the number of random orders; TENON_TEST_MIRI=1 also runs miri (a nightly toolchain with miri and
# rust-src). cargo's builds stay in BUILD_FOLDER/rust-target.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
build=$(realpath "${1:-$root/build-dev}")
[ $# -eq 0 ] || shift
skip() { echo "SKIPPED: $*"; exit 77; }

command -v cargo > /dev/null || skip "no cargo"
cc --version > /dev/null 2>&1 || skip "no C compiler, which links programs"
[ -e "$build/lib/libtenon.so" ] || skip "$build holds no library"
crate=$("${PYTHON:-python3}" "$here/../names.py" CRATE)
crate_sys=$("${PYTHON:-python3}" "$here/../names.py" CRATE_SYS)
cd "$here"
export CARGO_TARGET_DIR=$build/rust-target
cargo fetch --quiet --locked 2> /dev/null || skip "cargo does not reach a registry"
export CARGO_NET_OFFLINE=true

if cargo fmt --version > /dev/null 2>&1; then cargo fmt --check; else echo "rustfmt is missing: format not checked"; fi
export TENON_LIBRARY_DIR=$build/lib
if cargo clippy --version > /dev/null 2>&1; then
  cargo clippy --quiet --locked --all-targets -- -D warnings
  cargo clippy --quiet --locked --no-default-features --features link -- -D warnings
else
  echo "clippy is missing: not run"
fi
[ -e "$build/lib/libtenon-server.so" ] || echo "LEFT OUT: $build holds no libtenon-server: servers are not tested"
cargo test --quiet --locked "$@"
RUSTDOCFLAGS="-D warnings" cargo doc --quiet --locked --no-deps

# The oldest compiler that Cargo.toml names.
oldest=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
if cargo "+$oldest" --version > /dev/null 2>&1; then
  cargo "+$oldest" check --quiet --locked --lib --target-dir "$CARGO_TARGET_DIR/oldest"
else
  echo "rust $oldest is missing: not checked"
fi

# generate.py alone carries a header's new function to both crates: checked with tenon.h, which
# works like server.h.
more=$(mktemp -d)
trap 'rm -rf "$more"' EXIT
cp "$here"/../{generating.py,recording.py,interface.json} "$more"
mkdir "$more/rust"
cp -r "$here"/{*.py,Cargo.toml,Cargo.lock,README.md,tenon,tenon-sys} "$more/rust"
"${PYTHON:-python3}" - "$here/../interface.json" "$here/../server_interface.json" "$more/server_interface.json" << 'END'
"""Functions of tenon.h, as if they were the server's: all that neither end a handle nor have types of their own."""
import json, sys
tenon, server = (json.load(open(name, encoding="utf-8")) for name in sys.argv[1:3])
ends = {handle["destroy"] for handle in tenon["handles"]}
for function in tenon["functions"]:
    if function["name"] not in ends and all(p["role"] not in ("struct", "out_struct") for p in function["parameters"]):
        server["functions"].append({**function, "name": "tenon_server_x_" + function["name"].removeprefix("tenon_")})
json.dump(server, open(sys.argv[3], "w", encoding="utf-8"))
END
"${PYTHON:-python3}" "$more/rust/generate.py"
grep -q "fn server_x_tokenizer_encode" "$more/rust/tenon/src/server_calls.rs"
(cd "$more/rust" && RUSTFLAGS="-D warnings" cargo check --quiet --locked --lib --target-dir "$CARGO_TARGET_DIR/more")
rm -rf "$more"
trap - EXIT

# The parts without the library; miri sees every access (cargo +nightly miri setup takes a minute).
if [ -n "${TENON_TEST_MIRI:-}" ]; then
  cargo +nightly miri test --quiet --locked -p "$crate" --lib -- --skip fit < /dev/null
fi

# The C interface needs no std.
cargo rustc --quiet --locked -p "$crate_sys" --lib --crate-type lib -- -D warnings

# The packages, as the README says: unpacked in an empty folder.
packed=$(mktemp -d)
trap 'rm -rf "$packed"' EXIT
BUILD=$build "$root/bindings/build_all.sh" rust > /dev/null
(
  cd "$packed"
  for package in "$here"/dist/*.crate; do tar xf "$package"; done
  mkdir src
  cp "$here/tenon/examples/hello.rs" src/main.rs
  { printf '[package]\nname = "empty"\nedition = "2021"\n'; sed -n '/^```toml/,/^```/p' "$here/README.md" | grep -v '^```'; } > Cargo.toml
  cargo build --quiet --target-dir "$CARGO_TARGET_DIR/empty"
)
says() {  # WHAT COMMAND...: checks the output
  local what=$1
  shift
  (cd "$root/examples/models" && "$@") | grep -q "^The capital of Norway is Oslo." || { echo "$what does not run" >&2; exit 1; }
}
says "a program of the packages" "$CARGO_TARGET_DIR/empty/debug/empty"

# Each way to the library, with a running program.
installed=$(mktemp -d)
trap 'rm -rf "$packed" "$installed"' EXIT
cmake --install "$build" --prefix "$installed" > /dev/null
pc=$(dirname "$(find "$installed" -name tenon.pc)")
folder=$(dirname "$pc")
hello=$CARGO_TARGET_DIR/debug/examples/hello
build_hello() { cargo build --quiet --locked -p "$crate" --example hello "$@"; }

(unset TENON_LIBRARY_DIR && PKG_CONFIG_PATH=$pc build_hello)
says "what pkg-config found" "$hello"
(unset TENON_LIBRARY_DIR && PKG_CONFIG_PATH=$pc build_hello --features link)
says "what is linked" env LD_LIBRARY_PATH="$folder" "$hello"
if [ -e "$build/lib/libtenon.a" ]; then
  build_hello --features static
  says "what holds the library" "$hello"
  ! ldd "$hello" | grep -q libtenon || { echo "what holds the library needs it" >&2; exit 1; }
fi
TENON_LIBRARY_DIR=$folder build_hello --features bundled
says "what was built with its library" "$hello"
mkdir "$installed/alone"
cp "$hello" "$folder/libtenon.so.0.1" "$installed/alone"
if [ -e "$folder/libtenon-server.so.0.1" ]; then
  ls "$CARGO_TARGET_DIR"/debug/build/"$crate_sys"-*/out/lib/libtenon-server.so.0.1 > /dev/null  # copied along
fi
rm -r "$CARGO_TARGET_DIR"/debug/build/"$crate_sys"-*/out/lib
says "what has its library beside it" "$installed/alone/hello"
(unset TENON_LIBRARY_DIR && PKG_CONFIG=false build_hello --no-default-features)
says "what the loader finds" env LD_LIBRARY_PATH="$folder" "$hello"
