#!/usr/bin/env bash
# Makes the files of a release from a checkout, by one cross compiler (cmake/toolchains/install_zig.sh).
#   bash cmake/packaging/release.sh [--parts LIST] [--output FOLDER] [TARGET...]
# A target is a toolchain file of cmake/toolchains, without .cmake:
#   x86_64-linux-gnu.2.28  aarch64-linux-gnu.2.28 (the default: both)  x86_64-linux-musl
#   aarch64-macos  x86_64-macos (tar alone; both of them give universal-macos as well)
# LIST names parts, separated by commas: tar, wheel, npm, deb, rpm, jar, go (default: all that suit the
# target). The jar and the Go module are one file for all targets with glibc.
# FOLDER (default: build-release/dist) gets the files and SHA256SUMS. WORK names the folder of the
# builds (default: build-release), JOBS the number of processes. Equal sources give equal bytes, in
# whatever folder: SOURCE_DATE_EPOCH is their date, by default that of the last commit.
# Ends with 77 and a sentence if the compiler cannot be had. docs/releasing.md tells more.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=${WORK:-$root/build-release}
jobs=${JOBS:-$(nproc)}
output=
parts=tar,wheel,npm,deb,rpm,jar,go
while [ $# -gt 0 ]; do
  case $1 in
    --parts) parts=$2; shift 2 ;;
    --output) output=$2; shift 2 ;;
    -*) echo "usage: release.sh [--parts LIST] [--output FOLDER] [TARGET...]" >&2; exit 2 ;;
    *) break ;;
  esac
