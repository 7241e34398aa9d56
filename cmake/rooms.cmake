# A room is a folder under src/. Its sources become the object library `tenon_room_<folder>`, so
# that the shared library, the static library and every test link the same objects.

# External libraries that a room may use. A room without an entry uses only fmt.
set(TENON_USES_base tenon_xxhash)
if(WIN32)
  list(APPEND TENON_USES_base synchronization bcrypt)
endif()
set(TENON_USES_json nlohmann_json::nlohmann_json)
set(TENON_USES_text tenon_utf8proc)
set(TENON_USES_text_grammar tenon_utf8proc)
set(TENON_USES_text_tokenizer_json tenon_utf8proc nlohmann_json::nlohmann_json)
set(TENON_USES_text_template tenon_utf8proc)
set(TENON_USES_backends_reference Eigen3::Eigen)
set(TENON_USES_backends_cpu Eigen3::Eigen)
set(TENON_USES_backends_blas Eigen3::Eigen tenon_cblas)
set(TENON_USES_backends_cuda Eigen3::Eigen)
set(TENON_USES_backends_gpu Eigen3::Eigen)
set(TENON_USES_backends_vulkan Eigen3::Eigen tenon_vulkan_headers)

# Rooms within the room text.
set(TENON_TEXT_ROOMS text text/tokenizer_json text/grammar text/template text/chat_formats
    text/chat)

# Folders of a room that are compiled with it. The system's own files lie in folders of `base`.
set(TENON_FOLDERS_base posix linux)
if(WIN32)
  set(TENON_FOLDERS_base windows)
elseif(APPLE)
  set(TENON_FOLDERS_base posix darwin)
endif()
set(TENON_FOLDERS_text tokenizer bpe unigram wordpiece unicode regex)
set(TENON_FOLDERS_media families)
set(TENON_FOLDERS_program ops)
set(TENON_FOLDERS_arch models blocks keys folder adapter towers)
set(TENON_FOLDERS_backends_cpu layouts phases ops)

# Headers that CMake generates from a folder's content: plain_forms.h includes the plain form of
# each operation.
set(TENON_LISTS ${PROJECT_BINARY_DIR}/lists)
file(GLOB plain_forms CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/backends/common/plain/plain_*.h)
list(FILTER plain_forms EXCLUDE REGEX "plain_(operations|executable)\\.h$")
list(TRANSFORM plain_forms REPLACE "^${PROJECT_SOURCE_DIR}/src/(.*)$" "#include \"\\1\"\n")
list(JOIN plain_forms "" plain_forms)
file(GENERATE OUTPUT ${TENON_LISTS}/plain_forms.h CONTENT "#pragma once\n${plain_forms}")

# cpu_operations.h names the operations with an entry in src/backends/cpu/ops.
file(GLOB cpu_operations CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/backends/cpu/ops/*.cpp)
list(TRANSFORM cpu_operations REPLACE "^.*/(.*)\\.cpp$" "TENON_CPU_OPERATION(\\1)\n")
list(JOIN cpu_operations "" cpu_operations)
file(GENERATE OUTPUT ${TENON_LISTS}/cpu_operations.h CONTENT "${cpu_operations}")

# Plain forms in f32 add up strictly in the order of their code. Eigen's vectorised sums would
# depend on addresses.
set(TENON_PLAIN_FORMS ${PROJECT_SOURCE_DIR}/src/backends/cpu/phases/plain_phase.cpp)
set_source_files_properties(${TENON_PLAIN_FORMS} PROPERTIES COMPILE_DEFINITIONS EIGEN_DONT_VECTORIZE
                                                            SKIP_UNITY_BUILD_INCLUSION ON)

# Rooms whose code runs a few times per model or conversation: optimised for size.
set(TENON_SMALL_ROOMS json file backend weights weights/foreign quantize arch kv model engine program
                      random_model plan text/tokenizer_json text/grammar text/template
                      text/chat_formats text/chat)
# Their files whose code runs for each token, each byte of a text or each state of a grammar: -O2.
set(TENON_QUICK engine/answer_loop.cpp engine/block_drafter.cpp engine/continuation_scorer.cpp
                engine/embedder.cpp engine/held_tokens.cpp engine/model_drafter.cpp
                engine/prediction_block.cpp engine/step.cpp engine/text_drafter.cpp
                text/grammar/automaton.cpp text/grammar/automaton_distances.cpp
                text/grammar/dfa.cpp text/grammar/equivalent_states.cpp text/grammar/follow.cpp
                text/grammar/json_strings.cpp text/grammar/mask_cache.cpp text/grammar/matcher.cpp
                text/grammar/nfa.cpp text/grammar/pushdown_machine.cpp
                text/grammar/pushdown_machine_registers.cpp text/grammar/state_mask.cpp
                text/grammar/subset_construction.cpp text/grammar/token_masks.cpp
                text/grammar/token_trie.cpp)

# Rooms for plugins only, which the library does not contain.
set(TENON_PLUGIN_ROOMS backends/blas backends/cuda backends/gpu backends/vulkan)

# Files per unit with TENON_UNITY: most rooms are one or two units.
set(TENON_UNITY_FILES 26)

# Files that process every weight of a model: -O2 makes loading half as slow again.
set(TENON_HOT backends/cpu/layouts/panels.cpp quantize/row_encoders.cpp)

# Files of other rooms whose code runs a few times per model or session: optimised for size.
set(TENON_SMALL base/atomic_file.cpp base/linux/control_groups.cpp
                base/linux/linux_system.cpp base/posix/posix_system.cpp
                base/darwin/darwin_system.cpp base/windows/windows_system.cpp)

foreach(file ${TENON_HOT} ${TENON_SMALL} ${TENON_QUICK})
  if(NOT EXISTS ${PROJECT_SOURCE_DIR}/src/${file})
    message(FATAL_ERROR "TENON_HOT, TENON_SMALL or TENON_QUICK in rooms.cmake names ${file}, which "
                        "is not in src")
  endif()
endforeach()

# tenon_optimize(TARGET MODE): sets the mode of optimised builds. -O3 makes code other than kernels
# larger by an eighth, and no faster.
function(tenon_optimize target mode)
  if(NOT TENON_SANITIZE)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release,RelWithDebInfo>:${mode}>)
  endif()
