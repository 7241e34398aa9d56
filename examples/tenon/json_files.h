// Reads JSON files that commands take.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace tenon_program {

/// Keeps the order of members.
using Json = nlohmann::ordered_json;

/// The content of a file, "-" for standard input. Throws Failure naming it: not JSON, or nested
/// deeper than anything that makes sense (and than the stack bears).
Json read_json(const std::string& path);

/// As text; what is no UTF-8 becomes U+FFFD, as in everything that a user types.
std::string json_line(const Json& json, int indent = -1);

}  // namespace tenon_program
