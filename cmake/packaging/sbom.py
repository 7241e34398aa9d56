#!/usr/bin/env python3
"""Says what of others is in each file that Tenon's packages hold: a software bill of materials for each (SPDX 2.3,
JSON), and THIRD-PARTY.txt with the licences.

    sbom.py BUILD_FOLDER OUTPUT_FOLDER VERSION

Nothing of it is a list that somebody keeps: ninja tells which objects and archives a file was linked from and which
headers each object was compiled with, readelf which libraries the file asks for. third_party.json has a name, a
licence and the place of the version for what is found that way; a header that it does not know is an error. Equal
files give equal documents: SOURCE_DATE_EPOCH is their date (1980 without it). Needs a build by ninja, and binutils.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from mach_o import is_mach_o, read_images

HERE = Path(__file__).resolve().parent
# The C and C++ libraries and the compiler's own: a file asks for them when it runs (NEEDED).
OF_THE_SYSTEM = re.compile(r"/usr/(local/)?(lib|include/c\+\+|include/[^/]*-linux-gnu/(bits|sys|gnu|asm|c\+\+)|"
                           r"include/(linux|asm-generic|arpa|netinet|net|rpc))/|/usr/include/([^/]*-linux-gnu/)?[^/]*\.h$|"
                           r".*/lib/(libc/include|libc/musl|libc/glibc|include|libunwind/include)/")  # of zig
LICENCE_OF_NEEDED = {"libSystem": "NOASSERTION", "libc": "LGPL-2.1-or-later", "libm": "LGPL-2.1-or-later", "ld-linux": "LGPL-2.1-or-later",
                     "libstdc++": "GPL-3.0-or-later WITH GCC-exception-3.1",
                     "libgcc_s": "GPL-3.0-or-later WITH GCC-exception-3.1",
                     "libssl": "Apache-2.0", "libcrypto": "Apache-2.0", "libtenon": "Apache-2.0"}


def tool(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def headers_by_object(build):
    """{object: its headers}, as the compiler told ninja."""
    found, current = {}, None
    for line in tool("ninja", "-C", str(build), "-t", "deps").splitlines():
        if line.startswith("    "):
            found[current].append(line.strip())
        elif ": #deps" in line:
            current = line.split(": #deps")[0]
            found[current] = []
    return found


def linked(build, target):
    """Objects and archives that `target` is made of; an archive of the build counts as its objects."""
    command = tool("ninja", "-C", str(build), "-t", "commands", "-s", target).splitlines()[-1]
    parts = []
    for word in command.split():
        if word.endswith(".a") and not word.startswith("/") and word != target:
            parts += linked(build, word)
        elif word.endswith((".o", ".a")) and word != target:
            parts.append(word)
    return parts


class ThirdParty:
    def __init__(self):
        self.entries = json.loads((HERE / "third_party.json").read_text(encoding="utf-8"))
        self.first_header = {}  # name -> a header of it

    def of_header(self, path):
        for entry in self.entries:
            if any(place in path for place in entry.get("headers", [])):
                self.first_header.setdefault(entry["name"], path)
                return entry
        return None

    def of_archive(self, path):
        for entry in self.entries:
            if Path(path).name in entry.get("archives", []):
                return entry
        sys.exit(f"sbom.py: third_party.json does not know {path}")

    def version(self, entry):
        header = self.first_header[entry["name"]]
        place = next(place for place in entry["headers"] if place in header)
        file, pattern = entry["version"]
        root = header[:header.index(place)]
        path = Path(root + file)
        if not path.exists():  # a header root that names its library: .../eigen3/Eigen/...
            path = Path(root + place.rstrip("/") + file)
        found = re.search(pattern, path.read_text(encoding="utf-8"))
        if not found:
            sys.exit(f"sbom.py: {path} does not tell the version of {entry['name']}")
        return ".".join(str(int(number)) for number in found.groups() if number is not None)


def components(build, target, headers, third_party, own_folders):
    found = {}
    for part in linked(build, target):
        if part.endswith(".a"):
            entry = third_party.of_archive(part)
            found[entry["name"]] = entry
            continue
        if part not in headers:
            sys.exit(f"sbom.py: ninja knows no headers of {part}: build {target} first")
        for header in headers[part]:
            header = os.path.normpath(os.path.join(build, header))
            # Links to headers of the building machine (cmake/cross_dependencies.cmake) are in the build folder,
            # unpacked source packages in that of a release.
            if header.startswith(own_folders) and "/host_headers/" not in header and "/sources/" not in header:
                continue
            entry = third_party.of_header(header)
            if entry is not None:
                found[entry["name"]] = entry
            elif not OF_THE_SYSTEM.match(header):
                sys.exit(f"sbom.py: third_party.json does not know {header}, of {target}")
    # Declarations alone: what they declare is another file, looked for when the program runs.
    return [found[name] for name in sorted(found) if found[name].get("linked") != "declarations"]


def needed(file):
    data = file.read_bytes()
    if is_mach_o(data):
        return [Path(library.name).name for image in read_images(data) for library in image.libraries]
    return re.findall(r"\(NEEDED\).*\[(.*)\]", tool("readelf", "-d", str(file)))


def spdx_id(name):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.]", "-", name)


def package(name, version, licence, source, copyright_text):
    return {"SPDXID": spdx_id(name), "name": name, "versionInfo": version, "downloadLocation": source,
            "filesAnalyzed": False, "licenseConcluded": licence, "licenseDeclared": licence,
            "copyrightText": copyright_text}


def document(name, version, file, parts, libraries):
    # It tells documents apart; packages strip the file, so it is no checksum of what they hold.
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    own = package(name, version, "Apache-2.0", "NOASSERTION", "NOASSERTION")
    own["primaryPackagePurpose"] = "APPLICATION" if name == "tenon" else "LIBRARY"
    packages, relations = [own], [("SPDXRef-DOCUMENT", "DESCRIBES", own["SPDXID"])]
    for entry, of in parts:
        packages.append(package(entry["name"], of, entry["licence"], entry["source"], entry["copyright"]))
        relations.append((own["SPDXID"], "STATIC_LINK", spdx_id(entry["name"])))
    for soname in libraries:
        licence = "MIT" if soname == "libc.so" else LICENCE_OF_NEEDED.get(re.split(r"-server|-hub|-media|\.so|-x86|-linux-aarch64", soname)[0], "NOASSERTION")
        packages.append(package(soname, "NOASSERTION", licence, "NOASSERTION", "NOASSERTION"))
        packages[-1].pop("versionInfo")
        relations.append((own["SPDXID"], "DYNAMIC_LINK", spdx_id(soname)))
    date = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", 315532800))))
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
            "name": f"{name}-{version}", "documentNamespace": f"https://spdx.org/spdxdocs/{name}-{version}-{digest}",
            "creationInfo": {"created": date, "creators": [f"Tool: tenon-sbom-{version}"]}, "packages": packages,
            "relationships": [{"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
                              for one, kind, other in relations]}


def third_party_text(used, version_of):
    lines = ["What of others is in Tenon's libraries, plugins and program. The file NAME.spdx.json of each says which.", ""]
    texts = []
    for entry in used:
        lines += [f"{entry['name']} {version_of[entry['name']]}", f"  Copyright: {entry['copyright']}",
                  f"  Licence: {entry['licence']}", f"  Source: {entry['source']}", ""]
        texts += [text for text in entry["texts"] if text not in texts]
    for text in sorted(texts):
        lines += ["-" * 80, text, "", (HERE / f"licences/{text}.txt").read_text(encoding="utf-8")]
    return "\n".join(lines)


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    build, output, version = Path(sys.argv[1]).resolve(), Path(sys.argv[2]), sys.argv[3]
    output.mkdir(parents=True, exist_ok=True)
    own_folders = (str(build) + "/", str(HERE.parent.parent) + "/")
    headers, third_party = headers_by_object(build), ThirdParty()
    ending = f".{version}.dylib" if (build / f"lib/libtenon.{version}.dylib").exists() else f".so.{version}"
    libraries = ("libtenon", "libtenon-server", "libtenon-hub", "libtenon-media")
    targets = {**{library: f"lib/{library}{ending}" for library in libraries},
               "tenon": "bin/tenon",
               **{plugin.stem: f"lib/tenon/{plugin.name}" for pattern in ("*.so", "*.dylib")
                  for plugin in sorted(build.glob(f"lib/tenon/{pattern}"))}}
    used, version_of = {}, {}
    for name, target in targets.items():
        file = build / target
        if not file.exists():
            continue
        parts = components(build, target, headers, third_party, own_folders)
        for entry in parts:
            used[entry["name"]] = entry
            version_of.setdefault(entry["name"], third_party.version(entry))
        made = document(name, version, file, [(entry, version_of[entry["name"]]) for entry in parts], needed(file))
        (output / f"{name}.spdx.json").write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (output / "THIRD-PARTY.txt").write_text(third_party_text([used[name] for name in sorted(used)], version_of),
                                            encoding="utf-8")


if __name__ == "__main__":
    main()
