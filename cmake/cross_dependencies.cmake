# Third-party libraries in a cross build, which takes only header-only ones from the building
# machine's packages: fmt, Eigen, xxhash and JSON as headers, GoogleTest as sources. Targets that
# need utf8proc cannot be built.
if(NOT TENON_BUNDLED)
  message(FATAL_ERROR "A cross build has no packages to link: it needs TENON_BUNDLED.")
endif()
set(headers ${PROJECT_BINARY_DIR}/host_headers)
file(MAKE_DIRECTORY ${headers})
foreach(name fmt xxhash.h eigen3 nlohmann)
  file(CREATE_LINK /usr/include/${name} ${headers}/${name} SYMBOLIC)
endforeach()
set(TENON_FMT_INCLUDE_DIR ${headers})
set(TENON_XXHASH_INCLUDE_DIR ${headers})
foreach(target Eigen3::Eigen nlohmann_json::nlohmann_json)
  add_library(${target} INTERFACE IMPORTED)
endforeach()
target_include_directories(nlohmann_json::nlohmann_json INTERFACE ${headers})
target_include_directories(Eigen3::Eigen INTERFACE ${headers}/eigen3)
