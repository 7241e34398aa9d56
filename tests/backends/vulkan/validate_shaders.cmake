# Compiles every shader and asks spirv-val about it: those of cooperative matrices as
# GL_NV_cooperative_matrix, and emulated.
#   cmake -DGLSLANG=... -DSPIRV_VAL=... -DSOURCE_DIR=<src> -DWORK_DIR=... -P validate_shaders.cmake
file(GLOB shaders ${SOURCE_DIR}/backends/vulkan/shaders/*.comp)
file(MAKE_DIRECTORY ${WORK_DIR})
list(LENGTH shaders count)
if(count EQUAL 0)
  message(FATAL_ERROR "there are no shaders in ${SOURCE_DIR}")
endif()
foreach(shader ${shaders})
  get_filename_component(name ${shader} NAME_WE)
  foreach(family RANGE 4)  # of formats: only some shaders look at it
    math(EXPR units "${family} % 4")
    set(layers TENON_MATRICES)
    if(name MATCHES "^linear_(narrow|wide)$")
      list(APPEND layers TENON_EMULATED)
    endif()
    foreach(layer ${layers})
      set(module ${WORK_DIR}/${name}_${family}_${layer}.spv)
      execute_process(COMMAND ${GLSLANG} -V --quiet --target-env vulkan1.2
                      -I${SOURCE_DIR} -D${layer}
                              -DTENON_FAMILY=${family} -DTENON_UNITS=${units} -o ${module} ${shader}
                      COMMAND_ERROR_IS_FATAL ANY)
      execute_process(COMMAND ${SPIRV_VAL} --target-env vulkan1.2 --scalar-block-layout ${module}
                      COMMAND_ERROR_IS_FATAL ANY)
    endforeach()
  endforeach()
endforeach()
