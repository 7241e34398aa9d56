// Reads JSON input files of commands.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace tenon_program {

/// Keeps the order of members.
using Json = nlohmann::ordered_json;

/// Content of a file, "-" for standard input. Throws Failure naming the file if it is no JSON, or
/// nested deeper than sensible documents and than the stack allows.
Json read_json(const std::string& path);

/// JSON text; ill-formed UTF-8 becomes U+FFFD, as in all user input.
std::string json_line(const Json& json, int indent = -1);

}  // namespace tenon_program
