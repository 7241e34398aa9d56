#!/usr/bin/env bash
# Fetches the sources of Debian packages that a cross build compiles, and unpacks them into a folder
# outside the tree: bash cmake/toolchains/fetch_sources.sh FOLDER [PACKAGE...]
# Then: cmake -DTENON_SOURCE_PACKAGES=FOLDER ...  Without PACKAGE all that cross_dependencies.cmake
# takes. The system's list of packages stays as it is.
set -euo pipefail
if [ $# -lt 1 ]; then echo "usage: fetch_sources.sh FOLDER [PACKAGE...]" >&2; exit 2; fi
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "$1"
cd "$1"
shift
[ $# -gt 0 ] || set -- utf8proc
missing=()
for package in "$@"; do
  compgen -G "$package-*/" > /dev/null || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

bash "$here/../install_packages.sh" --quiet dpkg-dev
# A list of its own: sources from the places of the system's packages.
mkdir -p apt/lists/partial apt/cache/archives/partial
apt-get indextargets --format 'deb-src $(REPO_URI) $(RELEASE) $(COMPONENT)' \
  'Created-By: Packages' 'Origin: Debian' | sort -u > apt/sources.list
options=(-q -o "Dir::Etc::SourceList=$PWD/apt/sources.list" -o Dir::Etc::SourceParts=-
         -o "Dir::State::Lists=$PWD/apt/lists" -o "Dir::Cache=$PWD/apt/cache")
apt-get "${options[@]}" update
apt-get "${options[@]}" source "${missing[@]}"
rm -rf apt
