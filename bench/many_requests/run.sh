#!/usr/bin/env bash
# 64 requests at once from C++ and from the bindings: tokens a second of each, and the ratio to C++.
#   bench/many_requests/run.sh LIBRARY MODEL [TOKENS [ROUNDS]]   LIBRARY: libtenon.so of a release build; 16 tokens of
#                                                                each request, 5 rounds unless given
#   bench/many_requests/run.sh --build LIBRARY                   builds the programs alone, into WORK
# WORK names the folder for programs (a temporary one unless given). Languages whose package is not in
# bindings/LANGUAGE/dist, or that are not installed, are left out.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
only_build=false
if [ "${1:-}" = --build ]; then only_build=true; shift; fi
library=$(realpath "${1:?usage: run.sh LIBRARY MODEL [TOKENS [ROUNDS]]}")
work=${WORK:-$(mktemp -d)}
export MANY_LIBRARY=$library

build() {
  mkdir -p "$work/rust/src" "$work/go" "$work/node/node_modules" "$work/java"
  "${CXX:-c++}" -O2 -std=c++20 -I "$root/include" -I "$root/capi/include" "$here/many_requests.cpp" "$library" \
    -Wl,-rpath,"$(dirname "$library")" -pthread -o "$work/cpp"
  rm -rf "$work/node/node_modules/tenon"
  tar xf "$(ls "$root"/bindings/node/dist/tenon-*.tgz)" -C "$work/node/node_modules"
  mv "$work/node/node_modules/package" "$work/node/node_modules/tenon"
  cp "$here/many.mjs" "$work/node"
  cp "$here/many.rs" "$work/rust/src/main.rs"
  cat > "$work/rust/Cargo.toml" << EOF
[package]
name = "many"
edition = "2021"
[dependencies]
tenon = { path = "$root/bindings/rust/tenon" }
tokio = { version = "1", features = ["rt-multi-thread"] }
EOF
  cargo build --quiet --release --manifest-path "$work/rust/Cargo.toml" || echo "Rust is left out"
  cp "$here/many.go" "$work/go/main.go"
  (cd "$work/go" && rm -f go.mod && go mod init many && go mod edit -require tenon@v0.0.0 \
    -replace tenon="$root/bindings/go" && go mod tidy && CGO_ENABLED=0 go build -o many .) 2> /dev/null \
    || echo "Go is left out"
  javac -d "$work/java" -cp "$(ls "$root"/bindings/java/dist/tenon-[0-9]*[0-9].jar)" "$here/Many.java" \
    || echo "Java is left out"
}

say() {  # LANGUAGE MODEL TOKENS
  case $1 in
    cpp) "$work/cpp" "$2" 64 "$3" ;;
    node) (cd "$work/node" && node many.mjs "$2" 64 "$3") ;;
    rust) "$work/rust/target/release/many" "$2" 64 "$3" ;;
    go) "$work/go/many" "$2" 64 "$3" ;;
    java) java -cp "$work/java:$(ls "$root"/bindings/java/dist/tenon-[0-9]*[0-9].jar)" Many "$2" 64 "$3" ;;
  esac
}

[ -x "$work/cpp" ] || build
if $only_build; then exit; fi
model=$(realpath "$2")
results=$work/results
: > "$results"
for ((round = 1; round <= ${4:-5}; ++round)); do
  for language in cpp node rust go java; do
    speed=$(say "$language" "$model" "${3:-16}" 2> "$work/$language.err") || continue
    echo "$language $speed" | tee -a "$results"
  done
done
# The machine drifts, so runs alternate, and what counts is the median of each.
for language in cpp node rust go java; do
  awk -v l="$language" '$1 == l { print $2 }' "$results" | sort -g |
    awk -v l="$language" '{ v[NR] = $1 }
      END { if (NR) print l, (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2, v[1], v[NR] }'
done | awk '$1 == "cpp" { c = $2 }
  { printf "%-5s median %7.1f tokens/s (%.1f to %.1f), %.3f of C++\n", $1, $2, $3, $4, $2 / c }'
