// Adapters of requests, as llama-server's clients choose them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "server/json/fields.h"
#include "server/registry/served_adapter.h"

namespace tenon_http {

/// Reads "lora": [{"id": 0, "scale": 0.5}, ...]; empty if absent. Throws ApiError naming the field.
std::optional<std::vector<AdapterChoice>> read_lora(const Fields& fields);

/// Reads such a list. Throws ApiError naming the member of `path`.
std::vector<AdapterChoice> read_adapter_choices(const Json& list, const std::string& path);

}  // namespace tenon_http
