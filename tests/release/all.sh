#!/usr/bin/env bash
# Uses each file of a release in an empty folder, as far as this machine runs it, and reads the rest.
#   usage: all.sh [FOLDER [TENON]]      default: build-release/dist
# TENON is the program of another build of the sources, whose answers and bits are expected.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
dist=$(realpath "${1:-$root/build-release/dist}")
tenon=${2:-}
model=$root/examples/models/demo-q8_0.gguf
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*"; exit 1; }
passed() { echo "ok: $*"; }
have() { command -v "$1" > /dev/null || { echo "left out: $2, there is no $1"; return 1; }; }
cd "$work"

(cd "$dist" && sha256sum --quiet -c SHA256SUMS) || fail "SHA256SUMS says something else"
passed "checksums"
shopt -s nullglob
for archive in "$dist"/tenon-[0-9]*-linux-*.tar.gz; do
  bash "$root/tests/release/check.sh" "$archive" "$work/archive" ${tenon:+"$tenon"}
done
for archive in "$dist"/tenon-[0-9]*-macos.tar.gz; do
  bash "$root/tests/release/check_macos.sh" "$archive"
done
for archive in "$dist"/tenon-[0-9]*-x86_64-linux-gnu*.tar.gz; do
  # Users' programs by this machine's own compiler, which has another C++ library.
  bash "$root/tests/consumer/run.sh" "$archive" "$work/consumer" cc c++ > "$work/consumer.log" 2>&1 \
    || { tail "$work/consumer.log"; fail "programs that link $archive"; }
  passed "$(tail -n 1 "$work/consumer.log")"
done
packages=("$dist"/*.whl "$dist"/*.tgz "$dist"/*.jar "$dist"/tenon-go-*)
[ ${#packages[@]} -eq 0 ] || python3 "$root/bindings/check_packages.py" "${packages[@]}"

question="What is the capital of Norway?"
for wheel in "$dist"/*manylinux*x86_64.whl; do
  python3 -m venv venv
  venv/bin/pip install --quiet --disable-pip-version-check --no-index "$wheel"
  venv/bin/python -c "
import sys, tenon
model = tenon.Model(sys.argv[1])
print(tenon.Chat(model).answer([{'role': 'user', 'content': sys.argv[2]}])['content'])" "$model" "$question" > said
  grep -q Oslo said || fail "the wheel answers $(cat said)"
  passed "the wheel answers: $(cat said)"
done
for package in "$dist"/tenon-llm-linux-x64-[0-9]*.tgz; do
  have npm "the npm package" || continue
  mkdir -p node && (cd node && npm init -y > /dev/null && npm install --silent --offline --no-audit --no-fund --omit=optional \
    "$package" "$dist"/tenon-llm-[0-9]*.tgz > /dev/null 2>&1) || fail "npm does not install $package"
  (cd node && node --input-type=module -e "
import { Chat, Model } from 'tenon-llm'
const chat = await Chat.create(await Model.open(process.argv[1]))
for await (const part of chat.stream([{ role: 'user', content: process.argv[2] }])) process.stdout.write(part.text)
" "$model" "$question") > said || fail "the npm package"
  grep -q Oslo said || fail "the npm package answers $(cat said)"
  passed "the npm package answers: $(cat said)"
done

for architecture in amd64 arm64; do
  debs=("$dist"/*_"$architecture".deb)
  [ ${#debs[@]} -gt 0 ] && have dpkg-deb "the Debian packages" || continue
  for deb in "${debs[@]}"; do dpkg-deb -x "$deb" "deb-$architecture"; done
  for deb in "$dist"/libtenon[0-9]*_"$architecture".deb; do
    dpkg-deb -f "$deb" Depends | grep -qx 'libc6 (>= [0-9.]*)' || fail "$deb depends on $(dpkg-deb -f "$deb" Depends)"
  done
  run=()
  [ "$architecture" = amd64 ] || run=(qemu-aarch64 -L /usr/aarch64-linux-gnu -E "LD_LIBRARY_PATH=$work/deb-$architecture/usr/lib")
  LD_LIBRARY_PATH=$([ "$architecture" != amd64 ] || echo "$work/deb-$architecture/usr/lib") \
    "${run[@]}" "deb-$architecture/usr/bin/tenon" run "$model" "$question" > said
  grep -q Oslo said || fail "the Debian packages answer $(cat said)"
  passed "${#debs[@]} Debian packages for $architecture"
done
for architecture in x86_64 aarch64; do
  rpms=("$dist"/*."$architecture".rpm)
  [ ${#rpms[@]} -gt 0 ] && have rpm "the packages of rpm" || continue
  mkdir "rpm-$architecture"
  for rpm in "${rpms[@]}"; do (cd "rpm-$architecture" && rpm2archive - < "$rpm" | tar xz); done
  for needed in $(rpm -qp --requires "${rpms[@]}" 2> /dev/null | grep -o '^lib[^ (]*\.so[^ (]*' | sort -u); do
    [[ $needed =~ ^lib(c|m|dl|pthread)\.so\.[0-9]+$ || -e rpm-$architecture/usr/lib64/$needed ]] || fail "a package of rpm requires $needed"
  done
  run=()
  [ "$architecture" = x86_64 ] || run=(qemu-aarch64 -L /usr/aarch64-linux-gnu -E "LD_LIBRARY_PATH=$work/rpm-$architecture/usr/lib64")
  LD_LIBRARY_PATH=$([ "$architecture" != x86_64 ] || echo "$work/rpm-$architecture/usr/lib64") \
    "${run[@]}" "rpm-$architecture/usr/bin/tenon" run "$model" "$question" > said
  grep -q Oslo said || fail "the packages of rpm answer $(cat said)"
  passed "${#rpms[@]} packages of rpm for $architecture"
done
echo "all of $(find "$dist" -type f | wc -l) files"
