// Schemas of tools that are not strict: unsupported parts are dropped and noted.
#pragma once

#include <string>
#include <vector>

#include "server/json/json.h"

namespace tenon_http {

/// The schema without the parts for which the library has no grammar, each told in `notes`:
///
///     {"type": "string", "pattern": "(?<=x)y"}   ->   {"type": "string"}
///     "response_format.json_schema.schema: #/pattern is not kept: lookaround is not supported"
///
/// A schema without such parts stays as it is. path: of its field. Under the thread's WorkLimit.
Json lenient_schema(Json schema, const std::string& path, std::vector<std::string>& notes);

}  // namespace tenon_http
