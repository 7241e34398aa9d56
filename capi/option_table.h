// List of all options as data. option_set.h holds the values that a host has set.
#pragma once

#include <cstddef>
#include <string_view>

#include "tenon/tenon.h"

namespace tenon::capi {

/// Entry for all keys with the prefix "backend."; the rest of the key goes to the backend
/// unchanged.
inline constexpr const char* kBackendKey = "backend.KEY";
inline constexpr std::string_view kBackendPrefix = "backend.";
constexpr bool is_backend_key(std::string_view name) { return name.starts_with(kBackendPrefix); }

/// Number of options: first those of the scopes' tables, then the parameters of the sampler chain.
size_t num_options();

/// Option at `index` < num_options(). Its texts are constants.
tenon_option_info option_at(size_t index);

/// Option of this name. Throws Argument, naming the nearest option, if no option has it.
tenon_option_info find_option(std::string_view name);

/// Limits of a string list: number of texts, bytes per text, and bytes in total.
struct ListLimits {
  size_t texts;
  size_t text_bytes;
  size_t total_bytes;
};

/// Limits of the string list of this name; zeros for other options.
ListLimits list_limits(std::string_view name);

/// Name of a TENON_OPTION_* type: "int", "float", ...
const char* option_type_name(int32_t type);

}  // namespace tenon::capi
