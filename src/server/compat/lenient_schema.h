// Schemas of tools that are not strict: unsupported parts are dropped and noted.
#pragma once

#include <string>
#include <vector>

#include "server/json/json.h"

namespace tenon_http {

/// Schema without the parts that the library's grammar lacks. Each dropped part adds a note:
///
///     {"type": "string", "pattern": "(?<=x)y"}   ->   {"type": "string"}
///     "response_format.json_schema.schema: #/pattern is not kept: lookaround is not supported"
///
/// A supported schema stays unchanged. Polls the thread's WorkLimit.
///   path  field that holds the schema
Json lenient_schema(Json schema, const std::string& path, std::vector<std::string>& notes);

}  // namespace tenon_http
