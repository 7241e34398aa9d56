# Plugin `vulkan`, built if Vulkan's headers and glslangValidator are installed (Debian:
# libvulkan-dev and glslang-tools). The loader is opened when devices are listed, so nothing is
# linked.
set(TENON_VULKAN AUTO CACHE STRING
    "Build the plugin vulkan: AUTO (where its headers and glslangValidator are), ON or OFF")
set_property(CACHE TENON_VULKAN PROPERTY STRINGS AUTO ON OFF)
if(TENON_VULKAN STREQUAL "AUTO" AND CMAKE_CROSSCOMPILING)
  message(STATUS "Backend vulkan is left out: cross-compiling; TENON_VULKAN=ON asks for it")
  return()
elseif(TENON_VULKAN STREQUAL "AUTO" AND TENON_SANITIZE)
  # Drivers are not instrumented: sanitizers would report their memory as the library's leaks.
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

# Compiles each kernel of gpu/kernel_list.h and unit_kernel_list.h to an array of words,
# <name>_words, and includes all of them in one file. Kernels of weight units have a second array
# without matrix instructions, <name>_emulated_words.
set(shader_dir ${PROJECT_SOURCE_DIR}/src/backends/vulkan/shaders)
set(shader_list ${PROJECT_SOURCE_DIR}/src/backends/gpu/kernel_list.h)
set(unit_list ${PROJECT_SOURCE_DIR}/src/backends/gpu/unit_kernel_list.h)
set(variant_list ${PROJECT_SOURCE_DIR}/src/backends/gpu/kernel_variants.h)
set(words_dir ${PROJECT_BINARY_DIR}/shaders)
file(MAKE_DIRECTORY ${words_dir})
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${shader_list} ${unit_list}
             ${variant_list})
file(STRINGS ${shader_list} lines REGEX "^TENON_.*KERNEL")
file(STRINGS ${unit_list} unit_lines REGEX "^TENON_.*KERNEL")
list(APPEND lines ${unit_lines})
# tenon_variants(KIND RESULT): name endings in TENON_KIND_VARIANTS of kernel_variants.h.
function(tenon_variants kind result)
  file(READ ${variant_list} text)
  string(REGEX MATCH "TENON_${kind}_VARIANTS[^\n]*\n( +X\\(name##[^\n]*\n)+" text "${text}")
  string(REGEX MATCHALL "##_[a-z0-9_]+" endings "${text}")
  list(TRANSFORM endings REPLACE "##" "")
  if(NOT endings)
    message(FATAL_ERROR "${variant_list} has no TENON_${kind}_VARIANTS")
  endif()
  set(${result} ${endings} PARENT_SCOPE)
endfunction()
tenon_variants(MATRIX matrix_variants)
tenon_variants(UNIT unit_variants)
list(LENGTH unit_variants num_units)
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
    list(TRANSFORM matrix_variants PREPEND ${shader} OUTPUT_VARIABLE variants)
  elseif(line MATCHES "^TENON_UNIT")
    list(TRANSFORM unit_variants PREPEND ${shader} OUTPUT_VARIABLE variants)
    list(TRANSFORM variants APPEND _emulated OUTPUT_VARIABLE emulated)
    list(APPEND variants ${emulated})
  endif()
  set(family 0)
  foreach(name ${variants})
    set(words ${words_dir}/${name}.spv.h)
    math(EXPR units "${family} % ${num_units}")
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
