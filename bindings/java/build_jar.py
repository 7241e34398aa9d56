#!/usr/bin/env python3
"""Builds the jars: tenon (both ways to the library, generated; the library itself, its plugins), its sources, and
tenon-langchain4j where Maven reaches LangChain4j. Needs a JDK from 17 on, a C compiler and cmake; without one from
22 on the jar has JNI alone.

    build_jar.py BUILD_FOLDER... OUTPUT_FOLDER

With several build folders the jar has the library for each of their processors. JAVA_HOME names a JDK; else that of javac, and those in the folder where Debian has them. Equal files give equal jars.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent))
sys.dont_write_bytecode = True
import generate  # noqa: E402
from names import MAVEN_GROUP  # noqa: E402
from package_parts import Parts, compiler_of, project_version, target_of  # noqa: E402

FIRST_WITH_FOREIGN_FUNCTIONS = 22


def jdks():
    """(version, folder) of each JDK, newest first."""
    places = [Path(os.environ["JAVA_HOME"])] if os.environ.get("JAVA_HOME") else []
    javac = shutil.which("javac")
    places += [Path(javac).resolve().parent.parent] if javac else []
    places += sorted(Path("/usr/lib/jvm").glob("*")) if Path("/usr/lib/jvm").exists() else []
    found = {}
    for place in places:
        release = place / "release"
        if not (place / "bin/javac").exists() or not release.exists():
            continue
        line = next(line for line in release.read_text().splitlines() if line.startswith("JAVA_VERSION="))
        found.setdefault(int(line.split('"')[1].split(".")[0]), place.resolve())
    return sorted(found.items(), reverse=True)


def run(*command):
    subprocess.run([str(part) for part in command], check=True)


def compile_java(jdk, release, sources, output, classpath=()):
    output.mkdir(parents=True)
    # The paths of jars in a jar's manifest, constructors and JNI's warnings are no concern of ours.
    lint = "-Xlint:all,-path,-missing-explicit-ctor,-classfile" + (",-restricted" if release >= 22 else "")
    run(jdk / "bin/javac", "--release", release, lint, "-Werror", "-encoding", "UTF-8", "-d", output,
        *(["-classpath", ":".join(map(str, classpath))] if classpath else []), *sources)


def compile_shim(build, jdk, output):
    run(compiler_of(build), "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared",
        "-fvisibility=hidden", "-s", f"-I{jdk / 'include'}", f"-I{jdk / 'include/linux'}",
        f"-I{ROOT / 'capi/include'}", HERE / "native/tenon_jni.c", "-o", output)


def pom(artifact, version, dependencies=""):
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>{MAVEN_GROUP}</groupId>
  <artifactId>{artifact}</artifactId>
  <version>{version}</version>
  <licenses><license><name>Apache-2.0</name></license></licenses>{dependencies}
</project>
"""


def write_jar(output, manifest, files):
    """files: {name: path or bytes}."""
    lines = "Manifest-Version: 1.0\n" + "".join(f"{key}: {value}\n" for key, value in manifest.items())
    everything = {"META-INF/MANIFEST.MF": lines.encode() + b"\n", **dict(sorted(files.items()))}
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as jar:
        for name, source in everything.items():
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = 0o100644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            jar.writestr(entry, source if isinstance(source, bytes) else source.read_bytes())
    print(output)


def tree(folder, prefix=""):
    return {prefix + path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}


