"""Tenon as a Conan package, built from this tree: conan create cmake/packaging/conan

What is put into the library (fmt, utf8proc, xxhash, Eigen, nlohmann-json) comes from the system's packages: its users
need none of it.
"""

import re
from pathlib import Path

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy
from conan.tools.system.package_manager import Apt


class Tenon(ConanFile):
    name = "tenon"
    description = "LLM inference inside a program: a library with a C interface and headers for C++20"
    license = "Apache-2.0"
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "server": [True, False], "unity": [True, False]}
    default_options = {"shared": True, "server": False, "unity": True}

    def set_version(self):
        text = (Path(self.recipe_folder) / "../../../CMakeLists.txt").read_text(encoding="utf-8")
        self.version = re.search(r"project\(tenon VERSION ([0-9.]+)", text).group(1)

    def export_sources(self):
        root = Path(self.recipe_folder) / "../../.."
        for part in ("CMakeLists.txt", "LICENSE", "cmake/*", "src/*", "capi/*", "include/*",
                     "bindings/interface.json", "bindings/server_interface.json", "bindings/hub_interface.json"):
            copy(self, part, str(root), self.export_sources_folder)

    def validate(self):
        check_min_cppstd(self, 20)

    def system_requirements(self):
        packages = ["libeigen3-dev", "libfmt-dev", "libutf8proc-dev", "libxxhash-dev", "nlohmann-json3-dev"]
        Apt(self).install(packages + (["libboost-dev", "libssl-dev"] if self.options.server else []), check=True)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables.update({
            "TENON_TESTS": False, "TENON_EXAMPLES": False, "TENON_BLAS": "OFF",
            "TENON_UNITY": bool(self.options.unity), "TENON_SERVER": "ON" if self.options.server else "OFF"})
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, str(Path(self.package_folder) / "licenses"))

    def package_info(self):
        # The package has its own tenon-config.cmake and tenon.pc: those, and nothing that Conan would make.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.set_property("pkg_config_name", "none")
        self.cpp_info.builddirs = ["lib/cmake/tenon"]
        self.cpp_info.libs = ["tenon"]
        if not self.options.shared:
            self.cpp_info.defines = ["TENON_STATIC"]
            self.cpp_info.system_libs = ["dl", "pthread", "m", "stdc++"]