endfunction()

# tenon_room_objects(TARGET ROOM MODE SOURCE...): the object library TARGET of files of a room.
function(tenon_room_objects target name mode)
  add_library(${target} OBJECT ${ARGN})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src
                                               ${PROJECT_SOURCE_DIR}/capi/include ${TENON_LISTS})
  target_link_libraries(${target} PRIVATE tenon_flags tenon_fmt ${TENON_USES_${name}})
  tenon_optimize(${target} ${mode})
  if("Eigen3::Eigen" IN_LIST TENON_USES_${name})
    set_target_properties(${target} PROPERTIES TENON_USES_EIGEN ON)
  endif()
  # Unity builds take a third of the compile time, most of which is the headers'. Local names must
  # therefore be unique in a room.
  if(TENON_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON
                                               UNITY_BUILD_BATCH_SIZE ${TENON_UNITY_FILES})
  endif()
endfunction()

# tenon_room(PATH): src/PATH/*.cpp, and its folders in TENON_FOLDERS_<room>. Files in TENON_SMALL,
# and those of a small room beside its quick ones, become the object library tenon_room_<room>_small.
function(tenon_room path)
  string(REPLACE "/" "_" name ${path})
  set(patterns ${PROJECT_SOURCE_DIR}/src/${path}/*.cpp)
  foreach(folder ${TENON_FOLDERS_${name}})
    list(APPEND patterns ${PROJECT_SOURCE_DIR}/src/${path}/${folder}/*.cpp)
  endforeach()
  file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  if(NOT sources)
    return()
  endif()
  set(mode -O2)
  if(path IN_LIST TENON_SMALL_ROOMS)
    set(mode -Os)
  endif()
  set(small "")
  if(NOT TENON_SANITIZE)
    list(TRANSFORM TENON_HOT PREPEND ${PROJECT_SOURCE_DIR}/src/ OUTPUT_VARIABLE hot)
    set_source_files_properties(${hot} PROPERTIES COMPILE_OPTIONS -O3 SKIP_UNITY_BUILD_INCLUSION ON)
    list(TRANSFORM TENON_SMALL PREPEND ${PROJECT_SOURCE_DIR}/src/ OUTPUT_VARIABLE small)
    if(mode STREQUAL "-Os")
      list(TRANSFORM TENON_QUICK PREPEND ${PROJECT_SOURCE_DIR}/src/ OUTPUT_VARIABLE quick)
      set(small ${sources})
      list(REMOVE_ITEM small ${quick})
    endif()
    set(others ${sources})
    list(REMOVE_ITEM others ${small})
    if(others)
      set(small ${sources})
      list(REMOVE_ITEM small ${others})
      set(sources ${others})
      set(mode -O2)
    else()
      set(small "")
    endif()
  endif()
  tenon_room_objects(tenon_room_${name} ${name} ${mode} ${sources})
  if(NOT path IN_LIST TENON_PLUGIN_ROOMS)
    set_property(GLOBAL APPEND PROPERTY TENON_ROOMS tenon_room_${name})
  endif()
  if(small)
    tenon_room_objects(tenon_room_${name}_small ${name} -Os ${small})
    set_property(GLOBAL APPEND PROPERTY TENON_ROOMS tenon_room_${name}_small)
  endif()
endfunction()

set(TENON_KERNELS ALL CACHE STRING
  "Kernels of the CPU: ALL of its kind, or NATIVE: this machine's best and the portable ones")
set_property(CACHE TENON_KERNELS PROPERTY STRINGS ALL NATIVE)

# tenon_native_kernels(SETS): sets SETS to the instruction sets of NATIVE; leaves it as it is if the
# compiler does not know this machine.
function(tenon_native_kernels sets)
  set(native -march=native)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
    set(native -mcpu=native)
  endif()
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} ${native} -dM -E -x c++ /dev/null
                  OUTPUT_VARIABLE macros ERROR_QUIET RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    return()
  endif()
  set(chosen portable)
  if(macros MATCHES "__AVX512VNNI__" AND macros MATCHES "__AVX512BW__"
     AND macros MATCHES "__AVX512DQ__")
    list(APPEND chosen avx512)
  elseif(macros MATCHES "__AVXVNNI__")
    list(APPEND chosen avx2 avx2_vnni)
  elseif(macros MATCHES "__AVX2__" AND macros MATCHES "__F16C__")
    list(APPEND chosen avx2)
  elseif(macros MATCHES "__ARM_FEATURE_MATMUL_INT8")
    list(APPEND chosen neon neon_i8mm)
  elseif(macros MATCHES "__ARM_FEATURE_DOTPROD")
    list(APPEND chosen neon)
  endif()
  set(${sets} ${chosen} PARENT_SCOPE)
endfunction()

# tenon_kernels(PATH): adds src/PATH/kernels/kernels_<set>.cpp for each instruction set of
# TENON_KERNELS to the room. Call them only through a table chosen at run time; TENON_KERNELS_<SET>
# tells the room's other files which sets exist.
function(tenon_kernels path)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
    set(sets portable neon neon_i8mm)
    set(options_neon -march=armv8.2-a+dotprod)
    set(options_neon_i8mm -march=armv8.2-a+dotprod+i8mm)
    if(TENON_ZIG)  # it knows no -march
      set(options_neon -mcpu=generic+v8_2a+dotprod)
      set(options_neon_i8mm -mcpu=generic+v8_2a+dotprod+i8mm)
    endif()
  else()
    set(sets portable avx2 avx2_vnni avx512)
    set(options_avx2 -mavx2 -mfma -mf16c)
    set(options_avx2_vnni ${options_avx2} -mavxvnni)
    # g++ 12 warns of its own intrinsics (GCC bug 105593).
    set(options_avx512 ${options_avx2} -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx512vnni
                       -Wno-uninitialized $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  endif()
  if(TENON_KERNELS STREQUAL "NATIVE" AND NOT CMAKE_CROSSCOMPILING)
    tenon_native_kernels(sets)
  endif()
  if(TENON_SANITIZE)
    # All sets are instances of the same templates, and checks double the minutes that each takes.
    list(REMOVE_ITEM sets neon_i8mm avx2_vnni avx512)
    set(mode -fno-sanitize=undefined)
  else()
    set(mode -O3)  # also in a build with debug info, whose default is -O2
  endif()
  string(REPLACE "/" "_" name ${path})
  foreach(set ${sets})
    set(source ${PROJECT_SOURCE_DIR}/src/${path}/kernels/kernels_${set}.cpp)
    target_sources(tenon_room_${name} PRIVATE ${source})
    set_source_files_properties(${source} PROPERTIES
      COMPILE_OPTIONS "${mode};${options_${set}}" SKIP_UNITY_BUILD_INCLUSION ON)
    string(TOUPPER ${set} upper)
    target_compile_definitions(tenon_room_${name} PRIVATE TENON_KERNELS_${upper})
  endforeach()
endfunction()

# tenon_link_rooms(TARGET ROOM...): links the objects of the rooms and their libraries.
function(tenon_link_rooms target)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src
                                               ${PROJECT_SOURCE_DIR}/capi/include
                                               ${TENON_LISTS})
  target_link_libraries(${target} PRIVATE tenon_flags tenon_fmt ${CMAKE_DL_LIBS})
  foreach(path ${ARGN})
    string(REPLACE "/" "_" name ${path})
    if(TARGET tenon_room_${name})
      target_sources(${target} PRIVATE $<TARGET_OBJECTS:tenon_room_${name}>)
      target_link_libraries(${target} PRIVATE ${TENON_USES_${name}})
    endif()
    if(TARGET tenon_room_${name}_small)
      target_sources(${target} PRIVATE $<TARGET_OBJECTS:tenon_room_${name}_small>)
    endif()
  endforeach()
endfunction()