def build_tenon(found, builds, output, version, work):
    version_of_jdk, jdk = found[0]
    sources = [HERE / "src/module-info.java", *sorted((HERE / "src/tenon").glob("*.java")),
               *sorted((HERE / "generated/tenon").glob("*.java"))]
    compile_java(jdk, 17, sources, work / "classes")
    files = tree(work / "classes")
    for name in ("made_for.json", "made_for_server.json"):
        files[f"tenon/{name}"] = HERE / "generated/tenon" / name
    if version_of_jdk >= FIRST_WITH_FOREIGN_FUNCTIONS:
        compile_java(jdk, 22, [*sorted((HERE / "src22/tenon").glob("*.java")),
                               *sorted((HERE / "generated22/tenon").glob("*.java"))],
                     work / "classes22", [work / "classes"])
        files |= tree(work / "classes22", f"META-INF/versions/{FIRST_WITH_FOREIGN_FUNCTIONS}/")
    else:
        print(f"LEFT OUT: foreign functions, which need a JDK from {FIRST_WITH_FOREIGN_FUNCTIONS} on; "
              "the jar has JNI alone")
    systems = set()
    for number, build in enumerate(builds):
        parts = Parts(build, work / f"staged{number}")
        machine, libc = target_of(parts.library)
        if libc != "glibc" or machine in systems:
            sys.exit(f"build_jar.py: a jar has one library of each processor, for glibc; {build} is of {machine}, {libc}")
        systems.add(machine)
        native = {parts.soname: parts.library, **{f"tenon/{plugin.name}": plugin for plugin in parts.plugins}}
        if parts.server:
            native[parts.server.name] = parts.server.resolve()
        else:
            print("LEFT OUT: libtenon-server, which the build lacks: tenon.Server needs one that the system has")
        shim = work / f"shim{number}/libtenon-jni.so"
        shim.parent.mkdir()
        compile_shim(build, jdk, shim)
        native["libtenon-jni.so"] = shim
        folder = f"native/linux-{machine}/"
        files |= {folder + name: path for name, path in native.items()}
        files[folder + "list"] = "".join(f"{name}\n" for name in native).encode()
        files |= {f"META-INF/{name}": path for name, path in parts.licences().items()}
        bills = parts.bills(parts.library, *parts.plugins, parts.server)
        if len(builds) > 1:
            bills = {f"linux-{machine}/{name}": path for name, path in bills.items()}
        files |= {f"META-INF/sbom/{name}": path for name, path in bills.items()}
    files[f"META-INF/maven/{MAVEN_GROUP}/tenon/pom.xml"] = pom("tenon", version).encode()
    write_jar(output / f"tenon-{version}.jar",
              {"Multi-Release": "true", "Implementation-Title": "tenon", "Implementation-Version": version}, files)
    texts = {f"tenon/{path.name}": path for path in sources if path.parent.name == "tenon"}
    texts["module-info.java"] = HERE / "src/module-info.java"
    texts["META-INF/LICENSE"] = ROOT / "LICENSE"
    write_jar(output / f"tenon-{version}-sources.jar", {}, texts)


def build_langchain4j(found, build, output, version, work):
    dependencies = build / "java-dependencies"
    if not any(dependencies.glob("langchain4j-core-*.jar")) or \
            (HERE / "pom.xml").stat().st_mtime > dependencies.stat().st_mtime:
        if shutil.which("mvn") is None:
            print("LEFT OUT: tenon-langchain4j, which needs Maven to fetch LangChain4j")
            return
        shutil.rmtree(dependencies, ignore_errors=True)
        fetched = subprocess.run(["mvn", "-q", "-B", "-f", str(HERE / "pom.xml"), "dependency:copy-dependencies",
                                  f"-DoutputDirectory={dependencies}"], capture_output=True, text=True)
        if fetched.returncode != 0:
            shutil.rmtree(dependencies, ignore_errors=True)
            print("LEFT OUT: tenon-langchain4j, as Maven does not reach a registry")
            return
        dependencies.touch()
    core = next(dependencies.glob("langchain4j-core-*.jar"))
    compile_java(found[0][1], 17, sorted((HERE / "langchain4j/tenon/langchain4j").glob("*.java")),
                 work / "langchain4j", [work / "classes", *sorted(dependencies.glob("*.jar"))])
    files = tree(work / "langchain4j")
    files["META-INF/LICENSE"] = ROOT / "LICENSE"
    needs = "".join(f"""
    <dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{of}</version></dependency>"""
                    for group, artifact, of in (
                        (MAVEN_GROUP, "tenon", version),
                        ("dev.langchain4j", "langchain4j-core", core.stem.removeprefix("langchain4j-core-"))))
    files[f"META-INF/maven/{MAVEN_GROUP}/tenon-langchain4j/pom.xml"] = \
        pom("tenon-langchain4j", version, f"\n  <dependencies>{needs}\n  </dependencies>").encode()
    write_jar(output / f"tenon-langchain4j-{version}.jar",
              {"Automatic-Module-Name": "tenon.langchain4j", "Implementation-Version": version}, files)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    builds, output = [Path(build).resolve() for build in sys.argv[1:-1]], Path(sys.argv[-1]).resolve()
    found = jdks()
    if not found or found[0][0] < 17:
        sys.exit("no JDK from 17 on was found (Debian: openjdk-17-jdk-headless)")
    version = project_version()
    generate.main()
    output.mkdir(parents=True, exist_ok=True)
    for old in output.glob("tenon-*.jar"):
        old.unlink()
    with tempfile.TemporaryDirectory() as temporary:
        build_tenon(found, builds, output, version, Path(temporary))
        build_langchain4j(found, builds[0], output, version, Path(temporary))


if __name__ == "__main__":
    if shutil.which("cmake") is None:
        sys.exit("cmake is missing")
    main()