done
[ $# -gt 0 ] || set -- x86_64-linux-gnu.2.28 aarch64-linux-gnu.2.28
for target in "$@"; do
  [ -e "$root/cmake/toolchains/$target.cmake" ] && [[ $target == *-linux-* || $target == *-macos ]] ||
    { echo "There is no toolchain file for $target in cmake/toolchains." >&2; exit 2; }
done
mkdir -p "$work"
work=$(realpath "$work")
output=$(realpath -m "${output:-$work/dist}")
mkdir -p "$output"
wants() { [[ ,$parts, == *,$1,* ]]; }
say() { printf '== %s\n' "$*"; }

python3 "$root/bindings/package_parts.py"  # one version everywhere
version=$(sed -n 's/^project(tenon VERSION \([0-9.]*\).*/\1/p' "$root/CMakeLists.txt")
if [ -z "${SOURCE_DATE_EPOCH:-}" ]; then
  SOURCE_DATE_EPOCH=$(git -C "$root" log -1 --format=%ct 2> /dev/null || echo 315532800)
fi
export SOURCE_DATE_EPOCH LC_ALL=C TZ=UTC
umask 022

zig=$(bash "$root/cmake/toolchains/install_zig.sh" "$work")
export ZIG_GLOBAL_CACHE_DIR=${ZIG_GLOBAL_CACHE_DIR:-$work/zig-cache}
packages=(cmake ninja-build pkg-config binutils libfmt-dev libeigen3-dev libxxhash-dev nlohmann-json3-dev
          libcli11-dev libboost-dev libvulkan-dev glslang-tools)
[[ " $* " != *" aarch64-linux"* ]] || packages+=(binutils-aarch64-linux-gnu qemu-user libc6-arm64-cross)
[[ " $* " != *musl* ]] || packages+=(musl)
if wants rpm && [[ " $* " == *-gnu* ]]; then packages+=(rpm); fi
if wants wheel && [[ " $* " == *-linux-* ]]; then packages+=(python3-dev); fi
bash "$root/cmake/install_packages.sh" --quiet "${packages[@]}"
bash "$root/cmake/toolchains/fetch_sources.sh" "$work/sources" > "$work/sources.log" 2>&1 ||
  { cat "$work/sources.log"; exit 1; }

configure() {  # configure TARGET CMAKE_ARGUMENT...
  local target=$1
  # No file says where it was built.
  local same="-ffile-prefix-map=$work/$target=. -ffile-prefix-map=$root=. -ffile-prefix-map=$work/sources=."
  same+=" -ffile-prefix-map=$(dirname "$zig")=zig"
  cmake -S "$root" -B "$work/$target" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$root/cmake/toolchains/$target.cmake" \
    -DTENON_ZIG="$zig" -DTENON_SOURCE_PACKAGES="$work/sources" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_C_FLAGS="$same" -DCMAKE_CXX_FLAGS="$same" -DTENON_TESTS=OFF -DTENON_UNITY=ON -DTENON_VULKAN=ON \
    "${@:2}" > "$work/$target.log" 2>&1 || { tail -n 40 "$work/$target.log"; return 1; }
}

build() {  # build TARGET CMAKE_ARGUMENT...
  local of_linux=(tenon_static tenon_program_documents tenon_media)
  [[ $1 == *-linux-* ]] || of_linux=()
  configure "$@"
  cmake --build "$work/$1" -j "$jobs" --target tenon_shared tenon_server tenon_program tenon_plugin_vulkan "${of_linux[@]}" >> "$work/$1.log" 2>&1 || { tail -n 40 "$work/$1.log"; return 1; }
}

make_tar() {  # make_tar TARGET
  local name=tenon-$version-$1 stage=$work/stage
  rm -rf "${stage:?}/$name"
  if [[ $1 == universal-macos ]]; then
    python3 "$root/cmake/packaging/universal.py" "$stage/tenon-$version-aarch64-macos" \
      "$stage/tenon-$version-x86_64-macos" "$stage/$name"
  elif [[ $1 == *-macos ]]; then  # stripping would make signatures invalid
    cmake --install "$work/$1" --prefix "$stage/$name" > /dev/null
  else
    cmake --install "$work/$1" --prefix "$stage/$name" --strip > /dev/null
    local strip=strip
    [[ $1 == "$(uname -m)"-* ]] || strip=${1%%-*}-linux-gnu-strip
    "$strip" --strip-debug --enable-deterministic-archives "$stage/$name/lib/libtenon.a"
  fi
  tar --sort=name --format=gnu --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
    --mode=u+rw,go+r,go-w -C "$stage" -cf - "$name" | gzip -9n > "$output/$name.tar.gz"
}

make_wheel() {  # make_wheel TARGET
  local folder=$work/stage/wheel-$1
  rm -rf "$folder"
  python3 "$root/bindings/python/build_wheel.py" "$work/$1" "$folder" > /dev/null
  mv "$folder"/*.whl "$output"
}

make_npm() {  # make_npm TARGET
  command -v npm > /dev/null || { echo "LEFT OUT: npm packages, there is no npm"; return; }
  local folder=$work/stage/npm-$1
  rm -rf "$folder"
  node "$root/bindings/node/build_package.mjs" "$work/$1" "$folder" > /dev/null
  mv "$folder"/*.tgz "$output"
}

# Packages of a system have its folders. RPM: 64-bit libraries in lib64.
make_system_package() {  # make_system_package TARGET DEB|RPM LIBRARY_FOLDER
  local folder=$work/stage/$2-$1
  rm -rf "$folder"
  build "$1" -DCMAKE_INSTALL_LIBDIR="$3"
  (cd "$work/$1" && cpack -G "$2" -B "$folder") \
    >> "$work/$1.log" 2>&1 || { tail -n 40 "$work/$1.log"; return 1; }
  mv "$folder"/*."${2,,}" "$output"
}

for target in "$@"; do
  say "$target: the libraries, the plugin and the program"
  build "$target" -DCMAKE_INSTALL_LIBDIR=lib
  if wants tar; then make_tar "$target"; fi
  [[ $target == *-linux-* ]] || continue
  if wants wheel; then make_wheel "$target"; fi
  if wants npm; then make_npm "$target"; fi
  [[ $target == *-gnu* ]] || continue
  if wants deb; then make_system_package "$target" DEB lib; fi
  if wants rpm; then make_system_package "$target" RPM lib64; fi
done

if wants tar && [[ " $* " == *" aarch64-macos "* && " $* " == *" x86_64-macos "* ]]; then make_tar universal-macos; fi

glibc=()  # the builds of these targets
for target in "$@"; do
  if [[ $target == *-gnu* ]]; then glibc+=("$work/$target"); fi
done
if [ ${#glibc[@]} -gt 0 ] && wants go; then
  python3 "$root/bindings/go/build_package.py" "${glibc[@]}" "$work/stage/go" > /dev/null
  mv "$work"/stage/go/*.tar.gz "$output"
fi
if [ ${#glibc[@]} -gt 0 ] && wants jar; then
  if command -v javac > /dev/null; then
    python3 "$root/bindings/java/build_jar.py" "${glibc[@]}" "$work/stage/jar" | (grep "LEFT OUT" || true)
    mv "$work"/stage/jar/*.jar "$output"
  else
    echo "LEFT OUT: the jar, there is no javac (Debian: openjdk-17-jdk-headless)"
  fi
fi
(cd "$output" && find . -maxdepth 1 -type f ! -name SHA256SUMS -printf '%f\n' | sort | xargs -r sha256sum > SHA256SUMS)
say "In $output"
(cd "$output" && stat -c '%s %n' -- *)
