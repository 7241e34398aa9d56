# A room is a folder under src/. Its sources become the object library `tenon_room_<folder>`, so that
# the shared library, the static library and every test link the same objects.

# Libraries from outside that a room may use. A room that is not named here uses none but fmt.
set(TENON_USES_base tenon_xxhash)
set(TENON_USES_text tenon_utf8proc)
set(TENON_USES_text_grammar tenon_utf8proc nlohmann_json::nlohmann_json)
set(TENON_USES_text_tokenizer_json tenon_utf8proc nlohmann_json::nlohmann_json)
set(TENON_USES_text_template tenon_utf8proc nlohmann_json::nlohmann_json)
set(TENON_USES_backends_reference Eigen3::Eigen)

# The rooms within the room of text.
set(TENON_TEXT_ROOMS text text/tokenizer_json text/grammar text/template text/chat_formats text/chat)

# Folders of a room that are compiled with it: the models of tokenizers, and what they share.
set(TENON_FOLDERS_text bpe unigram wordpiece unicode regex)

# Rooms whose files all define the same local names, as entries of one list do.
set(TENON_NO_UNITY sampler)

# Files that share local names with another file of their room, compiled apart.
set(TENON_APART
    engine/sequence.cpp
    text/grammar/gbnf.cpp text/grammar/json_value.cpp text/grammar/expr.cpp text/grammar/automaton_distances.cpp
    text/grammar/few_values.cpp
    text/template/jinja_printf.cpp text/template/jinja_str_methods.cpp
    text/template/jinja_str_queries.cpp text/template/jinja_sequence_filters.cpp
    text/template/jinja_selecting_filters.cpp text/template/jinja_strftime.cpp
    text/template/jinja_format_spec.cpp text/template/jinja_number_filters.cpp
    text/chat_formats/python_calls.cpp text/chat_formats/python_scan.cpp text/chat_formats/muse.cpp
    text/chat_formats/functionary.cpp text/chat_formats/minimax_m3.cpp text/chat_formats/kimi.cpp)

# tenon_room(PATH): src/PATH/*.cpp, and its folders in TENON_FOLDERS_<room>. A file named *_avx2.cpp, *_avx2_vnni.cpp, *_avx512.cpp,
# *_neon.cpp or *_neon_i8mm.cpp is compiled for that instruction set and must be reached only through
# a table of kernels chosen at run time.
function(tenon_room path)
  string(REPLACE "/" "_" name ${path})
  set(patterns ${PROJECT_SOURCE_DIR}/src/${path}/*.cpp)
  foreach(folder ${TENON_FOLDERS_${name}})
    list(APPEND patterns ${PROJECT_SOURCE_DIR}/src/${path}/${folder}/*.cpp)
  endforeach()
  file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  # Instruction sets of other machines.
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
    list(FILTER sources EXCLUDE REGEX "_(avx2|avx2_vnni|avx512)\\.cpp$")
  else()
    list(FILTER sources EXCLUDE REGEX "_neon(_i8mm)?\\.cpp$")
  endif()
  if(NOT sources)
    return()
  endif()
  add_library(tenon_room_${name} OBJECT ${sources})
  target_include_directories(tenon_room_${name} PRIVATE ${PROJECT_SOURCE_DIR}/src
                                                  ${PROJECT_SOURCE_DIR}/capi/include)
  target_link_libraries(tenon_room_${name} PRIVATE tenon_flags tenon_fmt ${TENON_USES_${name}})
  foreach(source ${sources})
    set(options "")
    if(source MATCHES "/kernels_[a-z0-9_]+\\.cpp$")
      if(TENON_FUZZERS)
        # What fuzzing looks at is what feeds them; clang takes minutes to check these.
        list(APPEND options -fno-sanitize=all)
      elseif(NOT TENON_SANITIZE)
        list(APPEND options -O3)  # also in a build with debug info, whose default is -O2
      endif()
    endif()
    if(source MATCHES "_avx2\\.cpp$")
      list(APPEND options -mavx2 -mfma -mf16c)
    elseif(source MATCHES "_avx2_vnni\\.cpp$")
      list(APPEND options -mavx2 -mfma -mf16c -mavxvnni)
    elseif(source MATCHES "_avx512\\.cpp$")
      # g++ 12 warns of its own intrinsics (its bug 105593).
      list(APPEND options -mavx2 -mfma -mf16c -mavx512f -mavx512bw -mavx512vl -mavx512dq
           -mavx512vnni -Wno-uninitialized $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
    endif()
    if(source MATCHES "_neon\\.cpp$")
      list(APPEND options -march=armv8.2-a+dotprod)
    elseif(source MATCHES "_neon_i8mm\\.cpp$")
      list(APPEND options -march=armv8.2-a+dotprod+i8mm)
    endif()
    if(options)
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${options}")
    endif()
  endforeach()
  # Half to two thirds of the compile time, for builds that nobody debugs: several files in one go.
  if(TENON_UNITY AND NOT path IN_LIST TENON_NO_UNITY)
    set_target_properties(tenon_room_${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 12)
    list(TRANSFORM TENON_APART PREPEND ${PROJECT_SOURCE_DIR}/src/ OUTPUT_VARIABLE apart)
    set_source_files_properties(${apart} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
  set_property(GLOBAL APPEND PROPERTY TENON_ROOMS tenon_room_${name})
endfunction()

# tenon_link_rooms(TARGET ROOM...): links the objects of the rooms and what they use.
function(tenon_link_rooms target)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src
                                               ${PROJECT_SOURCE_DIR}/capi/include)
  target_link_libraries(${target} PRIVATE tenon_flags tenon_fmt ${CMAKE_DL_LIBS})
  foreach(path ${ARGN})
    string(REPLACE "/" "_" name ${path})
    if(TARGET tenon_room_${name})
      target_sources(${target} PRIVATE $<TARGET_OBJECTS:tenon_room_${name}>)
      target_link_libraries(${target} PRIVATE ${TENON_USES_${name}})
    endif()
  endforeach()
endfunction()
