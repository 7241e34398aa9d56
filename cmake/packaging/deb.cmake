# Debian packages, by `cpack -G DEB` in a build folder: libtenon0.1, libtenon-server0.1,
# libtenon-hub0.1, libtenon-media0.1, tenon, libtenon-dev and, if plugins are built, tenon-plugins. Configure with
# -DCMAKE_INSTALL_PREFIX=/usr for Debian's library folders. `cpack -G RPM` makes the packages of the
# same names for systems of rpm; configure with -DCMAKE_INSTALL_LIBDIR=lib64 for these.
set(TENON_PACKAGER "Tenon packagers <tenon@example.org>" CACHE STRING "Who answers for the Debian packages, with an address")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tenon)
set(CPACK_PACKAGE_VENDOR Tenon)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # each package has its own
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
                                                WORLD_READ WORLD_EXECUTE)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SOURCE tenon)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER ${TENON_PACKAGER})
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/lib)
# Built by zig the files need the C library alone, and the tools of the building machine that find
# dependencies know no files of another processor.
set(depends_on_system "")
if(TENON_ZIG_TARGET MATCHES "gnu\\.([0-9.]+)$")
  set(depends_on_system "libc6 (>= ${CMAKE_MATCH_1}), ")
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS OFF)
endif()
if(CMAKE_CROSSCOMPILING)
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE amd64)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
    set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
  endif()
  set(CPACK_RPM_PACKAGE_ARCHITECTURE ${CMAKE_SYSTEM_PROCESSOR})
endif()
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_BINARY_DIR}/deb_documents.cmake)

set(minor ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set(exactly "(= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")
set(TENON_DEB_PACKAGES "")  # "component package documents...": deb_documents.cmake reads it

# deb_package(COMPONENT PACKAGE SECTION SUMMARY TEXT DOCUMENT...): the documents are names from
# sbom.py.
macro(deb_package component package section summary text)
  string(TOUPPER ${component} name)
  list(APPEND CPACK_COMPONENTS_ALL ${component})
  set(CPACK_DEBIAN_${name}_PACKAGE_NAME ${package})
  set(CPACK_DEBIAN_${name}_PACKAGE_SECTION ${section})
  set(CPACK_DEBIAN_${name}_DESCRIPTION "${summary}\n${text}")
  set(CPACK_RPM_${name}_PACKAGE_NAME ${package})
  set(CPACK_RPM_${name}_PACKAGE_SUMMARY "${summary}")
  set(CPACK_RPM_${name}_PACKAGE_DESCRIPTION "${text}")
  string(JOIN " " entry ${component} ${package} ${ARGN})
  list(APPEND TENON_DEB_PACKAGES ${entry})
endmacro()

# Packages of rpm name the needs of files by themselves. What differs between builds stays out.
set(CPACK_RPM_COMPONENT_INSTALL ON)
set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_LICENSE Apache-2.0)
set(CPACK_RPM_SPEC_INSTALL_POST true)  # cpack has stripped the files
set(CPACK_RPM_SPEC_MORE_DEFINE "%global _buildhost tenon
%global use_source_date_epoch_as_buildtime 1
%global clamp_mtime_to_source_date_epoch 1
%global _build_id_links none")
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION /usr/lib64/pkgconfig /usr/lib64/cmake /usr/share/doc
    /usr/share/man /usr/share/man/man1 /usr/share/bash-completion /usr/share/bash-completion/completions
    /usr/share/zsh /usr/share/zsh/site-functions /usr/share/fish /usr/share/fish/vendor_completions.d)

set(CPACK_COMPONENTS_ALL "")
deb_package(runtime libtenon${minor} libs "LLM inference inside a program: shared library"
  "Tenon runs language models from GGUF files in the process of the program that\nlinks it. This is the library that such programs need." libtenon)
if(depends_on_system)
  string(REGEX REPLACE ", $" "" CPACK_DEBIAN_RUNTIME_PACKAGE_DEPENDS "${depends_on_system}")
endif()
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/deb/runtime/symbols
    ${PROJECT_BINARY_DIR}/deb/runtime/shlibs ${PROJECT_BINARY_DIR}/deb/triggers)

set(server_depends "")
if(TARGET tenon_server)
  deb_package(server libtenon-server${minor} libs "HTTP server of Tenon: shared library"
    "With this library a program serves the language models that it runs by Tenon,\nto clients of the usual HTTP interfaces." libtenon-server)
  set(CPACK_DEBIAN_SERVER_PACKAGE_DEPENDS "${depends_on_system}libtenon${minor} ${exactly}")
  set(CPACK_DEBIAN_SERVER_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/deb/server/shlibs
      ${PROJECT_BINARY_DIR}/deb/triggers)
  set(server_depends ", libtenon-server${minor} ${exactly}")
