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
  set(reason "there is no vulkan_core.h or no glslangValidator "
             "(Debian: libvulkan-dev, glslang-tools)")
  string(CONCAT reason ${reason})
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
set(gpu_dir ${PROJECT_SOURCE_DIR}/src/backends/gpu)
set(words_dir ${PROJECT_BINARY_DIR}/shaders)
file(MAKE_DIRECTORY ${words_dir})

# The preprocessor expands the lists: a line has KIND SHADER VARIANT...
set(lists ${gpu_dir}/kernel_list.h ${gpu_dir}/unit_kernel_list.h)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${lists}
             ${gpu_dir}/kernel_variants.h)
file(WRITE ${words_dir}/kernels.cpp [[
#include "backends/gpu/kernel_variants.h"
#define TENON_VARIANT(name) name
#define TENON_KERNEL(name) PLAIN name name
#define TENON_MATRIX_KERNEL(name) MATRIX name TENON_MATRIX_VARIANTS(TENON_VARIANT, name)
#define TENON_UNIT_KERNEL(name) UNIT name TENON_UNIT_VARIANTS(TENON_VARIANT, name)
#include "backends/gpu/kernel_list.h"
#include "backends/gpu/unit_kernel_list.h"
]])
execute_process(COMMAND ${CMAKE_CXX_COMPILER} -std=c++20 -E -P -I${PROJECT_SOURCE_DIR}/src
                        ${words_dir}/kernels.cpp
                OUTPUT_VARIABLE kernels OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE "\n" ";" kernels "${kernels}")

file(GLOB shader_includes CONFIGURE_DEPENDS ${shader_dir}/*.glsl ${gpu_dir}/kernels/*.inl)
list(APPEND shader_includes ${gpu_dir}/step_layout.h ${gpu_dir}/stage_parameters.h
                            ${gpu_dir}/abi_numbers.h ${gpu_dir}/draw_arithmetic.h)
set(all "")
set(word_files "")
# tenon_shader(SHADER NAME FLAG...): adds the words of a variant to `all` and `word_files`.
macro(tenon_shader shader name)
  set(words ${words_dir}/${name}.spv.h)
  add_custom_command(OUTPUT ${words}
    COMMAND ${TENON_GLSLANG} -V --quiet --target-env vulkan1.2 -I${PROJECT_SOURCE_DIR}/src ${ARGN}
            --vn ${name}_words -o ${words} ${shader_dir}/${shader}.comp
    DEPENDS ${shader_dir}/${shader}.comp ${shader_includes}
    COMMENT "Compiling shader ${name}" VERBATIM)
  list(APPEND word_files ${words})
  string(APPEND all "#include \"${name}.spv.h\"\n")
endmacro()
foreach(line ${kernels})
  separate_arguments(variants UNIX_COMMAND "${line}")
  list(POP_FRONT variants kind shader)
  if(NOT EXISTS ${shader_dir}/${shader}.comp)  # a kernel that another plugin has
    continue()
  endif()
  set(number 0)
  foreach(name ${variants})
    if(kind STREQUAL "UNIT")
      tenon_shader(${shader} ${name} -DTENON_UNITS=${number})
      tenon_shader(${shader} ${name}_emulated -DTENON_UNITS=${number} -DTENON_EMULATED)
    else()
      tenon_shader(${shader} ${name} -DTENON_FAMILY=${number})
    endif()
    math(EXPR number "${number} + 1")
  endforeach()
endforeach()
file(CONFIGURE OUTPUT ${words_dir}/tenon_vulkan_shaders.inc CONTENT "${all}" @ONLY)
add_custom_target(tenon_vulkan_shaders DEPENDS ${word_files})

tenon_room(backends/vulkan)
add_dependencies(tenon_room_backends_vulkan tenon_vulkan_shaders)
target_include_directories(tenon_room_backends_vulkan PRIVATE ${words_dir})
tenon_plugin(vulkan)
target_sources(tenon_plugin_vulkan PRIVATE $<TARGET_OBJECTS:tenon_room_backends_gpu>)
