# The plugin `vulkan`, built where the headers of Vulkan and glslangValidator are (Debian: libvulkan-dev and
# glslang-tools). The loader is opened when devices are listed, so nothing is linked.
set(TENON_VULKAN AUTO CACHE STRING
    "Build the plugin vulkan: AUTO (where its headers and glslangValidator are), ON or OFF")
set_property(CACHE TENON_VULKAN PROPERTY STRINGS AUTO ON OFF)
if(TENON_VULKAN STREQUAL "AUTO" AND CMAKE_CROSSCOMPILING)
  message(STATUS "Backend vulkan is left out: cross-compiling; TENON_VULKAN=ON asks for it")
  return()
elseif(TENON_VULKAN STREQUAL "AUTO" AND TENON_SANITIZE)
  # Drivers are not instrumented: what they keep would be reported as ours.
  message(STATUS "Backend vulkan is left out: sanitizers; TENON_VULKAN=ON asks for it")
  return()
elseif(NOT TENON_VULKAN)
  return()
endif()

find_path(TENON_VULKAN_INCLUDE_DIR vulkan/vulkan_core.h)
find_program(TENON_GLSLANG glslangValidator)
mark_as_advanced(TENON_VULKAN_INCLUDE_DIR TENON_GLSLANG)
if(NOT TENON_VULKAN_INCLUDE_DIR OR NOT TENON_GLSLANG)
  set(reason "there is no vulkan_core.h or no glslangValidator (Debian: libvulkan-dev, glslang-tools)")
  if(TENON_VULKAN STREQUAL "AUTO")
    message(STATUS "Backend vulkan is left out: ${reason}")
    return()
  endif()
  message(FATAL_ERROR "TENON_VULKAN is ON, but ${reason}")
endif()
add_library(tenon_vulkan_headers INTERFACE)
target_include_directories(tenon_vulkan_headers SYSTEM INTERFACE ${TENON_VULKAN_INCLUDE_DIR})
target_link_libraries(tenon_vulkan_headers INTERFACE ${CMAKE_DL_LIBS})

# Each kernel of gpu/kernel_list.h and unit_kernel_list.h as an array of words, <name>_words, and all of them in one
# file. Those of weights in units are there once more without matrices, <name>_emulated_words.
set(shader_dir ${PROJECT_SOURCE_DIR}/src/backends/vulkan/shaders)
set(shader_list ${PROJECT_SOURCE_DIR}/src/backends/gpu/kernel_list.h)
set(unit_list ${PROJECT_SOURCE_DIR}/src/backends/gpu/unit_kernel_list.h)
set(words_dir ${PROJECT_BINARY_DIR}/shaders)
file(MAKE_DIRECTORY ${words_dir})
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${shader_list} ${unit_list})
file(STRINGS ${shader_list} lines REGEX "^TENON_.*KERNEL")
file(STRINGS ${unit_list} unit_lines REGEX "^TENON_.*KERNEL")
list(APPEND lines ${unit_lines})
file(GLOB shader_includes CONFIGURE_DEPENDS ${shader_dir}/*.glsl
     ${PROJECT_SOURCE_DIR}/src/backends/gpu/kernels/*.inl)
list(APPEND shader_includes ${PROJECT_SOURCE_DIR}/src/backends/gpu/step_layout.h
                            ${PROJECT_SOURCE_DIR}/src/backends/gpu/stage_parameters.h
                            ${PROJECT_SOURCE_DIR}/src/backends/gpu/abi_numbers.h
                            ${PROJECT_SOURCE_DIR}/src/backends/gpu/draw_arithmetic.h)
set(all "")
set(word_files "")
foreach(line ${lines})
  string(REGEX REPLACE "^TENON_.*KERNEL.([a-z0-9_]+).*" "\\1" shader "${line}")
  if(NOT EXISTS ${shader_dir}/${shader}.comp)  # a kernel that another plugin has
    continue()
  endif()
  set(variants ${shader})
  if(line MATCHES "^TENON_MATRIX")
    list(TRANSFORM variants REPLACE "(.+)" "\\1_floats;\\1_scaled;\\1_k;\\1_codebook;\\1_small")
  elseif(line MATCHES "^TENON_UNIT")
    list(TRANSFORM variants REPLACE "(.+)" "\\1_f16;\\1_q8_0;\\1_q4_k;\\1_q6_k;\\1_f16_emulated;\\1_q8_0_emulated;\\1_q4_k_emulated;\\1_q6_k_emulated")
  endif()
  set(family 0)
  foreach(name ${variants})
    set(words ${words_dir}/${name}.spv.h)
    math(EXPR units "${family} % 4")
    set(layer "")
    if(name MATCHES "_emulated$")
      set(layer -DTENON_EMULATED)
    endif()
    add_custom_command(OUTPUT ${words}
      COMMAND ${TENON_GLSLANG} -V --quiet --target-env vulkan1.2 -I${PROJECT_SOURCE_DIR}/src
              -DTENON_FAMILY=${family} -DTENON_UNITS=${units} ${layer} --vn ${name}_words -o ${words} ${shader_dir}/${shader}.comp
      DEPENDS ${shader_dir}/${shader}.comp ${shader_includes}
      COMMENT "Compiling shader ${name}" VERBATIM)
    list(APPEND word_files ${words})
    string(APPEND all "#include \"${name}.spv.h\"\n")
    math(EXPR family "${family} + 1")
  endforeach()
endforeach()
file(CONFIGURE OUTPUT ${words_dir}/tenon_vulkan_shaders.inc CONTENT "${all}" @ONLY)
add_custom_target(tenon_vulkan_shaders DEPENDS ${word_files})

tenon_room(backends/vulkan)
add_dependencies(tenon_room_backends_vulkan tenon_vulkan_shaders)
target_include_directories(tenon_room_backends_vulkan PRIVATE ${words_dir})
tenon_plugin(vulkan)
target_sources(tenon_plugin_vulkan PRIVATE $<TARGET_OBJECTS:tenon_room_backends_gpu>)
