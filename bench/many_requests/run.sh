#!/usr/bin/env bash
# 64 requests at once from C++ and from the bindings: tokens per second of each, and the ratio to
# C++.
#   bench/many_requests/run.sh LIBRARY MODEL [TOKENS [ROUNDS]]   LIBRARY: libtenon.so of a release
#                                build; default: 16 tokens per request, 5 rounds
#   bench/many_requests/run.sh --build LIBRARY                   only builds the programs, into WORK
# WORK names the folder for programs (default: a temporary one), LANGUAGES those to measure beside
# C++ (default: "python node rust go java"). Leaves out languages that are not installed or whose
# package is not in bindings/LANGUAGE/dist.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
only_build=false
if [ "${1:-}" = --build ]; then only_build=true; shift; fi
library=$(realpath "${1:?usage: run.sh LIBRARY MODEL [TOKENS [ROUNDS]]}")
work=${WORK:-$(mktemp -d)}
languages=${LANGUAGES:-python node rust go java}
export MANY_LIBRARY=$library

build() {
  mkdir -p "$work"
  "${CXX:-c++}" -O2 -std=c++20 -I "$root/include" -I "$root/capi/include" "$here/many_requests.cpp" "$library" \
    -Wl,-rpath,"$(dirname "$library")" -pthread -o "$work/cpp"
  for language in $languages; do
    "build_$language" > "$work/$language.build" 2>&1 || echo "$language is left out: $(tail -n 1 "$work/$language.build")"
  done
}

build_python() {
  "${PYTHON:-python3}" -m venv "$work/python" &&
    "$work/python/bin/pip" install --quiet --no-deps --no-index "$root"/bindings/python/dist/tenon_llm-*.whl
}

build_node() {
  rm -rf "$work/node"
  mkdir -p "$work/node"
  (cd "$work/node" && echo '{}' > package.json &&
    npm install --offline --no-save --ignore-scripts --loglevel=error "$root"/bindings/node/dist/*.tgz) &&
    cp "$here/many.mjs" "$work/node"
}

build_rust() {
  mkdir -p "$work/rust/src"
  cp "$here/many.rs" "$work/rust/src/main.rs"
  cat > "$work/rust/Cargo.toml" << EOF
[package]
name = "many"
edition = "2021"
[dependencies]
tenon-llm = { path = "$root/bindings/rust/tenon" }
tokio = { version = "1", features = ["rt-multi-thread"] }
EOF
  cargo build --quiet --release --manifest-path "$work/rust/Cargo.toml"
}

build_go() {
  local module
  module=$(sed -n 's/^module //p' "$root/bindings/go/go.mod")
  mkdir -p "$work/go"
  cp "$here/many.go" "$work/go/main.go"
  (cd "$work/go" && rm -f go.mod && go mod init many && go mod edit -require "$module@v0.0.0" \
    -replace "$module=$root/bindings/go" && go mod tidy && CGO_ENABLED=0 go build -o many .)
}

build_java() {
  mkdir -p "$work/java"
  javac -d "$work/java" -cp "$(ls "$root"/bindings/java/dist/tenon-[0-9]*[0-9].jar)" "$here/Many.java"
}

say() {  # LANGUAGE MODEL TOKENS
  case $1 in
    cpp) "$work/cpp" "$2" 64 "$3" ;;
    python) "$work/python/bin/python" "$here/many.py" "$2" 64 "$3" ;;
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
  for language in cpp $languages; do
    speed=$(say "$language" "$model" "${3:-16}" 2> "$work/$language.err") || continue
    echo "$language $speed" | tee -a "$results"
  done
done
# The machine drifts, so runs alternate; the median of each counts.
for language in cpp $languages; do
  awk -v l="$language" '$1 == l { print $2 }' "$results" | sort -g |
    awk -v l="$language" '{ v[NR] = $1 }
      END { if (NR) print l, (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2, v[1], v[NR] }'
done | awk '$1 == "cpp" { c = $2 }
  { printf "%-6s median %7.1f tokens/s (%.1f to %.1f), %.3f of C++\n", $1, $2, $3, $4, $2 / c }'
