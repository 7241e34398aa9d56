# Compiler flags that every target of this project shares: `tenon_flags`.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

add_library(tenon_flags INTERFACE)
# No contraction: a*b+c is one rounding only where the source says fma, so that every kernel variant
# and every compiler gives the same bits (docs/architecture.md, "Same request, same answer").
target_compile_options(tenon_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -ffp-contract=off)
if(TENON_WERROR)
  target_compile_options(tenon_flags INTERFACE -Werror)
endif()
if(TENON_SANITIZE)
  target_compile_options(tenon_flags INTERFACE -fsanitize=${TENON_SANITIZE}
                         -fno-omit-frame-pointer -fno-sanitize-recover=all
                         # Checks of the tests' own code double the time to compile it.
                         $<$<BOOL:$<TARGET_PROPERTY:TENON_TEST_CODE>>:-fno-sanitize=undefined>)
  target_link_options(tenon_flags INTERFACE -fsanitize=${TENON_SANITIZE})
endif()
find_package(Threads REQUIRED)
target_link_libraries(tenon_flags INTERFACE Threads::Threads)

find_program(TENON_CCACHE ccache)
if(TENON_CCACHE AND PROJECT_IS_TOP_LEVEL)
  set(CMAKE_C_COMPILER_LAUNCHER ${TENON_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${TENON_CCACHE})
endif()
