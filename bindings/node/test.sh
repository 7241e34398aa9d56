#!/usr/bin/env bash
# Builds the package from a build folder, installs it into a separate folder and tests it there.
#   bindings/node/test.sh [BUILD_FOLDER] [SUITE...]   default: build-dev, and all suites; suites are
#                                                     names of tests/NAME.test.mjs
# Ends with status 77 and a message if Node, its headers, a compiler or packages are missing. The
# folder stays, as BUILD_FOLDER/node-test. TENON_ORDERS: number of random orders (1000).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
build=$(realpath "${1:-$root/build-dev}")
[ $# -eq 0 ] || shift
skip() { echo "SKIPPED: $*"; exit 77; }

command -v node > /dev/null || skip "no node"
command -v npm > /dev/null || skip "no npm"
[ "$(node -p 'process.versions.node.split(".")[0]')" -ge 20 ] || skip "node is older than 20"
headers=${NODE_HEADERS:-$(dirname "$(dirname "$(realpath "$(command -v node)")")")/include/node}
[ -e "$headers/node_api.h" ] || skip "Node's headers are missing (Debian: libnode-dev)"
command -v "${CC:-cc}" > /dev/null || skip "no C compiler"
[ -e "$build/lib/libtenon.so" ] || skip "$build holds no library"

# Third-party packages, only for the tests; the last two are runtimes that also run the package.
folder=$build/node-test
mkdir -p "$folder"
[ -e "$folder/package.json" ] || echo '{ "private": true, "type": "module" }' > "$folder/package.json"
quiet="--no-audit --no-fund --no-package-lock --loglevel=error"
if [ ! -e "$folder/node_modules/ai7" ]; then
  (cd "$folder" && npm install $quiet typescript@6 @types/node@20 ai@6 ai7@npm:ai@7 zod@4) ||
    skip "npm does not reach a registry"
fi
for runtime in bun deno; do
  [ -e "$folder/node_modules/$runtime" ] ||
    (cd "$folder" && npm install $quiet "$runtime") || echo "$runtime does not install: left out"
done

BUILD=$build "$root/bindings/build_all.sh" node
rm -rf "$folder"/node_modules/tenon* "$folder/tests"
(cd "$folder" && npm install $quiet --no-save --offline --ignore-scripts "$here"/dist/*.tgz > /dev/null)
cp -r "$here/tests" "$folder/tests"

cd "$folder/tests"
export TENON_ROOT=$root NODE_HEADERS=$headers
suites=("$@")
[ ${#suites[@]} -gt 0 ] || mapfile -t suites < <(ls ./*.test.mjs | sed 's|^\./||; s|\.test\.mjs$||')
# One after another, because some of them judge times.
for suite in "${suites[@]}"; do
  node --test --test-reporter="${TENON_REPORTER:-dot}" "$suite.test.mjs"
  # Tests the provider in the next major version of ai, too.
  [ "$suite" != ai_sdk ] || TENON_AI=ai7 node --test --test-reporter="${TENON_REPORTER:-dot}" "$suite.test.mjs"
done

# Checks the package's types alone, and together with those of ai, which are not checked themselves.
tsc=("$folder/node_modules/.bin/tsc" --strict --target es2022 --module nodenext --types node)
"${tsc[@]}" --noEmit --lib esnext types_alone.mts types_alone.cts
"${tsc[@]}" --noEmitOnError --lib esnext,dom,dom.iterable --skipLibCheck --outDir compiled types.mts
node compiled/types.mjs

node smoke.mjs
bun=$folder/node_modules/.bin/bun
if [ -e "$bun" ] && "$bun" --version > /dev/null 2>&1; then "$bun" smoke.mjs; else echo "Bun: left out"; fi
# The program itself, without its start script.
deno=$(ls "$folder"/node_modules/@deno/*/deno 2> /dev/null | head -1 || true)
if [ -n "$deno" ]; then DENO_NO_UPDATE_CHECK=1 "$deno" run -A smoke.mjs; else echo "Deno: left out"; fi
