#!/usr/bin/env bash
# Tests the chat page in Chromium (Debian: chromium, npm), against `tenon serve` with the demo
# model.
#   run.sh BUILD_DIR [SCREENSHOT_DIR]
# Ends with 77 if a requirement is missing. playwright-core drives the browser; npm fetches it into
# BUILD_DIR/page-test once.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
build=$(cd "$1" && pwd)
work=$build/page-test
mkdir -p "$work"

skip() { echo "SKIPPED: $*"; exit 77; }
chromium=$(command -v chromium || command -v chromium-browser) || skip "there is no Chromium"
command -v npm > /dev/null || skip "there is no npm"
[ -x "$build/bin/tenon" ] || skip "$build/bin/tenon is not built"
if [ ! -d "$work/node_modules/playwright-core" ]; then
  npm install --prefix "$work" --no-audit --no-fund --no-save --loglevel=error playwright-core@1.65.1 \
    > "$work/npm.log" 2>&1 || skip "npm cannot fetch playwright-core"
fi

log=$work/serve.log
"$build/bin/tenon" serve "$root/examples/models/demo-q8_0.gguf" --port 0 --context 2048 --threads 2 > "$log" 2>&1 &
server=$!
trap 'kill "$server" 2> /dev/null || true; wait "$server" 2> /dev/null || true' EXIT
for _ in $(seq 200); do
  address=$(sed -n 's/^listening on //p' "$log")
  [ -z "$address" ] || break
  kill -0 "$server" 2> /dev/null || { cat "$log"; exit 1; }
  sleep 0.05
done
[ -n "$address" ] || { echo "the server does not listen"; cat "$log"; exit 1; }

NODE_PATH=$work/node_modules PAGE=$address CHROMIUM=$chromium SCREENSHOTS=${2:-$work} \
  node "$here/page_test.cjs"
