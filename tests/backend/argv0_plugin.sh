#!/usr/bin/env bash
# argv0_plugin.sh LIBTENON_A INCLUDE: checks that a program with the static library loads no plugin
# beside its argv[0], which the caller chooses. Status 77: cannot be checked on this machine.
set -eu
library=$1 include=$2
[ -e "$library" ] || { echo "$library is not built"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
chmod 755 "$folder"
mkdir -p "$folder/elsewhere/tenon" "$folder/tenon"
cat > "$folder/plugin.c" <<'END'
#include <stdio.h>
__attribute__((constructor)) static void run(void) {
  puts("code of the caller ran");
  fflush(stdout);
}
END
cat > "$folder/host.c" <<'END'
#include <tenon/tenon.h>
int main(void) {
  tenon_backends* backends = 0;
  tenon_status status = tenon_backends_create(0, &backends);
  tenon_backends_destroy(backends);
  return status;
}
END
gcc -shared -fPIC -o "$folder/elsewhere/tenon/libtenon-caller.so" "$folder/plugin.c"
cp "$folder/elsewhere/tenon/libtenon-caller.so" "$folder/tenon/"
gcc -I "$include" -c "$folder/host.c" -o "$folder/host.o"
g++ -o "$folder/host" "$folder/host.o" "$library" -pthread -ldl
by_path=$("$folder/host")
by_name=$(exec -a "$folder/elsewhere/x" "$folder/host")
[ -z "$by_path$by_name" ] || { echo "by its path: $by_path; by argv[0]: $by_name"; exit 1; }
