#!/usr/bin/env bash
# Installs the Debian packages with their dependencies by apt in two new systems, one with nothing
# and one with a compiler, uses them (the program; in the second also programs in C and C++, by
# CMake and by pkg-config), removes and purges them. Nothing of them is left.
#   usage: deb_clean_root.sh FOLDER_OF_DEBS WORK_DIR   WORK_DIR keeps the systems for the next run
# Run it by hand: it needs root, debootstrap and an archive of Debian, and takes minutes. deb.sh is
# the test for every change. SUITE names the release (default: this machine's). Ends with 77 if
# something is missing.
set -euo pipefail
debs=$(realpath "$1") work=$(realpath -m "$2")
here=$(cd "$(dirname "$0")" && pwd)
suite=${SUITE:-$(. /etc/os-release && echo "${VERSION_CODENAME:-}")}
skip() { echo "SKIPPED: $*"; exit 77; }
fail() { echo "FAILED: $*"; exit 1; }
[ "$(id -u)" -eq 0 ] || skip "changing the root is the superuser's"
command -v debootstrap > /dev/null || skip "no debootstrap"
[ -n "$suite" ] || skip "SUITE names no release"

root=$work/used
there() { chroot "$root" env DEBIAN_FRONTEND=noninteractive LC_ALL=C PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"; }
quietly() { "$@" > "$work/log" 2>&1 || { tail -n 30 "$work/log"; fail "$*"; }; }
begin() {  # begin SYSTEM
  rm -rf "$root"
  cp -a "$work/$1" "$root"
}
mkdir -p "$work"
if [ ! -e "$work/$suite" ]; then
  rm -rf "$root"
  debootstrap --variant=minbase "$suite" "$root" > "$work/log" 2>&1 || { tail -n 3 "$work/log"; skip "no archive of $suite"; }
  quietly there apt-get update
  mv "$root" "$work/$suite"
fi
if [ ! -e "$work/$suite-compiler" ]; then
  begin "$suite"
  quietly there apt-get install -y --no-install-recommends g++ cmake make pkg-config
  mv "$root" "$work/$suite-compiler"
fi

names=$(for package in "$debs"/*.deb; do dpkg-deb -f "$package" Package; done)
# Except files that apt and dpkg keep for themselves.
files() {
  (cd "$root" && find . -xdev \( -path ./consumer -o -path ./var/lib/dpkg -o -path ./var/cache -o -path ./var/log \
    -o -path ./var/lib/apt -o -path ./tmp \) -prune -o -print | LC_ALL=C sort)
}
packages() { there dpkg-query -W -f '${Package} ${Status}\n' | LC_ALL=C sort; }
install() {  # install SYSTEM
  begin "$1"
  mkdir "$root/consumer"
  cp "$debs"/*.deb "$here/c/main.c" "$here/c/CMakeLists.txt" "$here/cpp/main.cpp" \
    "$here/../../examples/models/demo-q8_0.gguf" "$root/consumer"
  files > "$work/files"
  packages > "$work/packages"
  quietly there sh -c 'apt-get install -y --no-install-recommends /consumer/*.deb'
  ! there dpkg --audit | grep . || fail "dpkg finds something to complain of"
}
purge() {
  # shellcheck disable=SC2086
  quietly there apt-get remove -y $names
  # apt has forgotten packages that removal left without files.
  quietly there dpkg --purge $names
  quietly there apt-get autoremove -y --purge
  files | diff "$work/files" - > "$work/left" || { cat "$work/left"; fail "purged, and the files are others (>)"; }
  packages | diff "$work/packages" - || fail "purged, and the packages are others (>)"
  ! there ldconfig -p | grep tenon || fail "the loader's cache names it"
}

# In a system without their dependencies. Plugins load their libraries when they are used.
install "$suite"
for file in $(there dpkg -L $names | grep -E '/bin/|\.so' | LC_ALL=C sort -u); do
  ! there ldd "$file" 2> /dev/null | grep 'not found' || fail "$file lacks a library"
done
[[ $(there tenon complete /consumer/demo-q8_0.gguf "Once upon a time" -n 4 --temperature 0) == *"there was a lonely"* ]] || fail "tenon"
! there tenon backends | grep -i refused || fail "the program refuses what was installed"
purge

install "$suite-compiler"
quietly there sh -c 'cc /consumer/main.c -o /consumer/c $(pkg-config --cflags --libs tenon)'
quietly there sh -c 'c++ -std=c++20 /consumer/main.cpp -o /consumer/cpp $(pkg-config --cflags --libs tenon)'
quietly there cmake -S /consumer -B /consumer/build -DCOMPONENTS=shared -DLIBRARY=tenon::tenon
quietly there cmake --build /consumer/build
for program in c cpp build/consumer; do
  [[ $(there "/consumer/$program" /consumer/demo-q8_0.gguf) == *Oslo* ]] || fail "$program"
done
# Installs them again over themselves.
quietly there sh -c 'apt-get install -y --reinstall --no-install-recommends /consumer/*.deb'
purge
! there /consumer/c /consumer/demo-q8_0.gguf > /dev/null 2>&1 || fail "the library is purged, and a program starts"
rm -rf "$root"
echo "$(echo $names): installed, used, removed and purged in new systems of $suite"
