#!/usr/bin/env bash
# Builds the jars from a build folder and tests them with each way to the library: JNI on a JDK
# before 22, foreign functions on one from 22 on.
#   bindings/java/test.sh [BUILD_FOLDER] [JUNIT_ARGUMENT...]   default: build-dev; arguments such as
#                                                              --include-classname '.*Async.*'
# Ends with status 77 and a message if a JDK, a C compiler or Maven's packages are missing.
# TENON_ORDERS: number of random orders (1000). JAVA_UNDER: words of a command put before java.
# TENON_LIBRARY: a library instead of the jar's. Maven's downloads stay in
# BUILD_FOLDER/java-dependencies.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
build=$(realpath "${1:-$root/build-dev}")
[ $# -eq 0 ] || shift
python=${PYTHON:-python3}
skip() { echo "SKIPPED: $*"; exit 77; }

command -v "$python" > /dev/null || skip "no python3"
command -v "${CC:-cc}" > /dev/null || skip "no C compiler"
[ -e "$build/lib/libtenon.so" ] || skip "$build holds no library"
# "VERSION FOLDER" of each JDK, newest first.
jdks=$("$python" -c 'import sys; sys.path.insert(0, sys.argv[1]); sys.dont_write_bytecode = True; import build_jar
for version, folder in build_jar.jdks(): print(version, folder)' "$here")
newest=$(awk '$1 >= 22 { print $2; exit }' <<< "$jdks")
older=$(awk '$1 >= 17 && $1 < 22 { print $2; exit }' <<< "$jdks")
[ -n "$newest$older" ] || skip "no JDK from 17 on (Debian: openjdk-17-jdk-headless)"

BUILD=$build PYTHON=$python "$root/bindings/build_all.sh" java
dependencies=$build/java-dependencies
[ -e "$dependencies" ] || skip "Maven does not reach a registry"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
classpath=$(printf '%s:' "$here"/dist/tenon-[0-9]*[0-9].jar "$here"/dist/tenon-langchain4j-*.jar "$dependencies"/*.jar)
"${newest:-$older}/bin/javac" --release 17 -encoding UTF-8 -Xlint:all,-path,-classfile,-processing,-try -Werror \
  -d "$work/tests" -cp "$classpath" $(find "$here/tests" "$here/examples" -name '*.java')

run() {  # JDK NAME JAVA_ARGUMENT...
  echo "== $2: $("$1/bin/java" -version 2>&1 | head -1)"
  ${JAVA_UNDER:-} "$1/bin/java" "${@:3}" -Dtenon.root="$root" \
    ${TENON_LIBRARY:+"-Dtenon.library=$TENON_LIBRARY"} -cp "$work/tests:$classpath" \
    org.junit.platform.console.ConsoleLauncher execute --scan-classpath="$work/tests" --disable-banner \
    --disable-ansi-colors --details=summary ${junit[@]+"${junit[@]}"} || status=1
}
junit=("$@")
status=0
if [ -n "$older" ]; then run "$older" "JNI"; else echo "LEFT OUT: JNI, which is used on a JDK before 22"; fi
if [ -n "$newest" ]; then
  run "$newest" "foreign functions" --enable-native-access=ALL-UNNAMED
else
  echo "LEFT OUT: foreign functions, which need a JDK from 22 on"
fi
exit "$status"
