# Overlay port of this source tree: vcpkg install tenon --overlay-ports=cmake/packaging/vcpkg
cmake_path(SET SOURCE_PATH NORMALIZE "${CURRENT_PORT_DIR}/../../../..")

vcpkg_check_linkage(ONLY_DYNAMIC_LIBRARY)  # plugins load beside a shared library
vcpkg_check_features(OUT_FEATURE_OPTIONS FEATURE_OPTIONS FEATURES
  server TENON_SERVER
  server TENON_SERVER_TLS
  tools TENON_EXAMPLES)
vcpkg_find_acquire_program(PKGCONFIG)

# fmt, utf8proc and xxhash are vcpkg's packages, and not bundled into the library. Libraries
# installed on the machine (BLAS, Vulkan) do not change the package.
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}" OPTIONS
  ${FEATURE_OPTIONS} -DTENON_TESTS=OFF -DTENON_BUNDLED=OFF -DTENON_BLAS=OFF -DTENON_VULKAN=OFF
  "-DPKG_CONFIG_EXECUTABLE=${PKGCONFIG}"
  MAYBE_UNUSED_VARIABLES TENON_SERVER_TLS)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME tenon CONFIG_PATH lib/cmake/tenon)
vcpkg_fixup_pkgconfig()
if("tools" IN_LIST FEATURES)
  vcpkg_copy_tools(TOOL_NAMES tenon AUTO_CLEAN)
endif()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
