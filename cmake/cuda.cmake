# Plugin `cuda`, built if nvcc is found: in the PATH, in $CUDA_HOME, or named by TENON_NVCC (also on
# PyPI: nvidia-cuda-nvcc, nvidia-nvvm, nvidia-cuda-crt, nvidia-cuda-runtime and nvidia-cuda-cccl).
# The driver is opened when devices are listed, so nothing is linked. Tests build the kernels over
# an emulator, without nvcc.
set(TENON_CUDA OFF CACHE STRING "Build the plugin cuda: AUTO (where nvcc is), ON or OFF")
set_property(CACHE TENON_CUDA PROPERTY STRINGS AUTO ON OFF)
set(TENON_CUDA_ARCHITECTURES "80;86;89;90a;120" CACHE STRING
    "Targets of the plugin cuda's kernels; later devices compile them for themselves")
if(NOT TENON_CUDA AND NOT TENON_TESTS)
  return()
endif()
tenon_room(backends/cuda)

# Disable contraction of products and sums, so that a kernel's bits equal the emulator's; kernels
# request fused operations explicitly.
find_program(TENON_NVCC nvcc PATHS $ENV{CUDA_HOME}/bin /usr/local/cuda/bin)
mark_as_advanced(TENON_NVCC)
set(TENON_NVCC_COMMAND ${TENON_NVCC} -std=c++20 -I${PROJECT_SOURCE_DIR}/src -fatbin -fmad=false
    -Werror all-warnings)
set(kernel_dir ${PROJECT_SOURCE_DIR}/src/backends/cuda/kernels)
set(TENON_CUDA_KERNELS ${kernel_dir}/all_kernels.cu)
if(NOT TENON_CUDA)
  return()
endif()

if(NOT TENON_NVCC)
  if(TENON_CUDA STREQUAL "AUTO")
    message(STATUS "Backend cuda is left out: there is no nvcc in the PATH or in CUDA_HOME")
    return()
  endif()
  message(FATAL_ERROR "TENON_CUDA is ON, but there is no nvcc; TENON_NVCC names one")
endif()

# A single image for all architectures.
set(generate "")
foreach(architecture ${TENON_CUDA_ARCHITECTURES})
  list(APPEND generate -gencode arch=compute_${architecture},code=sm_${architecture})
endforeach()
list(GET TENON_CUDA_ARCHITECTURES 0 least)
string(REGEX REPLACE "[a-z]" "" least ${least})
list(APPEND generate -gencode arch=compute_${least},code=compute_${least})
set(image_dir ${PROJECT_BINARY_DIR}/cuda)
set(image ${image_dir}/all_kernels.fatbin)
file(MAKE_DIRECTORY ${image_dir})
file(GLOB kernel_files CONFIGURE_DEPENDS ${kernel_dir}/*.cu ${kernel_dir}/*.h
     ${PROJECT_SOURCE_DIR}/src/backends/gpu/kernels/*.inl)
add_custom_command(OUTPUT ${image}
  COMMAND ${TENON_NVCC_COMMAND} ${generate} -o ${image} ${TENON_CUDA_KERNELS}
  DEPENDS ${kernel_files} ${PROJECT_SOURCE_DIR}/src/backends/gpu/step_layout.h
          ${PROJECT_SOURCE_DIR}/src/backends/gpu/stage_parameters.h
          ${PROJECT_SOURCE_DIR}/src/backends/gpu/abi_numbers.h
          ${PROJECT_SOURCE_DIR}/src/backends/gpu/packed_unit.h
          ${PROJECT_SOURCE_DIR}/src/backends/gpu/unit_products.h
          ${PROJECT_SOURCE_DIR}/src/backends/gpu/weight_units.h
          ${PROJECT_SOURCE_DIR}/src/backends/gpu/draw_arithmetic.h
  COMMENT "Compiling the kernels of cuda" VERBATIM)
file(CONFIGURE OUTPUT ${image_dir}/kernel_image.cpp @ONLY CONTENT
"asm(R\"(
.section .rodata
.balign 64
.globl tenon_cuda_kernel_image
.hidden tenon_cuda_kernel_image
tenon_cuda_kernel_image:
.incbin \"@image@\"
.text
)\");
")
set_source_files_properties(${image_dir}/kernel_image.cpp PROPERTIES OBJECT_DEPENDS ${image})
tenon_plugin(cuda)
target_sources(tenon_plugin_cuda PRIVATE ${image_dir}/kernel_image.cpp ${image}
               $<TARGET_OBJECTS:tenon_room_backends_gpu>)
