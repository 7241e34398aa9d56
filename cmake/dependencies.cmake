# Third-party libraries, all from Debian's packages; docs/decisions justifies each. The rooms name
# them as tenon_fmt, tenon_xxhash, tenon_utf8proc, Eigen3::Eigen and nlohmann_json::nlohmann_json.
option(TENON_BUNDLED "Put fmt, xxhash and utf8proc into the library, which then needs none of them"
       ON)

# Libraries that a program must link besides libtenon.a. One list serves the target in the tree,
# tenon-config.cmake and tenon.pc; programs that link libtenon.so need none of them.
set(TENON_STATIC_MODULES "")
if(NOT TENON_BUNDLED)
  set(TENON_STATIC_MODULES fmt libutf8proc libxxhash)
endif()
set(TENON_STATIC_LIBRARIES ${CMAKE_CXX_IMPLICIT_LINK_LIBRARIES})
list(REMOVE_ITEM TENON_STATIC_LIBRARIES ${CMAKE_C_IMPLICIT_LINK_LIBRARIES})
# A compiler that links its C++ library as archives (zig): libtenon.a takes them in, so that it suits
# programs of every compiler.
set(TENON_RUNTIME_ARCHIVES ${TENON_STATIC_LIBRARIES})
list(FILTER TENON_RUNTIME_ARCHIVES INCLUDE REGEX "\\.a$")
if(TENON_RUNTIME_ARCHIVES)
  # gcc -static leaves out the table by which the unwinder inside finds the frames.
  set(TENON_STATIC_LIBRARIES m -Wl,--eh-frame-hdr)
endif()
list(PREPEND TENON_STATIC_LIBRARIES ${CMAKE_DL_LIBS})
list(REMOVE_DUPLICATES TENON_STATIC_LIBRARIES)
if(WIN32)
  list(APPEND TENON_STATIC_LIBRARIES synchronization bcrypt ssp)
endif()

if(CMAKE_CROSSCOMPILING)
  include(cross_dependencies)
else()
  find_package(Eigen3 REQUIRED NO_MODULE)
  find_package(nlohmann_json REQUIRED)
endif()

if(NOT TENON_BUNDLED)
  find_package(fmt REQUIRED)
  find_package(PkgConfig REQUIRED)
  pkg_check_modules(TENON_UTF8PROC REQUIRED IMPORTED_TARGET libutf8proc)
  pkg_check_modules(TENON_XXHASH REQUIRED IMPORTED_TARGET libxxhash)
  foreach(name fmt xxhash utf8proc)
    add_library(tenon_${name} INTERFACE)
  endforeach()
  target_link_libraries(tenon_fmt INTERFACE fmt::fmt)
  target_link_libraries(tenon_xxhash INTERFACE PkgConfig::TENON_XXHASH)
  target_link_libraries(tenon_utf8proc INTERFACE PkgConfig::TENON_UTF8PROC)
  return()
endif()

# Find by header and file, not by package: a program that includes these sources may have targets
# with the packages' names.
find_path(TENON_FMT_INCLUDE_DIR fmt/format-inl.h REQUIRED)
find_path(TENON_XXHASH_INCLUDE_DIR xxhash.h REQUIRED)
mark_as_advanced(TENON_FMT_INCLUDE_DIR TENON_XXHASH_INCLUDE_DIR)

# Compile fmt in a namespace of its own, so that it never meets a program's fmt.
add_library(tenon_fmt STATIC ${PROJECT_SOURCE_DIR}/cmake/fmt.cpp)
target_include_directories(tenon_fmt SYSTEM PUBLIC ${TENON_FMT_INCLUDE_DIR})
target_compile_definitions(tenon_fmt PUBLIC
  "FMT_BEGIN_NAMESPACE=namespace fmt { inline namespace tenon {" "FMT_END_NAMESPACE=}}")
target_link_libraries(tenon_fmt PRIVATE tenon_flags)
if(NOT TENON_SANITIZE)
  target_compile_options(tenon_fmt PRIVATE $<$<CONFIG:Release,RelWithDebInfo>:-Os>)
endif()

add_library(tenon_xxhash INTERFACE)
target_include_directories(tenon_xxhash SYSTEM INTERFACE ${TENON_XXHASH_INCLUDE_DIR})
target_compile_definitions(tenon_xxhash INTERFACE XXH_INLINE_ALL)

if(NOT CMAKE_CROSSCOMPILING)
  add_library(tenon_utf8proc INTERFACE)
  find_path(TENON_UTF8PROC_INCLUDE_DIR utf8proc.h REQUIRED)
  find_library(TENON_UTF8PROC_ARCHIVE libutf8proc.a)
  mark_as_advanced(TENON_UTF8PROC_INCLUDE_DIR TENON_UTF8PROC_ARCHIVE)
  if(NOT TENON_UTF8PROC_ARCHIVE)
    message(FATAL_ERROR "libutf8proc.a is missing (Debian: libutf8proc-dev); -DTENON_BUNDLED=OFF "
                        "links the shared library instead.")
  endif()
  target_include_directories(tenon_utf8proc SYSTEM INTERFACE ${TENON_UTF8PROC_INCLUDE_DIR})
  target_compile_definitions(tenon_utf8proc INTERFACE UTF8PROC_STATIC)
  target_link_libraries(tenon_utf8proc INTERFACE ${TENON_UTF8PROC_ARCHIVE})
endif()
