// The options of the C++ header as handles. Apart from the test: the library's own structs have the same names.
#pragma once

#include <tenon/tenon.h>

#include <memory>
#include <string>
#include <vector>

/// One member of a struct, set; the value is that of the row of the same key in option_values_test.cpp.
struct CppOption {
  std::string key;
  std::shared_ptr<tenon_options> options;
};
std::vector<CppOption> cpp_options();

/// The key by the list `extra` of the struct of its scope, TENON_SCOPE_*; null: no struct makes handles of it.
std::shared_ptr<tenon_options> cpp_extra_option(int32_t scope, const std::string& key,
                                                const std::string& value);
