#!/usr/bin/env bash
# Tests `tenon serve` with real clients: the cases of ../shared/clients, over loopback.
#   tests/server/clients/run.sh BUILD_FOLDER [CASES...]   CASES as for their run.sh: given/chat.mjs
# Serves the demo model as it is, with keys, as a model of embeddings, and with a reasoning
# template; npm installs the clients into BUILD_FOLDER/clients. Prints a line per case and ends with
# "N passed, N failed". Ends with 77 and a message if npm or the cases are missing.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)
build=$(realpath "${1:?usage: tests/server/clients/run.sh BUILD_FOLDER [CASES...]}")
shift
cases=${TENON_CLIENTS:-$root/../shared/clients}
skip() { echo "SKIPPED: $*"; exit 77; }

[ -e "$cases/run.sh" ] || skip "the cases are missing: $cases"
command -v npm > /dev/null && command -v node > /dev/null || skip "no npm (Debian: npm)"
[ -x "$build/bin/tenon" ] || skip "$build holds no program"

demo=$root/examples/models/demo-q8_0.gguf
work=$build/clients
logs=$work/servers
mkdir -p "$work" "$logs"
servers=()
end_servers() {
  for server in ${servers[@]+"${servers[@]}"}; do kill "$server" 2> /dev/null || true; done
  wait
}
trap end_servers EXIT

# start NAME ARGUMENT...: serves the demo model; $base becomes its address.
start() {
  local log=$logs/$1.log
  : > "$log"
  "$build/bin/tenon" serve "$demo" --port 0 --threads 1 "${@:2}" > "$log" 2>&1 &
  servers+=($!)
  for _ in $(seq 100); do
    base=$(sed -n 's/^listening on //p' "$log")
    [ -n "$base" ] && return
    kill -0 "${servers[-1]}" 2> /dev/null || break
    sleep 0.1
  done
  echo "the server '$1' did not start:" >&2
  cat "$log" >&2
  exit 1
}

echo sk-clients > "$work/keys"
start demo --name demo --context 16384 && export BASE=$base MODEL=demo
start keys --name demo --context 2048 --api-key-file "$work/keys" \
  && export AUTH_BASE=$base AUTH_KEY=sk-clients
start embeddings --name embed --embeddings on
export EMBED_BASE=$base EMBED_MODEL=embed RERANK_BASE=$base RERANK_MODEL=embed
start thinking --name thinker --context 2048 \
  --override "tokenizer.chat_template=str:$(cat "$here/thinking.jinja")"
export THINK_BASE=$base THINK_MODEL=thinker

status=0
CLIENTS_TMP=$work sh "$cases/run.sh" "$@" | tee "$work/report" || status=$?
for server in "${servers[@]}"; do
  kill -0 "$server" 2> /dev/null || { echo "a server has ended: see $logs"; status=1; }
done
passed=$(grep -c '^pass ' "$work/report") || true
failed=$(grep -c '^fail ' "$work/report") || true
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ] && [ "$status" -eq 0 ]
