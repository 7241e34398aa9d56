#!/usr/bin/env bash
# Checks that every place of the tree that names a package agrees with bindings/names.py, and that
# another name reaches them all.
#   usage: names.sh PYTHON
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
"$1" "$root/bindings/names.py"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/bench"
# Without output of builds.
tar -C "$root" --exclude=dist --exclude=node_modules --exclude=target -cf - bindings bench/many_requests | tar -C "$work" -xf -
sed -i 's|^NPM = .*|NPM = "tenon-other"|; s|^CRATE = .*|CRATE = "tenon-third"|; s|^CRATE_SYS = .*|CRATE_SYS = "tenon-third-sys"|
  s|^GO_MODULE = .*|GO_MODULE = "example.test/of/tenon"|; s|^MAVEN_GROUP = .*|MAVEN_GROUP = "test.example"|' "$work/bindings/names.py"
said=$("$1" "$work/bindings/names.py" 2> /dev/null) && { echo "FAILED: any name is accepted"; exit 1; }
for place in node/package.json node/lib/platform.js node/README.md rust/tenon/Cargo.toml rust/tenon-sys/Cargo.toml \
  rust/Cargo.lock go/go.mod go/examples/chat/main.go go/README.md java/pom.xml java/README.md; do
  [[ $said == *"bindings/$place says "* ]] || { echo "FAILED: $place is not compared"; exit 1; }
done
"$1" "$work/bindings/names.py" --write > /dev/null
"$1" "$work/bindings/names.py"
# Names left beside names.py are prose about owners: no program reads them.
left=$(grep -rnE 'owner\.invalid|invalid\.owner' "$work" --include='*' | grep -v '/names\.py:' || true)
[ -z "$left" ] || { echo "FAILED: names.py does not know"; echo "$left"; exit 1; }
