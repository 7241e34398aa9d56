# What makes a mistake in memory harder to turn into an attack, in builds that are released (SECURITY.md):
# `tenon_hardening`, which `tenon_flags` takes on. tests/hardening reads the result.
add_library(tenon_hardening INTERFACE)
target_compile_options(tenon_hardening INTERFACE -fstack-protector-strong)
# The compiler may define it itself, with another value.
target_compile_options(tenon_hardening INTERFACE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
# Indirect branches land where they may, and nowhere else. Both compilers know the flag of their machine.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  target_compile_options(tenon_hardening INTERFACE -mbranch-protection=standard)
else()
  target_compile_options(tenon_hardening INTERFACE -fcf-protection=full)
endif()
# Addresses are resolved at start, and the tables of them are read-only from then on.
target_link_options(tenon_hardening INTERFACE LINKER:-z,relro,-z,now,-z,noexecstack
                    $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-pie>)
