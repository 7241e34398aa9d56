#!/usr/bin/env bash
# Checks that every C and C++ file of the tree is formatted by clang-format (.clang-format in the
# root and in folders that are laid out by hand).
#   check_format.sh SOURCE_DIR
# Exits with 77 and a message without clang-format 14: other versions break lines differently.
set -euo pipefail
cd "$1"

for candidate in clang-format-14 clang-format; do
  command -v "$candidate" > /dev/null || continue
  case $("$candidate" --version) in *"version 14."*) format=$candidate; break ;; esac
done
[ -n "${format:-}" ] || { echo "skipped: no clang-format of version 14 here"; exit 77; }

sources() {
  # A tree without git (a release, a copy) has its sources in the same folders.
  git ls-files -z 2> /dev/null || find bench capi examples include src tests -type f -print0
}
# Generated files keep their tool's layout.
mapfile -d '' files < <(sources | grep -zE '\.(c|cc|cpp|h|hpp|cu|inl)$' | grep -zv '/generated\.h$')
[ "${#files[@]}" -gt 500 ] || { echo "FAILED: only ${#files[@]} files found"; exit 1; }
printf '%s\0' "${files[@]}" | xargs -0 -n 50 -P "$(nproc)" "$format" --dry-run -Werror \
  || { echo "FAILED: run $format -i on the files named above"; exit 1; }
echo "${#files[@]} files are formatted"
