#!/usr/bin/env bash
# Loads two minor versions of libtenon.so in one process: each user reaches its own. The other
# version is a stand-in with the soname and the version node of the next minor.
#   usage: two_minors.sh LIBRARY VERSION WORK_DIR CC CMAKE
set -euo pipefail
library=$1 version=$2 work=$3 cc=$4 cmake=$5
here=$(cd "$(dirname "$0")" && pwd)
major=${version%%.*} minor=${version#*.}
minor=${minor%%.*}
rm -rf "$work"
mkdir -p "$work"

cat > "$work/map.cmake" << TEXT
set(PROJECT_VERSION_MAJOR $major)
set(PROJECT_VERSION_MINOR $((minor + 1)))
configure_file($here/../../capi/tenon.map.in $work/next.map @ONLY)
TEXT
"$cmake" -P "$work/map.cmake"
next=$work/libtenon.so.$major.$((minor + 1))
"$cc" -shared -fPIC "$here/minors/next_minor.c" -o "$next" \
  "-Wl,-soname,$(basename "$next"),--version-script,$work/next.map"

user() {  # user NAME LIBRARY
  "$cc" -shared -fPIC "-DANSWER=answer_of_$1" "$here/minors/user.c" "$2" -o "$work/libuser_$1.so" \
    "-Wl,-rpath,$(dirname "$2")"
}
user this "$library"
user next "$next"
# In both orders: the one loaded first must not answer for the other.
for order in "this next" "next this"; do
  read -r -a names <<< "$order"
  "$cc" "$here/minors/program.c" -o "$work/program" -Wl,--no-as-needed "$work/libuser_${names[0]}.so" \
    "$work/libuser_${names[1]}.so" "-Wl,-rpath,$work:$(dirname "$library")"
  answer=$("$work/program")
  [ "$answer" = "$version next" ] \
    || { echo "FAILED: '$answer' with $order loaded in this order, not '$version next'"; exit 1; }
  echo "ok: $order: $answer"
done
