// Options of the C++ header as handles. A separate file: the library's own structs have equal
// names.
#pragma once

#include <tenon/tenon.h>

#include <memory>
#include <string>
#include <vector>

/// Set member of a struct, with the value of its row in option_values_test.cpp.
struct CppOption {
  std::string key;
  std::shared_ptr<tenon_options> options;
};
std::vector<CppOption> cpp_options();

/// Sets the key through the list `extra` of its scope's struct, TENON_SCOPE_*; null if no struct
/// serves the scope.
std::shared_ptr<tenon_options> cpp_extra_option(int32_t scope, const std::string& key,
                                                const std::string& value);