endif()

set(hub_depends "")
if(TARGET tenon_hub)
  deb_package(hub libtenon-hub${minor} libs "getting models for Tenon: shared library"
    "With this library a program finds language models on its machine and fetches\nothers from a model hub." libtenon-hub)
  set(CPACK_DEBIAN_HUB_PACKAGE_DEPENDS "libtenon${minor} ${exactly}")
  set(CPACK_DEBIAN_HUB_PACKAGE_RECOMMENDS "libcurl4, libssl3, ca-certificates")
  set(CPACK_DEBIAN_HUB_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/deb/hub/shlibs
      ${PROJECT_BINARY_DIR}/deb/triggers)
  set(hub_depends ", libtenon-hub${minor} ${exactly}")
endif()

set(media_depends "")
if(TARGET tenon_media)
  deb_package(media libtenon-media${minor} libs "decoding pictures and sound for Tenon: shared library"
    "With this library a program makes pixels and samples of files, which language\nmodels that see and hear are given." libtenon-media)
  set(CPACK_DEBIAN_MEDIA_PACKAGE_RECOMMENDS
      "libspng0, libjpeg62-turbo, libwebp7, libflac12, libmpg123-0")
  set(CPACK_DEBIAN_MEDIA_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/deb/media/shlibs
      ${PROJECT_BINARY_DIR}/deb/triggers)
  set(media_depends ", libtenon-media${minor} ${exactly}")
endif()

get_property(plugins GLOBAL PROPERTY TENON_INSTALLED_PLUGINS)
if(plugins)
  list(TRANSFORM plugins PREPEND "libtenon-")
  deb_package(plugins tenon-plugins libs "LLM inference inside a program: further backends"
    "What Tenon can compute with beside its own kernels for processors: each backend\nis a plugin, which is loaded when a program asks for it." ${plugins})
  set(CPACK_DEBIAN_RUNTIME_PACKAGE_RECOMMENDS tenon-plugins)
  set(CPACK_DEBIAN_PLUGINS_PACKAGE_DEPENDS "${depends_on_system}libtenon${minor} ${exactly}")
  set(CPACK_DEBIAN_PLUGINS_PACKAGE_SUGGESTS "libopenblas0 | libblas3, libvulkan1")
endif()

if(TARGET tenon_program)
  deb_package(program tenon misc "LLM inference at the command line"
    "Runs, measures and serves language models from GGUF files." tenon)
  set(CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS
      "${depends_on_system}libtenon${minor} ${exactly}${server_depends}${hub_depends}${media_depends}")
endif()

deb_package(development libtenon-dev libdevel "LLM inference inside a program: development files"
  "Headers for C and C++, the static library, and what CMake and pkg-config need\nto find them.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
    "libtenon${minor} ${exactly}${server_depends}${hub_depends}${media_depends}")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_RECOMMENDS "g++, pkg-config")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SHLIBDEPS OFF)

# Control files for dependents: the package that a program linking the library depends on, and the
# version that introduced each function.
set(functions "")
if(EXISTS ${PROJECT_SOURCE_DIR}/tests/abi/symbols.txt)  # sources without tests have packages without it
  file(STRINGS tests/abi/symbols.txt functions)
endif()
list(TRANSFORM functions REPLACE "(.+)" " \\1@TENON_${minor} ${PROJECT_VERSION}")
list(JOIN functions "\n" functions)
file(CONFIGURE OUTPUT deb/runtime/symbols @ONLY CONTENT
  "libtenon.so.${minor} libtenon${minor} #MINVER#\n TENON_${minor}@TENON_${minor} ${PROJECT_VERSION}\n@functions@\n")
file(CONFIGURE OUTPUT deb/runtime/shlibs CONTENT "libtenon ${minor} libtenon${minor} (>= ${PROJECT_VERSION})\n")
file(CONFIGURE OUTPUT deb/server/shlibs
     CONTENT "libtenon-server ${minor} libtenon-server${minor} (>= ${PROJECT_VERSION})\n")
file(CONFIGURE OUTPUT deb/hub/shlibs
     CONTENT "libtenon-hub ${minor} libtenon-hub${minor} (>= ${PROJECT_VERSION})\n")
file(CONFIGURE OUTPUT deb/media/shlibs
     CONTENT "libtenon-media ${minor} libtenon-media${minor} (>= ${PROJECT_VERSION})\n")
file(CONFIGURE OUTPUT deb/triggers CONTENT "activate-noawait ldconfig\n")

configure_file(cmake/packaging/deb_documents.cmake.in deb_documents.cmake @ONLY)
include(CPack)
