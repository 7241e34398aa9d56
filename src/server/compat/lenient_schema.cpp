#include "server/compat/lenient_schema.h"

#include <tenon/grammar.hpp>

#include "server/work/limited_compile.h"

namespace tenon_http {

Json lenient_schema(Json schema, const std::string& path, std::vector<std::string>& notes) {
  tenon::CompileOptions options = under_work_limit();
  options.lenient = true;
  const tenon::Grammar grammar =
      tenon::Grammar::compile(TENON_GRAMMAR_JSON_SCHEMA, to_text(schema), options);
  for (const Json& note : Json::parse(grammar.notes())) {
    std::string pointer = note["pointer"];
    Json& part = schema.at(Json::json_pointer(pointer));
    if (note["keyword"].is_string()) {
      const std::string keyword = note["keyword"];
      part.erase(keyword);
      pointer = (Json::json_pointer(pointer) / keyword).to_string();
    } else {
      part = true;
    }
    notes.push_back(path + ": #" + pointer +
                    " is not kept: " + note["reason"].get_ref<const std::string&>());
  }
  return schema;
}

}  // namespace tenon_http
