# Third-party libraries in a cross build, where only what is header-only can come from the building
# machine's packages: fmt, Eigen, xxhash and JSON as headers, GoogleTest as sources. Targets that need
# utf8proc cannot be built.
set(headers ${CMAKE_BINARY_DIR}/host_headers)
file(MAKE_DIRECTORY ${headers})
foreach(name fmt xxhash.h eigen3 nlohmann)
  file(CREATE_LINK /usr/include/${name} ${headers}/${name} SYMBOLIC)
endforeach()
foreach(target fmt::fmt Eigen3::Eigen PkgConfig::XXHASH PkgConfig::UTF8PROC
               nlohmann_json::nlohmann_json)
  add_library(${target} INTERFACE IMPORTED)
endforeach()
target_include_directories(fmt::fmt INTERFACE ${headers})
target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY)
target_include_directories(PkgConfig::XXHASH INTERFACE ${headers})
target_compile_definitions(PkgConfig::XXHASH INTERFACE XXH_INLINE_ALL)
target_include_directories(nlohmann_json::nlohmann_json INTERFACE ${headers})
target_include_directories(Eigen3::Eigen INTERFACE ${headers}/eigen3)
