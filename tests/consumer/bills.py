#!/usr/bin/env python3
"""The bills of materials that sbom.py makes of a build: what must be in them is, what a file does not hold is not,
and what the table of licences does not know is an error.
    bills.py BUILD_FOLDER WORK_FOLDER VERSION"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

PACKAGING = Path(__file__).resolve().parent.parent.parent / "cmake/packaging"


def make(script, build, output, version):
    return subprocess.run([sys.executable, str(script), build, str(output), version], capture_output=True, text=True)


def check(what, holds):
    if not holds:
        sys.exit(f"FAILED: {what}")


def check_document(path):
    made = json.loads(path.read_text(encoding="utf-8"))
    ids = [package["SPDXID"] for package in made["packages"]]
    check(f"{path.name}: each id once", len(ids) == len(set(ids)))
    for package in made["packages"]:
        for member in ("name", "downloadLocation", "licenseConcluded", "licenseDeclared", "copyrightText"):
            check(f"{path.name}: {member} of {package['SPDXID']}", package.get(member))
    for relation in made["relationships"]:
        ends = {relation["spdxElementId"], relation["relatedSpdxElement"]} - {"SPDXRef-DOCUMENT"}
        check(f"{path.name}: ends of {relation}", ends <= set(ids))
    check(f"{path.name} describes something", made["relationships"][0]["relationshipType"] == "DESCRIBES")
    return {package["name"]: package for package in made["packages"]}


def main():
    build, work, version = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    said = make(PACKAGING / "sbom.py", build, work / "bills", version)
    check(said.stderr, said.returncode == 0)
    found = {path.name.removesuffix(".spdx.json"): check_document(path) for path in (work / "bills").glob("*.json")}
    library = found["libtenon"]
    for name, licence in (("fmt", "MIT"), ("utf8proc", "MIT AND Unicode-DFS-2015"), ("xxhash", "BSD-2-Clause"),
                          ("nlohmann-json", "MIT"), ("eigen", "MPL-2.0")):
        check(f"{name} is in the library", library[name]["licenseConcluded"] == licence)
        check(f"{name} has a version", library[name]["versionInfo"][0].isdigit())
    check("boost is in the server alone", "boost" not in library and "boost" in found["libtenon-server"])
    for name in found:
        check("utf8proc is no part of a plugin", name in ("libtenon", "tenon", "libtenon-server", "libtenon-hub", "libtenon-media") or "utf8proc" not in found[name])
    check("the C library is asked for", "libc.so.6" in library)
    text = (work / "bills/THIRD-PARTY.txt").read_text(encoding="utf-8")
    for words in ("Victor Zverovich", "Unicode, Inc.", "Mozilla Public", "Yann Collet", "without limitation the rights"):
        check(f"THIRD-PARTY.txt says {words}", words in text)
    again = make(PACKAGING / "sbom.py", build, work / "again", version)
    check("a second time", again.returncode == 0)
    for path in (work / "bills").iterdir():
        check(f"{path.name} is the same bytes", path.read_bytes() == (work / "again" / path.name).read_bytes())

    # A header that the table does not know.
    copied = work / "source/cmake/packaging"
    shutil.copytree(PACKAGING, copied)
    table = json.loads((copied / "third_party.json").read_text(encoding="utf-8"))
    (copied / "third_party.json").write_text(json.dumps([entry for entry in table if entry["name"] != "nlohmann-json"]))
    script = (copied / "sbom.py").read_text(encoding="utf-8")
    script = script.replace("str(HERE.parent.parent)", repr(str(PACKAGING.parent.parent)))
    (copied / "sbom.py").write_text(script, encoding="utf-8")
    refused = make(copied / "sbom.py", build, work / "refused", version)
    check(f"an unknown header is refused: {refused.stderr}",
          refused.returncode != 0 and "third_party.json does not know /" in refused.stderr and "nlohmann" in refused.stderr)
    print(f"{len(found)} bills of materials")


if __name__ == "__main__":
    main()
