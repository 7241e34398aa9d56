# libFuzzer targets: tests/fuzz/NAME_fuzz.cpp becomes the program fuzz_NAME. Such a build
# instruments everything, the rooms included, and also with the sanitizers in TENON_SANITIZE.
if(NOT TENON_FUZZERS)
  return()
endif()
if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "TENON_FUZZERS needs clang: -DCMAKE_C_COMPILER=clang "
                      "-DCMAKE_CXX_COMPILER=clang++")
endif()
# Coverage of the tests' own code guides nothing: a sixth of its compile time.
target_compile_options(tenon_flags INTERFACE
  $<$<NOT:$<BOOL:$<TARGET_PROPERTY:TENON_TEST_CODE>>>:-fsanitize=fuzzer-no-link>)

# Rooms that a target needs in addition to those that read files and texts.
set(TENON_FUZZ_ROOMS_library program backend backends/reference backends/cpu)
set(TENON_FUZZ_ROOMS_safetensors weights/foreign)
set(TENON_FUZZ_ROOMS_adapter media program backend weights weights/foreign arch backends/reference
    backends/cpu)
set(TENON_FUZZ_ROOMS_folder media program backend weights weights/foreign arch backends/reference
    backends/cpu)
set(TENON_FUZZ_ROOMS_snapshot media program backend weights weights/foreign arch kv sampler quantize
    random_model model engine backends/reference backends/cpu)

file(GLOB fuzz_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/fuzz/*_fuzz.cpp)
# Built by src/server, src/hub and src/decode, since they need another library.
list(FILTER fuzz_sources EXCLUDE REGEX "/(server_[a-z]+|hub|decode|decode_own)_fuzz\\.cpp$")
add_custom_target(fuzzers)
foreach(source ${fuzz_sources})
  get_filename_component(name ${source} NAME_WE)
  string(REGEX REPLACE "_fuzz$" "" name ${name})
  add_executable(fuzz_${name} ${source})
  tenon_link_rooms(fuzz_${name} base json quant file ${TENON_TEXT_ROOMS}
                   ${TENON_FUZZ_ROOMS_${name}})
  target_include_directories(fuzz_${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  add_dependencies(fuzzers fuzz_${name})
endforeach()
