// The list of all options as data. Values that a host has set live in option_set.h.
#pragma once

#include <cstddef>
#include <string_view>

#include "tenon/tenon.h"

namespace tenon::capi {

/// "backend.KEY" stands in the list for all keys that begin so: what comes after goes to the backend as it is.
inline constexpr const char* kBackendKey = "backend.KEY";
inline constexpr std::string_view kBackendPrefix = "backend.";
constexpr bool is_backend_key(std::string_view name) { return name.starts_with(kBackendPrefix); }

/// Number of options: those of models and sessions, then the parameters of the sampler chain.
size_t num_options();

/// The option at `index` < num_options(). Its texts are constants.
tenon_option_info option_at(size_t index);

/// The option of this name. Throws Argument naming the nearest one when there is none.
tenon_option_info find_option(std::string_view name);

/// Most texts of a list, bytes of one of them, and bytes of all.
struct ListLimits {
  size_t texts;
  size_t text_bytes;
  size_t total_bytes;
};

/// Those of the string list of this name.
ListLimits list_limits(std::string_view name);

/// "int", "float", ...
const char* option_type_name(int32_t type);

}  // namespace tenon::capi
