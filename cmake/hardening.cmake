# Hardening flags of release builds against memory errors (SECURITY.md): `tenon_hardening`, part of
# `tenon_flags`. tests/hardening checks the result.
add_library(tenon_hardening INTERFACE)
target_compile_options(tenon_hardening INTERFACE -fstack-protector-strong)
# Undefine first: the compiler may define another value.
target_compile_options(tenon_hardening INTERFACE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
if(WIN32)
  target_link_options(tenon_hardening INTERFACE
                      LINKER:--dynamicbase,--nxcompat,--high-entropy-va)
  target_link_libraries(tenon_hardening INTERFACE ssp)  # what the flags above call
  return()
endif()
if(APPLE)  # the rest is how macOS loads files, and signed pointers are for its own programs
  return()
endif()
# Indirect branches reach valid targets only. Each compiler knows the flag of its machine.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  target_compile_options(tenon_hardening INTERFACE -mbranch-protection=standard)
else()
  target_compile_options(tenon_hardening INTERFACE -fcf-protection=full)
endif()
# Addresses are resolved at start; their tables are read-only afterwards.
target_link_options(tenon_hardening INTERFACE LINKER:-z,relro,-z,now,-z,noexecstack
                    $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-pie>)
